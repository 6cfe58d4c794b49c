//! Hooks of a CLI agent that are cut off: the agent goes on, tells its next events, and perhaps the same one again.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Place, text};
use serde_json::{Value, json};
use std::process::Command;

/// What is told when samite is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// The first event: the session is made, and the directory attached.
    First,
    /// What a person says, after they changed a file.
    Prompt,
    /// A call that writes a file is about to be made.
    Start,
    /// It was made.
    End,
    /// The turn has ended.
    TurnEnd,
    /// The turn has ended, and something before it could not be recorded.
    Noted,
}

impl Hook {
    pub(crate) const ALL: [Self; 6] = [Self::First, Self::Prompt, Self::Start, Self::End, Self::TurnEnd, Self::Noted];

    /// Which of the events it is.
    fn place(self) -> usize {
        match self {
            Self::First => 0,
            Self::Prompt => 1,
            Self::Start => 2,
            Self::End => 3,
            Self::TurnEnd | Self::Noted => 4,
        }
    }
}

/// The events of a turn.
fn events(place: &Place) -> Vec<Value> {
    let project = place.path().join("project");
    let call =
        json!({"tool_name": "Write", "tool_input": {"file_path": project.join("a.txt")}, "tool_use_id": "call-1"});
    let told = [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "please"})),
        ("PreToolUse", call.clone()),
        ("PostToolUse", call),
        ("Stop", json!({"last_assistant_message": "done"})),
    ];
    let event = |(name, fields): (&str, Value)| {
        let mut event = json!({"session_id": "s", "turn_id": "t", "hook_event_name": name, "cwd": project});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event
    };
    told.into_iter().map(event).collect()
}

/// The hook, as an agent calls it: by a shell, with the event on standard input.
fn hook(place: &Place, number: usize, event: &Value) -> Command {
    place.write(&format!("event-{number}"), event.to_string().as_bytes());
    let samite = &crate::place::programs().samite;
    let mut shell = place.program("sh", &place.path());
    shell.args(["-c", &format!("exec '{}' --json hook codex < event-{number}", samite.display())]);
    shell
}

fn tell(place: &Place, number: usize, event: &Value) {
    // What the agent itself does between the events.
    match number {
        1 => place.write("project/mine.txt", b"by hand\n"),
        3 => place.write("project/a.txt", b"two\n"),
        _ => {}
    }
    let output = hook(place, number, event).output().unwrap();
    assert!(output.status.success(), "{event}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Scenario for Hook {
    fn name(&self) -> String {
        match self {
            Self::First => "hook first",
            Self::Prompt => "hook prompt",
            Self::Start => "hook start",
            Self::End => "hook end",
            Self::TurnEnd => "hook turn end",
            Self::Noted => "hook noted",
        }
        .to_owned()
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        place.write("project/a.txt", b"one\n");
        let told = events(place);
        let at = self.place();
        for (number, event) in told.iter().enumerate().take(at) {
            tell(place, number, event);
        }
        match self {
            Self::Prompt => place.write("project/mine.txt", b"by hand\n"),
            Self::End => place.write("project/a.txt", b"two\n"),
            Self::Noted => place.write(
                "store.unrecorded",
                br#"{"id":"1","time":1,"harness":"codex","session":"s","name":"Notification","why":"disk_full"}
"#,
            ),
            _ => {}
        }
        let session = || text(&place.json(&["session", "list"])["sessions"][0], "/id");
        let before: Vec<Value> = if at == 0 { Vec::new() } else { place.entries(&session()) };
        cut.run_command(place, hook(place, at, &told[at]));
        // It comes again, as it does from a second entry in the settings, and so does all that follows.
        for (number, event) in told.iter().enumerate().skip(at) {
            tell(place, number, event);
            tell(place, number, event);
        }
        let sessions = place.json(&["session", "list"]);
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
        let id = session();
        let entries = place.entries(&id);
        let lost = before.iter().filter(|entry| !entries.contains(entry)).count();
        let count = |kind: &str, has: &dyn Fn(&Value) -> bool| {
            entries.iter().filter(|entry| entry["kind"] == kind && has(entry)).count()
        };
        let mut once = vec![
            count("message", &|entry| entry["payload"] == "please"),
            count("message", &|entry| entry["payload"] == "done"),
            count("step_started", &|entry| entry["payload"]["key"] == "call-1"),
            count("step_completed", &|_| true),
        ];
        if *self == Self::Noted {
            once.push(count("event", &|entry| entry["attributes"]["unrecorded"] == true));
        }
        // The turn can be taken back, and what the person did stays.
        let first = entries.iter().find(|entry| entry["kind"] == "tree").unwrap()["seq"].as_u64().unwrap();
        place.json(&["rewind", &format!("{id}@{first}")]);
        assert_eq!((place.read("project/a.txt"), place.read("project/mine.txt")), ("one\n".into(), "by hand\n".into()));
        Counts {
            kills: cut.kills.get(),
            doubled: once.iter().map(|times| times.saturating_sub(1)).sum(),
            missing: once.iter().filter(|times| **times == 0).count(),
            lost,
            ..Counts::default()
        }
    }
}
