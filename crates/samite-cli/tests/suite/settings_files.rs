//! `samite init`: hook settings are written and taken away, and nothing else of a settings file changes.

use crate::support::{Did, Place, SAMITE, hints};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

/// A person's settings, in a layout of their own.
const SETTINGS: &str = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \
                        \"command\", \"command\": \"say done\"}]}\n        ]\n    },\n    \"env\": {\"A\": \"1\"}\n}\n";

struct Home {
    place: Place,
}

impl Home {
    fn new() -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path().join("home/.claude")).unwrap();
        Self { place }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.place.path().join("home").join(path)
    }

    fn settings(&self) -> PathBuf {
        self.path(".claude/settings.json")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.settings()).unwrap()
    }

    /// The command as another program file, whose path may hold blanks.
    fn init_by(&self, program: &std::path::Path, arguments: &[&str]) -> Did {
        let command = self.place.command(&[]);
        let mut init = Command::new(program);
        init.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        init.env("SAMITE_HOOKS_POLICY", self.place.path().join("hooks.toml"));
        init.arg("init").args(arguments).current_dir(self.place.path());
        Did::new(&init.output().unwrap())
    }

    fn init(&self, arguments: &[&str]) -> Did {
        self.init_by(std::path::Path::new(SAMITE), arguments)
    }
}

#[test]
fn hooks_are_added_shown_and_taken_away_exactly() {
    let home = Home::new();
    fs::write(home.settings(), SETTINGS).unwrap();
    fs::set_permissions(home.settings(), fs::Permissions::from_mode(0o640)).unwrap();
    // Nobody to ask: nothing is touched.
    let did = home.init(&["claude-code"]);
    assert!(did.status == 2 && did.err.contains("--yes") && did.err.contains("+        \"PreToolUse\": ["), "{did:?}");
    home.init(&["claude-code", "--dry-run"]).ok();
    assert_eq!(home.text(), SETTINGS);
    let answer = home.init(&["claude-code", "--yes", "--json"]).json();
    assert_eq!((&answer["changed"], &answer["policy_made"]), (&json!(true), &json!(true)));
    let after = home.text();
    let settings: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(settings["model"], "opus");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(settings["hooks"]["Stop"][1]["hooks"][0]["timeout"], 310);
    assert_eq!(fs::metadata(home.settings()).unwrap().permissions().mode() & 0o7777, 0o640);
    assert!(home.place.store().is_dir(), "a person is told where the key is");
    // Again, nothing changes, and the policy that a person edited stays.
    let policy = home.place.path().join("hooks.toml");
    let edited = fs::read_to_string(&policy).unwrap().replace("block = false", "block = true");
    fs::write(&policy, &edited).unwrap();
    let answer = home.init(&["claude-code", "--yes", "--json"]).json();
    assert_eq!((&answer["changed"], home.text()), (&json!(false), after));
    assert_eq!(fs::read_to_string(&policy).unwrap(), edited);
    let answer = home.init(&["claude-code", "--undo", "--yes", "--json"]).json();
    assert_eq!((&answer["changed"], home.text().as_str()), (&json!(true), SETTINGS));
    let answer = home.init(&["claude-code", "--undo", "--json"]).json();
    assert_eq!(answer["changed"], json!(false));
}

#[test]
fn what_was_not_there_before_is_not_there_after() {
    let home = Home::new();
    let undo = |agent: &str| home.init(&[agent, "--undo", "--yes", "--json"]).json();
    // Made for the hooks alone, for each agent, with the directory where there was none.
    for (agent, file) in [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini-cli", ".gemini/settings.json"),
    ] {
        let there = home.path(file).parent().unwrap().exists();
        home.init(&[agent, "--yes"]).ok();
        let preview = home.init(&[agent, "--undo", "--dry-run", "--json"]).json();
        assert_eq!((&preview["removed"], home.path(file).exists()), (&json!(true), true));
        let answer = undo(agent);
        assert_eq!((&answer["changed"], &answer["removed"]), (&json!(true), &json!(true)), "{agent}");
        assert!(!home.path(file).exists(), "{agent}");
        assert_eq!(home.path(file).parent().unwrap().exists(), there, "{agent}");
        assert_eq!(undo(agent)["changed"], json!(false), "{agent}");
    }
    home.init(&["claude-code", "--yes"]).ok();
    let said = home.init(&["claude-code", "--undo", "--yes"]).ok();
    assert!(said.contains("is gone"), "{said}");
    // What a person had, to the byte: also what looks as `init` would have begun.
    for before in ["{}\n", "{}", "", "\n", "{ }", "{\n}\n"] {
        fs::write(home.settings(), before).unwrap();
        home.init(&["claude-code", "--yes"]).ok();
        let answer = undo("claude-code");
        let after = home.text();
        assert_eq!(
            (&answer["removed"], after.trim()),
            (&json!(false), if before == "{ }" || before == "{\n}\n" { "{}" } else { before.trim() })
        );
        if !before.starts_with("{ ") && before != "{\n}\n" {
            assert_eq!(after, before);
        }
    }
    // Made by it, and then used by the person: what is theirs stays.
    fs::remove_file(home.settings()).unwrap();
    home.init(&["claude-code", "--yes"]).ok();
    let mine = home.text().replacen('{', "{\n  \"model\": \"opus\",", 1);
    fs::write(home.settings(), mine).unwrap();
    assert_eq!(undo("claude-code")["removed"], json!(false));
    assert_eq!(serde_json::from_str::<Value>(&home.text()).unwrap(), json!({"model": "opus"}));
    // Emptied by the person: nothing of it is samite's any more.
    fs::remove_file(home.settings()).unwrap();
    home.init(&["claude-code", "--yes"]).ok();
    fs::write(home.settings(), "{}\n").unwrap();
    let answer = undo("claude-code");
    assert_eq!((&answer["changed"], home.text().as_str()), (&json!(false), "{}\n"));
    // Emptied by the person, and theirs since: hooks that come again go again, and the file stays.
    fs::write(home.settings(), "{}\n").unwrap();
    home.init(&["claude-code", "--yes"]).ok();
    assert_eq!((&undo("claude-code")["removed"], home.text().as_str()), (&json!(false), "{}\n"));
}

#[test]
fn the_command_that_is_written_runs_although_its_path_has_blanks() {
    let home = Home::new();
    let program = home.place.path().join("my programs/it's");
    fs::create_dir_all(&program).unwrap();
    let program = program.join("samite");
    fs::copy(SAMITE, &program).unwrap();
    home.init_by(&program, &["gemini-cli", "--yes"]).ok();
    let settings: Value = serde_json::from_slice(&fs::read(home.path(".gemini/settings.json")).unwrap()).unwrap();
    let hook = &settings["hooks"]["BeforeAgent"][0]["hooks"][0];
    let event = json!({"hook_event_name": "BeforeAgent", "session_id": "s", "cwd": home.path(""), "prompt": "hello"});
    fs::write(home.path("event"), event.to_string()).unwrap();
    let command = home.place.command(&[]);
    let mut shell = Command::new("sh");
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // The store that was named is named in the command.
    shell.env_remove("SAMITE_STORE").args(["-c", hook["command"].as_str().unwrap()]);
    shell.stdin(fs::File::open(home.path("event")).unwrap());
    let did = Did::new(&shell.output().unwrap());
    assert_eq!((did.status, did.out.as_str()), (0, "{}\n"), "{did:?}");
    assert!(did.err.contains("no workspace is attached"), "all of a person's files are none: {did:?}");
    let sessions = home.place.json(&["session", "list"]).json();
    assert_eq!(sessions["sessions"][0]["name"], "gemini-cli s");
}

#[test]
fn a_file_that_cannot_be_changed_safely_is_left_alone() {
    let home = Home::new();
    for (text, code) in [
        ("{\n  // my settings\n  \"a\": 1\n}\n", "settings_not_json"),
        ("{\"a\": 1", "settings_not_json"),
        ("{\"hooks\": \"none\"}", "settings_shape"),
    ] {
        fs::write(home.settings(), text).unwrap();
        for arguments in [&["claude-code", "--yes", "--json"][..], &["claude-code", "--undo", "--yes", "--json"]] {
            let error = home.init(arguments).error(2);
            assert_eq!(error["code"], code, "{error}");
            assert!(error["message"].as_str().unwrap().contains("settings.json"), "{error}");
        }
        assert_eq!(home.text(), text);
    }
    fs::remove_file(home.settings()).unwrap();
    symlink("nowhere", home.settings()).unwrap();
    let error = home.init(&["claude-code", "--yes", "--json"]).error(2);
    assert!(hints(&error).contains("nothing was touched"), "{error}");
}

#[test]
fn a_link_is_followed_and_stays_one() {
    let home = Home::new();
    fs::create_dir(home.path("dotfiles")).unwrap();
    fs::write(home.path("dotfiles/claude.json"), SETTINGS).unwrap();
    symlink("../dotfiles/claude.json", home.settings()).unwrap();
    home.init(&["claude-code", "--yes"]).ok();
    assert!(home.settings().is_symlink());
    assert!(fs::read_to_string(home.path("dotfiles/claude.json")).unwrap().contains("hook claude-code"));
    home.init(&["claude-code", "--yes", "--undo"]).ok();
    assert_eq!(fs::read_to_string(home.path("dotfiles/claude.json")).unwrap(), SETTINGS);
}

#[test]
fn a_project_has_settings_of_its_own() {
    let home = Home::new();
    fs::create_dir_all(home.place.path().join(".git")).unwrap();
    for (harness, path) in [
        ("claude-code", ".claude/settings.local.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini-cli", ".gemini/settings.json"),
    ] {
        home.init(&[harness, "--project", "--yes"]).ok();
        let text = fs::read_to_string(home.place.path().join(path)).unwrap();
        assert!(text.contains(&format!("hook {harness}")), "{text}");
        home.init(&[harness, "--project", "--yes", "--undo"]).ok();
        assert!(!home.place.path().join(path).exists(), "{path} was made for the hooks alone");
    }
}
