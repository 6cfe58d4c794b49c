//! Secrets as code, lists, files of accounts and sentences hold them: in a text, in a leaf of JSON, and in a stream of lines.

use crate::lot::{ALNUM, Lot, STD64};
use crate::score::redactor;
use samite_redact::{Mode, Stream, Units};

/// What is left of a text, each way that it may come.
fn all_ways(text: &str) -> [String; 3] {
    let redactor = redactor(Mode::Off, Mode::Redact);
    let out = |text: &str| {
        let bytes = redactor.redact(text.as_bytes()).bytes;
        bytes.map_or_else(|| text.to_owned(), |bytes| String::from_utf8(bytes).unwrap())
    };
    let leaf = serde_json::json!({"type": "tool_result", "content": [text]}).to_string();
    let (mut lines, mut found) = (Vec::new(), Vec::new());
    let mut stream = Stream::new(&redactor, Units::Text);
    stream.push(text.as_bytes(), &mut lines, &mut found);
    stream.finish(&mut lines, &mut found);
    [out(text), out(&leaf), String::from_utf8(lines).unwrap()]
}

fn assert_gone(text: &str, secrets: &[&str]) {
    for (way, out) in all_ways(text).into_iter().enumerate() {
        for secret in secrets {
            assert!(!out.contains(secret), "{secret} is left of {text} in way {way}: {out}");
        }
        assert!(out.contains("[secret:"), "{out}");
    }
}

/// A key as code writes it is gone, and nothing else of the code.
#[test]
fn private_keys_in_code_go() {
    let mut lot = Lot::new(11);
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY"] {
        let lines: Vec<String> = [64, 64, 64, 40].iter().map(|length| lot.of(STD64, *length)).collect();
        let parts: Vec<&str> = lines.iter().map(String::as_str).collect();
        for (open, joint, close) in [
            ("KEY = (\n    \"", "\\n\"\n    \"", "\\n\"\n)\n"),
            ("static const char *key =\n  \"", "\\n\"\n  \"", "\\n\";\n"),
            ("const key = '", "\\n' +\n  '", "\\n';\n"),
            ("key := \"", "\\n\" +\n\t\"", "\\n\"\n"),
            ("String key = \"", "\\n\"\n    + \"", "\\n\";\n"),
            ("$key = \"", "\\n\"\n  . \"", "\\n\";\n"),
        ] {
            let marks = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
            let whole = [&[marks.0.as_str()], parts.as_slice(), &[marks.1.as_str()]].concat().join(joint);
            let text = format!("import os\n{open}{whole}{close}use(key)\n");
            assert_gone(&text, &parts);
            assert!(all_ways(&text)[0].starts_with(&format!("import os\n{open}[secret:private-key:")), "{text}");
            assert!(all_ways(&text)[0].ends_with(&format!("]{close}use(key)\n")), "{text}");
            // Its end was cut off.
            let cut = [&[marks.0.as_str()], parts.as_slice()].concat().join(joint);
            assert_gone(&format!("{open}{cut}"), &parts);
        }
        // One line a string, as in a notebook and in a patch.
        let mut list = vec!["key = '''".to_owned(), format!("+-----BEGIN {label}-----")];
        list.extend(lines.iter().map(|line| format!("+{line}\n")));
        list.extend([format!("+-----END {label}-----"), "'''".to_owned()]);
        let text = serde_json::json!({"patch": [{"lines": list, "start": 1}]}).to_string();
        let out = redactor(Mode::Off, Mode::Redact).redact(text.as_bytes());
        let out: serde_json::Value = serde_json::from_slice(&out.bytes.unwrap()).unwrap();
        let left: Vec<&str> =
            out["patch"][0]["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        assert_eq!(left.len(), list.len());
        assert!(left[1].starts_with("+[secret:private-key:"), "{left:?}");
        assert_eq!((left[0], left[7]), ("key = '''", "'''"));
        assert!(parts.iter().all(|part| !left.concat().contains(part)), "{left:?}");
    }
}

#[test]
fn two_tokens_without_a_gap_go() {
    let mut lot = Lot::new(12);
    for prefix in ["ghp_", "npm_", "glpat-", "sk_live_", "dapi"] {
        let token = |lot: &mut Lot| match prefix {
            "dapi" => format!("dapi{}", lot.of("0123456789abcdef", 32)),
            "glpat-" => format!("glpat-{}", lot.of(ALNUM, 20)),
            _ => format!("{prefix}{}", lot.of(ALNUM, 36)),
        };
        let (first, second) = (token(&mut lot), token(&mut lot));
        assert_gone(&format!("use {first}{second} now"), &[&first, &second]);
    }
}

#[test]
fn accounts_in_files_and_sentences_go() {
    for text in [
        "# hosts\ndb.internal:5432:shop:app:kR9wPq!2LmX\n*:*:*:root:kR9wPq!2LmX\n",
        "machine git.example\n  login ada\n  password kR9wPq!2LmX\nmachine other\n",
        "machine git.example login ada password kR9wPq!2LmX\n",
        "env:\n  - value: kR9wPq!2LmX\n    name: DB_PASSWORD\n  - name: A\n",
        "I looked: das Passwort für root lautet \u{201e}kR9wPq!2LmX\u{201c}.\nMore.\n",
        "Le mot de passe de la base est kR9wPq!2LmX.\n",
        "La contraseña es kR9wPq!2LmX, creo\n",
        "数据库密码是kR9wPq!2LmX。\n",
        "vault write auth/approle/login role_id=x secret_id=123e4567-e89b-12d3-a456-426614174001\n",
    ] {
        let secret = if text.contains("vault") { "123e4567-e89b-12d3-a456-426614174001" } else { "kR9wPq!2LmX" };
        assert_gone(text, &[secret]);
    }
    let redactor = redactor(Mode::Off, Mode::Redact);
    for text in [
        r#"{"contraseña":"kR9wPq!2LmX"}"#,
        r#"{"senha":"kR9wPq!2LmX"}"#,
        r#"{"SECRET_ID":"123e4567-e89b-12d3-a456-426614174001"}"#,
        r#"{"value":"kR9wPq!2LmX","type":"env","name":"DB_PASSWORD"}"#,
        r#"{"version":"password=kR9wPq!2LmX"}"#,
    ] {
        assert_eq!(redactor.redact(text.as_bytes()).findings.len(), 1, "{text}");
    }
}

/// What is called an id, and is one, stays.
#[test]
fn other_ids_stay() {
    for text in [
        r#"{"id":"123e4567-e89b-12d3-a456-426614174001","session_id":"123e4567-e89b-12d3-a456-426614174001"}"#,
        r#"{"secret_id_accessor":"123e4567-e89b-12d3-a456-426614174001","client_secret_id":"123e4567-e89b-12d3-a456-426614174001"}"#,
        r#"{"secret_id":"prod/db/password-2","SecretId":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:x-AbCdEf"}"#,
        r#"{"integrity":"sha512-kR9wPq2LmXv7TzBn4YcD8sHf==","model":"claude 3.5","created":"Mon Nov 30 17:36:07 UTC 2026"}"#,
        r#"{"value":"kR9wPq2LmXv7Tz","name":"LEVEL"}"#,
    ] {
        assert_eq!(all_ways(text)[0], text);
    }
}
