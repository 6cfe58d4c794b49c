//! Recording what a workload does to a file system.

use samite_powercut::{CANNOT_MOUNT, MARKS, Operation, READY, decode};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The folder of an earlier recording, to be replayed instead of making one.
const RECORDED: &str = "SAMITE_POWERCUT_RECORDING";
/// For a child: the mounted file system.
const MOUNTED: &str = "SAMITE_POWERCUT_MOUNT";
/// For a child: a directory that is not recorded.
const BESIDE: &str = "SAMITE_POWERCUT_BESIDE";
/// For a child: which of several it is.
const NUMBER: &str = "SAMITE_POWERCUT_NUMBER";

/// Where recordings, and the disks after the cuts, are made: in memory where that is possible.
pub(crate) fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let usable = tempfile::tempdir_in(memory).is_ok();
    if usable { memory.to_owned() } else { std::env::temp_dir() }
}

/// The recorder, unmounted and ended when this goes.
struct Recorder {
    process: Child,
    mount: PathBuf,
}

impl Recorder {
    /// Mounts, or says why this machine cannot.
    fn start(folder: &Path) -> Result<Self, String> {
        if !Path::new("/dev/fuse").exists() {
            return Err("there is no /dev/fuse".into());
        }
        let mount = folder.join("mount");
        std::fs::create_dir(&mount).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_samite-powercut-fs"))
            .arg(&mount)
            .arg(folder.join("log"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.trim_end() == READY {
            return Ok(Self { process, mount });
        }
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        assert_eq!(output.status.code(), Some(CANNOT_MOUNT), "{said}");
        Err(said)
    }

    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success(), "the recorder failed");
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A recording, and the files beside it that the workload used.
pub(crate) struct Recording {
    pub(crate) operations: Vec<Operation>,
    folder: PathBuf,
    temporary: Option<TempDir>,
}

impl Recording {
    /// What a workload does on a file system of its own, or nothing with a loud word. The workload is given the
    /// processes that it may start.
    pub(crate) fn make(work: impl FnOnce(&Workload)) -> Option<Self> {
        if let Some(folder) = std::env::var_os(RECORDED) {
            return Some(Self::load(folder.into(), None));
        }
        let temporary = tempfile::Builder::new().prefix("samite-powercut-").tempdir_in(scratch()).unwrap();
        let folder = temporary.path().to_owned();
        std::fs::create_dir(folder.join("beside")).unwrap();
        let recorder = match Recorder::start(&folder) {
            Ok(recorder) => recorder,
            Err(why) => {
                eprintln!("SKIPPED: no power cut was replayed, since no file system can be mounted here: {why}");
                return None;
            }
        };
        work(&Workload { mount: recorder.mount.clone(), beside: folder.join("beside") });
        recorder.end();
        Some(Self::load(folder, Some(temporary)))
    }

    fn load(folder: PathBuf, temporary: Option<TempDir>) -> Self {
        let operations = decode(&std::fs::read(folder.join("log")).unwrap()).unwrap();
        Self { operations, folder, temporary }
    }

    /// The directory beside the recorded file system.
    pub(crate) fn beside(&self) -> PathBuf {
        self.folder.join("beside")
    }

    /// Keeps the files, and says how a cut is made again.
    pub(crate) fn keep(&mut self) -> String {
        if let Some(temporary) = self.temporary.take() {
            let _ = temporary.keep();
        }
        format!("{RECORDED}={}", self.folder.display())
    }
}

/// Where a workload runs.
pub(crate) struct Workload {
    mount: PathBuf,
    beside: PathBuf,
}

impl Workload {
    /// Starts this program again for the test of this name only, which does its work where [`Worker::this`] says.
    pub(crate) fn start(&self, test: &str, number: u64, kill_point: Option<&str>) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(MOUNTED, &self.mount)
            .env(BESIDE, &self.beside)
            .env(NUMBER, number.to_string())
            .env_remove("SAMITE_KILL_POINT")
            .stdout(Stdio::null());
        if let Some(point) = kill_point {
            command.env("SAMITE_KILL_POINT", point);
        }
        command.spawn().unwrap()
    }
}

/// What a child knows.
pub(crate) struct Worker {
    pub(crate) mount: PathBuf,
    pub(crate) beside: PathBuf,
    pub(crate) number: u64,
    marks: File,
}

impl Worker {
    /// The worker that this process is, if it is one.
    pub(crate) fn this() -> Option<Self> {
        let mount = PathBuf::from(std::env::var_os(MOUNTED)?);
        Some(Self {
            beside: std::env::var_os(BESIDE)?.into(),
            number: std::env::var(NUMBER).ok()?.parse().ok()?,
            marks: OpenOptions::new().write(true).open(mount.join(MARKS)).unwrap(),
            mount,
        })
    }

    /// Notes in the order of the recording that something was acknowledged.
    pub(crate) fn acknowledge(&self, act: &impl Serialize) {
        self.marks.write_all_at(&serde_json::to_vec(act).unwrap(), 0).unwrap();
    }
}

/// Writes to the test's error output at once.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
