//! Damaged files: what was changed is named, and what is intact stays readable.

use crate::place::Place;
use crate::support::{event, files_only, noise, options, packs, run};
use samite::embedded::Embedded;
use samite::{Begin, Client, ForkOptions, NewEvent, NewSession, NewStep, ReadOptions, WriterOptions};
use samite_model::{BranchId, Error, ErrorKind, Position, SessionId};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Kinds and payloads.
type Entries = Vec<(String, Vec<u8>)>;

/// A store, and what is in it.
struct Original {
    place: Place,
    /// What each branch holds: kinds and payloads.
    branches: Vec<(SessionId, BranchId, Entries)>,
    /// What files held at checkpoints.
    files: Vec<(Position, &'static str, Vec<u8>)>,
}

async fn branch(client: &Client, session: SessionId, branch: BranchId) -> Result<Entries, Error> {
    let entries = client.read(session, Some(branch), ReadOptions::default()).await?.all().await?;
    Ok(entries.into_iter().map(|entry| (entry.header.kind.name(), entry.payload.unwrap())).collect())
}

impl Original {
    /// Two sessions with forks, steps, a large payload and checkpoints; half of it in the database, half in its log.
    fn new() -> Self {
        let place = Place::new();
        let work = place.directory("work");
        let (mut branches, mut files) = (Vec::new(), Vec::new());
        run(async {
            let store = place.open();
            let client = store.client().await.unwrap();
            let mut sessions = Vec::new();
            for round in 0..2_u64 {
                let session = client.create_session(NewSession::default()).await.unwrap();
                sessions.push((session.id, session.current));
                client.attach(session.id, None, &work).await.unwrap();
                fs::write(work.join("large"), noise(round + 1, 400_000)).unwrap();
                fs::write(work.join("small"), round.to_string()).unwrap();
                let writer = client.writer(session.id, None, WriterOptions::default()).await.unwrap();
                for number in 0..8 {
                    let new =
                        NewEvent { dedupe: Some(number.to_string()), ..event(&format!("{round} {number} words")) };
                    writer.append(new).await.unwrap();
                }
                writer.append(NewEvent { body: noise(round + 9, 1_100_000), ..event("") }).await.unwrap();
                let step = NewStep::new("step", "tool", json!({ "round": round }));
                let Begin::Run(handle) = writer.begin(&step).await.unwrap() else { panic!("not run") };
                writer.complete(&handle, json!("done")).await.unwrap();
                let taken = writer.checkpoint(files_only()).await.unwrap();
                files.push((taken.position, "large", noise(round + 1, 400_000)));
                files.push((taken.position, "small", round.to_string().into_bytes()));
                writer.release().await.unwrap();
                let at = ForkOptions { seq: Some(5), ..ForkOptions::default() };
                let fork = client.fork(session.id, at).await.unwrap().branch;
                let writer = client.writer(session.id, Some(fork), WriterOptions::default()).await.unwrap();
                writer.append(event("on the fork")).await.unwrap();
                writer.release().await.unwrap();
                sessions.push((session.id, fork));
                if round == 0 {
                    store.ledger().checkpoint().await.unwrap();
                }
            }
            for (session, id) in sessions {
                branches.push((session, id, branch(&client, session, id).await.unwrap()));
            }
            store.close().await;
        });
        Self { place, branches, files }
    }

    fn home(&self) -> PathBuf {
        self.place.path("store/tenants/local")
    }

    /// A copy to be damaged.
    fn copy(&self) -> Copy<'_> {
        let scratch = tempfile::tempdir().unwrap();
        for beside in fs::read_dir(self.place.root()).unwrap() {
            let beside = beside.unwrap();
            if beside.file_name() != "work" {
                let arguments = [beside.path().as_path(), scratch.path()].map(Path::to_path_buf);
                assert!(std::process::Command::new("cp").arg("-a").args(arguments).status().unwrap().success());
            }
        }
        Copy { original: self, scratch }
    }
}

struct Copy<'a> {
    original: &'a Original,
    scratch: tempfile::TempDir,
}

/// What a damaged store was like.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The error of opening it as usual.
    refused: Option<(ErrorKind, &'static str)>,
    /// Whether it could be opened for reading.
    opened: bool,
    /// How many branches and files were read as they were, of how many.
    intact: (usize, usize),
    /// How many journals and entries verification looked at.
    checked: (usize, u64),
    /// What verification named, in words.
    named: Vec<String>,
}

impl Copy<'_> {
    fn path(&self, relative: &str) -> PathBuf {
        self.scratch.path().join(relative)
    }

    fn open(&self, read: bool) -> Result<Embedded, Error> {
        let mut options = options(&self.path("store"), &self.path("master.key"));
        options.create = false;
        (options.read_only, options.accept_behind) = (read, read);
        Embedded::open(options)
    }

    /// Looks at all of it. What is read is what was written, or an error that says what is damaged.
    fn look(&self, what: &str) -> Seen {
        let mut seen = Seen::default();
        let store = match self.open(false) {
            Ok(store) => store,
            Err(error) => {
                assert!(!error.hints().is_empty(), "{what}: {error} ({})", error.code());
                assert!(error.message().contains(self.scratch.path().to_str().unwrap()), "{what}: {error}");
                seen.refused = Some((error.kind(), error.code()));
                let Ok(store) = self.open(true) else { return seen };
                seen.named.extend(store.ledger().lost().iter().map(ToString::to_string));
                store
            }
        };
        seen.opened = true;
        run(async {
            let client = match store.client().await {
                Ok(client) => Some(client),
                Err(error) => {
                    check_error(what, &error);
                    None
                }
            };
            for (session, id, expected) in &self.original.branches {
                let Some(client) = &client else { break };
                seen.intact.1 += 1;
                match branch(client, *session, *id).await {
                    Ok(found) if found == *expected => seen.intact.0 += 1,
                    // What was acknowledged and is lost was named when it was opened.
                    Ok(found) => assert!(
                        seen.refused.is_some() && expected.starts_with(&found),
                        "{what}: silently another branch {id}: {} of {}",
                        found.len(),
                        expected.len()
                    ),
                    Err(error) => check_error(what, &error),
                }
            }
            for (position, path, expected) in &self.original.files {
                let Some(client) = &client else { break };
                seen.intact.1 += 1;
                let mut bytes = Vec::new();
                match client.cat(*position, path, &mut bytes).await {
                    Ok(_) if bytes == *expected => seen.intact.0 += 1,
                    Ok(_) => panic!("{what}: silently another file {path}"),
                    Err(error) => check_error(what, &error),
                }
            }
            match store.store().verify(false, None).await {
                Ok(verified) => {
                    seen.checked = (verified.journals, verified.entries);
                    seen.named.extend(verified.unreadable);
                    seen.named.extend(verified.findings.iter().map(|finding| finding.message.clone()));
                    seen.named.extend(verified.packs);
                    seen.named.extend(verified.stale_views.iter().map(|journal| format!("views of {journal}")));
                }
                Err(error) => panic!("{what}: verifying gave up: {} {error}", error.code()),
            }
            store.close().await;
        });
        assert!(seen.intact.0 == seen.intact.1 || !seen.named.is_empty(), "{what}: {seen:?} is found by no verify");
        seen
    }
}

/// An error about damage says so, or that something is lost; it never blames the caller or samite.
fn check_error(what: &str, error: &Error) {
    let lost = error.kind() == ErrorKind::NotFound
        && matches!(error.code(), "no_session" | "no_branch" | "no_journal" | "no_position" | "no_tree");
    assert!(error.kind() == ErrorKind::Corrupt || lost, "{what}: {} {error}", error.code());
    let names = [
        "journal", "block", "pack", "ledger", "session", "branch", "keystore", "master", "commit", "seq", "read",
        "open",
    ];
    assert!(names.iter().any(|name| error.message().contains(name)), "{what}: {error}");
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.get_mut(at).unwrap() ^= 1 << (at % 8);
    fs::write(path, bytes).unwrap();
}

/// Writes 64 other bytes over what is there.
fn overwrite(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    let end = bytes.len().min(at + 64);
    bytes.get_mut(at..end).unwrap().copy_from_slice(&noise(at as u64 + 77, end - at));
    fs::write(path, bytes).unwrap();
}

/// What SQLite reads at a time.
const PAGE: usize = 4096;

fn cut(path: &Path, length: usize) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length as u64).unwrap();
}

/// Places spread over a file.
fn places(size: usize, count: usize) -> impl Iterator<Item = usize> {
    let noise = noise(size as u64, count * 8);
    let spread = (0..count).map(move |number| {
        let random = u64::from_le_bytes(noise.chunks_exact(8).nth(number).unwrap().try_into().unwrap());
        (size * number + usize::try_from(random % size as u64).unwrap()) / count
    });
    [0, 17.min(size - 1), size - 1].into_iter().chain(spread)
}

/// Flips bits and cuts a file at many places, each in a copy, and looks.
fn damage(original: &Original, file: &str, flips: usize, cuts: usize) -> BTreeMap<String, Seen> {
    let size = fs::metadata(original.place.path(file)).unwrap().len().try_into().unwrap();
    let mut seen = BTreeMap::new();
    for at in places(size, flips) {
        let copy = original.copy();
        flip(&copy.path(file), at);
        let what = format!("{file}: a bit of byte {at:07} of {size} flipped");
        seen.insert(what.clone(), copy.look(&what));
    }
    for length in places(size, cuts) {
        let copy = original.copy();
        cut(&copy.path(file), length);
        let what = format!("{file}: cut from {size} to {length:07} bytes");
        seen.insert(what.clone(), copy.look(&what));
    }
    seen
}

/// How many were noticed, how many of those could be opened, and how many looks found everything intact.
fn count(seen: &BTreeMap<String, Seen>) -> (usize, usize, usize) {
    let noticed = |seen: &&Seen| seen.refused.is_some() || !seen.named.is_empty();
    let all = seen.values();
    (
        all.clone().filter(noticed).count(),
        all.clone().filter(noticed).filter(|seen| seen.opened).count(),
        all.filter(|seen| seen.intact == (8, 8)).count(),
    )
}

#[test]
fn the_store_is_intact_before_anything_is_damaged() {
    let original = Original::new();
    let seen = original.copy().look("a copy");
    assert_eq!((seen.intact, seen.refused), ((8, 8), None));
    assert_eq!(seen.named, [] as [&str; 0]);
}

#[test]
fn a_damaged_database_is_named_and_the_rest_is_read() {
    let original = Original::new();
    let seen = damage(&original, "store/tenants/local/ledger.db", 22, 6);
    let (noticed, opened, intact) = count(&seen);
    eprintln!("database: {noticed} of {} noticed, {opened} of them opened, {intact} intact", seen.len());
    for (what, seen) in &seen {
        if let Some((kind, code)) = seen.refused {
            assert_eq!(kind, ErrorKind::Corrupt, "{what}: {code}");
        }
    }
}

#[test]
fn verifying_goes_on_past_what_cannot_be_read() {
    let mut original = Original::new();
    let file = "store/tenants/local/ledger.db";
    run(async {
        let store = original.place.open();
        let client = store.client().await.unwrap();
        for (session, id, expected) in &mut original.branches {
            let writer = client.writer(*session, Some(*id), WriterOptions::default()).await.unwrap();
            for number in 0..40 {
                writer.append(event(&format!("{number} {}", "more words ".repeat(40)))).await.unwrap();
            }
            writer.release().await.unwrap();
            *expected = branch(&client, *session, *id).await.unwrap();
        }
        store.ledger().checkpoint().await.unwrap();
        store.close().await;
    });
    let (journals, entries) = original.copy().look("a copy").checked;
    assert!(journals > 6 && entries > 190, "{journals} {entries}");
    let size = fs::metadata(original.place.path(file)).unwrap().len().try_into().unwrap();
    let (mut opened, mut read) = (0, 0);
    // The cells of a page lie at its end, and what leads to them at its beginning.
    let pages = (1..size / PAGE).flat_map(|page| [page * PAGE, (page + 1) * PAGE - 64, (page + 1) * PAGE - 230]);
    for at in places(size, 20).chain(pages) {
        let copy = original.copy();
        overwrite(&copy.path(file), at);
        let what = format!("{file}: 64 bytes from {at:07} of {size} overwritten");
        let seen = copy.look(&what);
        opened += u64::from(seen.opened);
        read += if seen.opened { seen.checked.1 } else { 0 };
        eprintln!("{what}: {:?} {:?} {:?}", seen.refused, seen.checked, seen.named);
    }
    // Only the first page of the file is needed for anything at all. Any other holds a part of the entries at most, but for
    // what leads to all of them.
    assert!(opened >= 110 && read >= opened * entries * 8 / 10, "{opened} opened, {read} of {entries} each");
}

#[test]
fn a_damaged_log_is_named_and_the_rest_is_read() {
    let original = Original::new();
    let seen = damage(&original, "store/tenants/local/ledger.db-wal", 16, 6);
    let (noticed, opened, intact) = count(&seen);
    eprintln!("log: {noticed} of {} noticed, {opened} of them opened, {intact} intact", seen.len());
    for (what, seen) in &seen {
        assert!(seen.opened, "{what}: {seen:?}");
        // Either nothing is lost, or the loss is refused and named.
        assert!(
            seen.intact == (8, 8) || seen.refused == Some((ErrorKind::Corrupt, "ledger_behind")),
            "{what}: {seen:?}"
        );
    }
}

#[test]
fn a_damaged_pack_is_named_and_the_rest_is_read() {
    let original = Original::new();
    let packs = packs(&original.home());
    assert_eq!(packs.len(), 4);
    for pack in packs {
        let file = pack.strip_prefix(original.place.root()).unwrap().to_str().unwrap();
        let id = pack.file_stem().unwrap().to_str().unwrap();
        let gone = original.copy();
        fs::remove_file(gone.path(file)).unwrap();
        let mut seen = damage(&original, file, 5, 1);
        seen.insert(format!("{file}: gone"), gone.look("a pack is gone"));
        for (what, seen) in &seen {
            assert!(seen.opened && seen.refused.is_none(), "{what}: {seen:?}");
            assert!(seen.named.iter().any(|name| name.contains(id)), "{what}: {seen:?}");
            assert!(seen.intact.0 >= 6, "{what}: {seen:?}");
        }
    }
}

#[test]
fn a_damaged_keystore_comes_back_from_the_masters_copy_or_is_named() {
    let original = Original::new();
    let file = "store/tenants/local/keys/keystore";
    for (what, seen) in damage(&original, file, 7, 2) {
        assert_eq!((seen.intact, seen.refused), ((8, 8), None), "{what}: {seen:?}");
    }
    // Without the copy.
    let size = fs::metadata(original.place.path(file)).unwrap().len().try_into().unwrap();
    for at in places(size, 6) {
        let copy = original.copy();
        for beside in fs::read_dir(copy.scratch.path()).unwrap() {
            let beside = beside.unwrap().path();
            let name = beside.file_name().unwrap().to_str().unwrap().to_owned();
            if name.starts_with("master.key.") || (beside.is_dir() && name.starts_with("master")) {
                fs::remove_dir_all(&beside).or_else(|_| fs::remove_file(&beside)).unwrap();
            }
        }
        flip(&copy.path(file), at);
        let what = format!("{file}: a bit of byte {at} of {size} flipped, and no copy");
        let seen = copy.look(&what);
        assert_eq!(seen.refused.unwrap().0, ErrorKind::Corrupt, "{what}: {seen:?}");
    }
}

#[test]
fn a_damaged_master_key_is_named_and_another_key_is_denied() {
    let original = Original::new();
    let size = fs::metadata(original.place.path("master.key")).unwrap().len().try_into().unwrap();
    for (at, cuts) in places(size, 8).map(|at| (at, false)).chain(places(size, 3).map(|at| (at, true))) {
        let copy = original.copy();
        if cuts {
            cut(&copy.path("master.key"), at);
        } else {
            flip(&copy.path("master.key"), at);
        }
        let what = format!("master key, byte {at} of {size}, cut: {cuts}");
        let error = copy.open(false).err().unwrap_or_else(|| panic!("{what}"));
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Denied), "{what}: {} {error}", error.code());
        assert!(error.message().contains("master.key") && !error.hints().is_empty(), "{what}: {error}");
        // With the right key again everything is there.
        fs::copy(original.place.path("master.key"), copy.path("master.key")).unwrap();
        assert_eq!(copy.look(&what).intact, (8, 8));
    }
    // Another store's key, and none.
    let copy = original.copy();
    let other = Place::new();
    other.open();
    fs::copy(other.path("master.key"), copy.path("master.key")).unwrap();
    let error = copy.open(false).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Denied, "{} {error}", error.code());
    assert!(!error.hints().is_empty());
    fs::remove_file(copy.path("master.key")).unwrap();
    let error = copy.open(false).err().unwrap();
    eprintln!("no master key: {} {} {error}", error.kind(), error.code());
    assert!(!copy.path("master.key").exists(), "no new key is made for an old store");
    assert!(matches!(error.kind(), ErrorKind::Denied | ErrorKind::NotFound), "{} {error}", error.code());
}

#[test]
fn what_a_store_says_of_itself_is_checked() {
    let original = Original::new();
    let good = fs::read_to_string(original.place.path("store/node.toml")).unwrap();
    let cases: [(&[u8], ErrorKind, &str); 6] = [
        (b"", ErrorKind::Corrupt, "bad_node"),
        (&good.as_bytes()[..good.len() / 2], ErrorKind::Corrupt, "bad_node"),
        (b"\xff\xfe\x00", ErrorKind::Corrupt, "bad_node"),
        (b"format = -1\nnode = \"00\"\n", ErrorKind::Corrupt, "bad_node"),
        (b"format = 0\nnode = \"00000000000000000000000000000000\"\n", ErrorKind::Corrupt, "bad_node"),
        (b"format = 2\nanything = \"new\"\n", ErrorKind::Invalid, "newer_store"),
    ];
    for (text, kind, code) in cases {
        let copy = original.copy();
        fs::write(copy.path("store/node.toml"), text).unwrap();
        let error = copy.open(false).err().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(text)));
        assert_eq!((error.kind(), error.code()), (kind, code), "{}: {error}", String::from_utf8_lossy(text));
        assert!(error.message().contains("node.toml") && !error.hints().is_empty(), "{error}");
    }
    let copy = original.copy();
    fs::remove_file(copy.path("store/node.toml")).unwrap();
    for create in [false, true] {
        let mut options = options(&copy.path("store"), &copy.path("master.key"));
        options.create = create;
        let error = Embedded::open(options).err().unwrap();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Corrupt, "no_node"));
        assert!(!copy.path("store/node.toml").exists());
    }
    fs::write(copy.path("store/node.toml"), good).unwrap();
    assert_eq!(copy.look("put back").intact, (8, 8));
}

#[test]
fn a_newer_ledger_and_a_file_that_is_none_are_refused() {
    let original = Original::new();
    let copy = original.copy();
    let ledger = copy.path("store/tenants/local/ledger.db");
    // The number that SQLite keeps for its users, at byte 60 of the file; the log is folded away first.
    let store = copy.open(false).unwrap();
    run(store.ledger().checkpoint()).unwrap();
    run(store.close());
    let bytes = fs::read(&ledger).unwrap();
    let mut newer = bytes.clone();
    newer[63] += 1;
    fs::write(&ledger, &newer).unwrap();
    let error = copy.open(false).err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, "newer_format"));
    assert!(error.hints().iter().any(|hint| hint.contains("newer samite")));
    fs::write(&ledger, b"this is no database, though it is long enough to be looked at as one".repeat(100)).unwrap();
    let error = copy.open(false).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{} {error}", error.code());
    fs::write(&ledger, bytes).unwrap();
    assert_eq!(copy.look("put back").intact, (8, 8));
}
