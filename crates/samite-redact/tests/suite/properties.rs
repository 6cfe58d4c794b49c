//! What holds for every input.

use crate::lot::Lot;
use crate::score::{keyed, redactor};
use proptest::prelude::*;
use samite_redact::{Mode, Pattern, Policy, Redactor, Registered, Stream, Units};
use std::sync::Arc;

/// Pieces that texts are put together from: secrets, halves of them, marks that begin or end something.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 _.,:;=&%/+\\-\"'\\\\\\[\\]{}\n]{0,12}",
        Just("ghp_16C7e42F292c6912E7710c838347Ae178B4a".to_owned()),
        Just("ghp_16C7e42F292c69".to_owned()),
        Just("AKIAQ3EGRKZ5JH7XWN4T".to_owned()),
        Just("password=".to_owned()),
        Just("\"token\": \"".to_owned()),
        Just("{\"password\":\"hunter2!\"}".to_owned()),
        Just("[1,{\"a\":\"".to_owned()),
        Just("\"}]".to_owned()),
        Just("kR9wPq2LmXv7TzBn4YcD8sHf".to_owned()),
        Just("[secret:github-token:3f9a2c1b:40]".to_owned()),
        Just("[secret:".to_owned()),
        Just("postgres://u:kR9wPq2L@h/d".to_owned()),
        Just("REJfUEFTU1dPUkQ9aHVudGVyMiE=".to_owned()),
        Just("%41%4b".to_owned()),
        Just("\u{1b}[31m".to_owned()),
        Just("data: {\"delta\":\"ghp_16C7e42F292c691\"}\n".to_owned()),
        Just("data: {\"delta\":\"2E7710c838347Ae178B4a\"}\n\n".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".to_owned()),
        Just("-----END PRIVATE KEY-----\n".to_owned()),
        Just("a@b.example +1 212-555-0123 4111 1111 1111 1111 ".to_owned()),
        Just("éß日本".to_owned()),
        Just("key = \"-----BEGIN RSA PRIVATE KEY-----\\n\" +\n".to_owned()),
        Just("  \"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\\n\" +\n".to_owned()),
        Just("[\"+-----BEGIN PRIVATE KEY-----\",\"+MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAg\",".to_owned()),
        Just("AKIAQ3EGRKZ5JH7XWN4TAKIAQ3EGRKZ5JH7XWN4T".to_owned()),
        Just("- value: kR9wPq2LmXv7Tz\n".to_owned()),
        Just("  name: DB_PASSWORD\n".to_owned()),
        Just("{\"value\":\"kR9wPq2LmXv7Tz\",\"name\":\"DB_PASSWORD\"}".to_owned()),
        Just("machine x\n login y\n".to_owned()),
        Just("  password kR9wPq!LmXv\n".to_owned()),
        Just("\ndb:5432:shop:app:kR9wPq2LmX\n".to_owned()),
        Just("das Passwort für root lautet kR9wPq2LmX".to_owned()),
        Just("密码是kR9wPq2LmX".to_owned()),
        Just("n4Yc\nD8sK\n".to_owned()),
        Just("\nn4Yc\n".to_owned()),
        Just("{\n  \"args\": [\"--password\",\n".to_owned()),
        Just("  \"kR9wPq2LmXv7TzBn4YcD8sHf\"\n]}\n".to_owned()),
        Just("dGhlIHRva2VuIGlzIGdocF8xNkM3ZTQyRjI5\nMmM2OTEyRTc3MTBjODM4MzQ3QWUxNzhCNGEs\nIGFuZA==\n".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..14).prop_map(|pieces| pieces.concat())
}

fn everything() -> Redactor {
    let policy = Policy {
        pii: Mode::Redact,
        patterns: vec![Pattern { name: "own".to_owned(), expression: "[a-c]x[0-9]".to_owned() }],
        ..Policy::default()
    };
    let registered = [
        Registered { name: "mine".to_owned(), secret: b"n4YcD8s".to_vec() },
        Registered { name: "lines".to_owned(), secret: b"n4Yc\nD8sK".to_vec() },
    ];
    Redactor::new(&policy, &registered, Arc::new(keyed)).unwrap()
}

fn streamed(redactor: &Redactor, units: &Units, text: &[u8], cuts: &[usize]) -> (Vec<u8>, usize) {
    let mut stream = Stream::new(redactor, units.clone());
    let (mut out, mut found) = (Vec::new(), Vec::new());
    let mut at = 0;
    for cut in cuts {
        let cut = (*cut).clamp(at, text.len());
        stream.push(&text[at..cut], &mut out, &mut found);
        at = cut;
    }
    stream.push(&text[at..], &mut out, &mut found);
    stream.finish(&mut out, &mut found);
    (out, found.len())
}

/// The shape of a document: what is left of it when its strings are emptied.
fn shape(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(_) => Value::String(String::new()),
        Value::Array(items) => Value::Array(items.iter().map(shape).collect()),
        Value::Object(fields) => Value::Object(fields.iter().map(|(key, value)| (key.clone(), shape(value))).collect()),
        other => other.clone(),
    }
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        text().prop_map(Value::String),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(
                (prop_oneof![Just("password"), Just("id"), Just("text"), Just("timestamp"), Just("a")], inner.clone()),
                0..4
            )
            .prop_map(|fields| Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
            inner.prop_map(|value| Value::String(value.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn redacting_again_changes_nothing(text in text()) {
        let redactor = everything();
        if let Some(once) = redactor.redact(text.as_bytes()).bytes {
            let twice = redactor.redact(&once);
            prop_assert_eq!(twice.bytes, None, "{}", String::from_utf8_lossy(&once));
        }
    }

    #[test]
    fn text_stays_text_and_keeps_what_is_no_finding(text in text()) {
        let redacted = everything().redact(text.as_bytes());
        if let Some(out) = redacted.bytes {
            prop_assert!(String::from_utf8(out).is_ok());
            prop_assert!(redacted.findings.iter().any(|one| one.redacted));
        }
    }

    #[test]
    fn json_stays_json_of_the_same_shape(document in document()) {
        let before = serde_json::to_string(&document).unwrap();
        // A text that is a number and nothing else is a text: it may be that of a card.
        if !document.is_number() && let Some(out) = everything().redact(before.as_bytes()).bytes {
            let after: serde_json::Value = serde_json::from_slice(&out).unwrap();
            prop_assert_eq!(shape(&after), shape(&document));
        }
    }

    #[test]
    fn every_split_gives_the_same(text in text(), cuts in prop::collection::vec(0_usize..400, 0..8), units in prop_oneof![Just(Units::Text), Just(Units::Documents), Just(Units::Fields(vec!["text".to_owned()]))]) {
        let redactor = everything();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let whole = streamed(&redactor, &units, text.as_bytes(), &[]);
        prop_assert_eq!(streamed(&redactor, &units, text.as_bytes(), &cuts), whole.clone());
        let single: Vec<usize> = (0..text.len()).collect();
        prop_assert_eq!(streamed(&redactor, &units, text.as_bytes(), &single), whole);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let redactor = everything();
        let _ = redactor.redact(&bytes);
        let _ = redactor.redact_field(b"password", &bytes);
        let _ = redactor.redact_only(&["a".to_owned()], &bytes);
    }

    #[test]
    fn no_text_of_marks_makes_it_panic(bytes in "[\\[\\]{}\":,\\\\%=&@/ \n\u{1b}a1-]{0,200}") {
        let _ = everything().redact(bytes.as_bytes());
    }
}

#[test]
fn long_lines_are_cut_the_same_for_every_split() {
    let redactor = redactor(Mode::Off, Mode::Redact);
    let mut lot = Lot::new(5);
    for blank in [" ", ",", ""] {
        // A secret lies where the first unit is cut.
        let mut text = String::new();
        while text.len() < samite_redact::UNIT - 20 {
            text.push_str(&lot.of("abcdefgh", 9));
            text.push_str(blank);
        }
        text.truncate(samite_redact::UNIT - 20);
        text.push_str(" ghp_16C7e42F292c6912E7710c838347Ae178B4a ");
        text.push_str(&"word ".repeat(300_000));
        let whole = streamed(&redactor, &Units::Text, text.as_bytes(), &[]);
        assert_eq!(whole.1, 1, "{:?}", redactor.redact(text.as_bytes()).findings);
        assert!(!String::from_utf8_lossy(&whole.0).contains("ghp_"));
        for step in [1000, 77_777, 1 << 20] {
            let cuts: Vec<usize> = (0..text.len()).step_by(step).collect();
            assert!(streamed(&redactor, &Units::Text, text.as_bytes(), &cuts) == whole, "{step}");
        }
    }
}

/// What belongs together in a text of lines is one unit of it.
#[test]
fn lines_that_belong_together_are_looked_at_together() {
    let registered = [Registered { name: "deploy".to_owned(), secret: b"first line of it\nand the second".to_vec() }];
    let policy = Policy { pii: Mode::Off, ..Policy::default() };
    let redactor = Redactor::new(&policy, &registered, Arc::new(keyed)).unwrap();
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let mut wrapped = String::new();
    for before in 0..120 {
        let body = format!("{}{token}{}", "word ".repeat(before), " word".repeat(30));
        let whole = data_encoding::BASE64.encode(body.as_bytes());
        let lines: Vec<&str> = whole.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
        wrapped = format!("key:\n{}\nnext\n", lines.join("\n"));
        let (out, found) = streamed(&redactor, &Units::Text, wrapped.as_bytes(), &[]);
        assert_eq!(
            (out.starts_with(b"key:\n[secret:github-token:"), out.ends_with(b"\nnext\n"), found),
            (true, true, 1)
        );
    }
    for (text, expected) in [
        (wrapped.as_str(), 1),
        ("first line of it\nand the second\n", 1),
        ("first line of it\r\nand the second\r\n", 1),
        ("first line of it\nand another\n", 0),
        ("{\n  \"name\": \"DB_PASSWORD\",\n  \"value\": \"kR9wPq2LmXv7Tz\"\n}\n", 1),
        ("{\n \"args\": [\n  \"--password\",\n  \"kR9wPq2LmXv7Tz\"\n ]\n}\nplain\n", 1),
        ("{\n \"args\": [\n  \"curl\", \"-u\",\n  \"svc:kR9wPq2LmXv7Tz\"\n ]\n}\n", 1),
        ("env:\n- name: DB_PASSWORD\n  value: kR9wPq2LmXv7Tz\n- name: LEVEL\n  value: kR9wPq2LmXv7Tz\n", 1),
        ("- name: \"DB_PASSWORD\"\r\n  value: \"kR9wPq2LmXv7Tz\"\r\n", 1),
        ("{\n  not JSON\n}\n-----BEGIN PRIVATE KEY-----\n", 0),
    ] {
        let whole = streamed(&redactor, &Units::Text, text.as_bytes(), &[]);
        assert_eq!(whole.1, expected, "{text}: {}", String::from_utf8_lossy(&whole.0));
        let single: Vec<usize> = (0..text.len()).collect();
        assert_eq!(streamed(&redactor, &Units::Text, text.as_bytes(), &single), whole);
    }
    // A document that is longer than a unit.
    let long = format!("[{}\"--password\", \"kR9wPq2LmXv7Tz\"]\n", "\"word\", ".repeat(150_000));
    assert_eq!(streamed(&redactor, &Units::Text, long.as_bytes(), &[]).1, 1);
}

/// What is as short as a time is looked at, and what is decoded is looked at whatever its bytes are.
#[test]
fn what_was_once_passed_over_is_found() {
    let registered = [
        Registered { name: "words".to_owned(), secret: b"correct horse battery".to_vec() },
        Registered { name: "id".to_owned(), secret: b"123e4567-e89b-12d3-a456-426614174000".to_vec() },
    ];
    let policy = Policy { pii: Mode::Off, ..Policy::default() };
    let redactor = Redactor::new(&policy, &registered, Arc::new(keyed)).unwrap();
    let encoded = |bytes: &[u8]| format!("{{\"base64\":\"{}\"}}", data_encoding::BASE64.encode(bytes));
    let long = [vec![b'x'; 2 << 20], b" token=ghp_16C7e42F292c6912E7710c838347Ae178B4a".to_vec()].concat();
    for text in [
        "2026-02-12 AKIAQ3EGRKZ5JH7XWN4T".to_owned(),
        "2026-02-12 password=Xk9!qPz7wLm2".to_owned(),
        r#"{"text":"2026-01-01 correct horse battery"}"#.to_owned(),
        r#"{"api_key":"123e4567-e89b-12d3-a456-426614174000"}"#.to_owned(),
        encoded(b"caf\xe9\nGITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a\n"),
        encoded(b"10%\x08\x08\x0820% of the work\nGITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a\n"),
        encoded(b"cut within a character \xe2\x82 and ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
        encoded(
            &"GITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a"
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>(),
        ),
        encoded(&long),
        r#"["curl","-u","svc:kR9wPq2LmXv7Tz","https://x.example"]"#.to_owned(),
        "\x1b]0;run ghp_16C7e42F292c6912E7710c838347Ae178B4a\x07$ ".to_owned(),
        "\x1b]8;;https://x.example/?access_token=ghp_16C7e42F292c6912E7710c838347Ae178B4a\x1b\\link\x1b]8;;\x1b\\"
            .to_owned(),
        "postgres://u:kR9wPq[secret:a:00112233:4]2LmXv7@db.example/x".to_owned(),
        "password=\"Zebra7[secret:a:00112233:4]-Lamp-9x\"".to_owned(),
        r#"{"secret_id":"123e4567-e89b-12d3-a456-426614174001"}"#.to_owned(),
        r#"{"value":"kR9wPq2LmXv7Tz","name":"DB_PASSWORD"}"#.to_owned(),
        r#"[["X-Api-Key","kR9wPq2LmXv7TzBn4YcD8sHf"]]"#.to_owned(),
    ] {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(redactor.redact(text.as_bytes()).findings.len(), 1, "{shown}");
    }
    // Where decoding has come to its bound, what is left is looked at as it stands.
    let mut nested = "x\\\"".to_owned();
    for _ in 0..9 {
        nested = serde_json::to_string(&[nested]).unwrap();
    }
    let decoys = vec![nested; 3000];
    let text =
        serde_json::json!({"a": decoys, "b": "the\ntoken=ghp_16C7e42F292c6912E7710c838347Ae178B4a\n"}).to_string();
    assert_eq!(redactor.redact(text.as_bytes()).findings.len(), 1);
}

/// What is nested without end, or decodes to more and more, ends.
#[test]
fn hostile_inputs_end() {
    let redactor = everything();
    let mut nested = "x".to_owned();
    for _ in 0..12 {
        nested = serde_json::to_string(&[nested]).unwrap();
    }
    for text in [
        "[".repeat(200_000),
        "{\"a\":".repeat(200_000),
        nested,
        "\"".repeat(200_000),
        "\\".repeat(200_000),
        "%25".repeat(100_000),
        "data: {\"text\":\"a\"}\n".repeat(20_000),
        "-----BEGIN PRIVATE KEY-----\n".repeat(5_000),
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(500),
        "MIIEpAIBAAKCAQEAkR9wPq2LmXv7TzBn4YcD8sHf ".repeat(3_000),
        format!("[{}\"\"]", "\"-----BEGIN PRIVATE KEY-----\",".repeat(3_000)),
        "\"name\":\"password\",".repeat(10_000),
        "name:password,".repeat(10_000),
        "the password for a b c d e f ".repeat(5_000),
        "mnemonic abc abc abc abc abc ".repeat(5_000),
        "echo a | sudo -S chpasswd identified by ' redis-cli -a ".repeat(1_000),
        "a:*:b:*:".repeat(20_000),
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a".repeat(500),
        "password=".repeat(30_000),
        "://:@".repeat(50_000),
        "eyJ".repeat(80_000),
        "a".repeat(2_000_000),
        "a@".repeat(100_000),
        "1".repeat(300_000),
        "1 ".repeat(200_000),
        "\u{1b}[".repeat(100_000),
        data_encoding::BASE64.encode(&b"n4YcD8s".repeat(60_000)),
        format!("{}\n", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b".repeat(2)).repeat(20_000),
        format!("{}\n", data_encoding::BASE64.encode(&[b'x'; 57])).repeat(20_000),
    ] {
        let _ = redactor.redact(text.as_bytes());
    }
}
