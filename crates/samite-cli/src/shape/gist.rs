//! What a call was made with, in a line. Pure.

use serde_json::Value;

/// So many characters are kept.
const LONGEST: usize = 200;

/// The fields that say most, the first that is there counting.
const FIELDS: [&str; 24] = [
    "command",
    "cmd",
    "argv",
    "file_path",
    "notebook_path",
    "absolute_path",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
    "name",
    "action",
    "code",
    "script",
    "file_name",
    "filename",
    "dir_path",
    "skill",
    "subject",
    "task_id",
    "thought",
    "text",
];

/// The first line of a text that has words, cut where it is long.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(LONGEST).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// What a step was called with, in a line.
pub(super) fn gist(input: &Value) -> String {
    match input {
        Value::Null => String::new(),
        Value::String(text) => patch(text).unwrap_or_else(|| first_line(text)),
        Value::Array(words) if words.iter().all(Value::is_string) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            first_line(&words.join(" "))
        }
        Value::Object(fields) => {
            // What a hook told: the tool's name is told beside this.
            if let (Some(inner), true) = (fields.get("input"), fields.contains_key("name")) {
                return gist(inner);
            }
            let told = FIELDS.iter().filter_map(|name| fields.get(*name)).map(gist).find(|told| !told.is_empty());
            told.unwrap_or_else(|| first_line(&input.to_string()))
        }
        other => first_line(&other.to_string()),
    }
}

/// The files of a patch in the form that agents write.
fn patch(text: &str) -> Option<String> {
    text.trim_start().strip_prefix("*** Begin Patch")?;
    let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let file = |line: &str| heads.iter().find_map(|head| line.strip_prefix(head)).map(|file| file.trim().to_owned());
    let files: Vec<String> = text.lines().filter_map(file).collect();
    Some(first_line(&format!("patch of {}", files.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_told_by_what_says_most() {
        for (input, right) in [
            (json!(null), ""),
            (json!("make test\nmake install"), "make test"),
            (json!(["git", "push"]), "git push"),
            (json!({"name": "Bash", "input": {"command": "ls -la", "description": "List"}}), "ls -la"),
            (json!({"name": "shell", "input": {"command": ["bash", "-lc", "ls"]}}), "bash -lc ls"),
            (json!({"name": "Write", "input": {"content": "…", "file_path": "/p/a.rs"}}), "/p/a.rs"),
            (
                json!({"name": "apply_patch", "input": {"command": "*** Begin Patch\n*** Update File: a\n@@\n*** Add File: b\n"}}),
                "patch of a, b",
            ),
            (json!({"a": 1}), "{\"a\":1}"),
            (json!(7), "7"),
        ] {
            assert_eq!(gist(&input), right, "{input}");
        }
    }

    #[test]
    fn a_line_is_short_and_has_words() {
        assert_eq!(first_line("\n  \n  go on  \nplease"), "go on");
        assert_eq!(first_line(&"ä".repeat(300)), format!("{}…", "ä".repeat(200)));
        assert_eq!(first_line(""), "");
    }
}
