//! Measures snapshots and restores of a directory, each against the least that the operating system asks for it.
//!
//! `cargo run --release -p samite-workspace --example measure_snapshots -- DIRECTORY SCRATCH`
//!
//! The directory is only read; SCRATCH must not exist, and takes a store and seven copies. Ten files are changed in a
//! copy. Each line is a process of its own, so that its CPU time and its peak of memory are its own too. What is compared
//! runs in turns, several times. Nothing is removed in between, and what was written is synced before files are made: some
//! file systems make files several times more slowly while their journal is full of what came before.
#![expect(clippy::print_stdout, reason = "it is a program that prints")]
#![expect(clippy::disallowed_methods, reason = "the floors are what the operating system does, without samite")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a measurement that fails ends")]

use futures_lite::future::block_on;
use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, openat, statat, syncfs, utimensat,
};
use rustix::time::{ClockId, clock_gettime};
use samite_blocks::FilePackStore;
use samite_host::{SystemClock, SystemRandomness};
use samite_keys::{FileMaster, Keyring, KeyringOptions};
use samite_ledger::{Commit, Ledger as _, OpenOptions, SqliteLedger};
use samite_model::{BlockId, Owner, Pseudonym, Tenant};
use samite_redact::{Policy, Redactor};
use samite_workspace::{
    Match, RestoreOptions, ScanOptions, Screen, Screening, SnapshotOptions, Store, materialise, snapshot,
};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const SHORT_ROUNDS: usize = 5;
const LONG_ROUNDS: usize = 3;

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    seconds(time)
}

#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn seconds(time: Timespec) -> f64 {
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn wall() -> f64 {
    seconds(clock_gettime(ClockId::Monotonic))
}

fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

struct Place {
    scratch: PathBuf,
    copy: PathBuf,
    ledger: SqliteLedger,
    store: Store,
    owner: Pseudonym,
}

/// Looks at files as redaction does by default.
struct Looking(Redactor);

impl Screen for Looking {
    fn screen(&self, bytes: &[u8]) -> Vec<Match> {
        let found = self.0.screen(bytes).into_iter();
        found
            .filter_map(|one| {
                let (class, kind) = (one.class.name(), one.kind.into_owned());
                Some(Match { class, kind, fingerprint: one.fingerprint, place: one.place? })
            })
            .collect()
    }
}

fn screening(separates: bool) -> Screening {
    let redactor = Redactor::new(&Policy::default(), &[], Arc::new(|_: &[u8]| [0; 4])).unwrap();
    Screening { screen: Some(Arc::new(Looking(redactor))), separates, separated: separates }
}

fn open(scratch: &Path) -> Place {
    let random = Arc::new(SystemRandomness::new());
    let keyring = Keyring::open(KeyringOptions {
        directory: scratch.join("keys"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(scratch.join("master"), random.clone())),
        random: random.clone(),
        create: true,
    })
    .unwrap();
    let owner = keyring.subject(&Owner::new("user:measure").unwrap()).unwrap().pseudonym;
    let ledger = SqliteLedger::open(OpenOptions::new(scratch.join("ledger.db")).create()).unwrap();
    let store = Store {
        index: Arc::new(ledger.clone()),
        packs: Arc::new(FilePackStore::open(&scratch.join("packs")).unwrap()),
        tenant: keyring.tenant_pseudonym(),
        screening: screening(false),
        sealing: Arc::new(keyring),
        clock: Arc::new(SystemClock),
        random,
    };
    Place { scratch: scratch.to_owned(), copy: scratch.join("copy"), ledger, store, owner }
}

fn walk(directory: &Path, files: &mut u64) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, directory, flags, Mode::empty()).unwrap();
    for entry in Dir::read_from(&fd).unwrap() {
        let entry = entry.unwrap();
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let stat = statat(&fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).unwrap();
        if stat.st_mode & 0o170_000 == 0o040_000 {
            walk(&directory.join(std::str::from_utf8(entry.file_name().to_bytes()).unwrap()), files);
        } else {
            *files += 1;
        }
    }
}

/// Directories, files (with size, mode and time) and links, to be made again.
fn list(top: &Path, directory: &Path, found: &mut Vec<(PathBuf, std::fs::Metadata)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        found.push((path.strip_prefix(top).unwrap().to_owned(), metadata.clone()));
        if metadata.is_dir() {
            list(top, &path, found);
        }
    }
}

/// CPU time and time that passed.
#[derive(Clone, Copy)]
struct Times {
    cpu: f64,
    wall: f64,
}

impl Times {
    fn now() -> Self {
        Self { cpu: cpu(), wall: wall() }
    }

    fn since(self, before: Self) -> Self {
        Self { cpu: self.cpu - before.cpu, wall: self.wall - before.wall }
    }
}

/// The least for making the same again, single-threaded: only creating, writing, and setting mode and time are timed,
/// not the reading of the bytes to be written.
fn floor(source: &Path, target: &Path) -> Times {
    let mut found = Vec::new();
    list(source, source, &mut found);
    let mut bytes = vec![0; 1 << 20];
    let before = Times::now();
    let mut read = Times { cpu: 0.0, wall: 0.0 };
    let mut reading = |from: Times| {
        let took = Times::now().since(from);
        read = Times { cpu: read.cpu + took.cpu, wall: read.wall + took.wall };
    };
    std::fs::create_dir(target).unwrap();
    for (path, metadata) in &found {
        let (from, path) = (source.join(path), target.join(path));
        if metadata.is_dir() {
            std::fs::create_dir(path).unwrap();
        } else if metadata.is_symlink() {
            std::os::unix::fs::symlink("somewhere", path).unwrap();
        } else if metadata.is_file() {
            let began = Times::now();
            let source = openat(CWD, &from, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
            let mut got = rustix::io::read(&source, &mut bytes[..]).unwrap();
            reading(began);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR).unwrap();
            while got > 0 {
                let mut rest = &bytes[..got];
                while !rest.is_empty() {
                    rest = &rest[rustix::io::write(&file, rest).unwrap()..];
                }
                let began = Times::now();
                got = rustix::io::read(&source, &mut bytes[..]).unwrap();
                reading(began);
            }
            fchmod(&file, Mode::from_raw_mode(metadata.mode() & 0o7777)).unwrap();
            let time = Timespec { tv_sec: metadata.mtime(), tv_nsec: metadata.mtime_nsec() };
            futimens(&file, &Timestamps { last_access: time, last_modification: time }).unwrap();
        }
    }
    for (path, metadata) in found.iter().rev().filter(|(_, metadata)| metadata.is_dir()) {
        let time = Timespec { tv_sec: metadata.mtime(), tv_nsec: metadata.mtime_nsec() };
        let times = Timestamps { last_access: time, last_modification: time };
        utimensat(CWD, target.join(path), &times, AtFlags::empty()).unwrap();
    }
    Times::now().since(before).since(read)
}

fn take(place: &Place, base: Option<BlockId>) -> (BlockId, u64, usize) {
    let scan = ScanOptions { cache: Some(place.scratch.join("cache/stat")), ..ScanOptions::default() };
    let made = snapshot(&place.store, &place.copy, &SnapshotOptions { owner: place.owner, base, scan }).unwrap();
    let mut commit = Commit::default();
    let (root, bytes, found) = (made.root, made.new_bytes, made.scanned.report().found.len());
    made.parts.add_to(&mut commit);
    block_on(place.ledger.commit(commit)).unwrap();
    std::fs::write(place.scratch.join("root"), root.to_string()).unwrap();
    (root, bytes, found)
}

fn unused(scratch: &Path, name: &str) -> PathBuf {
    (0..LONG_ROUNDS).map(|number| scratch.join(format!("{name}-{number}"))).find(|path| !path.exists()).unwrap()
}

/// Leaves the files of a copy empty, so that the next one gets the same memory: pages that this machine has never touched
/// cost a virtual one several times as much. Nothing is removed: ext4 passes over what was removed lately, file by file.
fn empty(copy: &Path) {
    let mut found = Vec::new();
    list(copy, copy, &mut found);
    for (path, _) in found.iter().filter(|(_, metadata)| metadata.is_file() && metadata.len() > 0) {
        let path = copy.join(path);
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::File::options().write(true).truncate(true).open(path).unwrap();
    }
}

fn stage(name: &str, scratch: &Path) {
    let stage = name;
    let mut place = open(scratch);
    let base = std::fs::read_to_string(scratch.join("root")).ok().and_then(|root| root.parse().ok());
    if matches!(name, "floor" | "restore") {
        syncfs(openat(CWD, scratch, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap()).unwrap();
    }
    place.copy = std::fs::canonicalize(&place.copy).unwrap();
    let (name, base) = match name {
        // Into a store of its own, where nothing is known.
        "unscreened" => {
            place.store.screening = Screening::default();
            ("first", None)
        }
        "separate" => {
            place.store.screening = screening(true);
            ("first", None)
        }
        name => (name, base),
    };
    let before = Times::now();
    let mut took = None;
    let note = match name {
        "walk" => {
            let mut files = 0;
            walk(&place.copy, &mut files);
            format!("{files} files")
        }
        "first" | "unchanged" | "ten" => {
            let (_, bytes, found) = take(&place, base);
            format!("{bytes} new bytes, {found} chunks with findings")
        }
        "floor" => {
            took = Some(floor(&place.copy, &unused(scratch, "floor")));
            String::new()
        }
        _ => {
            let scan = ScanOptions { cache: Some(scratch.join("cache/fork")), ..ScanOptions::default() };
            let options = RestoreOptions { scan, ..RestoreOptions::new([1; 16], place.owner, None, base.unwrap()) };
            let report = materialise(&place.store, &unused(scratch, "restored"), &options).unwrap();
            assert!(report.is_complete(), "{:?}", (report.kept, report.failed));
            format!("{} files, {} bytes", report.copied_files, report.copied_bytes)
        }
    };
    let Times { cpu, wall } = took.unwrap_or_else(|| Times::now().since(before));
    println!("{stage:10} {cpu:8.3} CPU s {wall:8.3} s {:5} MiB  {note}", peak_mebibytes());
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, name, scratch] = arguments.as_slice()
        && flag == "--stage"
    {
        stage(name, Path::new(scratch));
        return;
    }
    let [_, directory, scratch] = arguments.as_slice() else {
        println!("usage: measure DIRECTORY SCRATCH");
        return;
    };
    let scratch = Path::new(scratch);
    std::fs::create_dir(scratch).unwrap();
    let copied = Command::new("cp").arg("-a").arg(directory).arg(scratch.join("copy")).status().unwrap();
    assert!(copied.success());
    std::thread::sleep(std::time::Duration::from_millis(20));
    let run = |name: &str| {
        let program = std::env::current_exe().unwrap();
        assert!(Command::new(program).args(["--stage", name]).arg(scratch).status().unwrap().success());
    };
    run("walk");
    // The same without a look at the files, and with what is found in blocks of its own: each in a store of its own.
    for name in ["unscreened", "separate"] {
        let other = scratch.join(name);
        std::fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(scratch.join("copy"), other.join("copy")).unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(Command::new(program).args(["--stage", name]).arg(&other).status().unwrap().success());
    }
    run("first");
    for _ in 0..SHORT_ROUNDS {
        run("unchanged");
        run("walk");
    }
    let mut found = Vec::new();
    list(&scratch.join("copy"), &scratch.join("copy"), &mut found);
    let files: Vec<&PathBuf> =
        found.iter().filter(|(_, metadata)| metadata.is_file() && metadata.len() > 0).map(|(path, _)| path).collect();
    for round in 0..SHORT_ROUNDS {
        for path in files.iter().skip(round).step_by((files.len() / 10).max(1)).take(10) {
            std::fs::write(scratch.join("copy").join(path), "changed").unwrap();
        }
        run("ten");
        run("walk");
    }
    for round in 0..LONG_ROUNDS {
        run("floor");
        empty(&scratch.join(format!("floor-{round}")));
        run("restore");
        empty(&scratch.join(format!("restored-{round}")));
    }
}
