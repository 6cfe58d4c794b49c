//! A store for one test, and the binary that works on it.

#[path = "../common/did.rs"]
mod did;
#[path = "../common/witness.rs"]
mod witness;

pub(crate) use did::{Did, text};
pub(crate) use witness::Witness;

use did::set_apart;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The binary under test.
pub(crate) const SAMITE: &str = env!("CARGO_BIN_EXE_samite");

/// A store in a directory of its own, with a master key of its own.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Did {
    /// Its output, after it ended well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        self.out
    }

    /// Its JSON lines, after it ended well.
    pub(crate) fn lines(self) -> Vec<Value> {
        self.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Its JSON error, after it ended with this status and said nothing on standard output.
    pub(crate) fn error(self, status: i32) -> Value {
        assert_eq!((self.status, self.out.as_str()), (status, ""), "{}", self.err);
        let last = self.err.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {}", self.err))
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join("store")
    }

    /// The command, in an environment that nothing else speaks into.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(SAMITE);
        set_apart(&mut command, self.path());
        command.args(arguments).current_dir(self.path());
        for name in ["SAMITE_KILL_POINT", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Did {
        Did::new(&self.command(arguments).output().unwrap())
    }

    /// As [`Place::run`], with `--json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> Did {
        let mut all = vec!["--json"];
        all.extend_from_slice(arguments);
        self.run(&all)
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Did {
        let mut command = self.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        match child.stdin.take().unwrap().write_all(input) {
            // Some need no input, and are gone before it comes.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        Did::new(&child.wait_with_output().unwrap())
    }

    /// Starts a command and kills it once a file is there that is its effect, or a sign of it.
    pub(crate) fn cut_off(&self, arguments: &[&str], effect: &str) {
        let mut child = self.command(arguments).stdout(Stdio::null()).spawn().unwrap();
        wait_for(&self.path().join(effect));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts a step's command that writes the numbers of its supervisor and of itself to a file, and kills all three of them.
    pub(crate) fn cut_off_whole(&self, arguments: &[&str], pids: &str) {
        let mut child = self.command(arguments).stdout(Stdio::null()).spawn().unwrap();
        wait_for(&self.path().join(pids));
        let pids = self.read(pids).unwrap();
        let own = child.id().to_string();
        let all = std::iter::once(own.as_str()).chain(pids.split_whitespace());
        // Some may be gone by then: the others die of the first one's death.
        Command::new("kill").arg("-9").args(all).stderr(Stdio::null()).status().unwrap();
        child.wait().unwrap();
        // A signal takes a moment to arrive.
        let ends = |pid: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |stat| stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X'])))
        };
        while !pids.split_whitespace().all(ends) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Makes the directory `work` and attaches it to a session.
    pub(crate) fn attach_work(&self, session: &str) {
        std::fs::create_dir(self.path().join("work")).unwrap();
        self.run(&["workspace", "attach", session, "work"]).ok();
    }

    /// What a file holds; none when it is not there.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(path)).ok()
    }

    /// A new session's id.
    pub(crate) fn session(&self) -> String {
        text(&self.json(&["session", "new", "--name", "test"]).json(), "/id")
    }

    /// Appends a message and returns its seq.
    pub(crate) fn say(&self, session: &str, words: &str) -> u64 {
        let answer = self.json(&["append", session, "--text", words]).json();
        answer.pointer("/seq").and_then(Value::as_u64).unwrap()
    }
}

/// Waits until a file is there and has been written to: a shell makes it first.
pub(crate) fn wait_for(path: &Path) {
    for _ in 0..6_000 {
        if std::fs::metadata(path).is_ok_and(|found| found.len() > 0) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{} does not come", path.display());
}

/// The hints of an error.
pub(crate) fn hints(error: &Value) -> String {
    error["hints"].to_string()
}

/// Replaces ids by their order of appearance, and times, paths and durations by words, so that golden files hold.
pub(crate) struct Redactor {
    names: HashMap<String, usize>,
    roots: Vec<(String, &'static str)>,
}

impl Redactor {
    pub(crate) fn new(place: &Place) -> Self {
        let root = place.path().display().to_string();
        let mut roots = vec![(root, "<PLACE>")];
        if let Ok(real) = place.path().canonicalize() {
            roots.push((real.display().to_string(), "<PLACE>"));
        }
        Self { names: HashMap::new(), roots }
    }

    /// Text without what changes from run to run.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (root, name) in &self.roots {
            text = text.replace(root, name);
        }
        let mut redacted = String::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let starts_word = !redacted.ends_with(|last: char| last.is_ascii_alphanumeric());
            if let (true, Some(length)) = (starts_word, time(rest)) {
                redacted.push_str("<TIME>");
                rest = &rest[length..];
                continue;
            }
            let hex = rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
            let ends_word = !rest[hex..].starts_with(|next: char| next.is_ascii_alphanumeric());
            if starts_word && ends_word && matches!(hex, 12 | 32 | 64) {
                let next = self.names.len() + 1;
                let number = *self.names.entry(rest[..12].to_owned()).or_insert(next);
                redacted.push_str(&format!("<ID{number}{}>", if hex == 12 { " short" } else { "" }));
                rest = &rest[hex..];
                continue;
            }
            let word = hex.max(rest.chars().next().map_or(1, char::len_utf8));
            redacted.push_str(&rest[..word]);
            rest = &rest[word..];
        }
        redacted
    }

    /// A JSON value on several lines, redacted.
    pub(crate) fn json(&mut self, value: &Value) -> String {
        let mut value = value.clone();
        durations(&mut value);
        // Some features of a build keep fields in the order in which they were written.
        value.sort_all_objects();
        self.text(&serde_json::to_string_pretty(&value).unwrap())
    }
}

fn durations(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_duration = ["duration_ns", "unsaved_ns", "worst_loss_ns", "exposed_ns"].contains(&name.as_str());
                if is_duration && field.is_u64() {
                    *field = Value::from("<NANOSECONDS>");
                } else if name == "overhead_permille" && field.is_u64() {
                    *field = Value::from("<PERMILLE>");
                } else {
                    durations(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(durations),
        _ => {}
    }
}

/// The length of a time at the beginning of a text: `2026-01-02`, with `T03:04:05.678Z` or ` 03:04:05` after it.
fn time(text: &str) -> Option<usize> {
    let shape = |text: &str, shape: &str| {
        text.len() >= shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(byte, want)| if want == b'0' { byte.is_ascii_digit() } else { byte == want })
    };
    if shape(text, "0000-00-00T00:00:00") {
        let rest = &text["0000-00-00T00:00:00".len()..];
        let more =
            rest.find('Z').filter(|end| rest[..*end].bytes().all(|byte| byte == b'.' || byte.is_ascii_digit()))?;
        Some("0000-00-00T00:00:00".len() + more + 1)
    } else if shape(text, "0000-00-00 00:00:00") {
        Some("0000-00-00 00:00:00".len())
    } else if shape(text, "0000-00-00") {
        Some("0000-00-00".len())
    } else {
        None
    }
}

/// Copies a directory with all that is in it.
#[cfg(feature = "kill-points")]
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    use std::fs;
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}
