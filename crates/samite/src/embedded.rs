//! A store in one directory: the embedded default.
//!
//! `node.toml`, and for each tenant `tenants/<tenant>/` with `ledger.db`, `keys/` and `packs/`. Several processes may
//! have it open at once.

mod node;

pub use samite_keys::{CommandMaster, EnvironmentMaster, FileMaster, Master};

use crate::core::{Backends, Store};
use node::Node;
use samite_audit::log::{LogFinisher, PublishedHeads};
use samite_blocks::FilePackStore;
use samite_host::{Clock, Random, SystemClock, SystemRandomness, SystemSleep, files, mounts};
use samite_keys::{Keyring, KeyringOptions};
use samite_ledger::{Finisher, OpenOptions, SqliteLedger, Threads};
use samite_model::policy::Region;
use samite_model::{Error, Principal, Result, Tenant};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How to open a store.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// The store's directory.
    pub directory: PathBuf,
    /// The tenant.
    pub tenant: Tenant,
    /// Where the master key lives.
    pub master: Arc<dyn Master>,
    /// Make it when it is not there.
    pub create: bool,
    /// Only read.
    pub read_only: bool,
    /// Open although acknowledged entries are lost, to read what is left.
    pub accept_behind: bool,
}

/// The local principal of a store: the person who can open it with its master key, and so has every right.
pub fn local_principal(tenant: Tenant) -> Principal {
    Principal {
        tenant,
        user: "local".to_owned(),
        agent: "cli".to_owned(),
        workload: "host".to_owned(),
        scopes: vec!["samite:all".to_owned()],
        parents: Vec::new(),
    }
}

/// An open store in a directory.
pub struct Embedded {
    store: Store,
    ledger: Arc<SqliteLedger>,
    keys: Keyring,
    directory: PathBuf,
    tenant: Tenant,
    first_use: bool,
    read_only: bool,
    master: Arc<dyn Master>,
    region: Option<Region>,
    erased: Vec<crate::erasure::ErasureRecord>,
    erasures_wait: Option<samite_model::Error>,
}

impl Embedded {
    /// Opens a store, or makes it.
    ///
    /// # Errors
    /// `not_found` (`no_store`) when there is none and `create` is off; `invalid` (`network_file_system`) on a network
    /// file system; `corrupt` naming what is damaged; `denied` when the master key is another store's.
    pub fn open(options: EmbeddedOptions) -> Result<Self> {
        Self::open_in(options, None)
    }

    /// As [`Embedded::open`], on a node that states its region: a tenant that is pinned to one is served there alone.
    ///
    /// # Errors
    /// As [`Embedded::open`]; `denied` (`other_region`) when the tenant is pinned to another region. That is noted beside the
    /// ledger, and comes into the log with the next node that may serve it.
    pub fn open_in(options: EmbeddedOptions, region: Option<Region>) -> Result<Self> {
        let directory = &options.directory;
        // A store says what it is before it holds anything: looked for in the other order, so that one that is being
        // made is not taken for damaged.
        let tenants = files::exists(&directory.join("tenants"))?;
        let node = Node::read(directory)?;
        if node.is_none() && tenants {
            return Err(Error::corrupt("no_node", format!("{} holds tenants and no node.toml", directory.display()))
                .hint("put node.toml back from a backup; it holds only the format's number and the store's id")
                .hint("if this is a backup that was cut off, make it again"));
        }
        let first_use = node.is_none();
        if first_use && !options.create {
            return Err(Error::not_found("no_store", format!("there is no store in {}", directory.display()))
                .hint("`samite session new` makes one, or name another with --store"));
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(SystemRandomness::new());
        let home = directory.join("tenants").join(options.tenant.as_str());
        if options.create && !options.read_only {
            files::create_private_dir(directory)?;
            if first_use {
                // The ledger refuses it too, once there is one.
                mounts::refuse_network(directory)?;
                Node::create(directory, random.as_ref())?;
            }
            files::create_private_dir(&home)?;
        } else {
            mounts::refuse_network(directory)?;
        }
        let keys = Keyring::open(KeyringOptions {
            directory: home.join("keys"),
            tenant: options.tenant.clone(),
            master: options.master.clone(),
            random: random.clone(),
            create: options.create && !options.read_only,
        })?;
        let finisher = if options.read_only { None } else { Some(finisher(&keys, options.master.as_ref())?) };
        let ledger = Arc::new(SqliteLedger::open(OpenOptions {
            path: home.join("ledger.db"),
            create: options.create && !options.read_only,
            read_only: options.read_only,
            accept_behind: options.accept_behind,
            threads: Threads::Caller,
            sleep: Arc::new(SystemSleep),
            finisher,
        })?);
        let caches = home.join("caches");
        if !options.read_only {
            files::create_private_dir(&caches)?;
        }
        let packs = home.join("packs");
        if !files::exists(&packs)? && !options.read_only {
            files::create_private_dir(&packs)?;
        }
        let packs = Arc::new(FilePackStore::open(&packs)?);
        let store = Store::new(Backends {
            ledger: ledger.clone(),
            blocks: ledger.clone(),
            packs,
            keys: keys.clone(),
            directory: Some(directory.clone()),
            logged: !ledger.is_read_only(),
            tiles: Some(home.join("tlog")),
            caches: (!options.read_only).then_some(caches),
            memory: (!options.read_only).then(|| home.join("memory")),
            clock,
            random,
        });
        let mut embedded = Self {
            store,
            ledger,
            keys,
            directory: options.directory,
            tenant: options.tenant,
            first_use,
            read_only: options.read_only,
            master: options.master,
            region,
            erased: Vec::new(),
            erasures_wait: None,
        };
        if !first_use {
            embedded.settle_region()?;
            embedded.settle_organisation()?;
        }
        // One that has lost entries is only looked at, until a person has accepted that.
        if !first_use && embedded.ledger.lost().is_empty() {
            let settled = embedded.settle_erasures()?;
            (embedded.erased, embedded.erasures_wait) = (settled.done, settled.waits);
        }
        Ok(embedded)
    }

    /// Whether it is only read.
    pub fn is_read_only(&self) -> bool {
        self.read_only || self.ledger.is_read_only()
    }

    /// The region that this node states.
    pub fn region(&self) -> Option<&Region> {
        self.region.as_ref()
    }

    /// The erasures that were finished, or done again, before this was opened.
    pub fn erased_at_open(&self) -> &[crate::erasure::ErasureRecord] {
        &self.erased
    }

    /// Why erasures of this store wait, if some do. Whoever opens the store a minute later tries again.
    pub const fn erasures_wait(&self) -> Option<&samite_model::Error> {
        self.erasures_wait.as_ref()
    }

    /// Whether nothing of what they take can be read any more, and others are in the way of taking the rest of it off the disk.
    pub fn is_unreadable_by_now(&self) -> bool {
        self.erasures_wait.as_ref().is_none_or(crate::erasure::is_unreadable)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The ledger, for what only an embedded store can do.
    pub fn ledger(&self) -> &SqliteLedger {
        &self.ledger
    }

    /// The keys.
    pub fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The tenant's folder.
    pub fn home(&self) -> PathBuf {
        self.directory.join("tenants").join(self.tenant.as_str())
    }

    /// Whether this call made the store: then say where the master key is.
    pub fn is_first_use(&self) -> bool {
        self.first_use
    }

    /// Where the master key is, in words.
    pub fn master(&self) -> String {
        self.master.describe()
    }

    /// The store as its local principal sees it; the principal is recorded at first use like any other.
    ///
    /// # Errors
    /// `unavailable` when that cannot be recorded.
    pub async fn client(&self) -> Result<crate::Client> {
        let principal = local_principal(self.tenant.clone());
        if !self.read_only {
            return self.store.client(principal).await;
        }
        self.store.core.refresh().await?;
        self.store.reader(principal)
    }

    /// The directory of the signs of life of running steps.
    ///
    /// # Errors
    /// `unavailable` or `denied` when it cannot be made.
    pub fn lives(&self) -> Result<PathBuf> {
        let lives = self.home().join("lives");
        if !self.read_only {
            files::create_private_dir(&lives)?;
        }
        Ok(lives)
    }

    /// Closes the ledger once what was asked of it is done, what was read of others is recorded first.
    pub async fn close(self) {
        self.store.record_reads().await.ok();
        self.ledger.close().await;
    }
}

/// What makes the audit log, and goes on with none that lacks what was published.
fn finisher(keys: &Keyring, master: &dyn Master) -> Result<Arc<dyn Finisher>> {
    keys.ensure_audit_key()?;
    let published = master.load_note(&keys.name(), PublishedHeads::NOTE)?;
    let published = published.as_deref().map(PublishedHeads::decode).transpose()?;
    Ok(Arc::new(LogFinisher::new(keys.clone(), published.and_then(|published| published.newest().cloned()))))
}
