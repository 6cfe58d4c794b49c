//! Single cases that went wrong elsewhere.

use crate::score::redactor;
use samite_redact::Mode;

fn out(text: &str) -> String {
    let redacted = redactor(Mode::Redact, Mode::Redact).redact(text.as_bytes());
    redacted.bytes.map_or_else(|| text.to_owned(), |bytes| String::from_utf8(bytes).unwrap())
}

/// A redactor that rewrote times and ids made sessions unreadable.
#[test]
fn times_ids_and_numbers_stay() {
    let text = r#"{"sessionId":"4d5611e5-241a-462a-8d15-5122611a9569","timestamp":"2026-02-12T16:02:25.227Z","id":"msg_01PdWvcjJ6E9BgscDveYt9YV","tool_use_id":"toolu_01UwLnYYWGBvukzh1QE6JpfM","count":4111111111111111,"created_at":"2026-02-12 16:02:25","requestId":"req_011CXxkR9wPq2LmXv7TzBn4Y"}"#;
    assert_eq!(out(text), text);
}

/// A masked field that no longer was of its type did not load again.
#[test]
fn a_masked_field_is_a_string_still() {
    let text = r#"{"api_key":"q7w8e9r1t2y3u4i5o6p7","port":5432}"#;
    let masked: serde_json::Value = serde_json::from_str(&out(text)).unwrap();
    assert!(masked["api_key"].as_str().unwrap().starts_with("[secret:credential:"));
    assert_eq!(masked["port"], 5432);
}

/// Keys that stood in error messages, dumps of the environment and pasted text were kept.
#[test]
fn keys_in_errors_dumps_and_pastes_go() {
    let key = "sk-ant-api03-kR9wPq2LmXv7TzBn4YcD8sHfkR9wPq2LmXv7TzBn4YcD8sHf-kR9wPq2LmXv7TzBn4AA";
    for text in [
        format!("Error: 401 {{\"error\":{{\"message\":\"invalid x-api-key {key}\"}}}}"),
        format!("declare -x ANTHROPIC_API_KEY=\"{key}\""),
        format!("here: {key}\nplease use it"),
        format!("[sub-agent] env ANTHROPIC_API_KEY={key}"),
    ] {
        let out = out(&text);
        assert!(!out.contains("kR9w") && out.contains("[secret:anthropic-key:"), "{out}");
    }
}
