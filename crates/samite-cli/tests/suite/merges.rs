//! Merges as a person meets them: git repositories that both sides committed to, words that are no choice, what is in no
//! checkpoint yet, and what the log says.

use crate::support::{Place, hints, text};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A session that works in `work`, and a fork of it that works in `other`.
struct Two {
    place: Place,
    id: String,
    fork: String,
    theirs: String,
}

impl Two {
    fn new(git_too: bool) -> Self {
        let place = Place::new();
        let id = place.session();
        place.attach_work(&id);
        fs::write(place.path().join("work/f"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
        if git_too {
            git(&place, "work", &["init", "-q", "-b", "main"]);
            commit(&place, "work", "first");
        }
        place.run(&["checkpoint", &id, "--no-environment"]).ok();
        let fork = text(&place.json(&["fork", &id, "--into", "other", "--name", "second try"]).json(), "/id");
        let theirs = format!("{id}:{fork}");
        Self { place, id, fork, theirs }
    }

    fn write(&self, path: &str, content: &str) {
        fs::write(self.place.path().join(path), content).unwrap();
    }

    fn checkpoint(&self, branch: &str) {
        self.place.run(&["checkpoint", branch, "--no-environment"]).ok();
    }

    /// The answer of a merge that ends with this status.
    fn merge(&self, arguments: &[&str], status: i32) -> Value {
        let did = self.place.json(&[&["merge"], arguments].concat());
        assert_eq!(did.status, status, "{did:?}");
        serde_json::from_str(&did.out).unwrap()
    }

    /// The log's rows: which seqs have a tree, and what was merged.
    fn log(&self) -> (Vec<u64>, Vec<Value>) {
        let log = self.place.json(&["log", &self.id]).json();
        let turns = log["turns"].as_array().unwrap();
        let of = |name: &'static str| turns.iter().flat_map(move |turn| turn[name].as_array().unwrap().iter());
        (of("checkpoints").map(|tree| tree["seq"].as_u64().unwrap()).collect(), of("merges").cloned().collect())
    }
}

/// Git, in a directory of a place, in an environment that nothing else speaks into.
fn git(place: &Place, directory: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(place.path().join(directory)).args(arguments);
    let did = set_apart(&mut command, place.path()).output().unwrap();
    assert!(did.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&did.stderr));
    String::from_utf8(did.stdout).unwrap().trim().to_owned()
}

fn set_apart<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    command.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@example.com");
    }
    command
}

fn commit(place: &Place, directory: &str, message: &str) {
    git(place, directory, &["add", "--all"]);
    git(place, directory, &["commit", "-q", "-m", message]);
}

/// One commit of ours, and two of theirs with something that they did not commit.
fn both_committed() -> Two {
    let two = Two::new(true);
    two.write("work/f", "ONE\ntwo\nthree\nfour\nfive\n");
    commit(&two.place, "work", "main work");
    two.write("other/f", "one\ntwo\nthree\nfour\nFIVE\n");
    commit(&two.place, "other", "fork work");
    two.write("other/new", "new\n");
    commit(&two.place, "other", "fork's \"new\" file");
    two.write("other/loose", "not committed\n");
    two.checkpoint(&two.theirs);
    two
}

#[test]
fn a_merge_of_a_repository_says_whose_commits_leave_and_where_they_stay() {
    let two = both_committed();
    let tips = ["work", "other"].map(|directory| git(&two.place, directory, &["rev-parse", "HEAD"]));
    let plan = two.merge(&[&two.theirs, "--plan"], 0);
    let known = &plan["repositories"][0];
    let side = |tip: &str, subject: &str, commits: u64| json!({"branch": "main", "tip": tip, "subject": subject, "commits": commits, "exact": true});
    assert_eq!(known["path"], ".git");
    assert_eq!(known["ours"], side(&tips[0], "main work", 1));
    assert_eq!(known["theirs"], side(&tips[1], "fork's \"new\" file", 2));
    assert_eq!((&known["choice"], &known["stays"]), (&Value::Null, &json!([])));
    // An open merge says it too, for people, in JSON and in the manifest.
    let said = two.place.run(&["merge", &two.theirs]);
    let lines =
        ["ours has 1 commit of its own (main at ", "theirs has 2 commits of its own", "--take .git=theirs leaves"];
    assert!(lines.iter().all(|line| said.out.contains(line)), "{said:?}");
    let open = two.merge(&["--continue", &two.id], 4);
    let manifest = fs::read(Path::new(open["layout"].as_str().unwrap()).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["conflicts"][0]["repository"], open["repositories"][0]);
    // Who takes theirs is told where ours is, and finds it there.
    let done = two.merge(&["--continue", &two.id, "--auto", "--take", ".git=theirs"], 0);
    assert_eq!(git(&two.place, "work", &["rev-parse", "HEAD"]), tips[1]);
    let stays = done["repositories"][0]["stays"].as_array().unwrap();
    assert_eq!((stays.len(), &stays[0]["side"]), (1, &json!("ours")));
    let command = stays[0]["command"].as_str().unwrap().replace("DIR", "before");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    two.place.run(&words).ok();
    assert_eq!(git(&two.place, "before", &["rev-parse", "HEAD"]), tips[0]);
    commit(&two.place, "work", "both, as merged");
    git(&two.place, "work", &["fetch", "-q", "../before", "main"]);
    git(&two.place, "work", &["merge", "-q", "--no-edit", "FETCH_HEAD"]);
    assert_eq!(git(&two.place, "work", &["rev-list", "--count", "HEAD"]), "6");
    assert_eq!(two.place.json(&["verify"]).json()["ok"], true);
}

/// Runs commands as a shell of a person would.
fn follow(two: &Two, commands: &Value) {
    for command in commands.as_array().unwrap() {
        let mut shell = Command::new("sh");
        let samite = format!("samite() {{ {} \"$@\"; }}\n{}", crate::support::SAMITE, command.as_str().unwrap());
        shell.args(["-c", &samite]).current_dir(two.place.path());
        for (name, value) in two.place.command(&[]).get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let did = set_apart(&mut shell, two.place.path()).output().unwrap();
        assert!(did.status.success(), "{command}: {}", String::from_utf8_lossy(&did.stderr));
    }
}

#[test]
fn the_commands_that_a_merge_shows_keep_the_commits_of_both() {
    for (open, their_directory) in [(true, true), (false, true), (true, false)] {
        let two = both_committed();
        let first: &[&str] = if open { &[&two.theirs] } else { &[&two.theirs, "--plan"] };
        let mut answer = two.merge(first, if open { 4 } else { 0 });
        if !their_directory {
            // What was checkpointed is enough.
            fs::remove_dir_all(two.place.path().join("other")).unwrap();
            answer = two.merge(&["--continue", &two.id], 4);
        }
        follow(&two, &answer["repositories"][0]["keep_both"]);
        let messages = git(&two.place, "work", &["log", "--format=%s", "--topo-order"]);
        for message in ["main work", "fork work", "fork's \"new\" file", "first"] {
            assert!(messages.lines().any(|line| line == message), "{messages}");
        }
        git(&two.place, "work", &["fsck", "--strict"]);
        let read = |name: &str| two.place.read(&format!("work/{name}"));
        assert_eq!(read("f").as_deref(), Some("ONE\ntwo\nthree\nfour\nFIVE\n"));
        assert_eq!((read("new").as_deref(), read("loose").as_deref()), (Some("new\n"), Some("not committed\n")));
        // Nothing but what they had not committed is uncommitted.
        assert_eq!(git(&two.place, "work", &["status", "--short"]), "?? loose");
        assert_eq!(two.merge(&[&two.theirs, "--plan"], 0)["state"], "up_to_date");
    }
}

#[test]
fn a_word_that_is_no_choice_says_which_there_are() {
    let two = Two::new(false);
    two.write("work/f", "ours\n");
    two.write("other/f", "theirs\n");
    two.checkpoint(&two.theirs);
    let refused = |arguments: &[&str]| {
        let error = two.place.json(&[&["merge"], arguments, &["--take", "f=thirs"]].concat()).error(2);
        assert_eq!(error["code"], "bad_decision", "{error}");
        assert!(error["message"].as_str().unwrap().contains("\"thirs\" is none of the choices"), "{error}");
        assert!(hints(&error).contains("ours, theirs, base, proposed, removed, or a file of the layout"), "{error}");
    };
    refused(&[&two.theirs, "--plan"]);
    refused(&[&two.theirs]);
    let open = two.merge(&[&two.theirs], 4);
    refused(&["--continue", &two.id]);
    // A file of the layout is one, whatever it is called.
    fs::write(Path::new(open["layout"].as_str().unwrap()).join("thirs"), "by hand\n").unwrap();
    two.merge(&["--continue", &two.id, "--take", "f=thirs"], 0);
    assert_eq!(two.place.read("work/f").as_deref(), Some("by hand\n"));
}

#[test]
fn merges_that_change_nothing_add_nothing_to_the_log_and_one_that_does_is_called_so() {
    let two = Two::new(false);
    two.write("work/f", "ours\n");
    two.write("other/f", "theirs\n");
    two.checkpoint(&two.theirs);
    two.merge(&[&two.theirs], 4);
    let (before, _) = two.log();
    assert_eq!(before.len(), 2, "the first, and what was there before the merge: {before:?}");
    for _ in 0..2 {
        two.merge(&["--continue", &two.id], 4);
        two.place.json(&["merge", "--continue", &two.id, "--take", "f=thirs"]).error(2);
    }
    two.merge(&["--abort", &two.id], 0);
    two.merge(&[&two.theirs], 4);
    assert_eq!(two.log(), (before.clone(), Vec::new()));
    // What a person changes meanwhile is in a checkpoint before it is merged.
    two.write("work/mine", "mine\n");
    two.merge(&["--continue", &two.id], 4);
    assert_eq!(two.log().0.len(), 3);
    let done = two.merge(&["--continue", &two.id, "--take", "f=theirs"], 0);
    let (trees, merges) = two.log();
    assert_eq!((trees.len(), merges.len()), (4, 1));
    assert_eq!((&merges[0]["from"], &merges[0]["name"]), (&json!(two.fork), &json!("second try")));
    assert_eq!(merges[0]["seq"], done["position"]["seq"]);
    let shown = two.place.run(&["log", &two.id]).ok();
    let row = shown.lines().find(|line| line.contains(" merge ")).unwrap_or_else(|| panic!("{shown}"));
    assert!(row.contains(&format!("{} \"second try\" merged", &two.fork[..12])), "{shown}");
    assert!(!shown.contains("files put back"), "{shown}");
    // Merged again, it counts as merged although nothing was recorded since.
    two.write("other/more", "more\n");
    two.checkpoint(&two.theirs);
    assert_eq!(two.merge(&[&two.theirs], 0)["undecided"], json!([]));
    assert_eq!(two.place.json(&["verify"]).json()["ok"], true);
}

#[test]
fn a_merge_says_what_to_do_about_files_that_no_checkpoint_has() {
    let two = Two::new(false);
    two.write("other/new", "new\n");
    let hint = format!("first: samite checkpoint {}:{}", &two.id[..12], &two.fork[..12]);
    for arguments in [&["merge", two.theirs.as_str(), "--plan"][..], &["merge", two.theirs.as_str()]] {
        let said = two.place.run(arguments).ok();
        assert!(said.contains("all that is in a checkpoint of branch"), "{said}");
        assert!(said.contains("not merged: 1 path of branch"), "{said}");
        assert!(said.contains(&hint), "{said}");
    }
    two.checkpoint(&two.theirs);
    let said = two.place.run(&["merge", &two.theirs]).ok();
    assert!(!said.contains("not merged"), "{said}");
    assert_eq!(two.place.read("work/new").as_deref(), Some("new\n"));
    let said = two.place.run(&["merge", &two.theirs]).ok();
    assert!(said.contains("is in") && !said.contains("checkpoint"), "{said}");
}
