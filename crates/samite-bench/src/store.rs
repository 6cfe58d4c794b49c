//! Scratch stores.

use crate::Bench;
use futures_lite::future::block_on;
use samite::embedded::{Embedded, EmbeddedOptions};
use samite::{Client, NewSession, Writer, WriterOptions};
use samite_host::{SystemRandomness, files};
use samite_keys::FileMaster;
use samite_model::{Error, Result, SessionId, Tenant};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

impl Bench {
    /// A directory that goes when the value does.
    pub(crate) fn directory(&self) -> Result<TempDir> {
        tempfile::Builder::new().prefix("bench-").tempdir_in(&self.scratch).map_err(|error| {
            Error::unavailable("no_scratch", format!("no directory can be made in {}", self.scratch.display()))
                .because(error)
        })
    }

    /// Something of the data and peers beside the repository.
    pub(crate) fn shared(&self, path: &str) -> Result<PathBuf> {
        let found = self.shared.join(path);
        if files::exists(&found)? {
            return Ok(found);
        }
        Err(Error::not_found("no_data", format!("{} is not there", found.display())))
    }
}

/// An open store and one client of it.
pub(crate) struct Scratch {
    pub(crate) embedded: Embedded,
    pub(crate) client: Client,
    pub(crate) directory: TempDir,
}

/// Opens, or makes, the store in a directory.
pub(crate) fn open(directory: &Path) -> Result<Embedded> {
    let random = Arc::new(SystemRandomness::new());
    Embedded::open(EmbeddedOptions {
        directory: directory.join("store"),
        tenant: Tenant::new("local")?,
        master: Arc::new(FileMaster::new(directory.join("master").join("master.key"), random)),
        create: true,
        read_only: false,
        accept_behind: false,
    })
}

impl Scratch {
    pub(crate) fn new(bench: &Bench) -> Result<Self> {
        let directory = bench.directory()?;
        let embedded = open(directory.path())?;
        let client = block_on(embedded.client())?;
        Ok(Self { embedded, client, directory })
    }

    /// A session with its writer.
    pub(crate) fn session(&self) -> Result<(SessionId, Writer)> {
        block_on(async {
            let session = self.client.create_session(NewSession::default()).await?.id;
            Ok((session, self.client.writer(session, None, WriterOptions::default()).await?))
        })
    }

    /// Where the store is.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    /// The ledger's database.
    pub(crate) fn database(&self) -> PathBuf {
        self.embedded.home().join("ledger.db")
    }

    /// Closes the store; the directory stays as long as the value.
    pub(crate) fn close(self) -> TempDir {
        block_on(self.embedded.close());
        self.directory
    }
}

/// The bytes of all files below a directory.
pub(crate) fn bytes_below(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in files::files_below(directory)?.files {
        bytes += path.metadata().map_err(|error| files::io_error("look at", &path, error))?.len();
    }
    Ok(bytes)
}
