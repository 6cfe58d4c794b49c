use super::*;
use proptest::prelude::*;
use serde_json::json;

fn event(harness: Harness, fields: &Value) -> HookEvent {
    let mut all = json!({"session_id": "s", "cwd": "/w", "transcript_path": "/t"});
    all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    HookEvent::parse(harness, all.to_string().into_bytes()).unwrap()
}

/// A word for what an event is.
fn word(what: &What) -> String {
    match what {
        What::SessionStart => "session start".into(),
        What::SessionEnd => "session end".into(),
        What::Prompt(text) => format!("prompt {text}"),
        What::ModelResponse(_) => "model response".into(),
        What::ToolStart(tool) => format!("start {} {:?}", tool.name, tool.id),
        What::ToolEnd { tool, output, ending } => format!("{ending:?} {} {:?} {output}", tool.name, tool.id),
        What::TurnEnd(words) => format!("turn end {words:?}"),
        What::Compaction(what) => format!("compaction {what:?}"),
        What::AgentStart => "agent start".into(),
        What::AgentEnd(words) => format!("agent end {words:?}"),
        What::Repetition => "repetition".into(),
        What::Other => "other".into(),
    }
}

#[test]
fn every_event_of_claude_code_and_codex_is_what_it_is() {
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"});
    let with = |name: &str, more: &Value| {
        let mut all = json!({"hook_event_name": name});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let and = |one: &Value, other: &Value| {
        let mut all = one.clone();
        all.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        all
    };
    let table = [
        (with("SessionStart", &json!({"source": "resume"})), "session start"),
        (with("SessionEnd", &json!({"reason": "clear"})), "session end"),
        (with("UserPromptSubmit", &json!({"prompt": "do it"})), "prompt do it"),
        (with("UserPromptSubmit", &json!({"prompt": 7})), "other"),
        (with("PreToolUse", &bash), "start Bash Some(\"t1\")"),
        (with("PreToolUse", &json!({})), "other"),
        (with("PostToolUse", &and(&bash, &json!({"tool_response": "a"}))), "Completed Bash Some(\"t1\") \"a\""),
        (with("PostToolUse", &bash), "Completed Bash Some(\"t1\") null"),
        (
            with("PostToolUse", &and(&bash, &json!({"tool_response": {"interrupted": true}}))),
            "Failed Bash Some(\"t1\") {\"interrupted\":true}",
        ),
        (with("PostToolUseFailure", &and(&bash, &json!({"error": "no"}))), "Failed Bash Some(\"t1\") null"),
        (with("PreCompact", &json!({"trigger": "auto"})), "compaction Before"),
        (with("PostCompact", &json!({"compact_summary": "so far"})), "compaction After(Some(\"so far\"))"),
        (with("PostCompact", &json!({})), "compaction After(None)"),
        (with("SubagentStart", &json!({"agent_id": "a", "agent_type": "Explore"})), "agent start"),
        (
            with("SubagentStop", &json!({"agent_id": "a", "last_assistant_message": "found"})),
            "agent end Some(\"found\")",
        ),
        (with("SubagentStop", &json!({})), "other"),
        (
            with("Stop", &json!({"last_assistant_message": "done", "stop_hook_active": false})),
            "turn end Some(\"done\")",
        ),
        (with("StopFailure", &json!({})), "turn end None"),
        (with("PermissionRequest", &bash), "other"),
        (with("PostToolBatch", &json!({})), "other"),
        (with("Notification", &json!({"message": "m"})), "other"),
        (with("FileChanged", &json!({})), "other"),
        (with("AnEventOfTomorrow", &json!({"x": {"y": [1]}})), "other"),
    ];
    for harness in [Harness::ClaudeCode, Harness::Codex] {
        for (told, right) in &table {
            let event = event(harness, told);
            assert_eq!(&word(&event.what), right, "{told}");
            assert_eq!((event.session.as_str(), event.identity.is_some()), ("s", false));
        }
    }
}

#[test]
fn every_event_of_gemini_is_what_it_is() {
    let shell = |output: &Value| {
        json!({"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": {"command": "x"},
            "tool_response": {"llmContent": output}})
    };
    for (told, right) in [
        (json!({"hook_event_name": "SessionStart"}), "session start".to_owned()),
        (json!({"hook_event_name": "SessionEnd"}), "session end".to_owned()),
        (json!({"hook_event_name": "BeforeAgent", "prompt": "p"}), "prompt p".to_owned()),
        (
            json!({"hook_event_name": "AfterAgent", "prompt": "p", "prompt_response": "r"}),
            "turn end Some(\"r\")".to_owned(),
        ),
        (json!({"hook_event_name": "BeforeModel", "llm_request": {}}), "repetition".to_owned()),
        (json!({"hook_event_name": "BeforeToolSelection", "llm_request": {}}), "repetition".to_owned()),
        (
            json!({"hook_event_name": "AfterModel", "llm_request": {}, "llm_response": {"text": "a"}}),
            "model response".to_owned(),
        ),
        (
            json!({"hook_event_name": "BeforeTool", "tool_name": "read_file", "tool_input": {}}),
            "start read_file None".to_owned(),
        ),
        (
            shell(&json!("Output: a\nExit Code: 3\n")),
            "Failed run_shell_command None {\"llmContent\":\"Output: a\\nExit Code: 3\\n\"}".to_owned(),
        ),
        (shell(&json!("Output: a\n")), "Completed run_shell_command None {\"llmContent\":\"Output: a\\n\"}".to_owned()),
        (json!({"hook_event_name": "PreCompress"}), "compaction Before".to_owned()),
        (json!({"hook_event_name": "PreCompress", "trigger": "manual"}), "compaction Before".to_owned()),
        (json!({"hook_event_name": "PreCompress", "trigger": "auto"}), "repetition".to_owned()),
        (json!({"hook_event_name": "Notification"}), "other".to_owned()),
    ] {
        assert_eq!(word(&event(Harness::GeminiCli, &told).what), right, "{told}");
    }
}

#[test]
fn what_is_not_known_stays_beside_it() {
    let told = json!({"hook_event_name": "UserPromptSubmit", "prompt": "p", "new": {"deep": [1, null]}, "model": "m"});
    let event = event(Harness::Codex, &told);
    assert_eq!(Value::Object(event.more), json!({"new": {"deep": [1, null]}, "model": "m"}));
}

#[test]
fn an_event_is_told_from_another_by_what_the_harness_says() {
    let of = |turn: &str| {
        event(Harness::Codex, &json!({"hook_event_name": "UserPromptSubmit", "prompt": "go on", "turn_id": turn}))
    };
    assert_eq!(of("1").identity, of("1").identity);
    assert_ne!(of("1").identity, of("2").identity);
    assert!(of("1").identity.is_some());
}

#[test]
fn what_is_no_event_is_refused() {
    for text in ["", "{", "[]", "1", "{}", r#"{"session_id":"s"}"#, r#"{"hook_event_name":"Stop"}"#] {
        let error = HookEvent::parse(Harness::Codex, text.as_bytes().to_vec()).unwrap_err();
        assert_eq!(error.code(), "bad_hook_input", "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_event_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        HookEvent::parse(Harness::ClaudeCode, bytes).ok();
    }

    #[test]
    fn fields_of_any_shape_are_taken(
        name in "PreToolUse|PostToolUse|Stop|UserPromptSubmit|AfterModel|X",
        field in "tool_name|tool_input|tool_response|prompt|agent_id|cwd|llm_response|tool_use_id",
        value in "null|1|\"a\"|\\[1\\]|\\{\"a\":\\{\\}\\}",
    ) {
        let text = format!(r#"{{"hook_event_name":"{name}","session_id":"s","tool_name":"T","{field}":{value}}}"#);
        for harness in Harness::ALL {
            let event = HookEvent::parse(harness, text.clone().into_bytes());
            prop_assert!(event.is_ok(), "{}", text);
        }
    }
}
