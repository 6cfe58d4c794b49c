//! Rollouts of Codex CLI.

use super::*;

fn item(ordinal: u64, payload: Value) -> Value {
    json!({"timestamp": "2026-11-29T17:53:41.000Z", "ordinal": ordinal, "type": "response_item", "payload": payload})
}

fn event(ordinal: u64, payload: Value) -> Value {
    json!({"timestamp": "2026-11-29T17:53:41.000Z", "ordinal": ordinal, "type": "event_msg", "payload": payload})
}

fn words(ordinal: u64, role: &str, text: &str, turn: &str) -> Value {
    item(
        ordinal,
        json!({
            "type": "message", "role": role, "content": [{"type": "input_text", "text": text}],
            "internal_chat_message_metadata_passthrough": {"turn_id": turn},
        }),
    )
}

fn call(ordinal: u64, id: &str, command: &str) -> Value {
    let arguments = json!({"cmd": command}).to_string();
    item(ordinal, json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": id}))
}

fn output(ordinal: u64, id: &str, text: &str) -> Value {
    item(ordinal, json!({"type": "function_call_output", "call_id": id, "output": text}))
}

/// Two turns: one call, then two calls at once.
fn rollout() -> Vec<Value> {
    vec![
        json!({"timestamp": "t", "ordinal": 0, "type": "session_meta", "payload": {
            "id": "old", "session_id": "old", "cwd": "/old", "cli_version": "0.171.0", "originator": "codex_exec",
            "base_instructions": {"text": "be brief"}}}),
        event(1, json!({"type": "task_started", "turn_id": "t1"})),
        words(2, "user", "<environment_context>", "t1"),
        words(3, "user", "fix it", "t1"),
        call(4, "call_1", "ls"),
        output(5, "call_1", "calc.py"),
        words(6, "assistant", "Fixed.", "t1"),
        event(7, json!({"type": "task_complete", "turn_id": "t1"})),
        event(8, json!({"type": "task_started", "turn_id": "t2"})),
        words(9, "user", "push it", "t2"),
        call(10, "call_2", "git push"),
        call(11, "call_3", "git log"),
        event(12, json!({"type": "item_completed", "item": {"type": "CommandExecution", "id": "call_3"}})),
        output(13, "call_3", "1234 fix"),
        output(14, "call_2", "pushed"),
        words(15, "assistant", "Pushed.", "t2"),
        event(16, json!({"type": "task_complete", "turn_id": "t2"})),
    ]
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

fn history() -> Vec<Happened> {
    vec![
        Happened::Prompt { turn: Some("t1".to_owned()), text: "fix it".to_owned() },
        called("call_1", "Bash", bash("ls")),
        returned("call_1", json!("calc.py")),
        ended("Fixed."),
        Happened::Prompt { turn: Some("t2".to_owned()), text: "push it".to_owned() },
        called("call_2", "Bash", bash("git push")),
        called("call_3", "Bash", bash("git log")),
        returned("call_3", json!("1234 fix")),
        returned("call_2", json!("pushed")),
        ended("Pushed."),
    ]
}

/// What a written rollout has, in short: the ordinals must run on.
fn outline(written: &Written) -> Vec<String> {
    let records = read(written);
    for (index, record) in records.iter().enumerate() {
        assert_eq!(record["ordinal"], json!(index), "{record}");
    }
    records
        .iter()
        .map(|record| {
            let payload = &record["payload"];
            let text = payload["content"][0]["text"].as_str().or(payload["output"].as_str()).unwrap_or_default();
            let kind = payload["type"].as_str().unwrap_or("meta");
            let id = payload["call_id"].as_str().or(payload["turn_id"].as_str()).unwrap_or_default();
            [kind, id, text].join(" ").trim().to_owned()
        })
        .collect()
}

fn at(taken: usize) -> Written {
    write(Harness::Codex, Some(&file(&rollout())), &history()[..taken], &target())
}

#[test]
fn a_rollout_is_cut_where_the_branch_was_cut() {
    let first = ["meta", "task_started t1", "message  <environment_context>", "message  fix it"];
    let with = |more: &[&str]| -> Vec<String> { first.iter().chain(more).map(|line| (*line).to_owned()).collect() };
    // After the prompt; after the call was made, whose end the branch does not know; after its end; after the turn.
    assert_eq!(outline(&at(1)), with(&[]));
    assert_eq!(outline(&at(2)), with(&["function_call call_1", &format!("function_call_output call_1 {UNKNOWN_END}")]));
    let one = ["function_call call_1", "function_call_output call_1 calc.py"];
    assert_eq!(outline(&at(3)), with(&one));
    let turn = [one[0], one[1], "message  Fixed.", "task_complete t1"];
    assert_eq!(outline(&at(4)), with(&turn));
    assert_eq!(counts(&at(4)), (8, 9, 0, vec![]));
    // All of it.
    assert_eq!(outline(&at(10)).len(), 17);
    assert_eq!(counts(&at(10)), (17, 0, 0, vec![]));
}

#[test]
fn what_is_kept_is_kept_byte_for_byte() {
    let original = file(&rollout());
    let lines: Vec<&[u8]> = original.split_inclusive(|byte| *byte == b'\n').collect();
    assert!(at(4).bytes.ends_with(&lines[1..8].concat()));
}

#[test]
fn calls_at_once_are_kept_as_far_as_the_branch_has_them() {
    // Both were begun, none ended.
    let none = at(7);
    assert_eq!(counts(&none).3, ["call_2", "call_3"]);
    assert_eq!(counts(&none).2, 2);
    // The second ended, the first did not.
    let one = outline(&at(8));
    assert_eq!(
        one[10..],
        [
            "function_call call_2",
            "function_call call_3",
            "item_completed",
            "function_call_output call_3 1234 fix",
            &format!("function_call_output call_2 {UNKNOWN_END}"),
        ]
    );
    // Only the first was begun: the second is not there at all.
    let first = outline(&at(6));
    assert_eq!(first[10..], ["function_call call_2", &format!("function_call_output call_2 {UNKNOWN_END}")]);
}

#[test]
fn an_end_that_the_branch_came_to_know_is_told() {
    let mut history = history();
    history.truncate(7);
    history.push(returned("call_2", json!("pushed, says the remote")));
    // The harness died before it wrote any end.
    let written = write(Harness::Codex, Some(&file(&rollout()[..12])), &history, &target());
    assert_eq!(
        outline(&written)[12..],
        [
            "function_call_output call_2 pushed, says the remote".to_owned(),
            format!("function_call_output call_3 {UNKNOWN_END}"),
        ]
    );
    assert_eq!(counts(&written), (12, 0, 2, vec!["call_3"]));
}

#[test]
fn what_the_rollout_lacks_is_made_from_the_branch() {
    // It lost its end in a crash, in the middle of a line.
    let mut torn = file(&rollout()[..9]);
    torn.extend_from_slice(br#"{"timestamp":"2026-11-29T17:53:4"#);
    let written = write(Harness::Codex, Some(&torn), &history(), &target());
    assert_eq!(
        outline(&written)[8..],
        [
            "message  push it",
            "function_call call_2",
            "function_call_output call_2 pushed",
            "function_call call_3",
            "function_call_output call_3 1234 fix",
            "message  Pushed.",
        ]
    );
    assert_eq!(counts(&written), (8, 2, 6, vec![]));
    // There is none at all.
    let written = write(Harness::Codex, None, &history()[..3], &target());
    let records = read(&written);
    assert_eq!(records[0]["type"], "session_meta");
    assert_eq!(records[0]["payload"]["id"], SESSION);
    assert_eq!(records[0]["payload"]["cwd"], "/work/project");
    assert_eq!(records[2]["payload"]["name"], "exec_command");
    assert_eq!(records[2]["payload"]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(counts(&written), (0, 0, 4, vec![]));
}

#[test]
fn the_session_is_a_new_one_that_says_what_it_came_from() {
    let mut old = rollout();
    old[0]["payload"]["history_base"] = json!({"thread_id": "older", "end_ordinal_exclusive": 4, "end_byte_offset": 9});
    let written = write(Harness::Codex, Some(&file(&old)), &history(), &target());
    let meta = &read(&written)[0]["payload"];
    assert_eq!(
        *meta,
        json!({
            "id": SESSION, "session_id": SESSION, "forked_from_id": "old", "cwd": "/work/project",
            "timestamp": "2026-11-29T17:53:41.372Z", "cli_version": "0.171.0", "originator": "codex_exec",
            "base_instructions": {"text": "be brief"},
        })
    );
}

#[test]
fn tools_without_hooks_stay_where_their_results_are() {
    let mut records = rollout();
    records.truncate(6);
    records.insert(
        4,
        item(4, json!({"type": "function_call", "name": "update_plan", "arguments": "{}", "call_id": "plan"})),
    );
    records.insert(5, output(5, "plan", "Plan updated"));
    records.push(item(8, json!({"type": "custom_tool_call", "name": "apply_patch", "input": "x", "call_id": "patch"})));
    let written = write(Harness::Codex, Some(&file(&records)), &history()[..3], &target());
    let outline = outline(&written);
    assert_eq!(outline[4..6], ["function_call plan", "function_call_output plan Plan updated"]);
    assert_eq!(outline.last().unwrap(), "function_call_output call_1 calc.py");
}

#[test]
fn a_patch_that_was_cut_off_gets_a_result_of_its_own_kind() {
    let mut records = rollout();
    records.truncate(4);
    records.push(item(4, json!({"type": "custom_tool_call", "name": "apply_patch", "input": "x", "call_id": "patch"})));
    let history = [prompt("fix it"), called("patch", "apply_patch", json!({"command": "x"}))];
    let written = write(Harness::Codex, Some(&file(&records)), &history, &target());
    assert_eq!(outline(&written)[5], format!("custom_tool_call_output patch {UNKNOWN_END}"));
}

#[test]
fn what_is_no_rollout_is_not_used() {
    let other = b"{\"sessionId\":\"x\"}\n{\"type\":\"session_meta\"}\n";
    let written = write(Harness::Codex, Some(other), &history(), &target());
    assert_eq!(written.bytes, write(Harness::Codex, None, &history(), &target()).bytes);
}

#[test]
fn a_real_rollout_is_cut_at_each_of_its_calls() {
    let (Some(original), Some(hooks)) = (shared("codex/rollout-real.jsonl"), shared("codex/hooks-real.jsonl")) else {
        return;
    };
    let happened: Vec<Happened> = hooks
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter_map(|told| {
            let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
            match told["hook_event_name"].as_str()? {
                "UserPromptSubmit" => Some(Happened::Prompt { turn: Some(text("turn_id")), text: text("prompt") }),
                "PreToolUse" => Some(called(&text("tool_use_id"), &text("tool_name"), told["tool_input"].clone())),
                "PostToolUse" => Some(returned(&text("tool_use_id"), told["tool_response"].clone())),
                "Stop" => Some(ended(&text("last_assistant_message"))),
                _ => None,
            }
        })
        .collect();
    let count = original.split_inclusive(|byte| *byte == b'\n').count();
    for taken in 1..=happened.len() {
        let written = write(Harness::Codex, Some(&original), &happened[..taken], &target());
        let outline = outline(&written);
        let calls = outline.iter().filter(|line| line.starts_with("function_call call")).count();
        let results = outline.iter().filter(|line| line.starts_with("function_call_output call")).count();
        let begun = happened[..taken].iter().filter(|event| matches!(event, Happened::Called { .. })).count();
        assert_eq!((calls, results), (begun, begun));
        // Each record of its own is either kept or left out, and only an end that is not known is made.
        assert_eq!(written.kept + written.left_out, count);
        assert_eq!(written.made, written.unknown.len());
    }
    let whole = write(Harness::Codex, Some(&original), &happened, &target());
    assert_eq!(counts(&whole), (count, 0, 0, vec![]));
}
