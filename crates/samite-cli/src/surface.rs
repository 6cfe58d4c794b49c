//! What every command works with: the printer, the store, and who writes.

use crate::arguments::Global;
use crate::printer::Printer;
use crate::reference::Found;
use etcetera::BaseStrategy;
use samite::embedded::{CommandMaster, Embedded, EmbeddedOptions, EnvironmentMaster, FileMaster, Master};
use samite::policy::Region;
use samite::recover::Site;
use samite::syntax::split_words;
use samite::{Client, Writer, WriterOptions};
use samite_host::{SystemRandomness, files, process};
use samite_model::{BranchId, Error, Result, SessionId, Tenant};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The tenant of the command line: a store in a directory has this one.
pub(crate) const TENANT: &str = "local";

/// What a command does with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads, and makes nothing.
    Read,
    /// Writes, but makes no store.
    Write,
    /// Writes, and makes the store when it is not there.
    Create,
    /// Reads what is left although acknowledged entries are lost.
    ReadDamaged,
    /// Writes although acknowledged entries are lost: a person accepts that.
    AcceptLoss,
}

/// What every command works with.
pub(crate) struct Surface {
    /// Prints.
    pub(crate) printer: Printer,
    global: Global,
}

impl Surface {
    /// What the global options say.
    pub(crate) fn new(global: Global) -> Self {
        Self { printer: Printer::new(global.json), global }
    }

    /// The same for another thread.
    pub(crate) fn again(&self) -> Self {
        Self::new(self.global.clone())
    }

    /// The directory of the store that was named, by option or variable.
    pub(crate) fn named_store(&self) -> Option<&Path> {
        self.global.store.as_deref()
    }

    /// The store's directory.
    ///
    /// # Errors
    /// `invalid` when the user has no home directory and `--store` names none.
    pub(crate) fn directory(&self) -> Result<PathBuf> {
        match &self.global.store {
            Some(directory) => Ok(directory.clone()),
            None => Ok(base()?.data_dir().join("samite")),
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// As [`Embedded::open`]; `invalid` when the environment's master key is none.
    pub(crate) fn open(&self, access: Access) -> Result<Embedded> {
        let options = EmbeddedOptions {
            directory: self.directory()?,
            tenant: Tenant::new(TENANT)?,
            master: master()?,
            create: access == Access::Create,
            read_only: matches!(access, Access::Read | Access::ReadDamaged),
            accept_behind: matches!(access, Access::ReadDamaged | Access::AcceptLoss),
        };
        let store = Embedded::open_in(options, region()?)?;
        for done in store.erased_at_open() {
            let what = if done.started.replayed { "done again in this older copy" } else { "finished" };
            self.printer.note(&format!("erasure {} was {what}", done.started.erasure.short()));
        }
        if let Some(error) = store.erasures_wait() {
            let so_far = if store.is_unreadable_by_now() {
                "what it takes cannot be read any more"
            } else {
                "`samite erase resume` goes on once that is mended"
            };
            self.printer.note(&format!("an erasure is not finished: {}; {so_far}", error.message()));
        }
        if store.is_first_use() {
            self.printer.note(&format!("made a store in {}", store.directory().display()));
            self.printer.note(&format!("its master key is in {}", store.master()));
            self.printer
                .note("whoever loses the key loses the store: `samite key export` makes a copy to keep elsewhere");
        }
        Ok(store)
    }

    /// How this command becomes a branch's writer.
    ///
    /// # Errors
    /// `not_found` when the process that stands for the writer is gone.
    pub(crate) fn writer_options(&self) -> Result<WriterOptions> {
        let process = match (&self.global.writer, self.global.writer_pid) {
            (_, Some(pid)) => Some(process::of(pid)?),
            (Some(_), None) => None,
            // The lease ends with this very process.
            (None, None) => Some(process::current()?),
        };
        Ok(WriterOptions {
            id: self.global.writer.clone(),
            process,
            take_over: self.global.take_over,
            ..WriterOptions::default()
        })
    }

    /// Does something as the writer of a branch. A command that acts for no writer of its own gives the branch up
    /// afterwards, whatever came of it.
    ///
    /// # Errors
    /// As [`Client::writer`], and what `act` answers.
    pub(crate) async fn write<T>(
        &self,
        client: &Client,
        session: SessionId,
        branch: Option<BranchId>,
        act: impl AsyncFnOnce(&Writer) -> Result<T>,
    ) -> Result<T> {
        let writer = client.writer(session, branch, self.writer_options()?).await?;
        let outcome = act(&writer).await;
        if self.global.writer.is_none() {
            let released = writer.release_after_act().await;
            // What was asked for was done; the lease ends with this process in any case.
            if let (Ok(_), Err(error)) = (&outcome, released) {
                self.printer.warn(&format!("the branch could not be given up: {error}"));
            }
        }
        outcome
    }

    /// As [`Surface::write`], for a branch that was looked up.
    ///
    /// # Errors
    /// As [`Surface::write`].
    pub(crate) async fn write_to<T>(
        &self,
        client: &Client,
        found: Found,
        act: impl AsyncFnOnce(&Writer) -> Result<T>,
    ) -> Result<T> {
        self.write(client, found.session, found.branch, act).await
    }
}

/// Where recovery looks beside the log of a branch; relative paths of probes start from `base`.
///
/// # Errors
/// As [`Embedded::lives`].
pub(crate) fn site(store: &Embedded, base: &Path) -> Result<Site> {
    Ok(Site { base: base.to_owned(), lives: store.lives()? })
}

/// Where this command was called.
///
/// # Errors
/// `not_found` (`no_directory`) when that is gone.
pub(crate) fn here() -> Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| Error::not_found("no_directory", "the current directory is gone").because(error))
}

/// This program, which supervises the commands of steps.
///
/// # Errors
/// `internal` when the operating system does not say.
pub(crate) fn program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|error| Error::internal("no_program", "cannot find this program's own file").because(error))
}

fn base() -> Result<impl BaseStrategy> {
    etcetera::choose_base_strategy().map_err(|error| {
        Error::invalid("no_home", "this user has no home directory").because(error).hint("name a store with --store")
    })
}

/// Where this user's settings of samite are.
///
/// # Errors
/// `invalid` when the user has no home directory.
pub(crate) fn configuration() -> Result<PathBuf> {
    Ok(base()?.config_dir().join("samite"))
}

/// The region that this node states, by `SAMITE_REGION`.
fn region() -> Result<Option<Region>> {
    let stated = std::env::var_os("SAMITE_REGION").filter(|value| !value.is_empty());
    stated.map(|name| Region::new(&name.to_string_lossy())).transpose()
}

/// Where the master key is: a command, the environment, or a file outside the store.
fn master() -> Result<Arc<dyn Master>> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(command) = variable("SAMITE_MASTER_COMMAND") {
        let command = command
            .into_string()
            .map_err(|_| Error::invalid("bad_master_command", "SAMITE_MASTER_COMMAND is not text"))?;
        let mut words = split_words(&command)?.into_iter().map(OsString::from);
        let program = words
            .next()
            .ok_or_else(|| Error::invalid("bad_master_command", "SAMITE_MASTER_COMMAND names no program"))?;
        return Ok(Arc::new(CommandMaster::new(program, words.collect())));
    }
    if let Some(key) = variable("SAMITE_MASTER_KEY") {
        return Ok(Arc::new(EnvironmentMaster::new(&key.to_string_lossy())?));
    }
    Ok(Arc::new(file_master()?))
}

/// The file that holds the master key of the store that is open; none when it is elsewhere.
///
/// # Errors
/// As [`file_master`].
pub(crate) fn master_file() -> Result<Option<PathBuf>> {
    let elsewhere = ["SAMITE_MASTER_COMMAND", "SAMITE_MASTER_KEY"];
    if elsewhere.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Ok(None);
    }
    file_master().map(|master| Some(master.path().to_owned()))
}

/// Refuses a workspace whose agent would work beside the key that opens everything, and an input that is or holds that key.
///
/// # Errors
/// `invalid` (`holds_master`).
pub(crate) fn refuse_master(directory: &Path) -> Result<()> {
    let Some(file) = master_file()? else { return Ok(()) };
    if files::exists(directory)?
        && files::exists(&file)?
        && files::canonical(&file)?.starts_with(files::canonical(directory)?)
    {
        return Err(Error::invalid(
            "holds_master",
            format!("{} holds the master key: {}", directory.display(), file.display()),
        )
        .hint("attach the directory of the project alone")
        .hint("or move the key's file elsewhere and name it with SAMITE_MASTER_FILE"));
    }
    Ok(())
}

/// The master key in a file: the one that `SAMITE_MASTER_FILE` names, or one in the user's configuration directory.
///
/// # Errors
/// `invalid` when the user has no home directory and nothing names a file.
pub(crate) fn file_master() -> Result<FileMaster> {
    let path = match std::env::var_os("SAMITE_MASTER_FILE").filter(|value| !value.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => configuration()?.join("master.key"),
    };
    Ok(FileMaster::new(path, Arc::new(SystemRandomness::new())))
}
