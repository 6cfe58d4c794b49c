//! Artifacts: what a file was made of, deliverables, decisions for how long, and collections, in processes that publish at
//! once among the same owner's artifacts, after others that were killed over it.

use crate::acts::{Files, known};
use crate::cuts::{After, replay};
use crate::planned::ARTIFACTS;
use crate::recording::{Recording, Worker};
use crate::store::{checkpoint_options, client_of, noise, open, take_over};
use crate::store_check::verify;
use futures_lite::future::block_on;
use samite::artifact::{Artifact, ArtifactFilter, ArtifactSource, PutArtifact};
use samite::payload::ArtifactRecord;
use samite::{Client, NewSession, Writer};
use samite_model::{ArtifactId, ErrorKind, Observer, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

const ROUNDS: u64 = 7;
/// The number of the first process that is to be killed.
const KILLED: u64 = 10;
/// The inputs of so many artifacts are looked at, of those that were acknowledged last.
const MADE_AGAIN: usize = 2;
const USER: &str = "ada";

/// Something that was acknowledged.
#[derive(Debug, Serialize, Deserialize)]
enum Act {
    /// A session was made, and works in this directory.
    Session { session: SessionId, directory: String },
    /// An artifact was published: its version, its bytes, and its inputs.
    Published {
        session: SessionId,
        artifact: ArtifactId,
        name: String,
        version: u64,
        known: (u64, String),
        inputs: Files,
    },
    /// Its time may be over from now on.
    MayGo { artifact: ArtifactId },
}

/// One process' work.
struct Work<'a> {
    worker: &'a Worker,
    client: Client,
    session: SessionId,
    directory: PathBuf,
}

impl Work<'_> {
    fn published(&self, record: &ArtifactRecord, bytes: &[u8], inputs: Files) {
        self.worker.acknowledge(&Act::Published {
            session: self.session,
            artifact: record.artifact,
            name: record.name.clone(),
            version: record.version,
            known: known(bytes),
            inputs,
        });
    }

    /// Publishes, again when a collection came in between.
    async fn put(&self, writer: &Writer, put: &PutArtifact, bytes: &[u8], inputs: Files) -> ArtifactId {
        loop {
            match writer.put_artifact(put).await {
                Ok(put) => {
                    self.published(&put.record, bytes, inputs);
                    return put.record.artifact;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
            }
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.directory.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    async fn round(&self, round: u64) {
        let seed = self.worker.number * 100 + round;
        // Small ones, whose blocks stay in the ledger, and ones that fill a pack; some are in the workspace's trees already.
        let report = noise(seed, if round.is_multiple_of(2) { 700 } else { 350_000 });
        let (small, large) = (noise(seed + 1, 3_000), noise(seed / 2, 300_000));
        let inputs = vec![self.write("small", &small), self.write("large", &large)];
        let path = self.write("report.bin", &report);
        let writer = self.client.writer(self.session, None, take_over()).await.unwrap();
        if !round.is_multiple_of(3) {
            // A collection may come in between; then the artifact has no checkpoint of this round.
            writer.checkpoint(checkpoint_options()).await.ok();
        }
        let put = PutArtifact { inputs, ..PutArtifact::file(path) };
        let named = [("small", &small), ("large", &large)];
        let named = named.into_iter().map(|(name, bytes)| (name.to_owned(), known(bytes))).collect();
        self.put(&writer, &put, &report, named).await;
        let passing = noise(seed + 50, 400_000);
        let put = PutArtifact {
            source: ArtifactSource::Bytes(passing.clone()),
            name: Some("passing".to_owned()),
            ..PutArtifact::file("")
        };
        let passing = self.put(&writer, &put, &passing, Files::new()).await;
        writer.release().await.unwrap();
        self.deliver(round).await;
        if round.is_multiple_of(2) {
            self.worker.acknowledge(&Act::MayGo { artifact: passing });
            self.client.keep_artifact(passing, Some(0)).await.unwrap();
            if let Err(error) = self.client.collect().await {
                assert_eq!(error.code(), "store_busy");
            }
        }
    }

    /// Three files of one directory, in one commit.
    async fn deliver(&self, round: u64) {
        let bytes = ["a", "b", "c"].map(|name| (format!("dist/{name}"), noise(round, 1_000 + name.len())));
        for (name, bytes) in &bytes {
            self.write(name, bytes);
        }
        let delivered =
            self.client.publish_deliverables(self.session, None, take_over(), &Observer::default()).await.unwrap();
        for record in &delivered.published {
            let (_, bytes) = bytes.iter().find(|(name, _)| *name == record.name).unwrap();
            self.published(record, bytes, Files::new());
        }
    }
}

/// A process that works in a directory of its own.
#[test]
fn child() {
    let Some(worker) = Worker::this() else { return };
    let name = format!("work-{}", worker.number);
    let directory = worker.beside.join(&name);
    std::fs::create_dir_all(directory.join("dist")).unwrap();
    block_on(async {
        let store = open(&worker.mount);
        let client = client_of(&store, USER).await;
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        client.attach(session, None, &directory).await.unwrap();
        let patterns = vec!["dist/**".to_owned()];
        client.change_settings(session, |settings| settings.deliver.clone_from(&patterns)).await.unwrap();
        worker.acknowledge(&Act::Session { session, directory: name });
        let work = Work { worker: &worker, client, session, directory };
        for round in 1..=ROUNDS {
            work.round(round).await;
        }
        store.close().await;
    });
}

async fn bytes_of(client: &Client, artifact: ArtifactId) -> Vec<u8> {
    let mut bytes = Vec::new();
    client.artifact_bytes(artifact, None, &mut bytes).await.unwrap_or_else(|error| panic!("{artifact}: {error}"));
    bytes
}

/// Every version of every artifact.
async fn all_of(client: &Client) -> BTreeMap<ArtifactId, Artifact> {
    let filter = ArtifactFilter { all_versions: true, ..ArtifactFilter::default() };
    let all = client.artifacts(&filter).await.unwrap();
    all.into_iter().map(|artifact| (artifact.record.artifact, artifact)).collect()
}

async fn check(after: &After<'_, Act>) {
    let store = open(after.directory);
    verify(&store).await;
    let client = client_of(&store, USER).await;
    acknowledged_are_there(&client, after.acts).await;
    none_is_there_by_half(&client).await;
    made_again(&client, after).await;
    go_on(&client, after).await;
    // Nothing writes now, so it must go through, and may take nothing that is to stay.
    client.collect().await.unwrap();
    acknowledged_are_there(&client, after.acts).await;
    none_is_there_by_half(&client).await;
    verify(&store).await;
    store.close().await;
}

/// The artifacts that were acknowledged and are to stay.
fn staying(acts: &[Act]) -> impl DoubleEndedIterator<Item = &Act> {
    let going = |id: &ArtifactId| acts.iter().any(|act| matches!(act, Act::MayGo { artifact } if artifact == id));
    acts.iter().filter(move |act| matches!(act, Act::Published { artifact, .. } if !going(artifact)))
}

async fn acknowledged_are_there(client: &Client, acts: &[Act]) {
    let all = all_of(client).await;
    for act in acts {
        let Act::Published { session, artifact, name, version, .. } = act else { continue };
        let found = all.get(artifact).unwrap_or_else(|| panic!("{act:?} is lost"));
        let told = (found.record.lineage.session, &found.record.name, found.record.version);
        assert_eq!(told, (*session, name, *version));
    }
    for act in staying(acts) {
        let Act::Published { artifact, known: right, .. } = act else { continue };
        assert!(known(&bytes_of(client, *artifact).await) == *right, "{act:?} has other bytes");
    }
}

/// Acknowledged or not: a record has its bytes, its checkpoint and its entry on the branch, and no entry is without record.
async fn none_is_there_by_half(client: &Client) {
    let all = all_of(client).await;
    let mut by_session: BTreeMap<SessionId, BTreeSet<ArtifactId>> = BTreeMap::new();
    for (id, artifact) in &all {
        by_session.entry(artifact.record.lineage.session).or_default().insert(*id);
        if let Some(at) = artifact.record.lineage.checkpoint {
            client.checkpoint_at(at).await.unwrap_or_else(|error| panic!("{id} names {at:?}: {error}"));
        }
        if !artifact.collected {
            assert_eq!(bytes_of(client, *id).await.len() as u64, artifact.record.size, "{id}");
        }
    }
    for (session, ids) in by_session {
        let branch = client.current_branch(session).await.unwrap();
        let at = client.head(session, branch).await.unwrap();
        let filter = ArtifactFilter { at: Some(at), all_versions: true, ..ArtifactFilter::default() };
        let on_branch = client.artifacts(&filter).await.unwrap();
        assert_eq!(on_branch.iter().map(|artifact| artifact.record.artifact).collect::<BTreeSet<_>>(), ids);
    }
}

/// The inputs of the last ones, put into a directory.
async fn made_again(client: &Client, after: &After<'_, Act>) {
    let with_inputs = staying(after.acts).rev().filter_map(|act| match act {
        Act::Published { artifact, inputs, .. } if !inputs.is_empty() => Some((artifact, inputs)),
        _ => None,
    });
    for (artifact, inputs) in with_inputs.take(MADE_AGAIN) {
        let place = tempfile::tempdir().unwrap();
        client.reproduce(*artifact, &place.path().join("made")).await.unwrap();
        for (name, right) in inputs {
            let bytes = std::fs::read(place.path().join("made/work").join(name)).unwrap();
            assert_eq!(known(&bytes), *right, "{name} of {artifact}");
        }
    }
}

/// In the last session: what is there as it was last is no new version, and something new is the next.
async fn go_on(client: &Client, after: &After<'_, Act>) {
    let session = after.acts.iter().rev().find_map(|act| match act {
        Act::Session { session, directory } => Some((*session, directory)),
        _ => None,
    });
    let Some((session, directory)) = session else { return };
    let path: PathBuf = Path::new(after.beside).join(directory).join("dist/a");
    let writer = client.writer(session, None, take_over()).await.unwrap();
    let Ok(bytes) = std::fs::read(&path) else { return };
    let first = writer.put_artifact(&PutArtifact::file(&path)).await.unwrap();
    assert_eq!(known(&bytes_of(client, first.record.artifact).await), known(&bytes));
    let again = writer.put_artifact(&PutArtifact::file(&path)).await.unwrap();
    assert_eq!((again.duplicate, again.record.artifact), (true, first.record.artifact));
    let new = PutArtifact {
        source: ArtifactSource::Bytes(b"after the cut".to_vec()),
        name: Some(first.record.name.clone()),
        ..PutArtifact::file("")
    };
    let next = writer.put_artifact(&new).await.unwrap();
    assert_eq!((next.duplicate, next.record.version), (false, first.record.version + 1));
    assert_eq!(bytes_of(client, next.record.artifact).await, b"after the cut");
    writer.release().await.unwrap();
}

#[test]
fn an_artifact_that_was_acknowledged_is_whole_after_a_power_cut() {
    const POINTS: [&str; 8] = [
        "artifact.stored:1",
        "artifact.committed:1",
        "artifact.stored:5",
        "artifact.committed:6",
        "pack.synced:2",
        "pack.finished:2",
        "ledger.after_commit:12",
        "gc.dying:1",
    ];
    let recording = Recording::make(|workload| {
        for (point, number) in POINTS.into_iter().zip(KILLED..) {
            let killed = workload.start("artifacts::child", number, Some(point)).wait().unwrap();
            assert_eq!(killed.signal(), Some(9), "{point} was never reached");
        }
        let children: Vec<_> = (0..2).map(|number| workload.start("artifacts::child", number, None)).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
    });
    let Some(recording) = recording else { return };
    replay(recording, &ARTIFACTS, |after| block_on(check(after)));
}
