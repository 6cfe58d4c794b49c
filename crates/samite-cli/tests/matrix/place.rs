//! A store of one cell, and the built command that works on it.

#[path = "../common/did.rs"]
mod did;

pub(crate) use did::{Did, text};

use crate::http;
use did::set_apart;
use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The programs, copied so that a build that runs at the same time cannot replace them.
pub(crate) struct Programs {
    /// The command under test.
    pub(crate) samite: PathBuf,
    /// This program, for the parts that it plays in the outside worlds.
    pub(crate) world: PathBuf,
    _directory: tempfile::TempDir,
}

/// The programs.
pub(crate) fn programs() -> &'static Programs {
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let samite = directory.path().join("samite");
        fs::copy(env!("CARGO_BIN_EXE_samite"), &samite).unwrap();
        let world = directory.path().join("world");
        fs::copy(std::env::current_exe().unwrap(), &world).unwrap();
        Programs { samite, world, _directory: directory }
    })
}

/// A store with a master key and a directory of its own.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    /// Who writes, where that is not the command itself.
    writer: Cell<WriterIs>,
}

/// Who writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WriterIs {
    /// Each command for itself.
    #[default]
    Command,
    /// A writer with a name, that no process stands for.
    Named,
    /// A writer with a name, that lives as long as this process, which calls the commands.
    Living,
}

impl Did {
    /// The code of its error; empty when there is none.
    pub(crate) fn code(&self) -> String {
        let last = self.err.lines().last().unwrap_or_default();
        let error: Value = serde_json::from_str(last).unwrap_or_default();
        error["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), writer: Cell::default() }
    }

    /// From here on, every command is called for this writer.
    pub(crate) fn write_as(&self, writer: WriterIs) {
        self.writer.set(writer);
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.path().join(name).to_string_lossy().into_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    pub(crate) fn lines(&self, name: &str) -> usize {
        self.read(name).lines().count()
    }

    /// A program in an environment that nothing else speaks into.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>, directory: &Path) -> Command {
        let mut command = Command::new(program);
        set_apart(&mut command, &self.path());
        command
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_NAME", "matrix")
            .env("GIT_AUTHOR_EMAIL", "matrix@example.com")
            .env("GIT_COMMITTER_NAME", "matrix")
            .env("GIT_COMMITTER_EMAIL", "matrix@example.com")
            .env("WORLD", &programs().world)
            .env("WORLD_HTTP", http::address())
            // Where this node is, for tenants that are pinned to it.
            .env("SAMITE_REGION", "eu")
            .current_dir(directory);
        command
    }

    /// The command under test, with `--json`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(&programs().samite, &self.path());
        command.arg("--json").args(arguments);
        if self.writer.get() != WriterIs::Command {
            command.env("SAMITE_WRITER", "harness");
        }
        if self.writer.get() == WriterIs::Living {
            command.env("SAMITE_WRITER_PID", std::process::id().to_string());
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Did {
        Did::new(&self.command(arguments).output().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(arguments).json()
    }

    #[track_caller]
    pub(crate) fn git(&self, directory: &str, arguments: &[&str]) -> String {
        let did = Did::new(&self.program("git", &self.path().join(directory)).args(arguments).output().unwrap());
        assert_eq!(did.status, 0, "git {arguments:?}: {did:?}");
        did.out.trim().to_owned()
    }

    /// A new session's id.
    pub(crate) fn session(&self) -> String {
        text(&self.json(&["session", "new", "--name", "matrix"]), "/id")
    }

    /// Appends a message and returns it with its seq, once it was acknowledged.
    pub(crate) fn say(&self, session: &str, words: &str) -> (u64, String) {
        (number(&self.json(&["append", session, "--text", words]), "/seq"), words.to_owned())
    }

    /// Every entry of a session's current branch.
    pub(crate) fn entries(&self, session: &str) -> Vec<Value> {
        let did = self.run(&["read", session]);
        assert_eq!(did.status, 0, "{did:?}");
        did.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The payloads of a session's current branch with their seqs.
    pub(crate) fn said(&self, session: &str) -> Vec<(u64, String)> {
        let words = |entry: &Value| Some((number(entry, "/seq"), entry["payload"].as_str()?.to_owned()));
        self.entries(session).iter().filter_map(words).collect()
    }

    /// How many of these acknowledged entries are gone or changed.
    pub(crate) fn lost(&self, session: &str, acknowledged: &[(u64, String)]) -> usize {
        let said = self.said(session);
        acknowledged.iter().filter(|entry| !said.contains(entry)).count()
    }

    /// Asserts that the store verifies.
    #[track_caller]
    pub(crate) fn verify(&self) {
        let did = self.run(&["verify"]);
        assert!(did.status == 0 && did.json()["ok"] == true, "the store does not verify: {did:?}");
        let did = self.run(&["audit", "verify"]);
        // Where nothing was done yet, nothing was logged.
        let nothing = did.status == 3 && did.err.contains("no_audit_log");
        assert!(nothing || did.status == 0 && did.json()["ok"] == true, "it is not as its audit log says: {did:?}");
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path).unwrap().write_all(bytes).unwrap();
    }
}

/// The number at a pointer.
#[track_caller]
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} in {value}"))
}

/// Bytes that do not compress and differ by their seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = crate::sample::Random::new(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
