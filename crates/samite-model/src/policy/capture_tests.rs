//! What is kept, form by form.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// A text that nobody decided anything by.
const SECRET: &str = "qzx-deliberated-17";

fn kept(body: &str) -> (String, u64) {
    let kept = keep(Level::Decisions, EntryKind::MODEL_RESPONSE, body.as_bytes());
    (String::from_utf8(kept.body.into_owned()).unwrap(), kept.dropped)
}

#[test]
fn deliberation_goes_and_the_rest_stays_in_every_providers_form() {
    let table = [
        (
            json!({"content": [{"type": "thinking", "thinking": SECRET, "signature": SECRET}, {"type": "text", "text": "yes"}]}),
            json!({"content": [{"type": "text", "text": "yes"}]}),
        ),
        (json!({"content": [{"type": "redacted_thinking", "data": SECRET}]}), json!({"content": []})),
        (
            json!({"output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET}],
                               "encrypted_content": SECRET}, {"type": "message", "content": "yes"}]}),
            json!({"output": [{"type": "message", "content": "yes"}]}),
        ),
        (
            json!({"choices": [{"message": {"content": "yes", "reasoning_content": SECRET}}]}),
            json!({"choices": [{"message": {"content": "yes"}}]}),
        ),
        (
            json!({"message": {"reasoning": SECRET, "reasoning_details": [{"text": SECRET}], "content": "yes"}}),
            json!({"message": {"content": "yes"}}),
        ),
        (
            json!({"parts": [{"text": SECRET, "thought": true}, {"text": "yes", "thoughtSignature": SECRET}]}),
            json!({"parts": [{"text": "yes"}]}),
        ),
        (json!({"thoughts": [{"subject": SECRET}], "content": "yes"}), json!({"content": "yes"})),
        (
            json!({"type": "event_msg", "payload": {"type": "agent_reasoning", "text": SECRET}}),
            json!({"type": "event_msg", "payload": {"type": "agent_reasoning"}}),
        ),
        (json!({"type": "reasoning", "text": SECRET}), json!({"type": "reasoning"})),
        (
            json!({"action": "run", "args": {"command": "ls", "thought": SECRET}}),
            json!({"action": "run", "args": {"command": "ls"}}),
        ),
        (
            json!({"content": format!("<think>{SECRET}</think>yes<THINKING>{SECRET}</THINKING>!")}),
            json!({"content": "yes!"}),
        ),
        (json!({"content": format!("yes<think>{SECRET}")}), json!({"content": "yes"})),
        (json!({"content": format!("{SECRET}</think>yes")}), json!({"content": "yes"})),
        (json!({"arguments": json!({"q": 1, "reasoning": SECRET}).to_string()}), json!({"arguments": "{\"q\":1}"})),
        // What only says that there was some stays.
        (
            json!({"usage": {"thoughts": 120, "reasoning": false}, "thinking": null, "reasoning": SECRET}),
            json!({"usage": {"thoughts": 120, "reasoning": false}, "thinking": null}),
        ),
    ];
    for (body, expected) in table {
        let (text, dropped) = kept(&body.to_string());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected, "{body}");
        assert!(dropped > 0 && !text.contains(SECRET), "{body}");
        // What was filtered once stays as it is.
        assert_eq!(kept(&text), (text.clone(), 0), "{body}");
    }
}

#[test]
fn what_holds_none_stays_byte_for_byte() {
    for body in [
        "",
        "plain words, I think",
        "a < b and <b>bold</b> and <thinkers>",
        r#"{ "b": 1,  "a": [1.0, 1e2], "n": 123456789012345678901234567890 }"#,
        "{ not json",
        "{\"a\": 1}\n{\"b\": 2}\n",
        "data: {\"type\":\"ping\"}\n\n",
        r#"{"reasoning": null, "thinking": ""}"#,
    ] {
        assert_eq!(kept(body), (body.to_owned(), 0), "{body}");
    }
    let raw = keep(Level::Decisions, EntryKind::MESSAGE, b"\xff\x00 bytes");
    assert_eq!((raw.body.as_ref(), raw.dropped), (&b"\xff\x00 bytes"[..], 0));
}

#[test]
fn streams_are_filtered_line_by_line() {
    let delta =
        |kind: &str| json!({"type": "content_block_delta", "delta": {"type": kind, "text": SECRET}}).to_string();
    let body = format!("event: x\ndata: {}\n\ndata: {{\"type\":\"ping\"}}\n", delta("thinking_delta"));
    let (text, dropped) = kept(&body);
    assert_eq!(dropped, 1);
    assert_eq!(
        text,
        "event: x\ndata: {\"delta\":{\"type\":\"thinking_delta\"},\"type\":\"content_block_delta\"}\n\ndata: {\"type\":\"ping\"}\n"
    );
    // Tags that one line opens and another closes hide what is in between.
    let split = format!("{{\"t\":\"<think>\"}}\n{{\"t\":\"{SECRET}\"}}\n{{\"t\":\"</think>yes\"}}\n");
    assert_eq!(kept(&split), (String::new(), 1));
}

#[test]
fn what_cannot_be_read_and_may_hold_some_goes_whole() {
    assert_eq!(kept(&format!("{{\"thinking\": \"{SECRET}")), (String::new(), 1));
    let deep = format!("{}\"thinking\"{}", "[".repeat(500), "]".repeat(500));
    assert_eq!(kept(&deep), (String::new(), 1));
    let raw = [&b"\xff"[..], SECRET.as_bytes()].concat();
    assert_eq!(keep(Level::Decisions, EntryKind::MODEL_RESPONSE, &raw).body.len(), 0);
    assert_eq!(keep(Level::Decisions, EntryKind::EVENT, b"\xff thinking").body.len(), 0);
    let torn = format!("{{\"a\":1}}\n{{\"thinking\": \"{SECRET}\n");
    assert_eq!(kept(&torn), ("{\"a\":1}\n".to_owned(), 1));
}

#[test]
fn levels_are_by_kind() {
    let capture = Capture {
        others: Level::Decisions,
        kinds: [(EntryKind::MESSAGE, Level::Full), (EntryKind::EVENT, Level::Metadata)].into(),
    };
    assert_eq!(capture.level(EntryKind::MESSAGE), Level::Full);
    assert_eq!(capture.level(EntryKind::EVENT), Level::Metadata);
    assert_eq!(capture.level(EntryKind::MODEL_RESPONSE), Level::Decisions);
    assert_eq!(Capture::default().level(EntryKind::MESSAGE), Level::Full);
    for level in Level::ALL {
        assert_eq!(Level::from_code(level.code()), level);
    }
    assert_eq!(Level::from_code(9), Level::Metadata);
    let metadata = keep(Level::Metadata, EntryKind::EVENT, b"body");
    assert_eq!((metadata.body.len(), metadata.dropped), (0, 1));
    assert_eq!(keep(Level::Full, EntryKind::EVENT, b"<think>x").body.as_ref(), b"<think>x");
}

#[test]
fn metadata_keeps_of_attributes_what_says_nothing_of_the_content() {
    let frame = json!({
        "role": "assistant", "context": "outside", "stream": "stderr", "flaw": "torn", "harness": "codex", "from": 3, "to": 9,
        "record": [0, 12], "lines": [1, 2], "output_of": "0123456789abcdef0123456789abcdef",
    });
    assert_eq!(keep_value(Level::Metadata, frame.clone()), (frame, 0));
    for content in [
        json!({"note": SECRET}),
        json!({"role": SECRET}),
        json!({"stream": ["stdout", SECRET]}),
        json!({"record": [0, SECRET]}),
        json!({"from": {"at": SECRET}}),
        json!({"from": -1.5}),
        json!({"output_of": SECRET}),
        json!({"transcript": "/home/ada/session"}),
        json!({"assistant": "role"}),
        json!([SECRET]),
        json!(SECRET),
    ] {
        assert_eq!(keep_value(Level::Metadata, content.clone()), (json!({}), 1), "{content}");
    }
    let some = json!({"role": "user", "note": SECRET, "thinking": SECRET});
    assert_eq!(keep_value(Level::Metadata, some), (json!({"role": "user"}), 2));
}

/// JSON in which deliberation stands somewhere.
fn anywhere() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!("yes")), Just(json!(1)), Just(json!({"type": "thinking", "thinking": SECRET}))];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            inner.clone().prop_map(|inner| json!({"type": "message", "content": inner})),
            inner.clone().prop_map(|inner| json!({"arguments": inner.to_string()})),
            inner.prop_map(|inner| json!({"reasoning_content": SECRET, "other": inner})),
        ]
    })
}

proptest! {
    #[test]
    fn wherever_it_stands_it_goes(value in anywhere()) {
        let (text, dropped) = kept(&value.to_string());
        prop_assert!(!text.contains(SECRET), "{}", text);
        prop_assert_eq!(dropped > 0, value.to_string().contains(SECRET));
    }

    #[test]
    fn no_input_is_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[<>/thinkTHINK{}\\[\\]\":a ]{0,80}") {
        keep(Level::Decisions, EntryKind::EVENT, &bytes);
        keep(Level::Decisions, EntryKind::MODEL_RESPONSE, text.as_bytes());
    }
}
