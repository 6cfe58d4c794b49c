use super::{Plan, assert_cuts, bytes, elements_of, lines_of, shared};
use crate::import::frame::context::ContextRole;
use crate::import::gemini_cli::{GeminiCli, identify};
use samite_model::EntryKind;
use std::path::Path;

fn planned(text: &[u8]) -> Plan {
    lines_of(identify(Path::new("chats/session-x.jsonl"), text).unwrap().unwrap(), text)
}

const OWN: &str = "{\"sessionId\":\"s1\",\"projectHash\":\"p\",\"kind\":\"main\"}\n";

fn user(id: &str) -> String {
    format!("{{\"id\":\"{id}\",\"type\":\"user\",\"content\":[{{\"text\":\"go\"}}]}}\n")
}

fn gemini(id: &str, content: &str, calls: &str) -> String {
    format!("{{\"id\":\"{id}\",\"type\":\"gemini\",\"content\":\"{content}\",\"toolCalls\":[{calls}]}}\n")
}

fn call(id: &str, status: &str) -> String {
    format!("{{\"id\":\"{id}\",\"name\":\"shell\",\"args\":{{\"command\":\"ls\"}},\"status\":\"{status}\"}}")
}

#[test]
fn a_real_chat_becomes_a_session_with_its_steps() {
    let Some(path) = shared("gemini/chat-real.jsonl") else { return };
    let text = bytes(&path);
    let plan = lines_of(identify(&path, &text[..]).unwrap().unwrap(), &text);
    assert_eq!(plan.key, "gemini-cli:6843839b-087a-4d1a-b54c-3d0366259cef");
    assert_eq!((plan.counts(), plan.codes()), ((26, 0, 0), vec![]));
    assert_eq!((plan.started.len(), plan.ended.len(), plan.doubts()), (4, 4, 0));
    assert_eq!((plan.count(EntryKind::MESSAGE), plan.count(EntryKind::MODEL_RESPONSE)), (5, 9));
    // The context text, the prompt, four calls with their results, and the answer.
    assert_eq!(plan.context(0), [2, 3, 7, 8, 12, 13, 17, 18, 22, 23, 25]);
    assert_cuts::<GeminiCli>(&text, 150, |text| lines_of(identify(&path, text).unwrap().unwrap(), text));
}

#[test]
fn a_rewind_starts_a_branch_before_its_message() {
    let text = OWN.to_owned()
        + &(user("u1") + &gemini("g1", "yes", "") + &user("u2") + &gemini("g2", "no", ""))
        + "{\"$rewindTo\":\"u2\"}\n"
        + &(user("u3") + "{\"$rewindTo\":\"gone\"}\n" + &user("u4"));
    let plan = planned(text.as_bytes());
    assert_eq!(plan.forks, [(0, 1, 3, 6), (0, 2, 1, 8)]);
    assert_eq!(plan.codes(), [(8, "target_missing")]);
    assert_eq!((plan.context(0), plan.context(1), plan.context(2)), (vec![2, 3, 4, 5], vec![2, 3, 7], vec![9]));
}

#[test]
fn calls_that_grow_with_their_message_are_steps_once() {
    let text = OWN.to_owned()
        + &user("u1")
        + &gemini("g1", "", "")
        + &gemini("g1", "", &call("a", "executing"))
        + &gemini("g1", "", &(call("a", "success") + "," + &call("b", "error")))
        + &gemini(
            "g1",
            "",
            &(call("a", "success") + "," + &call("b", "error") + "," + &call("c", "awaiting_approval")),
        );
    let plan = planned(text.as_bytes());
    assert_eq!(plan.codes(), [(6, "in_doubt")]);
    let ended: Vec<_> = plan.ended.iter().map(|(line, id, failed)| (*line, id.as_str(), *failed)).collect();
    assert_eq!((plan.started.len(), ended), (3, vec![(5, "a", false), (5, "b", true)]));
    assert_eq!(plan.entries[2].context, ContextRole::Outside);
}

#[test]
fn a_result_that_stands_in_its_message_alone_ends_the_step() {
    let answer = |id: &str, rest: &str| {
        let part = format!("{{\"functionResponse\":{{\"id\":\"{id}\",\"response\":{{{rest}}}}}}}");
        format!("{{\"id\":\"r{id}\",\"type\":\"user\",\"content\":[{part}]}}\n")
    };
    let text = OWN.to_owned()
        + &gemini("g1", "", &(call("a", "executing") + "," + &call("b", "executing")))
        + &answer("a", "\"output\":\"x\"")
        + &answer("b", "\"error\":\"x\"");
    assert_eq!(planned(text.as_bytes()).ended, [(3, "a".to_owned(), false), (4, "b".to_owned(), true)]);
}

#[test]
fn a_conversation_that_was_replaced_is_a_compaction() {
    let set = |id: &str| format!("{{\"$set\":{{\"messages\":[{{\"id\":\"{id}\",\"type\":\"user\"}}]}}}}\n");
    let text = OWN.to_owned() + &set("c") + &user("u1") + &set("d") + &user("u2") + "{\"$set\":{\"summary\":\"s\"}}\n";
    let plan = planned(text.as_bytes());
    assert_eq!((plan.context(0), plan.count(EntryKind::COMPACTION)), (vec![4, 5], 1));
}

#[test]
fn older_chats_are_documents_and_sub_agents_name_their_parent() {
    let text = "{\n \"sessionId\": \"s1\", \"projectHash\": \"p\", \"messages\": [\n  ".to_owned()
        + &user("u1")
        + ", "
        + &gemini("g1", "", &call("a", "success"))
        + "], \"lastUpdated\": \"t\"}";
    let make = |text: &[u8]| elements_of(identify(Path::new("chats/session-x.json"), text).unwrap().unwrap(), text);
    let plan = make(text.as_bytes());
    assert_eq!((plan.key.as_str(), plan.counts()), ("gemini-cli:s1", (5, 0, 0)));
    assert_eq!((plan.context(0), plan.ended.len()), (vec![3, 4], 1));
    assert_cuts::<GeminiCli>(text.as_bytes(), text.len() - 60, make);
    let own = "{\"sessionId\":\"a7\",\"projectHash\":\"p\",\"kind\":\"subagent\"}\n";
    let child = identify(Path::new("chats/s1/a7.jsonl"), own.as_bytes()).unwrap().unwrap();
    let begin = crate::import::frame::flat::Format::begin(&child);
    assert_eq!((begin.key.as_str(), begin.parent.as_deref()), ("gemini-cli:a7", Some("gemini-cli:s1")));
}

#[test]
fn torn_records_and_those_of_other_shapes_are_named() {
    let text = OWN.to_owned() + &user("u1")[..20] + "\n" + "{\"x\":1}\n[1]\n\n" + &user("u2");
    let plan = planned(text.as_bytes());
    assert_eq!(plan.codes(), [(2, "torn"), (3, "not_a_record"), (4, "not_a_record"), (5, "blank")]);
    assert_eq!(plan.counts(), (2, 0, 4));
    assert!(identify(Path::new("x.jsonl"), &b"{\"x\":1}\n"[..]).unwrap().is_none());
}
