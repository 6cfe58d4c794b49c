use super::*;
use proptest::prelude::*;
use serde_json::json;

fn tool(name: &str, input: Value) -> Tool {
    Tool { name: name.to_owned(), input, id: None }
}

fn judged(name: &str, input: Value) -> Judged {
    let site = Site { workspace: Some(Path::new("/work")), directory: Path::new("/work/src") };
    judge(&Policy::default(), &tool(name, input), &site)
}

fn shell(command: &str) -> &'static str {
    match judged("Bash", json!({ "command": command })) {
        Judged::Idempotent => "idempotent",
        Judged::Contained(within) if within.is_empty() => "contained",
        Judged::Contained(_) => "contained within",
        Judged::Push(_) => "observable",
        Judged::Opaque => "opaque",
    }
}

#[test]
fn a_command_line_is_as_careful_as_its_most_careful_command() {
    for (right, lines) in [
        (
            "idempotent",
            &[
                "ls -la && cat calc.py",
                "git status; git log -3 | head",
                "find . -name '*.rs'",
                "sed -n '1,20p' a.txt",
                "grep -rn x . 2>/dev/null",
                "cd sub && ls",
                "cat /etc/hosts",
                "git --no-pager diff",
                "echo $HOME",
            ][..],
        ),
        (
            "contained",
            &[
                "git add -A && git commit -qm 'Fix add' && git log --oneline",
                "echo x > a.txt",
                "cat > a.txt <<'EOF'\nwords\nEOF",
                "mkdir -p dist && touch dist/x && rm -rf dist",
                "sed -i 's/a/b/' a.txt",
                "git checkout -b next",
                "cp ../a ./b",
                "echo x > /work/a",
                "git fetch origin",
            ],
        ),
        (
            "observable",
            &[
                "git push",
                "git push -q origin HEAD:main && git ls-remote origin",
                "git add -A && git commit -m x && git push origin main",
            ],
        ),
        (
            "opaque",
            &[
                "",
                "make",
                "python3 -c 'x'",
                "ls && make",
                "curl https://example.com",
                "rm -rf /",
                "rm ../../other",
                "echo x > /etc/passwd",
                "echo x > ~/.bashrc",
                "cd .. && cd .. && ls",
                "cd / && rm x",
                "find . -exec rm {} ;",
                "sed -i 'e rm x' a",
                "git -C /srv/other commit -m x",
                "git config --global a b",
                "git push --all",
                "git push && git push",
                "echo x > a && git push",
                "git push $REMOTE",
                "$(cat x)",
                "git rebase -x 'rm y' main",
                "echo 'a",
            ],
        ),
    ] {
        for line in lines {
            let right = if line.is_empty() { "idempotent" } else { right };
            assert_eq!(shell(line), right, "{line}");
        }
    }
}

#[test]
fn outside_of_the_workspace_nothing_is_contained() {
    let policy = Policy::default();
    for (workspace, directory) in [(None, "/work"), (Some("/work"), "/elsewhere")] {
        let site = Site { workspace: workspace.map(Path::new), directory: Path::new(directory) };
        let judged = |name, input| judge(&policy, &tool(name, input), &site);
        assert_eq!(judged("Bash", json!({"command": "touch x"})), Judged::Opaque);
        assert_eq!(judged("Bash", json!({"command": "ls"})), Judged::Idempotent);
        assert_eq!(judged("Write", json!({"file_path": "x"})), Judged::Opaque);
    }
}

#[test]
fn a_file_tool_is_contained_within_its_paths() {
    let within = |paths: &[&str]| Judged::Contained(paths.iter().map(|path| (*path).to_owned()).collect());
    assert_eq!(judged("Write", json!({"file_path": "/work/a b.txt"})), within(&["a b.txt"]));
    assert_eq!(judged("Edit", json!({"file_path": "x/../y.txt"})), within(&["src/y.txt"]));
    assert_eq!(judged("write_file", json!({"file_path": "../top"})), within(&["top"]));
    assert_eq!(judged("Write", json!({"file_path": "../../x"})), Judged::Opaque);
    assert_eq!(judged("Write", json!({"file_path": "/work"})), Judged::Opaque);
    assert_eq!(judged("Write", json!({})), within(&[]));
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch";
    assert_eq!(judged("apply_patch", json!({"command": patch})), within(&["src/a.rs", "src/b.rs"]));
    let patch = patch.replace("a.rs", "/etc/passwd");
    assert_eq!(judged("apply_patch", json!({"command": patch})), Judged::Opaque);
}

#[test]
fn a_shell_is_asked_in_each_spelling() {
    for input in [
        json!({"command": "ls"}),
        json!({"cmd": "ls"}),
        json!({"command": ["ls", "-la"]}),
        json!({"command": ["bash", "-lc", "ls && cat x"]}),
    ] {
        assert_eq!(judged("shell", input.clone()), Judged::Idempotent, "{input}");
    }
    for input in [json!({}), json!({"command": 7}), json!({"command": ["bash", "-lc", "make"]}), json!("ls")] {
        assert_eq!(judged("shell", input.clone()), Judged::Opaque, "{input}");
    }
}

#[test]
fn a_shells_step_belongs_to_the_program_that_does_the_work() {
    let policy = Policy::default();
    let name = |name: &str, input| tool_name(&policy, &tool(name, input));
    assert_eq!(name("Bash", json!({"command": "cd x && make test"})), "make");
    assert_eq!(name("Write", json!({"command": "make"})), "Write");
    assert_eq!(name("Bash", json!({})), "Bash");
}

#[test]
fn a_push_after_a_commit_pushes_what_is_not_there_yet() {
    let push = |command: &str| match judged("Bash", json!({ "command": command })) {
        Judged::Push(push) => push.after_commit,
        other => panic!("{other:?}"),
    };
    assert!(!push("git push origin main"));
    assert!(push("git commit -am x && git push origin main"));
}

proptest! {
    #[test]
    fn no_words_make_it_fail(command in "\\PC{0,60}|(git|rm|cd|find|push|-|/|\\.\\.|>|;|&&|\\$| ){0,20}") {
        shell(&command);
    }
}
