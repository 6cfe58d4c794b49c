//! What a name says of the value beside it.

use super::prose;
use crate::shape::words;

/// How surely the value beside a name is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// `key`, `auth`, `session`: only what looks drawn by lot.
    Weak,
    /// `token`, `credential`: what looks drawn by lot, digests too.
    Medium,
    /// `api_key`, `client_secret`: anything that is not plainly something else.
    Strong,
    /// `password`: the same, and people make them up.
    Password,
}

/// Names that end so say something about a secret and do not hold it.
const ABOUT: &[&str] = &[
    "id",
    "ids",
    "name",
    "names",
    "count",
    "counts",
    "type",
    "types",
    "url",
    "urls",
    "uri",
    "endpoint",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "length",
    "len",
    "size",
    "limit",
    "limits",
    "max",
    "min",
    "ttl",
    "expiry",
    "expires",
    "expiration",
    "expire",
    "age",
    "version",
    "format",
    "field",
    "fields",
    "label",
    "prefix",
    "suffix",
    "pattern",
    "regex",
    "policy",
    "rule",
    "rules",
    "manager",
    "provider",
    "store",
    "vault",
    "ref",
    "reference",
    "arn",
    "hash",
    "hashed",
    "hashes",
    "digest",
    "checksum",
    "fingerprint",
    "algorithm",
    "alg",
    "bits",
    "usage",
    "used",
    "budget",
    "index",
    "column",
    "map",
    "set",
    "schema",
    "ring",
    "board",
    "stroke",
    "press",
    "down",
    "up",
    "event",
    "handler",
    "listener",
    "error",
    "errors",
    "required",
    "enabled",
    "disabled",
    "status",
    "state",
    "reset",
    "changed",
    "validation",
    "validator",
    "hint",
    "input",
    "placeholder",
    "encoder",
    "decoder",
    "generator",
    "class",
    "title",
    "description",
    "text",
    "message",
    "button",
    "link",
    "page",
    "form",
    "strength",
    "rotation",
    "time",
    "date",
    "at",
    "timestamp",
    "mount",
    "scope",
    "scopes",
    "audience",
    "issuer",
    "kind",
    "mode",
    "level",
    "env",
    "var",
    "variable",
    "config",
    "settings",
    "options",
    "function",
    "func",
    "callback",
    "factory",
    "service",
    "client",
    "server",
    "host",
    "port",
    "region",
    "owner",
    "user",
    "username",
    "email",
    "role",
    "cost",
    "price",
    "rate",
    "per",
    "total",
    "ratio",
    "ext",
    "extension",
    "template",
    "example",
    "test",
    "tests",
    "exists",
    "missing",
    "invalid",
    "valid",
    "is",
    "to",
    "stream",
    "model",
    "exception",
    "request",
    "response",
    "parser",
    "reader",
    "writer",
    "source",
    "position",
    "start",
    "end",
    "offset",
    "line",
    "lines",
    "number",
    "num",
    "order",
    "sort",
    "frame",
    "frames",
    "code",
    "codes",
    "word",
    "words",
    "sha",
    "md",
    "crc",
    "tag",
    "tags",
    "vars",
    "values",
    "list",
    "metadata",
    "info",
    "details",
    "flow",
    "grant",
    "method",
    "methods",
    "header",
    "headers",
    "cursor",
    "iv",
    "nonce",
    "salt",
    "counter",
    "constraint",
];

/// A `key` or `token` with one of these before it opens nothing.
const HARMLESS: &[&str] = &[
    "public",
    "pub",
    "publishable",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "cached",
    "idempotency",
    "idempotent",
    "index",
    "hash",
    "route",
    "map",
    "dict",
    "object",
    "row",
    "column",
    "unique",
    "natural",
    "composite",
    "hot",
    "short",
    "shortcut",
    "arrow",
    "page",
    "next",
    "previous",
    "prev",
    "continuation",
    "cursor",
    "sync",
    "csrf",
    "xsrf",
    "max",
    "min",
    "num",
    "n",
    "total",
    "prompt",
    "completion",
    "input",
    "output",
    "reasoning",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "special",
    "stop",
    "start",
    "end",
    "known",
    "lookup",
    "search",
    "group",
    "sorting",
    "registry",
    "translation",
    "locale",
    "config",
    "json",
    "storage",
    "count",
    "react",
    "dedupe",
    "dedup",
    "trace",
    "correlation",
    "conversation",
    "thread",
    "message",
    "event",
    "range",
    "surrogate",
    "join",
    "candidate",
    "super",
    "any",
    "each",
    "per",
    "first",
    "last",
    "parent",
    "child",
    "child",
    "node",
    "tree",
    "property",
    "field",
    "attribute",
    "metric",
    "label",
    "tag",
    "hit",
    "miss",
    "invalid",
    "unexpected",
    "expected",
    "unknown",
    "missing",
    "keyboard",
    "left",
    "right",
    "esc",
    "enter",
    "tab",
    "shift",
    "ctrl",
    "alt",
    "meta",
    "function",
    "resource",
    "document",
    "doc",
    "file",
    "image",
    "artifact",
    "etag",
    "commit",
    "lock",
    "mutex",
    "semaphore",
    "window",
    "answer",
    "music",
    "turn",
    "the",
    "a",
    "this",
    "that",
    "no",
    "not",
    "new",
    "same",
    "other",
    "verification",
    "verify",
    "verifying",
    "validation",
    "checksum",
    "integrity",
    "content",
    "blob",
    "layer",
    "branch",
    "repo",
    "package",
    "build",
    "subject",
    "authority",
    "identifier",
    "host",
    "hosts",
    "upload",
    "item",
    "i18n",
    "enum",
    "symbol",
    "lexer",
    "syntax",
    "comment",
    "operator",
];

/// Names whose whole is a password.
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "pwd",
    "passcode",
    "pw",
    "pass",
    "contrasena",
    "motdepasse",
    "senha",
    "kennwort",
    "wachtwoord",
    "passord",
    "adgangskode",
    "salasana",
    "psk",
];

/// What a `key` is for that opens something.
const OPENING: &[&str] = &[
    "api",
    "secret",
    "private",
    "access",
    "signing",
    "encryption",
    "account",
    "shared",
    "master",
    "service",
    "deploy",
    "license",
    "admin",
    "auth",
    "app",
    "application",
    "client",
    "consumer",
    "subscription",
    "server",
    "root",
    "live",
    "prod",
    "production",
    "storage",
    "webhook",
    "hmac",
    "jwt",
    "ssh",
    "session",
    "cookie",
    "bot",
    "write",
    "ingest",
    "ingestion",
    "integration",
    "user",
    "personal",
    "team",
    "org",
    "organization",
    "project",
    "function",
    "sas",
    "crypt",
    "decryption",
    "aes",
    "rsa",
    "pgp",
    "gpg",
    "internal",
    "security",
    "apikey",
    "functions",
    "signature",
];

/// What the value beside a name is; none when the name speaks of no secret.
pub(crate) fn classify(identifier: &[u8]) -> Option<Strength> {
    if prose::is_word(identifier) {
        return Some(Strength::Password);
    }
    // What a page has in its attributes, every browser has.
    if identifier.starts_with(b"data-") {
        return None;
    }
    let words = words(identifier);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (at, found) = words.iter().enumerate().rev().find_map(|(at, word)| Some((at, strength_of(word)?)))?;
    let before = words.get(..at).unwrap_or_default();
    let after = words.get(at + 1..).unwrap_or_default();
    let last = before.last().copied().unwrap_or_default();
    if after.iter().any(|word| ABOUT.contains(word)) {
        return None;
    }
    let word = words.get(at).copied().unwrap_or_default();
    match found {
        Strength::Password => {
            // `bypass` and `compass` are words of their own; `pass` and `pw` alone are too short to say much.
            let short = matches!(word, "pass" | "pw" | "pwd");
            if short && after.is_empty() && before.is_empty() && identifier.len() == word.len() {
                return Some(Strength::Strong);
            }
            let no = [
                "no", "is", "has", "forgot", "reset", "change", "invalid", "wrong", "hash", "show", "hide", "require",
                "requires", "first", "one", "last", "test", "tests",
            ];
            (!no.contains(&last)).then_some(Strength::Password)
        }
        // What a pattern is called as well.
        Strength::Strong if word == "pat" && before.is_empty() => Some(Strength::Medium),
        Strength::Strong => (!matches!(last, "public" | "pub" | "publishable" | "no" | "is" | "has" | "csrf" | "xsrf"))
            .then_some(Strength::Strong),
        Strength::Medium | Strength::Weak => {
            if HARMLESS.contains(&last) {
                return None;
            }
            if before.iter().any(|word| {
                matches!(*word, "public" | "pub" | "csrf" | "xsrf" | "idempotency" | "cache" | "pagination")
            }) {
                return None;
            }
            let opening = OPENING.contains(&last) || before.iter().any(|word| OPENING.contains(word));
            // `STRIPE_KEY`, `NPM_TOKEN`: a setting named after somebody's service.
            let setting = !before.is_empty() && identifier.iter().all(|byte| !byte.is_ascii_lowercase());
            match word {
                "key" | "keys" if opening => Some(Strength::Strong),
                "key" | "keys" if setting => Some(Strength::Medium),
                "key" | "keys" => Some(Strength::Weak),
                "token" | "tokens"
                    if opening || setting || matches!(last, "refresh" | "bearer" | "id" | "oauth" | "bot") =>
                {
                    Some(Strength::Strong)
                }
                _ => Some(found),
            }
        }
    }
}

/// Whether a name is that of what a role of Vault is entered with: it looks like an id and is called one, and is a secret.
pub(crate) fn is_secret_id(identifier: &[u8]) -> bool {
    if identifier.len() < 8 || !matches!(identifier, [.., b'i' | b'I', b'd' | b'D']) {
        return false;
    }
    let words = words(identifier);
    // What Azure calls so is the number of a secret.
    let ends = words.iter().rev().map(String::as_str).take(3).collect::<Vec<_>>();
    matches!(ends.as_slice(), ["id", "secret", rest @ ..] if !rest.contains(&"client"))
}

fn strength_of(word: &str) -> Option<Strength> {
    if PASSWORDS.contains(&word) {
        return Some(Strength::Password);
    }
    // `pgpassword`, `dbpasswd`, `userpwd`: one word in capitals.
    if ["password", "passwd", "passphrase", "pwd"].iter().any(|end| word.ends_with(end)) {
        return Some(Strength::Password);
    }
    if word.ends_with("secret")
        || word.ends_with("apikey")
        || word.ends_with("secretkey")
        || word.ends_with("accesskey")
    {
        return Some(Strength::Strong);
    }
    match word {
        "secrets" | "apikeys" | "authkey" | "authtoken" | "accesstoken" | "privatekey" | "sharedkey" | "accountkey"
        | "pat" | "mnemonic" => Some(Strength::Strong),
        "token" | "tokens" | "credential" | "credentials" | "creds" | "cred" | "jwt" | "bearer" | "pepper"
        | "authorization" | "sharedaccesskey" => Some(Strength::Medium),
        "key" | "keys" | "auth" | "session" | "sessionid" | "sid" | "cookie" | "sig" => Some(Strength::Weak),
        _ if word.ends_with("token") && word.len() > 6 => Some(Strength::Medium),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_secrets_are_told_from_others() {
        for name in ["secret_id", "SECRET_ID", "secretId", "secretID", "vault.secret-id", "APPROLE_SECRET_ID"] {
            assert!(is_secret_id(name.as_bytes()), "{name}");
        }
        for name in
            ["id", "secret", "secret_id_accessor", "secret_ids", "session_id", "client_secret_id", "secretKeyId", "_id"]
        {
            assert!(!is_secret_id(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_say_what_their_values_are() {
        use Strength::{Medium, Password, Strong, Weak};
        for (name, expected) in [
            ("password", Some(Password)),
            ("DB_PASSWORD", Some(Password)),
            ("PGPASSWORD", Some(Password)),
            ("spring.datasource.password", Some(Password)),
            ("passwordConfirm", Some(Password)),
            ("OPENAI_API_KEY", Some(Strong)),
            ("x-api-key", Some(Strong)),
            ("apikey", Some(Strong)),
            ("clientSecret", Some(Strong)),
            ("aws_secret_access_key", Some(Strong)),
            ("SECRET_KEY_BASE", Some(Strong)),
            ("access_token", Some(Strong)),
            ("NPM_TOKEN", Some(Strong)),
            ("STRIPE_KEY", Some(Medium)),
            ("token", Some(Medium)),
            ("key", Some(Weak)),
            ("session", Some(Weak)),
            ("public_key", None),
            ("sshPublicKey", None),
            ("primary_key", None),
            ("cache_key", None),
            ("idempotency-key", None),
            ("key_id", None),
            ("AWS_ACCESS_KEY_ID", None),
            ("secretName", None),
            ("token_count", None),
            ("max_tokens", None),
            ("tokenizer", None),
            ("next_page_token", None),
            ("nextPageToken", None),
            ("password_hash", None),
            ("password_file", None),
            ("csrf_token", None),
            ("keyboard", None),
            ("monkey", None),
            ("author", None),
            ("token_type", None),
            ("secret_arn", None),
        ] {
            assert_eq!(classify(name.as_bytes()), expected, "{name}");
        }
    }
}
