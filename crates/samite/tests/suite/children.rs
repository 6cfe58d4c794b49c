//! Processes of their own: this very binary, running one of its ignored tests.

use crate::support::options;
use samite::embedded::Embedded;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = "SAMITE_TEST_ROOT";
const NAME: &str = "SAMITE_TEST_NAME";

/// A process that runs one of this binary's ignored tests; it ends with its handle.
pub(crate) struct Process(Child);

/// Starts a process that runs an ignored test on the store in a place.
pub(crate) fn start(test: &str, root: &Path, name: &str) -> Process {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(ROOT, root)
        .env(NAME, name)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(root.join(format!("{name}.err"))).unwrap())
        .spawn()
        .unwrap();
    Process(child)
}

impl Process {
    /// Waits until it ends, well.
    pub(crate) fn succeeds(mut self, role: &Role) {
        let status = self.0.wait().unwrap();
        let said = std::fs::read_to_string(role.file("err")).unwrap_or_default();
        assert!(status.success(), "{}: {said}", role.name);
    }

    /// Whether it ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Stops it, unless it has ended; when this returns, no thread of it runs.
    pub(crate) fn stop(&self) {
        self.signal("STOP");
        let stat = format!("/proc/{}/stat", self.0.id());
        soon("the process stops", || {
            let stat = std::fs::read_to_string(&stat).unwrap();
            stat.rsplit(')').next().unwrap().trim_start().starts_with(['T', 'Z'])
        });
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.0.id().to_string()).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is so.
pub(crate) fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_mins(1), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a process of a test is called, and where it works.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub(crate) root: PathBuf,
    pub(crate) name: String,
}

impl Role {
    /// The role of a process that another started; none when a person runs the ignored test by hand.
    pub(crate) fn of_this_process() -> Option<Self> {
        let root = PathBuf::from(std::env::var_os(ROOT)?);
        Some(Self { root, name: std::env::var(NAME).unwrap() })
    }

    pub(crate) fn new(root: &Path, name: &str) -> Self {
        Self { root: root.to_path_buf(), name: name.to_owned() }
    }

    /// A file of this role.
    pub(crate) fn file(&self, ending: &str) -> PathBuf {
        self.root.join(format!("{}.{ending}", self.name))
    }

    /// Opens the place's store.
    pub(crate) fn open(&self) -> Embedded {
        Embedded::open(options(&self.root.join("store"), &self.root.join("master.key"))).unwrap()
    }

    /// Writes a line down for whoever checks.
    pub(crate) fn say(&self, line: &str) {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(self.file("said")).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The lines that were written down.
    pub(crate) fn said(&self) -> Vec<String> {
        let said = std::fs::read_to_string(self.file("said")).unwrap_or_default();
        said.lines().map(str::to_owned).collect()
    }

    /// Waits until this process's word is there.
    pub(crate) fn waits_for(&self, ending: &str) {
        soon(ending, || self.file(ending).exists());
    }

    /// Gives a word.
    pub(crate) fn tell(&self, ending: &str) {
        std::fs::write(self.file(ending), "").unwrap();
    }
}
