//! What one person plants, and where.

use super::surfaces::Surface;
use crate::support::Place;
use futures_lite::future::block_on;
use samite::embedded::{Embedded, EmbeddedOptions, FileMaster};
use samite::{Client, NewEvent, NewSession, Writer, WriterOptions};
use samite_host::SystemRandomness;
use samite_model::{EntryKind, Principal, SessionId, Tenant};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A person's store, sessions and directories.
pub(crate) struct Garden {
    pub(crate) person: &'static str,
    /// What this garden of the person is called.
    label: &'static str,
    /// Beside the store.
    place: PathBuf,
    pub(crate) store: Embedded,
    pub(crate) client: Client,
    /// A session with a workspace.
    pub(crate) session: SessionId,
    pub(crate) work: PathBuf,
    planted: usize,
    found: Vec<String>,
    hashed: Vec<String>,
    /// The surface of each text.
    names: HashMap<String, &'static str>,
}

impl Garden {
    pub(crate) fn new(place: &Place, person: &'static str, label: &'static str) -> Self {
        let store = Embedded::open(EmbeddedOptions {
            directory: place.store(),
            tenant: Tenant::new("local").unwrap(),
            master: Arc::new(FileMaster::new(place.path().join("master.key"), Arc::new(SystemRandomness::new()))),
            create: true,
            read_only: false,
            accept_behind: false,
        })
        .unwrap();
        let client = block_on(store.store().client(principal(person))).unwrap();
        let session = block_on(client.create_session(NewSession::default())).unwrap().id;
        let work = place.path().join(format!("work of {label}"));
        std::fs::create_dir(&work).unwrap();
        block_on(client.attach(session, None, &work)).unwrap();
        let (planted, found, hashed, names) = (0, Vec::new(), Vec::new(), HashMap::new());
        let place = place.path().to_owned();
        Self { person, label, place, store, client, session, work, planted, found, hashed, names }
    }

    /// Another person of the same store.
    pub(crate) fn other(&self, person: &str) -> Client {
        block_on(self.store.store().client(principal(person))).unwrap()
    }

    /// A text of this garden that somebody plants by hand.
    pub(crate) fn add(&mut self, name: &'static str) -> String {
        let text = self.text();
        self.names.insert(text.clone(), name);
        self.found.push(text.clone());
        text
    }

    /// Plants the texts of a surface.
    pub(crate) fn plant(&mut self, surface: &Surface) {
        let texts: Vec<String> = (0..surface.count).map(|_| self.text()).collect();
        (surface.plant)(self, &texts);
        let list = if surface.hashed { &mut self.hashed } else { &mut self.found };
        self.names.extend(texts.iter().map(|text| (text.clone(), surface.name)));
        list.extend(texts);
    }

    /// A text that stands nowhere else, with what encodings write differently.
    fn text(&mut self) -> String {
        self.planted += 1;
        let (label, number) = (self.label, self.planted);
        let random = samite_host::random_id::<6>(&SystemRandomness::new()).unwrap();
        let random = data_encoding::HEXLOWER.encode(&random);
        format!("canary+{label}ö {number:04} {random}")
    }

    /// Those that can be found while their keys live, those that are stored as keyed hashes alone, and the surface of each.
    pub(crate) fn into_texts(self) -> (Vec<String>, Vec<String>, HashMap<String, &'static str>) {
        block_on(self.store.close());
        (self.found, self.hashed, self.names)
    }

    /// What this garden is called.
    pub(crate) fn label(&self) -> &'static str {
        self.label
    }

    /// A directory or file of this person beside the store.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.place.join(format!("{name} of {}", self.label))
    }

    /// Does something as the writer of the person's session.
    pub(crate) fn write<T>(&self, act: impl AsyncFnOnce(&Writer) -> T) -> T {
        self.write_to(self.session, WriterOptions::default(), act)
    }

    /// The same, of another session or as another writer.
    pub(crate) fn write_to<T>(
        &self,
        session: SessionId,
        options: WriterOptions,
        act: impl AsyncFnOnce(&Writer) -> T,
    ) -> T {
        block_on(async {
            let writer = self.client.writer(session, None, options).await.unwrap();
            let done = act(&writer).await;
            writer.release().await.unwrap();
            done
        })
    }

    /// Appends an event to the person's session.
    pub(crate) fn say(&self, event: NewEvent) {
        self.write(async |writer| writer.append(event).await.unwrap());
    }

    /// A file of the person's workspace.
    pub(crate) fn file(&self, name: impl AsRef<Path>, content: &[u8]) {
        let path = self.work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

fn principal(user: &str) -> Principal {
    Principal {
        tenant: Tenant::new("local").unwrap(),
        user: user.to_owned(),
        agent: "test".to_owned(),
        workload: "suite".to_owned(),
        scopes: vec!["samite:all".to_owned()],
        parents: Vec::new(),
    }
}

/// An event with a body.
pub(crate) fn event(kind: EntryKind, body: Vec<u8>) -> NewEvent {
    NewEvent { kind, body, attributes: None, dedupe: None, expected_head: None }
}
