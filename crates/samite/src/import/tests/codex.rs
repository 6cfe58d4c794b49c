use super::{Plan, assert_cuts, bytes, lines_of, shared};
use crate::import::codex::{Codex, identify};
use samite_model::EntryKind;
use std::path::Path;

fn planned(text: &[u8]) -> Plan {
    lines_of(identify(Path::new("sessions/rollout-x.jsonl"), text).unwrap().unwrap(), text)
}

fn line(kind: &str, payload: &str) -> String {
    format!("{{\"timestamp\":\"2026-02-01T00:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
}

fn meta() -> String {
    line("session_meta", "{\"id\":\"s1\",\"cwd\":\"/w\",\"cli_version\":\"1\"}")
}

fn event(kind: &str, rest: &str) -> String {
    line("event_msg", &format!("{{\"type\":\"{kind}\"{rest}}}"))
}

fn user(text: &str) -> String {
    let content = format!("[{{\"type\":\"input_text\",\"text\":\"{text}\"}}]");
    line("response_item", &format!("{{\"type\":\"message\",\"role\":\"user\",\"content\":{content}}}"))
}

fn assistant(text: &str) -> String {
    let content = format!("[{{\"type\":\"output_text\",\"text\":\"{text}\"}}]");
    line("response_item", &format!("{{\"type\":\"message\",\"role\":\"assistant\",\"content\":{content}}}"))
}

fn call(id: &str) -> String {
    let rest = format!("\"name\":\"exec_command\",\"arguments\":\"{{\\\"cmd\\\":\\\"ls\\\"}}\",\"call_id\":\"{id}\"");
    line("response_item", &format!("{{\"type\":\"function_call\",{rest}}}"))
}

fn output(id: &str, output: &str) -> String {
    line("response_item", &format!("{{\"type\":\"function_call_output\",\"call_id\":\"{id}\",\"output\":{output}}}"))
}

#[test]
fn a_real_rollout_becomes_a_session_with_its_steps() {
    let Some(path) = shared("codex/rollout-real.jsonl") else { return };
    let text = bytes(&path);
    let plan = lines_of(identify(&path, &text[..]).unwrap().unwrap(), &text);
    assert_eq!(plan.key, "codex:01a22870-f5a6-72a1-a2bf-1d09380a4944");
    assert_eq!((plan.counts(), plan.codes()), ((44, 0, 0), vec![]));
    let ended: Vec<_> = plan.ended.iter().map(|(_, id, failed)| (id.as_str(), *failed)).collect();
    let expected = [
        ("call_1", false),
        ("call_2", false),
        ("call_3", false),
        ("call_4", false),
        ("call_5", false),
        ("call_6", true),
    ];
    assert_eq!((plan.started.len(), ended.as_slice()), (6, &expected[..]));
    assert_eq!((plan.count(EntryKind::MESSAGE), plan.count(EntryKind::MODEL_RESPONSE)), (9, 7));
    assert!(plan.forks.is_empty());
    assert_cuts::<Codex>(&text, 150, |text| lines_of(identify(&path, text).unwrap().unwrap(), text));
}

#[test]
fn unknown_kinds_are_kept_and_a_call_without_an_output_is_in_doubt() {
    let Some(path) = shared("codex/structured.jsonl") else { return };
    let plan = planned(&bytes(&path));
    assert_eq!((plan.counts(), plan.codes()), ((13, 0, 0), vec![(10, "in_doubt")]));
    assert_eq!((plan.started.len(), plan.ended.len(), plan.doubts()), (3, 2, 1));
}

#[test]
fn a_torn_line_is_named_and_loses_nothing() {
    let Some(path) = shared("codex/malformed.jsonl") else { return };
    let text = bytes(&path);
    let plan = planned(&text);
    assert_eq!((plan.counts(), plan.codes()), ((2, 0, 1), vec![(3, "torn")]));
    assert_cuts::<Codex>(&text, text.len() - 200, planned);
}

#[test]
fn turns_that_were_rolled_back_stay_on_the_branch_that_was_left() {
    let turn = |n: u32| {
        event("task_started", "")
            + &user("<environment_context>x")
            + &user(&format!("prompt {n}"))
            + &event("user_message", &format!(",\"message\":\"prompt {n}\""))
            + &assistant("yes")
            + &event("task_complete", "")
    };
    let text = meta()
        + &turn(1)
        + &turn(2)
        + &turn(3)
        + &event("thread_rolled_back", ",\"num_turns\":2")
        + &turn(4)
        + &event("thread_rolled_back", ",\"num_turns\":9");
    let plan = planned(text.as_bytes());
    // Turns start at the lines 2, 8, 14 and 21.
    assert_eq!(plan.forks, [(0, 1, 7, 20), (0, 2, 1, 27)]);
    assert_eq!((plan.current, plan.codes()), (2, vec![]));
    assert_eq!(plan.context(1), [3, 4, 6, 22, 23, 25]);
    assert_eq!(plan.context(0).len(), 9);
    assert_cuts::<Codex>(text.as_bytes(), 700, planned);
}

#[test]
fn prompts_of_older_rollouts_count_once_though_they_stand_there_twice() {
    let turn = |text: &str| event("user_message", &format!(",\"message\":\"{text}\"")) + &user(text) + &assistant("a");
    let text = meta() + &turn("same") + &turn("same") + &event("thread_rolled_back", ",\"num_turns\":1");
    assert_eq!(planned(text.as_bytes()).forks, [(0, 1, 4, 8)]);
    let none = meta() + &event("thread_rolled_back", ",\"num_turns\":1");
    let plan = planned(none.as_bytes());
    assert_eq!((plan.forks.len(), plan.codes()), (0, vec![(2, "target_missing")]));
}

#[test]
fn bare_items_of_old_rollouts_and_newer_lines_in_one_log_are_read() {
    let text = "{\"id\":\"old\",\"timestamp\":\"t\",\"instructions\":null,\"git\":{\"branch\":\"main\"}}\n".to_owned()
        + "{\"record_type\":\"state\"}\n"
        + "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}\n"
        + "{\"type\":\"function_call\",\"name\":\"shell\",\"arguments\":\"{}\",\"call_id\":\"c\"}\n"
        + &output("c", "\"{\\\"output\\\":\\\"\\\",\\\"metadata\\\":{\\\"exit_code\\\":3}}\"")
        + &assistant("done");
    let plan = planned(text.as_bytes());
    assert_eq!((plan.key.as_str(), plan.counts()), ("codex:old", (6, 0, 0)));
    assert_eq!(plan.ended, [(5, "c".to_owned(), true)]);
}

#[test]
fn outputs_say_whether_a_call_failed() {
    let head = "Chunk ID: 1\\nWall time: 0.1 seconds\\nProcess exited with code";
    for (text, failed) in [
        ("\"ok\"".to_owned(), false),
        (format!("\"{head} 0\\nOutput:\\nExit code: 9\""), false),
        (format!("\"{head} 2\\nOutput:\\nx\""), true),
        ("{\"content\":\"x\",\"success\":false}".to_owned(), true),
        ("{\"content\":\"x\",\"success\":true}".to_owned(), false),
        ("[{\"type\":\"input_text\",\"text\":\"Exit code: 1\\nOutput:\\n\"}]".to_owned(), true),
        ("null".to_owned(), false),
    ] {
        let plan = planned((meta() + &call("c") + &output("c", &text)).as_bytes());
        assert_eq!(plan.ended, [(3, "c".to_owned(), failed)], "{text}");
    }
}

#[test]
fn three_calls_two_outputs_a_crash_and_an_output_told_twice() {
    let text = meta()
        + &(call("a") + &call("b") + &call("c"))
        + &(output("a", "\"1\"") + &output("c", "\"3\"") + &output("c", "\"4\"") + &output("d", "\"5\"") + &call("a"));
    let plan = planned(text.as_bytes());
    let codes = [(3, "in_doubt"), (7, "result_repeated"), (8, "result_without_call"), (9, "call_repeated")];
    assert_eq!((plan.codes(), plan.ended.len()), (codes.to_vec(), 2));
    assert_eq!(plan.counts(), (6, 0, 3));
}

#[test]
fn a_sub_agents_rollout_names_its_parent_and_a_forked_one_its_origin() {
    let meta = |rest: &str| line("session_meta", &format!("{{\"id\":\"child\"{rest}}}"));
    let spawned =
        ",\"source\":{\"subagent\":{\"thread_spawn\":{\"parent_thread_id\":\"p\",\"agent_nickname\":\"Ada\"}}}";
    let begin = |text: &str| {
        let format = identify(Path::new("rollout-x.jsonl"), text.as_bytes()).unwrap().unwrap();
        crate::import::frame::flat::Format::begin(&format)
    };
    let child = begin(&meta(spawned));
    assert_eq!((child.parent.as_deref(), child.agent.as_deref()), (Some("codex:p"), Some("Ada")));
    let forked = begin(&(meta(",\"forked_from_id\":\"p\"") + &super::codex::meta()));
    assert_eq!(
        (forked.key.as_str(), forked.parent, forked.more["forked_from"].as_str()),
        ("codex:child", None, Some("p"))
    );
}

#[test]
fn a_compaction_takes_what_is_before_it_out_of_context() {
    let text =
        meta() + &user("one") + &assistant("two") + &line("compacted", "{\"message\":\"so far\"}") + &user("three");
    let plan = planned(text.as_bytes());
    assert_eq!((plan.count(EntryKind::COMPACTION), plan.context(0)), (1, vec![4, 5]));
    assert_eq!(plan.entries[3].attributes, "{\"lines\":[2,3]}");
}

#[test]
fn a_record_of_twelve_megabytes_and_one_behind_a_torn_head_are_whole() {
    let text = meta() + &user(&"A".repeat(12_800_000)) + &call("a")[..40] + &call("b") + &output("b", "\"1\"");
    let plan = planned(text.as_bytes());
    assert_eq!((plan.codes(), plan.ended.len()), (vec![(3, "glued")], 1));
}

#[test]
fn what_is_no_rollout_is_refused() {
    for text in ["", "plain words\n", "{\"type\":\"user\",\"uuid\":\"u\"}\n", "[1]\n"] {
        assert!(identify(Path::new("x.jsonl"), text.as_bytes()).unwrap().is_none(), "{text}");
    }
}
