//! Disks that are full or cannot be written. They need to be mounted, which not everybody may: skipped loudly then.

use crate::mount::Mount;
use crate::support::{assert_verifies, attached, event, noise, options, principal, run};
use samite::embedded::{Embedded, EmbeddedOptions};
use samite::workspace::CheckpointOptions;
use samite::{Client, NewSession, ReadOptions, WriterOptions};
use samite_model::{Error, ErrorKind, SessionId};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A store on a disk of its own of 4 MiB, with the master key and the workspace elsewhere.
struct Disk {
    _mount: Mount,
    scratch: TempDir,
}

impl Disk {
    fn new() -> Option<Self> {
        let scratch = tempfile::tempdir().unwrap();
        let mount = Mount::new(&["-t", "tmpfs", "-o", "size=4m", "none"], &scratch.path().join("disk"))?;
        fs::create_dir(scratch.path().join("work")).unwrap();
        Some(Self { _mount: mount, scratch })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn options(&self) -> EmbeddedOptions {
        options(&self.path("disk/store"), &self.path("master.key"))
    }

    /// Fills the disk to the last byte.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = fs::File::create(self.path("disk/ballast")).unwrap();
        for size in [1 << 16, 1 << 10, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
    }

    fn free(&self) {
        fs::remove_file(self.path("disk/ballast")).unwrap();
    }
}

#[track_caller]
fn full<T>(outcome: Result<T, Error>) {
    let Err(error) = outcome else { panic!("the disk is full") };
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "disk_full"), "{error}");
    assert!(error.hints().iter().any(|hint| hint.contains("free some space")), "{error}");
}

async fn words(client: &Client, session: SessionId) -> Vec<String> {
    let entries = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
    let events = entries.iter().filter(|entry| entry.is_event());
    events.map(|entry| String::from_utf8(entry.event().unwrap().body.to_vec()).unwrap()).collect()
}

#[test]
fn a_full_disk_is_unavailable_and_goes_on_when_there_is_room() {
    let Some(disk) = Disk::new() else { return };
    run(async {
        let store = Embedded::open(disk.options()).unwrap();
        let client = store.client().await.unwrap();
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        client.attach(session, None, &disk.path("work")).await.unwrap();
        fs::write(disk.path("work/file"), noise(1, 300_000)).unwrap();
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        let checkpoint = || CheckpointOptions { no_environment: true, ..CheckpointOptions::default() };
        let first = writer.checkpoint(checkpoint()).await.unwrap();
        let mut said = Vec::new();
        let mut append = async |words: &str| {
            let appended = writer.append(event(words)).await?;
            said.push(words.to_owned());
            Ok::<_, Error>(appended)
        };
        append("before").await.unwrap();
        disk.fill();
        // Small entries may still find room in files that are there.
        let mut number = 0;
        let error = loop {
            match append(&format!("{number} {}", "x".repeat(40_000))).await {
                Ok(_) => number += 1,
                Err(error) => break error,
            }
        };
        full::<()>(Err(error));
        full(writer.append(event("no room").clone()).await);
        fs::write(disk.path("work/file"), noise(2, 900_000)).unwrap();
        full(writer.checkpoint(checkpoint()).await);
        full(store.store().client(principal("newcomer")).await.map(|_| ()));
        full(client.create_session(NewSession::default()).await);
        full(client.fork(session, samite::ForkOptions::default()).await);
        // Reading goes on.
        assert_eq!(words(&client, session).await.len(), number + 1);
        let mut bytes = Vec::new();
        client.cat(first.position, "file", &mut bytes).await.unwrap();
        assert!(bytes == noise(1, 300_000));
        // Another process can open it for reading.
        let reader = Embedded::open(EmbeddedOptions { create: false, read_only: true, ..disk.options() }).unwrap();
        assert_eq!(words(&reader.client().await.unwrap(), session).await.len(), number + 1);
        reader.close().await;
        disk.free();
        append("after").await.unwrap();
        let second = writer.checkpoint(checkpoint()).await.unwrap();
        bytes.clear();
        client.cat(second.position, "file", &mut bytes).await.unwrap();
        assert!(bytes == noise(2, 900_000));
        let newcomer = store.store().client(principal("newcomer")).await.unwrap();
        newcomer.create_session(NewSession::default()).await.unwrap();
        assert_eq!(words(&client, session).await, said);
        assert_verifies(store.store());
        writer.release().await.unwrap();
        store.close().await;
        let store = Embedded::open(disk.options()).unwrap();
        assert_eq!(words(&store.client().await.unwrap(), session).await, said);
        assert_verifies(store.store());
    });
}

#[test]
fn a_store_cannot_be_begun_on_a_full_disk_and_can_when_there_is_room() {
    let Some(disk) = Disk::new() else { return };
    disk.fill();
    full(Embedded::open(disk.options()).map(|_| ()));
    disk.free();
    let store = Embedded::open(disk.options()).unwrap();
    run(async {
        let client = store.client().await.unwrap();
        client.create_session(NewSession::default()).await.unwrap();
    });
    assert_verifies(store.store());
}

#[test]
fn a_store_that_cannot_be_written_is_read() {
    let scratch = tempfile::tempdir().unwrap();
    let (real, bound) = (scratch.path().join("real"), scratch.path().join("bound"));
    let master = scratch.path().join("master.key");
    let work = scratch.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("file"), noise(1, 300_000)).unwrap();
    let (session, at) = run(async {
        let store = Embedded::open(options(&real, &master)).unwrap();
        let client = store.client().await.unwrap();
        let session = attached(&client, &work).await;
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.append(event("words")).await.unwrap();
        let taken = writer.checkpoint(CheckpointOptions::default()).await.unwrap();
        writer.release().await.unwrap();
        store.close().await;
        (session, taken.position)
    });
    let Some(_mount) = Mount::new(&["--bind", "-o", "ro", real.to_str().unwrap()], &bound) else { return };
    run(async {
        let reading = EmbeddedOptions { create: false, read_only: true, ..options(&bound, &master) };
        let store = Embedded::open(reading).unwrap();
        let client = store.client().await.unwrap();
        assert_eq!(words(&client, session).await, ["words"]);
        let mut bytes = Vec::new();
        client.cat(at, "file", &mut bytes).await.unwrap();
        assert!(bytes == noise(1, 300_000));
        assert_verifies(store.store());
        let refused = |error: Error| {
            assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "read_only"), "{error}");
            assert!(!error.hints().is_empty(), "{error}");
        };
        refused(client.writer(session, None, WriterOptions::default()).await.err().unwrap());
        refused(client.create_session(NewSession::default()).await.err().unwrap());
        refused(client.fork(session, samite::ForkOptions::default()).await.err().unwrap());
        refused(client.collect().await.err().unwrap());
        // As somebody opens it who means to write.
        for create in [false, true] {
            let options = EmbeddedOptions { create, ..options(&bound, &master) };
            match Embedded::open(options) {
                Ok(store) => {
                    let client = store.client().await.unwrap();
                    assert_eq!(words(&client, session).await, ["words"]);
                    refused(client.writer(session, None, WriterOptions::default()).await.err().unwrap());
                }
                Err(error) => refused(error),
            }
        }
    });
}
