use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn wanted(harness: Harness) -> Wanted {
    let command = format!("{} hook {}", quoted("/opt/my tools/samite"), harness.name());
    Wanted { harness, command, timeout_seconds: 310 }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn an_empty_file_gets_every_event() {
    let text = install("", &wanted(Harness::Codex)).unwrap();
    let beginning = r#"{
  "hooks": {
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "'/opt/my tools/samite' hook codex",
            "timeout": 310
          }
        ]
      }
    ],
    "UserPromptSubmit": [
"#;
    assert!(text.starts_with(beginning), "{text}");
    assert!(text.ends_with("\n  }\n}\n"), "{text}");
    assert_eq!(json(&text)["hooks"].as_object().unwrap().len(), 10);
    assert_eq!(json(&text)["hooks"]["PreToolUse"][0]["matcher"], "*");
    let gemini = install("{}", &wanted(Harness::GeminiCli)).unwrap();
    assert_eq!(json(&gemini)["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 310_000);
    assert_eq!(json(&gemini)["hooks"]["BeforeTool"][0]["hooks"][0]["name"], "samite");
}

/// Settings that people have.
const SETTINGS: [&str; 9] = [
    "{}\n",
    "{\n  \"model\": \"x\"\n}\n",
    "{\n\t\"b\": 1,\n\t\"a\": [1,2,  3],\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]\n\t\t\t}\n\t\t]\n\t}\n}\n",
    "{\"a\":1,\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
    "{\"a\": 1}",
    "{\r\n    \"a\": 1,\r\n    \"z\": {\"deep\": {}}\r\n}\r\n",
    "{ \"permissions\": { \"allow\": [\"Bash(git:*)\"] },\n  \"env\": {\"A\": \"\\u00e9\\\"}{\"} }",
    "{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"guard\"}]}\n        ],\n        \"Notification\": []\n    },\n    \"last\": 1e300\n}",
    "\n\n{\n  \"hooks\": {\n    \"Stop\": [ {\"hooks\": [ {\"type\": \"command\", \"command\": \"'/x/samite' hook other\"} ]} ]\n  }\n}\n\n",
];

#[test]
fn everything_else_stays_byte_for_byte_and_undoing_brings_the_file_back() {
    for harness in Harness::ALL {
        for before in SETTINGS {
            let after = install(before, &wanted(harness)).unwrap();
            for (event, has_matcher) in events(harness) {
                let groups = json(&after)["hooks"][event].as_array().unwrap().clone();
                let own = groups.last().unwrap();
                assert_eq!(own["hooks"][0]["command"], wanted(harness).command, "{event} in {after}");
                assert_eq!(own.get("matcher").is_some(), *has_matcher);
            }
            // What was there is there, in its order.
            let mut rest = after.as_str();
            for line in before.lines().map(str::trim).filter(|line| line.len() > 3 && !line.ends_with('}')) {
                // A list may go on where it ended.
                let line = line.trim_end_matches([',', ']', ' ']);
                let at = rest.find(line).unwrap_or_else(|| panic!("{line} is gone from {after}"));
                rest = &rest[at..];
            }
            assert_eq!(install(&after, &wanted(harness)).unwrap(), after, "again, nothing changes");
            assert_eq!(uninstall(&after, harness).unwrap(), before, "{after}");
        }
    }
}

#[test]
fn a_program_that_moved_is_told_so_and_nothing_stands_twice() {
    let old = install(SETTINGS[1], &wanted(Harness::ClaudeCode)).unwrap();
    let moved = Wanted { command: "/usr/bin/samite hook claude-code".to_owned(), ..wanted(Harness::ClaudeCode) };
    let new = install(&old, &moved).unwrap();
    assert_eq!(new, old.replace("'/opt/my tools/samite' hook", "/usr/bin/samite hook"));
    assert_eq!(uninstall(&new, Harness::ClaudeCode).unwrap(), SETTINGS[1]);
}

#[test]
fn hooks_of_others_in_the_same_group_stay() {
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"/b/samite hook codex","timeout":310},{"type":"command","command":"c"}]}]}}"#;
    let left = uninstall(text, Harness::Codex).unwrap();
    assert_eq!(
        left,
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"c"}]}]}}"#
    );
    assert_eq!(uninstall(text, Harness::ClaudeCode).unwrap(), text);
}

#[test]
fn what_cannot_be_changed_without_a_loss_is_left_alone() {
    for text in ["{ // mine\n}", "{\"a\": 1,}", "{", "nonsense", "{} {}", "\u{feff}{}", "{/* x */}"] {
        assert_eq!(install(text, &wanted(Harness::Codex)).unwrap_err().code(), "settings_not_json", "{text}");
        assert_eq!(uninstall(text, Harness::Codex).unwrap_err().code(), "settings_not_json", "{text}");
    }
    for text in [
        "[]",
        "1",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"hooks\": {}, \"hooks\": {}}",
        "{\"hooks\": {\"Stop\": [], \"Stop\": []}}",
    ] {
        assert_eq!(install(text, &wanted(Harness::Codex)).unwrap_err().code(), "settings_shape", "{text}");
    }
}

#[test]
fn only_commands_of_samite_are_samites() {
    for (command, right) in [
        ("/usr/bin/samite hook codex", true),
        ("'/a b/samite' hook codex", true),
        ("/usr/bin/samite --store '/a b' hook codex", true),
        ("samite hook codex", true),
        ("/usr/bin/samite hook claude-code", false),
        ("/usr/bin/other hook codex", false),
        ("samite hook codex && rm x", false),
        ("echo samite hook codex", false),
        ("'", false),
    ] {
        assert_eq!(is_ours(command, Harness::Codex), right, "{command}");
    }
}

#[test]
fn a_word_is_quoted_where_a_shell_would_split_it() {
    assert_eq!(quoted("/usr/bin/samite"), "/usr/bin/samite");
    assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    assert_eq!(quoted(""), "''");
}

#[test]
fn a_difference_is_shown_with_what_stands_around_it() {
    assert_eq!(diff("a\n", "a\n", "x"), "");
    assert_eq!(diff("", "a\nb\n", "x"), "--- x\n+++ x\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    assert_eq!(
        diff(before, &before.replace('5', "five\n5½"), "x"),
        "--- x\n+++ x\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+5½\n 6\n 7\n 8\n"
    );
    let far = (0..40).map(|line| line.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    let shown = diff(&far, &far.replace("\n3\n", "\n").replace("\n30\n", "\nthirty\n"), "x");
    assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z \"\\\\{}\\[\\],:é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_settings_keep_all_they_had(settings in proptest::collection::btree_map("[a-g]{1,4}", any_json(), 0..5), pretty: bool) {
        let value = Value::Object(settings.into_iter().collect());
        let before = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let after = install(&before, &wanted(Harness::ClaudeCode)).unwrap();
        let mut left = json(&after);
        left.as_object_mut().unwrap().remove("hooks");
        prop_assert_eq!(&left, &value);
        prop_assert_eq!(uninstall(&after, Harness::ClaudeCode).unwrap(), before);
    }
}
