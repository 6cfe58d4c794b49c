use super::{Role, Teller, Told, time};
use serde_json::{Value, json};

fn tell(harness: &str, bodies: &[&str]) -> Vec<Option<Told>> {
    let mut teller = Teller::of(harness).unwrap();
    bodies.iter().map(|body| teller.tell(body.as_bytes(), None)).collect()
}

/// Each record in a line: `who: words`, `-` for nothing, `?` for no record of the harness.
fn lines(harness: &str, bodies: &[Value]) -> Vec<String> {
    let bodies: Vec<String> = bodies.iter().map(Value::to_string).collect();
    let told = tell(harness, &bodies.iter().map(String::as_str).collect::<Vec<_>>());
    let line = |told: Option<Told>| match told {
        None => "?".to_owned(),
        Some(Told { words: None, .. }) => "-".to_owned(),
        Some(Told { words: Some((role, text)), .. }) => format!("{}: {text}", role.name()),
    };
    told.into_iter().map(line).collect()
}

#[test]
fn claude_code_says_what_people_and_models_wrote() {
    let user = |content: Value| json!({ "type": "user", "message": { "role": "user", "content": content } });
    let meta = json!({ "type": "user", "isMeta": true, "message": { "content": "of its own" } });
    let answer = |content: Value| json!({ "type": "assistant", "message": { "content": content } });
    let records = [
        user(json!("do it\nnow")),
        user(json!([{ "type": "text", "text": "one" }, { "type": "image" }, { "type": "text", "text": "two" }])),
        user(json!([{ "type": "image", "source": {} }])),
        user(json!([{ "type": "tool_result", "tool_use_id": "t", "content": "output" }])),
        user(json!("<task-notification>\n<task-id>b</task-id>")),
        user(json!("[Request interrupted by user]")),
        user(json!(
            "<command-message>init</command-message>\n<command-name>/init</command-name>\n<command-args>all</command-args>"
        )),
        user(json!("<bash-input>ls -la</bash-input>")),
        user(json!("<local-command-stdout>x</local-command-stdout>")),
        meta,
        answer(json!([{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "done" }])),
        answer(json!([{ "type": "tool_use", "id": "t", "name": "Bash", "input": {} }])),
        json!({ "type": "user" }),
        json!({ "type": "system", "content": "x" }),
        json!("words"),
    ];
    assert_eq!(
        lines("claude-code", &records),
        [
            "user: do it\nnow",
            "user: one\ntwo",
            "user: [image]",
            "-",
            "harness: <task-notification>\n<task-id>b</task-id>",
            "harness: [Request interrupted by user]",
            "user: /init all",
            "user: ! ls -la",
            "harness: <local-command-stdout>x</local-command-stdout>",
            "harness: of its own",
            "assistant: done",
            "-",
            "-",
            "?",
            "?",
        ]
    );
}

#[test]
fn codex_tells_the_harness_from_the_person() {
    let item = |item: Value| json!({ "timestamp": "t", "type": "response_item", "payload": item });
    let said = |role: &str, text: &str| {
        item(json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] }))
    };
    let records = [
        said("developer", "rules"),
        said("user", "<environment_context>here</environment_context>"),
        said("user", "# AGENTS.md instructions for /w"),
        said("user", "fix it"),
        said("assistant", "fixed"),
        // As older rollouts have it.
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "bare" }] }),
        item(json!({ "type": "function_call_output", "call_id": "c", "output": "x" })),
        item(json!({ "type": "reasoning", "summary": [{ "text": "hm" }] })),
        json!({ "role": "user" }),
    ];
    assert_eq!(
        lines("codex", &records),
        [
            "developer: rules",
            "harness: <environment_context>here</environment_context>",
            "harness: # AGENTS.md instructions for /w",
            "user: fix it",
            "assistant: fixed",
            "user: bare",
            "-",
            "-",
            "?",
        ]
    );
}

#[test]
fn gemini_says_each_version_of_a_message_once() {
    let records = [
        json!({ "id": "u", "type": "user", "content": [{ "text": "go" }] }),
        json!({ "id": "m", "type": "gemini", "content": "" }),
        json!({ "id": "m", "type": "gemini", "content": "I look", "toolCalls": [] }),
        json!({ "id": "m", "type": "gemini", "content": "I look", "toolCalls": [{ "id": "c" }] }),
        json!({ "id": "n", "type": "gemini", "content": "I look" }),
        json!({ "id": "r", "type": "user", "content": [{ "functionResponse": { "id": "c" } }] }),
        json!({ "id": "o", "type": "user", "content": "as older chats have it" }),
        json!({ "id": "i", "type": "info", "content": "x" }),
    ];
    assert_eq!(
        lines("gemini-cli", &records),
        ["user: go", "-", "assistant: I look", "-", "assistant: I look", "-", "user: as older chats have it", "?"]
    );
}

#[test]
fn swe_agent_has_one_task_and_observations() {
    let records = [
        json!({ "role": "system", "content": "SETTING" }),
        json!({ "role": "user", "content": "a demonstration", "is_demo": true }),
        json!({ "role": "user", "content": "the issue" }),
        json!({ "role": "assistant", "content": "I list\n```\nls\n```", "thought": "I list", "action": "ls" }),
        json!({ "role": "user", "content": "a b c" }),
        json!({ "role": "tool", "content": [{ "type": "text", "text": "a" }] }),
        json!({ "content": "x" }),
    ];
    assert_eq!(
        lines("swe-agent", &records),
        ["system: SETTING", "harness: a demonstration", "user: the issue", "assistant: I list", "-", "-", "?"]
    );
}

#[test]
fn openhands_of_both_ages() {
    let content = json!({ "content": [{ "type": "text", "text": "add" }] });
    let records = [
        json!({ "source": "agent", "kind": "SystemPromptEvent", "system_prompt": { "type": "text", "text": "rules" } }),
        json!({ "source": "user", "kind": "MessageEvent", "llm_message": content }),
        json!({ "source": "agent", "kind": "MessageEvent", "llm_message": content }),
        json!({ "source": "agent", "kind": "ActionEvent", "thought": [{ "text": "I add" }], "action": {} }),
        json!({ "source": "environment", "kind": "ObservationEvent" }),
        json!({ "id": 1, "source": "user", "action": "message", "args": { "content": "older" } }),
        json!({ "id": 2, "source": "agent", "action": "run", "args": { "command": "ls", "thought": "look" } }),
        json!({ "id": 3, "source": "agent", "action": "finish", "args": { "final_thought": "", "thought": "all done" } }),
        json!({ "id": 4, "source": "agent", "observation": "run", "cause": 2 }),
        json!({ "kind": "MessageEvent" }),
    ];
    assert_eq!(
        lines("openhands", &records),
        [
            "system: rules",
            "user: add",
            "assistant: add",
            "assistant: I add",
            "-",
            "user: older",
            "assistant: look",
            "assistant: all done",
            "-",
            "?",
        ]
    );
}

#[test]
fn responses_are_items_or_whole() {
    let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let records = [
        json!("words alone"),
        message("user", "input_text", "go"),
        message("developer", "input_text", "rules"),
        json!({ "role": "user", "content": "easy" }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_image", "image_url": "data:" }] }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "refusal", "refusal": "no" }] }),
        json!({ "object": "response", "output": [{ "type": "reasoning" }, message("assistant", "output_text", "done")] }),
        json!({ "type": "function_call_output", "call_id": "c", "output": "x" }),
        json!({ "object": "list" }),
    ];
    assert_eq!(
        lines("responses", &records),
        [
            "user: words alone",
            "user: go",
            "developer: rules",
            "user: easy",
            "user: [image]",
            "assistant: no",
            "assistant: done",
            "-",
            "?",
        ]
    );
}

#[test]
fn langgraph_tells_messages_by_their_class() {
    let typed =
        |class: &str, fields: Value| json!({ "$type": format!("langchain_core.messages.x.{class}"), "value": fields });
    let records = [
        typed("HumanMessage", json!({ "content": "add" })),
        typed("AIMessageChunk", json!({ "content": [{ "type": "text", "text": "I add" }] })),
        typed("SystemMessage", json!({ "content": "rules" })),
        typed("ToolMessage", json!({ "content": "5" })),
        typed("ChatMessage", json!({ "role": "user", "content": "as a chat" })),
        json!({ "lc": 1, "id": ["langchain", "schema", "AIMessage"], "kwargs": { "content": "older" } }),
        typed("Other", json!({})),
    ];
    assert_eq!(
        lines("langgraph", &records),
        ["user: add", "assistant: I add", "system: rules", "-", "user: as a chat", "assistant: older", "?"]
    );
}

#[test]
fn inputs_are_found_by_the_key_of_their_step() {
    let find = |harness: &str, record: Value, step: &str| {
        Teller::of(harness).unwrap().input(record.to_string().as_bytes(), None, step).unwrap_or_default()
    };
    let two = json!({ "type": "assistant", "message": { "content": [
        { "type": "text", "text": "x" },
        { "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "one" } },
        { "type": "tool_use", "id": "t2", "name": "Bash", "input": { "command": "two" } },
    ] } });
    assert_eq!(find("claude-code", two.clone(), "t2"), json!({ "command": "two" }));
    assert_eq!(find("claude-code", two, "t3"), Value::Null);
    let call = json!({ "type": "function_call", "name": "f", "call_id": "c", "arguments": "{\"cmd\":\"ls\"}" });
    let codex = json!({ "type": "response_item", "payload": call.clone() });
    assert_eq!(find("codex", codex, "c"), json!({ "cmd": "ls" }));
    assert_eq!(find("responses", call, "c"), json!({ "cmd": "ls" }));
    let gemini =
        json!({ "id": "m", "type": "gemini", "toolCalls": [{ "id": "g", "name": "f", "args": { "path": "p" } }] });
    assert_eq!(find("gemini-cli", gemini, "g"), json!({ "path": "p" }));
    assert_eq!(
        find("swe-agent", json!({ "action": "ls", "observation": "" }), "trajectory-1"),
        json!({ "action": "ls" })
    );
    let event = json!({ "source": "agent", "kind": "ActionEvent", "tool_call_id": "o", "tool_name": "f", "action": { "command": "ls" } });
    assert_eq!(find("openhands", event, "o"), json!({ "command": "ls" }));
    let message = json!({ "$type": "langchain_core.messages.ai.AIMessage", "value": { "tool_calls": [
        { "id": "l", "name": "f", "args": { "a": 1 } }, { "id": "k", "name": "f", "args": { "a": 2 } },
    ] } });
    assert_eq!(find("langgraph", message, "k"), json!({ "a": 2 }));
}

#[test]
fn times_are_those_of_the_record() {
    for (text, right) in [
        ("1970-01-01T00:00:01Z", Some(1_000_000_000)),
        ("1970-01-01T00:00:01.5", Some(1_500_000_000)),
        ("1970-01-01T02:00:00+02:00", Some(0)),
        ("9999-12-30T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ] {
        assert_eq!(time(text), right, "{text}");
    }
    let at = |harness: &str, record: Value| tell(harness, &[&record.to_string()])[0].clone().unwrap().time;
    let user = json!({ "type": "user", "timestamp": "1970-01-01T00:00:02Z", "message": {} });
    assert_eq!(at("claude-code", user), Some(2_000_000_000));
    assert_eq!(at("responses", json!({ "object": "response", "created_at": 3.5 })), Some(3_500_000_000));
    for odd in [json!(-1), json!(1e300), json!("x"), json!(null), json!({})] {
        assert_eq!(at("responses", json!({ "object": "response", "created_at": odd })), None);
    }
    assert_eq!(at("swe-agent", json!({ "role": "user", "content": "x" })), None);
}

#[test]
fn a_record_is_found_behind_what_is_damaged() {
    let body = b"{\"type\":\"us{\"type\":\"user\",\"message\":{\"content\":\"whole\"}}\0\0";
    let mut teller = Teller::of("claude-code").unwrap();
    assert_eq!(teller.tell(body, None), None);
    let told = teller.tell(body, Some((11, body.len() - 2))).unwrap();
    assert_eq!(told.words, Some((Role::User, "whole".to_owned())));
    // A range that is none is not believed.
    assert_eq!(teller.tell(body, Some((60, 11))), None);
    assert_eq!(teller.tell(body, Some((0, usize::MAX))), None);
}

#[test]
fn what_is_hostile_says_nothing_and_breaks_nothing() {
    let deep = format!("{}{}", "[".repeat(3_000), "]".repeat(3_000));
    let odd = ["null", "7", "[]", "{}", "\"\\ud800\"", "{\"type\":7}", &deep];
    for harness in ["claude-code", "codex", "gemini-cli", "swe-agent", "openhands", "responses", "langgraph"] {
        let mut teller = Teller::of(harness).unwrap();
        for kind in ["user", "assistant", "gemini", "message", "response_item"] {
            for content in odd {
                let record = format!(
                    "{{\"type\":\"{kind}\",\"kind\":\"MessageEvent\",\"source\":\"user\",\"role\":\"user\",\"timestamp\":{content},\
                     \"message\":{{\"content\":{content}}},\"content\":{content},\"payload\":{{\"type\":\"message\",\"content\":{content}}},\
                     \"llm_message\":{content},\"toolCalls\":{content},\"action\":{content},\"$type\":{content},\"value\":{content}}}"
                );
                let told = teller.tell(record.as_bytes(), None);
                assert!(told.is_none_or(|told| told.words.is_none() && told.time.is_none()), "{harness} {kind}");
                teller.input(record.as_bytes(), None, "k");
            }
        }
    }
    assert!(Teller::of("unheard of").is_none());
}
