use super::{Plan, assert_cuts, elements_of, lines_of};
use crate::import::frame::elements::Elements;
use crate::import::frame::lines::Lines;
use crate::import::responses::{Responses, identify, is_lines};
use samite_model::EntryKind;
use std::path::Path;

const PATH: &str = "/x/exports/july/chat.jsonl";
const DOCUMENT: &str = "/x/exports/july/chat.json";

fn lines(text: &[u8]) -> Plan {
    assert!(is_lines(Path::new(PATH), text).unwrap());
    lines_of(identify(Path::new(PATH), &mut Lines::new(text)).unwrap().unwrap(), text)
}

fn document(text: &[u8]) -> Plan {
    elements_of(identify(Path::new(PATH), &mut Elements::new(text)).unwrap().unwrap(), text)
}

/// "hello" in base64.
const HELLO: &str = "aGVsbG8=";

#[test]
fn items_become_messages_and_steps_and_what_they_hold_is_attached() {
    let text = [
        format!("{{\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":\"see\"}},{{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,{HELLO}\"}},{{\"type\":\"input_file\",\"filename\":\"a.pdf\",\"file_data\":\"data:application/pdf;base64,aGk=\"}},{{\"type\":\"input_image\",\"image_url\":\"https://example.com/a.png\"}}]}}"),
        "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}".to_owned(),
        "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"look\",\"arguments\":\"{\\\"a\\\":1}\"}".to_owned(),
        format!("{{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":[{{\"type\":\"input_image\",\"image_url\":\"data:image/jpeg;base64,{HELLO}\"}}]}}"),
        "{\"type\":\"shell_call\",\"id\":\"sh_1\",\"call_id\":\"c2\",\"action\":{\"commands\":[\"x\"]}}".to_owned(),
        "{\"type\":\"shell_call_output\",\"call_id\":\"c2\",\"output\":[{\"stdout\":\"\",\"outcome\":{\"type\":\"exit\",\"exit_code\":2}}]}".to_owned(),
        "{\"type\":\"mcp_call\",\"id\":\"mcp_1\",\"name\":\"find\",\"arguments\":\"{}\",\"output\":\"x\",\"error\":null}".to_owned(),
        "{\"type\":\"mcp_call\",\"id\":\"mcp_2\",\"name\":\"find\",\"arguments\":\"{}\",\"output\":null,\"error\":\"no\"}".to_owned(),
        format!("{{\"type\":\"image_generation_call\",\"id\":\"ig_1\",\"result\":\"{HELLO}\",\"output_format\":\"webp\"}}"),
        "{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\"}".to_owned(),
        "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"ok\"}]}".to_owned(),
        "{\"type\":\"computer_call\",\"id\":\"cu_1\",\"call_id\":\"c3\",\"action\":{\"type\":\"click\"}}".to_owned(),
        "{\"type\":\"message\",\"id\":\"msg_2\",\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"file_data\":\"no base64!\"}]}".to_owned(),
        "{\"type\":\"something_new\",\"x\":1}".to_owned(),
    ]
    .join("\n");
    let plan = lines(text.as_bytes());
    assert_eq!((plan.key.as_str(), plan.counts()), ("responses:exports/july/chat.jsonl", (14, 0, 0)));
    assert_eq!(plan.codes(), [(12, "in_doubt"), (13, "attachment_unreadable")]);
    let ended: Vec<_> = plan.ended.iter().map(|(line, id, failed)| (*line, id.as_str(), *failed)).collect();
    assert_eq!(ended, [(4, "c1", false), (6, "c2", true), (7, "mcp_1", false), (8, "mcp_2", true)]);
    let attached: Vec<_> = plan
        .attached
        .iter()
        .map(|(line, one)| (*line, one.name.as_str(), one.mime.as_deref(), one.bytes.as_slice()))
        .collect();
    let expected: [(u64, &str, Option<&str>, &[u8]); 4] = [
        (1, "image-ea8f163db386.png", Some("image/png"), b"hello"),
        (1, "a.pdf", Some("application/pdf"), b"hi"),
        (4, "image-ea8f163db386.jpeg", Some("image/jpeg"), b"hello"),
        (9, "image-ea8f163db386.webp", Some("image/webp"), b"hello"),
    ];
    assert_eq!(attached, expected);
    assert_eq!(plan.entries[0].attributes, "{\"attachments\":2}");
    assert_eq!(plan.context(0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    assert_cuts::<Responses>(text.as_bytes(), 300, |text| {
        lines_of(identify(Path::new(PATH), &mut Lines::new(text)).unwrap().unwrap(), text)
    });
}

#[test]
fn names_and_types_of_attachments_are_what_an_item_says_where_that_can_be_one() {
    let named = |name: &str, head: &str| {
        let part = serde_json::json!({ "type": "input_file", "filename": name, "file_data": format!("{head}{HELLO}") });
        let item = serde_json::json!({ "type": "message", "role": "user", "content": [part] });
        let plan = lines(format!("{item}\n").as_bytes());
        let (_, found) = plan.attached.into_iter().next().unwrap();
        (found.name, found.mime)
    };
    let hash = "ea8f163db386";
    let long = "x".repeat(300);
    let table = [
        ("../../etc/passwd", "data:text/plain;base64,", "passwd".to_owned(), Some("text/plain")),
        ("C:\\a\\b.txt", "data:text/plain;charset=utf-8;base64,", "b.txt".to_owned(), Some("text/plain")),
        ("a\u{1b}[31m\nb", "", "a[31mb".to_owned(), None),
        ("..", "data:application/zip;base64,", format!("file-{hash}.zip"), Some("application/zip")),
        ("  ", "data:image/svg+xml;base64,", format!("image-{hash}.svg"), Some("image/svg+xml")),
        ("", "data:application/vnd.ms-excel;base64,", format!("file-{hash}"), Some("application/vnd.ms-excel")),
        ("", "data:;base64,", format!("file-{hash}"), None),
        ("", "data:no type;base64,", format!("file-{hash}"), None),
        (long.as_str(), "", "x".repeat(120), None),
    ];
    for (name, head, right, mime) in table {
        assert_eq!(named(name, head), (right, mime.map(str::to_owned)), "{name:?} {head:?}");
    }
}

#[test]
fn a_response_is_a_document_whose_lists_hold_items() {
    let text =
        "{\n \"id\": \"resp_1\", \"object\": \"response\", \"model\": \"m\", \"input\": \"hi\",\n \"output\": [\n"
            .to_owned()
            + " {\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"look\",\"arguments\":\"{}\"},\n"
            + " {\"type\":\"function_call_output\",\"id\":\"fo_1\",\"call_id\":\"c1\",\"output\":\"x\"}\n ],\n \"usage\": {\"total_tokens\": 3}\n}";
    assert!(!is_lines(Path::new(DOCUMENT), text.as_bytes()).unwrap());
    let plan = document(text.as_bytes());
    assert_eq!((plan.key.as_str(), plan.counts(), plan.codes()), ("responses:resp_1", (7, 0, 0), vec![]));
    assert_eq!((plan.context(0), plan.ended.len()), (vec![4, 5, 6], 1));
    assert_cuts::<Responses>(text.as_bytes(), 150, document);
    let list = "{\"object\":\"list\",\"data\":[{\"type\":\"message\",\"id\":\"m\",\"role\":\"user\",\"content\":[]}]}";
    assert_eq!(
        (is_lines(Path::new(DOCUMENT), list.as_bytes()).unwrap(), document(list.as_bytes()).counts()),
        (false, (2, 0, 0))
    );
    let bare = "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]";
    assert_eq!(
        (is_lines(Path::new(DOCUMENT), bare.as_bytes()).unwrap(), document(bare.as_bytes()).context(0)),
        (false, vec![1, 2])
    );
}

#[test]
fn two_responses_to_one_are_branches() {
    let response = |id: &str, before: &str, call: &str| {
        let call = format!("{{\"type\":\"function_call\",\"id\":\"f{id}\",\"call_id\":\"{call}\",\"name\":\"t\"}}");
        format!("{{\"id\":\"{id}\",\"object\":\"response\",\"previous_response_id\":{before},\"output\":[{call}]}}\n")
    };
    let output =
        |call: &str| format!("{{\"type\":\"function_call_output\",\"call_id\":\"{call}\",\"output\":\"x\"}}\n");
    let text = response("r1", "null", "c1")
        + &output("c1")
        + &response("r2", "\"r1\"", "c2")
        + &output("c2")
        + &response("r3", "\"r1\"", "c3")
        + &response("r4", "\"r3\"", "c4")
        + &response("r5", "\"gone\"", "c5");
    let plan = lines(text.as_bytes());
    assert_eq!(plan.forks, [(0, 1, 1, 5)]);
    let expected = [(5, "in_doubt"), (6, "in_doubt"), (7, "target_missing"), (7, "in_doubt")];
    assert_eq!((plan.codes(), plan.count(EntryKind::MODEL_RESPONSE)), (expected.to_vec(), 5));
}

#[test]
fn an_item_that_is_told_again_is_no_second_step() {
    let item = |status: &str| {
        format!(
            "{{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":\"c\",\"name\":\"t\",\"status\":\"{status}\"}}\n"
        )
    };
    let text = item("in_progress") + &item("completed") + &item("completed");
    let plan = lines(text.as_bytes());
    assert_eq!((plan.counts(), plan.started.len()), ((2, 1, 0), 1));
    assert_eq!(plan.codes(), [(1, "in_doubt"), (3, "repeated")]);
}

#[test]
fn what_holds_no_item_is_refused() {
    for text in ["{}", "{\"a\":[]}", "[1,2]", "words", "{\"name\":\"x\"}\n{\"name\":\"y\"}\n"] {
        let found = if is_lines(Path::new(DOCUMENT), text.as_bytes()).unwrap() {
            identify(Path::new(PATH), &mut Lines::new(text.as_bytes())).unwrap()
        } else {
            identify(Path::new(PATH), &mut Elements::new(text.as_bytes())).unwrap()
        };
        assert!(found.is_none(), "{text}");
    }
}

const RESPONSE: &str = "{\"id\":\"r1\",\"object\":\"response\",\"conversation\":{\"id\":\"v\"},\"output\":[]}\n";

#[test]
fn a_log_keeps_its_session_while_it_grows() {
    let one = RESPONSE.replace("\"conversation\":{\"id\":\"v\"},", "");
    let two = one.clone() + &one.replace("r1", "r2");
    // What the first record does not say may come with any that is added.
    let three = two.clone() + RESPONSE;
    for text in [&one, &two, &three] {
        assert_eq!(lines(text.as_bytes()).key, "responses:exports/july/chat.jsonl", "{text}");
    }
    assert_eq!(lines((RESPONSE.to_owned() + &one).as_bytes()).key, "responses:v");
    // By its name, one line may be a document; two are none.
    assert!(!is_lines(Path::new(DOCUMENT), one.as_bytes()).unwrap());
    assert!(is_lines(Path::new(DOCUMENT), two.as_bytes()).unwrap());
}

#[test]
fn a_torn_first_line_does_not_hide_the_others() {
    let item = "{\"type\":\"message\",\"role\":\"user\",\"content\":\"a, b\"}\n";
    for torn in ["{\"type\":\"message\",\"ro", "ser\",\"content\":\"a\"}", "[1]", "{\"type\":\"message\","] {
        let plan = lines(format!("{torn}\n{item}{item}").as_bytes());
        assert_eq!((plan.counts().0, plan.counts().2, plan.codes()[0].0), (2, 1, 1), "{torn}");
    }
    // Documents have objects on lines of their own as well.
    let object = "{\"role\":\"user\",\"content\":\"a\"}";
    let response = "\"object\":\"response\"";
    for text in [
        format!("[\n{object}\n]"),
        format!("[{object},\n{object}\n]"),
        format!("[\n{object}\n,{object}\n]"),
        format!("{{\"id\":\"r\",{response},\n\"output\":[\n{object},\n\n{object}\n]}}"),
        format!("{{\"id\":\"r\",{response},\"error\":\n{{\"a\":1}}\n,\"output\":[{object}]\n}}"),
    ] {
        assert!(!is_lines(Path::new(PATH), text.as_bytes()).unwrap(), "{text}");
        document(text.as_bytes());
    }
}
