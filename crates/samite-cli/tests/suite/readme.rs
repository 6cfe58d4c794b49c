//! The example session of README.md is run as it stands there.

use crate::support::{Place, SAMITE};
use std::path::Path;

#[test]
fn the_example_session_is_true() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let block = readme.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 8, "{block}");
    let mut script = String::from("set -eu\n");
    for command in commands {
        script.push_str(command);
        script.push('\n');
    }
    let place = Place::new();
    let binaries = Path::new(SAMITE).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    // The environment of the command under test, but for a shell.
    let base = place.command(&[]);
    let mut shell = std::process::Command::new("bash");
    shell.env_clear().args(["-c", &script]).current_dir(place.path());
    for (name, value) in base.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    for (name, value) in [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")] {
        shell.env(name, value).env(name.replace("AUTHOR", "COMMITTER"), value);
    }
    let output = shell.env("PATH", path).output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
