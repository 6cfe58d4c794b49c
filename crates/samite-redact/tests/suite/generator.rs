//! Made-up secrets of many families in the ways in which agents meet them, and what only looks like one.

use crate::lot::{ALNUM, DIGITS, HEX, LETTERS, LOWER, Lot, STD64, UPPER, URL64};
use crate::score::{Snippet, assert_floors, redactor, score};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use samite_redact::Mode;

/// A family: its name, the setting that usually holds it, and one of it.
type Family = (&'static str, &'static str, fn(&mut Lot) -> String);

/// What is known by its form.
const FORMS: &[Family] = &[
    ("github", "GITHUB_TOKEN", |lot| format!("gho_{}", lot.of(ALNUM, 36))),
    ("gitlab", "CI_JOB_TOKEN", |lot| format!("glptt-{}", lot.of(HEX, 40))),
    ("openai", "OPENAI_API_KEY", |lot| format!("sk-{}", lot.of(ALNUM, 48))),
    ("anthropic", "ANTHROPIC_API_KEY", |lot| format!("sk-ant-admin01-{}AA", lot.of(URL64, 93))),
    ("aws", "AWS_ACCESS_KEY_ID", |lot| format!("ASIA{}", lot.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16))),
    ("google-oauth", "GOOGLE_CLIENT_SECRET", |lot| format!("GOCSPX-{}", lot.of(URL64, 28))),
    ("google-token", "GOOGLE_TOKEN", |lot| format!("ya29.a0{}", lot.of(URL64, 120))),
    ("digitalocean", "DO_TOKEN", |lot| format!("dop_v1_{}", lot.of(HEX, 64))),
    ("slack-user", "SLACK_TOKEN", |lot| {
        format!("xoxp-{}-{}-{}-{}", lot.of(DIGITS, 12), lot.of(DIGITS, 12), lot.of(DIGITS, 12), lot.of(HEX, 32))
    }),
    ("slack-app", "SLACK_APP_TOKEN", |lot| {
        format!("xapp-1-A{}-{}-{}", lot.of(UPPER, 10), lot.of(DIGITS, 13), lot.of(HEX, 64))
    }),
    ("stripe", "STRIPE_KEY", |lot| format!("rk_live_{}", lot.of(ALNUM, 99))),
    ("pypi", "TWINE_PASSWORD", |lot| format!("pypi-AgEIcHlwaS5vcmc{}", lot.of(URL64, 120))),
    ("docker", "DOCKER_TOKEN", |lot| format!("dckr_pat_{}", lot.of(URL64, 27))),
    ("vault", "VAULT_TOKEN", |lot| format!("hvs.{}", lot.of(URL64, 95))),
    ("databricks", "DATABRICKS_TOKEN", |lot| format!("dapi{}", lot.of(HEX, 32))),
    ("shopify", "SHOPIFY_TOKEN", |lot| format!("shpat_{}", lot.of(HEX, 32))),
    ("linear", "LINEAR_API_KEY", |lot| format!("lin_api_{}", lot.of(ALNUM, 40))),
    ("notion", "NOTION_TOKEN", |lot| format!("ntn_{}{}", lot.of(DIGITS, 11), lot.of(ALNUM, 35))),
    ("grafana", "GRAFANA_TOKEN", |lot| format!("glsa_{}_{}", lot.of(ALNUM, 32), lot.of(HEX, 8))),
    ("tailscale", "TS_AUTHKEY", |lot| format!("tskey-auth-{}-{}", lot.of(ALNUM, 12), lot.of(ALNUM, 32))),
    ("age", "AGE_KEY", |lot| format!("AGE-SECRET-KEY-1{}", lot.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
    ("terraform", "TF_TOKEN", |lot| format!("{}.atlasv1.{}", lot.of(ALNUM, 14), lot.of(URL64, 67))),
    ("discord", "DISCORD_TOKEN", |lot| {
        format!(
            "{}.{}.{}",
            BASE64URL_NOPAD.encode(lot.of("123456789", 18).as_bytes()),
            lot.of(URL64, 6),
            lot.of(URL64, 38)
        )
    }),
    ("azure", "AZURE_CLIENT_SECRET", |lot| format!("{}8Q~{}", lot.of(ALNUM, 3), lot.of(URL64, 34))),
    ("groq", "GROQ_API_KEY", |lot| format!("gsk_{}", lot.of(ALNUM, 52))),
    ("replicate", "REPLICATE_API_TOKEN", |lot| format!("r8_{}", lot.of(ALNUM, 37))),
    ("airtable", "AIRTABLE_TOKEN", |lot| format!("pat{}.{}", lot.of(ALNUM, 14), lot.of(HEX, 64))),
    ("supabase", "SUPABASE_KEY", |lot| format!("sbp_{}", lot.of(HEX, 40))),
    ("figma", "FIGMA_TOKEN", |lot| format!("figd_{}", lot.of(URL64, 40))),
    ("jwt", "ACCESS_TOKEN", |lot| {
        let claims = format!("{{\"sub\":\"{}\",\"exp\":1900000000}}", lot.of(LOWER, 12));
        format!(
            "{}.{}.{}",
            BASE64URL_NOPAD.encode(b"{\"alg\":\"RS256\",\"kid\":\"1\"}"),
            BASE64URL_NOPAD.encode(claims.as_bytes()),
            lot.of(URL64, 342)
        )
    }),
    ("unknown-live", "ACME_KEY", |lot| format!("acme_live_{}", lot.of(ALNUM, 32))),
    ("mysql-url", "DATABASE_URL", |lot| format!("mysql://app:{}@10.0.3.7:3306/shop", lot.of(ALNUM, 16))),
];

/// What only its name gives away.
const NAMED: &[Family] = &[
    ("aws-secret", "AWS_SECRET_ACCESS_KEY", |lot| lot.of(STD64, 40)),
    ("hex", "DATADOG_API_KEY", |lot| lot.of(HEX, 32)),
    ("hex-64", "SIGNING_SECRET", |lot| lot.of(HEX, 64)),
    ("uuid", "HEROKU_API_KEY", |lot| lot.uuid()),
    ("password", "DB_PASSWORD", |lot| {
        format!("{}{}{}", lot.of(LETTERS, 5), lot.pick(&["!", "_", "@", "^", "-"]), lot.of(ALNUM, 7))
    }),
    ("letters", "CLIENT_SECRET", |lot| lot.of(LETTERS, 32)),
    ("azure-storage", "STORAGE_ACCOUNT_KEY", |lot| BASE64.encode(&lot.bytes(64))),
    ("base64", "ENCRYPTION_KEY", |lot| BASE64.encode(&lot.bytes(32))),
    ("short", "REDIS_PASSWORD", |lot| format!("{}{}", lot.of(LETTERS, 6), lot.of(DIGITS, 4))),
];

/// A way of writing: its name, and the text with the secret as it stands there.
type Writing = (&'static str, fn(&mut Lot, &str, &str) -> (String, Option<String>));

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn camel(name: &str) -> String {
    let mut out = String::new();
    for (at, word) in name.split('_').enumerate() {
        let word = word.to_ascii_lowercase();
        if at == 0 {
            out.push_str(&word);
        } else {
            out.push_str(&word[..1].to_ascii_uppercase());
            out.push_str(&word[1..]);
        }
    }
    out
}

fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

const WRITINGS: &[Writing] = &[
    ("yaml", |_, name, secret| {
        (format!("services:\n  api:\n    environment:\n      {name}: {secret}\n      LOG_LEVEL: debug\n"), None)
    }),
    ("yaml-quoted", |_, name, secret| {
        (format!("{}: \"{secret}\"  # rotate\nregion: eu-west-1\n", name.to_ascii_lowercase()), None)
    }),
    ("yaml-list", |_, name, secret| (format!("    - name: X\n    - {name}={secret}\n    - PORT=8080\n"), None)),
    ("toml", |_, name, secret| {
        (
            format!(
                "[service]\nurl = \"https://a.example\"\n{} = \"{secret}\"\nretries = 3\n",
                name.to_ascii_lowercase()
            ),
            None,
        )
    }),
    ("ini", |_, name, secret| {
        (format!("[default]\nregion = us-east-1\n{} = {secret}\n", name.to_ascii_lowercase()), None)
    }),
    ("dockerfile", |_, name, secret| (format!("FROM alpine:3.20\nENV {name}={secret}\nRUN apk add curl\n"), None)),
    ("dockerfile-old", |_, name, secret| (format!("FROM alpine\nENV {name} {secret}\nCMD [\"run\"]\n"), None)),
    ("export", |_, name, secret| (format!("$ export {name}='{secret}'\n$ make deploy"), None)),
    ("export-double", |_, name, secret| (format!("export {name}=\"{secret}\" && ./run.sh"), None)),
    ("inline", |_, name, secret| (format!("{name}={secret} python manage.py migrate"), None)),
    ("printenv", |_, name, secret| (format!("HOME=/root\nPATH=/usr/bin:/bin\n{name}={secret}\nSHLVL=1\n"), None)),
    ("python", |_, name, secret| {
        (format!("import os\n{} = \"{secret}\"\nclient = Client({0})\n", name.to_ascii_lowercase()), None)
    }),
    ("python-dict", |_, name, secret| {
        (format!("config = {{'{}': '{secret}', 'debug': True}}", name.to_ascii_lowercase()), None)
    }),
    ("javascript", |_, name, secret| {
        (format!("const {} = '{secret}';\nmodule.exports = {{ {0} }};", camel(name)), None)
    }),
    ("typescript", |_, name, secret| (format!("export const {}: string = `{secret}`;", camel(name)), None)),
    ("go", |_, name, secret| (format!("os.Setenv(\"{name}\", \"{secret}\")"), None)),
    ("rust", |_, name, secret| (format!("const {name}: &str = \"{secret}\";"), None)),
    ("flag", |_, name, secret| {
        (format!("deploy --{}={secret} --region eu", name.to_ascii_lowercase().replace('_', "-")), None)
    }),
    ("flag-space", |_, name, secret| {
        (format!("deploy --{} {secret} --dry-run", name.to_ascii_lowercase().replace('_', "-")), None)
    }),
    ("json", |_, name, secret| {
        (format!("{{\"retries\": 3, \"{}\": {}, \"on\": true}}", camel(name), json(secret)), None)
    }),
    ("json-thrice", |_, name, secret| {
        let inner = format!("{{\"{name}\":{}}}", json(secret));
        let middle = format!("{{\"stdout\":{},\"code\":0}}", json(&inner));
        (format!("{{\"content\":{}}}", json(&middle)), None)
    }),
    ("name-value", |_, name, secret| {
        (format!("{{\"env\":[{{\"name\":\"{name}\",\"value\":{}}}]}}", json(secret)), None)
    }),
    ("value-name", |_, name, secret| {
        (format!("{{\"env\":[{{\"value\":{},\"kind\":1,\"name\":\"{name}\"}}]}}", json(secret)), None)
    }),
    ("value-name-log", |_, name, secret| {
        (format!("12:00:01 env: [{{\"Value\":{},\"Key\":\"{name}\"}}] done", json(secret)), None)
    }),
    ("telemetry", |_, name, secret| {
        (format!("{{\"attributes\":[{{\"key\":\"{name}\",\"value\":{{\"stringValue\":{}}}}}]}}", json(secret)), None)
    }),
    ("yaml-pair", |_, name, secret| (format!("env:\n- name: {name}\n  value: '{secret}'\n- name: PORT\n"), None)),
    ("yaml-pair-turned", |_, name, secret| {
        (format!("env:\n- value: \"{secret}\"\n  name: {name}\n- value: 80\n"), None)
    }),
    ("python-repr", |_, name, secret| {
        (format!("environ({{'HOME': '/root', '{name}': '{secret}', 'LANG': 'C'}})"), None)
    }),
    ("log", |_, name, secret| {
        (format!("2026-03-01T12:00:00Z INFO config loaded {}={secret} region=eu", name.to_ascii_lowercase()), None)
    }),
    ("log-json", |_, name, secret| {
        (format!("12:00:01 DEBUG env: {{\"{name}\":{},\"PORT\":\"80\"}} done", json(secret)), None)
    }),
    ("diff-added", |_, name, secret| (format!("@@ -1,2 +1,3 @@\n PORT=80\n+{name}={secret}\n LANG=C\n"), None)),
    ("diff-removed", |_, name, secret| {
        (format!("--- a/.env\n+++ b/.env\n-{name}={secret}\n+{name}=${{{name}}}\n"), None)
    }),
    ("ansi", |_, name, secret| (format!("\x1b[36m{name}\x1b[0m=\x1b[33m{secret}\x1b[0m\n"), None)),
    ("ansi-within", |_, name, secret| {
        let (first, second) = secret.split_at(secret.len() / 2);
        let written = format!("{first}\x1b[1m{second}");
        (format!("{name}={written}\x1b[0m\n"), Some(written))
    }),
    ("markdown", |_, name, secret| (format!("Set it up:\n\n```\n{name}={secret}\n```\n\nThen run it."), None)),
    ("markdown-code", |_, name, secret| {
        (format!("- **{}**: `{secret}`\n", name.to_ascii_lowercase().replace('_', " ")), None)
    }),
    ("table", |_, name, secret| (format!("| name | value |\n|---|---|\n| {name} | {secret} |\n"), None)),
    ("xml", |_, name, secret| (format!("<config><{0}>{secret}</{0}></config>", name.to_ascii_lowercase()), None)),
    ("csv-header", |_, name, secret| {
        (format!("curl -H \"X-Api-Key: {secret}\" https://api.example.com # {name}"), None)
    }),
    ("percent", |_, name, secret| {
        let written = percent(secret);
        (format!("GET /callback?next=%2Fhome&{}={written} HTTP/1.1", name.to_ascii_lowercase()), Some(written))
    }),
    ("base64-file", |_, name, secret| {
        let written = BASE64.encode(format!("PORT=8080\n{name}={secret}\nLANG=C\n").as_bytes());
        (format!("$ base64 .env\n{written}\n$"), Some(written))
    }),
    ("base64-json", |_, name, secret| {
        let written = BASE64URL_NOPAD.encode(format!("{{\"{name}\":{}}}", json(secret)).as_bytes());
        (format!("config: {written}"), Some(written))
    }),
    ("events", |lot, name, secret| {
        let whole = format!("the file says {name}={secret} and more");
        let mut text = String::new();
        let mut rest = whole.as_str();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(3 + lot.below(9)));
            let event =
                serde_json::json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": piece}});
            text.push_str("event: content_block_delta\ndata: ");
            text.push_str(&event.to_string());
            text.push_str("\n\n");
            rest = after;
        }
        (text, Some("\u{0}".to_owned()))
    }),
];

/// Ways in which only what is known by its form can be found.
const BARE: &[Writing] = &[
    ("prose", |_, _, secret| (format!("I tried it with {secret}, which was refused."), None)),
    ("backticks", |_, _, secret| (format!("The new one is `{secret}`."), None)),
    ("argument", |_, _, secret| (format!("client = Client(\"{secret}\")"), None)),
    ("bearer", |_, _, secret| (format!("curl -H 'Authorization: Bearer {secret}' https://api.example.com/v1"), None)),
    ("escaped", |_, _, secret| (format!("{{\"out\":\"first\\n{secret}\\nlast\"}}"), None)),
    ("stderr", |_, _, secret| (format!("Error: 401 Unauthorized: invalid credentials '{secret}'"), None)),
];

const PLAIN_PREFIXES: &[&str] = &["build", "cache", "deploy", "layer", "chunk", "asset"];

/// A kind of text, and one of it.
type Harmless = (&'static str, fn(&mut Lot) -> String);

/// What is no secret.
const HARMLESS: &[Harmless] = &[
    ("git-log", |lot| format!("{} Fix the parser\n{} Add a test", lot.of(HEX, 7), lot.of(HEX, 40))),
    ("git-tree", |lot| {
        format!("tree {}\nparent {}\nauthor A <a@b.example> 1700000000 +0000", lot.of(HEX, 40), lot.of(HEX, 40))
    }),
    ("digest", |lot| format!("docker.io/library/alpine@sha256:{}", lot.of(HEX, 64))),
    ("lock-file", |lot| format!("version = \"1.0.2\"\nchecksum = \"{}\"", lot.of(HEX, 64))),
    ("npm-lock", |lot| format!("\"integrity\": \"sha512-{}\"", BASE64.encode(&lot.bytes(64)))),
    ("uuid", |lot| format!("{{\"uuid\":\"{}\",\"parentUuid\":\"{}\"}}", lot.uuid(), lot.uuid())),
    ("request", |lot| format!("x-request-id: {}\nx-amz-request-id: {}", lot.uuid(), lot.of(UPPER, 16))),
    ("tool-call", |lot| format!("{{\"type\":\"tool_use\",\"id\":\"toolu_{}\",\"name\":\"Bash\"}}", lot.of(ALNUM, 24))),
    ("call", |lot| format!("call_{} resp_{} chatcmpl-{}", lot.of(ALNUM, 24), lot.of(HEX, 48), lot.of(ALNUM, 29))),
    ("image", |lot| {
        format!(
            "{{\"type\":\"image\",\"source\":{{\"media_type\":\"image/png\",\"data\":\"iVBORw0KGgo{}\"}}}}",
            BASE64.encode(&lot.bytes(900))
        )
    }),
    ("signature", |lot| {
        format!("{{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"{}\"}}", BASE64.encode(&lot.bytes(300)))
    }),
    ("public-key", |lot| format!("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{} dev@host", lot.of(STD64, 320))),
    ("certificate", |lot| format!("-----BEGIN CERTIFICATE-----\nMIID{}\n-----END CERTIFICATE-----", lot.of(STD64, 60))),
    ("known-hosts", |lot| format!("github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{}", lot.of(STD64, 43))),
    ("fingerprint", |lot| format!("256 SHA256:{} dev@host (ED25519)", lot.of(STD64, 43))),
    ("publishable", |lot| format!("STRIPE_PUBLISHABLE_KEY=pk_live_{}", lot.of(ALNUM, 24))),
    ("read-python", |_| "password = os.getenv(\"DB_PASSWORD\")\ntoken = settings.API_TOKEN".to_owned()),
    ("read-javascript", |_| {
        "const apiKey = process.env.OPENAI_API_KEY;\nconst token = await getToken(user);".to_owned()
    }),
    ("read-go", |_| "secret := os.Getenv(\"CLIENT_SECRET\")\nif token == nil { return ErrNoToken }".to_owned()),
    ("read-rust", |_| "let token = std::env::var(\"GITHUB_TOKEN\")?;\nlet key = Key::from_slice(&bytes);".to_owned()),
    ("read-shell", |_| {
        "export GITHUB_TOKEN=\"$(gh auth token)\"\ncurl -H \"Authorization: Bearer $GITHUB_TOKEN\" https://api.github.com".to_owned()
    }),
    ("read-actions", |_| {
        "        env:\n          NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n          password: ${{ secrets.PASSWORD }}"
            .to_owned()
    }),
    ("read-helm", |_| {
        "password: {{ .Values.postgresql.password | quote }}\nexistingSecret: postgres-credentials".to_owned()
    }),
    ("kubernetes", |_| {
        "secretKeyRef:\n  name: api-credentials\n  key: token\nimagePullSecrets:\n- name: registry-credentials"
            .to_owned()
    }),
    ("compose", |_| {
        "secrets:\n  db_password:\n    file: ./secrets/db_password.txt\nPOSTGRES_PASSWORD_FILE=/run/secrets/db_password"
            .to_owned()
    }),
    ("terraform", |_| {
        "password = var.db_password\nsecret_id = aws_secretsmanager_secret.db.id\nkey_vault_id = azurerm_key_vault.main.id".to_owned()
    }),
    ("placeholder", |lot| {
        format!(
            "{}=<{}>",
            lot.pick(&["API_KEY", "TOKEN", "DB_PASSWORD"]),
            lot.pick(&["your-token", "insert key", "TOKEN"])
        )
    }),
    ("placeholder-words", |lot| {
        format!(
            "{}={}",
            lot.pick(&["API_KEY", "TOKEN", "DB_PASSWORD", "SECRET_KEY"]),
            lot.pick(&[
                "changeme",
                "your_api_key_here",
                "xxxxxxxxxxxxxxxx",
                "REPLACE_ME",
                "dummy",
                "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
                "...",
                "********"
            ])
        )
    }),
    ("placeholder-url", |lot| {
        format!(
            "postgres://{}@localhost:5432/db",
            lot.pick(&["user:password", "postgres:postgres", "$USER:$PASSWORD", "<user>:<password>", "user:***"])
        )
    }),
    ("example-key", |_| {
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
            .to_owned()
    }),
    ("tokens", |lot| {
        format!(
            "{{\"usage\":{{\"input_tokens\":{},\"output_tokens\":{},\"cache_creation_input_tokens\":{}}}}}",
            lot.of(DIGITS, 5),
            lot.of(DIGITS, 3),
            lot.of(DIGITS, 5)
        )
    }),
    ("token-words", |_| {
        "max_tokens: 4096, token_type: Bearer, tokenizer: cl100k_base, eos_token: <|endoftext|>, pad_token_id: 50256"
            .to_owned()
    }),
    ("page-token", |lot| format!("{{\"nextPageToken\":\"{}\",\"items\":[]}}", lot.of(ALNUM, 40))),
    ("cache-key", |lot| {
        format!(
            "cache_key={}\npartition_key: user#{}\nCache restored from key: linux-npm-{}",
            lot.of(HEX, 32),
            lot.of(DIGITS, 8),
            lot.of(HEX, 64)
        )
    }),
    ("trace", |lot| {
        format!(
            "trace_id={} span_id={} traceparent: 00-{}-{}-01",
            lot.of(HEX, 32),
            lot.of(HEX, 16),
            lot.of(HEX, 32),
            lot.of(HEX, 16)
        )
    }),
    ("etag", |lot| format!("ETag: W/\"{}\"\nLast-Modified: Mon, 01 Jan 2026 00:00:00 GMT", lot.of(HEX, 32))),
    ("asset", |lot| {
        format!(
            "dist/{}-{}.js 12.3 kB\ndist/index-{}.css",
            lot.pick(PLAIN_PREFIXES),
            lot.of(ALNUM, 8),
            lot.of(ALNUM, 8)
        )
    }),
    ("pod", |lot| format!("pod/api-{}-{} 1/1 Running 0 3d", lot.of(LOWER, 10), lot.of(LOWER, 5))),
    ("path", |lot| format!("/home/dev/.cache/pip/http-v2/{}/{}/{}", lot.of(HEX, 1), lot.of(HEX, 1), lot.of(HEX, 56))),
    ("url", |lot| {
        format!("https://example.com/docs/{}?utm_source=mail&id={}&page=2", lot.of(LOWER, 10), lot.of(DIGITS, 8))
    }),
    ("youtube", |lot| format!("https://www.youtube.com/watch?v={}", lot.of(URL64, 11))),
    ("docs", |_| {
        "Pass the token in the Authorization header: `Authorization: Bearer <token>`. A password must have 12 characters.".to_owned()
    }),
    ("docs-secret", |_| {
        "The key to this is the secret ingredient. Press any key: enter the password and reset token.".to_owned()
    }),
    ("form", |_| {
        "<input type=\"password\" name=\"password\" placeholder=\"Password\" autocomplete=\"current-password\">"
            .to_owned()
    }),
    ("schema", |_| {
        "password: { type: String, required: true, minlength: 8 },\ntoken: z.string().min(1), apiKey: string | undefined".to_owned()
    }),
    ("sql", |_| {
        "CREATE TABLE users (id INT PRIMARY KEY, password_hash VARCHAR(255) NOT NULL, token VARCHAR(64), FOREIGN KEY (team_id))".to_owned()
    }),
    ("bcrypt", |lot| format!("password: $2b$12${}", lot.of(ALNUM, 53))),
    ("traceback", |_| {
        "  File \"/usr/lib/python3/site.py\", line 12, in authenticate\n    raise AuthError(\"invalid token: expired\")\nKeyError: 'password'".to_owned()
    }),
    ("test-output", |_| {
        "test auth::tests::rejects_expired_token ... ok\ntest secrets::rotates_keys ... ok\nPASS src/password.test.ts (2.4 s)".to_owned()
    }),
    ("code-names", |_| {
        "this.sessionToken = sessionToken; self.api_key = api_key; user.passwordResetToken = generatePasswordResetToken();".to_owned()
    }),
    ("css", |_| ".password-field { color: #a1b2c3d4; } .token-keyword { color: #569cd6 }".to_owned()),
    ("ulid", |lot| format!("id=01J{} order_{}", lot.of("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23), lot.of(LOWER, 20))),
    ("hex-dump", |lot| {
        format!("00000000: {} {} {} {}", lot.of(HEX, 4), lot.of(HEX, 4), lot.of(HEX, 4), lot.of(HEX, 4))
    }),
    ("idempotency", |lot| format!("Idempotency-Key: {}\nkey_id: {}", lot.of(ALNUM, 32), lot.of(UPPER, 16))),
    ("base64-text", |lot| {
        format!("data: {}", BASE64.encode(format!("hello world, this is message {}", lot.of(DIGITS, 4)).as_bytes()))
    }),
    ("access-log", |lot| {
        format!(
            "10.0.0.{} - - [01/Jan/2026:00:00:00 +0000] \"GET /api/users?page=2&sort=name HTTP/1.1\" 200 512",
            lot.below(255)
        )
    }),
    ("locale", |_| {
        "\"login.password.label\": \"Password\", \"login.password.forgot\": \"Forgot your password?\", \"token.expired\": \"Your session has expired\"".to_owned()
    }),
];

fn snippets(seed: u64) -> Vec<Snippet> {
    let mut lot = Lot::new(seed);
    let mut all = Vec::new();
    let add = |lot: &mut Lot, all: &mut Vec<Snippet>, family: &Family, writing: &Writing| {
        let secret = (family.2)(lot);
        let (text, written) = (writing.1)(lot, family.1, &secret);
        all.push(Snippet { kind: format!("{} in {}", family.0, writing.0), text, secret: Some(secret), written });
    };
    for family in FORMS {
        for writing in WRITINGS.iter().chain(BARE) {
            add(&mut lot, &mut all, family, writing);
        }
    }
    for family in NAMED {
        for writing in WRITINGS {
            add(&mut lot, &mut all, family, writing);
        }
    }
    for (kind, make) in HARMLESS {
        for _ in 0..20 {
            all.push(Snippet { kind: (*kind).to_owned(), text: make(&mut lot), secret: None, written: None });
        }
    }
    all
}

#[test]
fn secrets_are_found_however_they_are_written() {
    let mut all = Vec::new();
    for seed in [3, 20, 77] {
        all.extend(snippets(seed));
    }
    assert!(all.iter().filter(|one| one.secret.is_some()).count() > 4000);
    assert!(all.iter().filter(|one| one.secret.is_none()).count() > 3000);
    assert_floors(&score(&redactor(Mode::Off, Mode::Redact), &all), 0.95, 0.97);
}
