//! What could not be recorded when it happened, in a small file beside the store, until it can be.
//!
//! A line says what happened and why it is not in the log, and holds nothing of what was said or done: it is not sealed.

use super::event::{Ending, Harness, HookEvent, What};
use samite_host::files::{self, FileLock, RangeFile};
use samite_model::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// So many lines are kept at most.
const LINES: usize = 512;

/// The file has at least so many bytes, empty lines mostly: writing over them works on a disk that is full.
const RESERVED: usize = 32 << 10;

/// An event that could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrecorded {
    /// A random id, so that it is recorded once.
    pub id: String,
    /// When, in nanoseconds since 1970.
    pub time: i64,
    /// The harness.
    pub harness: String,
    /// The harness's session; none when it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The event's name.
    pub name: String,
    /// The tool that was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The harness's id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whether the call ended, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The directory that the agent works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Why it was not recorded: the error's code.
    pub why: String,
}

impl Unrecorded {
    /// What is kept of an event that could not be recorded because of `why`.
    pub fn of(event: &HookEvent, id: String, time: i64, why: &Error) -> Self {
        let (tool, ending) = match &event.what {
            What::ToolStart(tool) => (Some(tool), None),
            What::ToolEnd { tool, ending, .. } => (Some(tool), Some(*ending)),
            _ => (None, None),
        };
        Self {
            id,
            time,
            harness: event.harness.name().to_owned(),
            session: Some(event.session.clone()),
            agent: event.agent.as_ref().map(|agent| agent.id.clone()),
            name: event.name.clone(),
            tool: tool.map(|tool| tool.name.clone()),
            call: tool.and_then(|tool| tool.id.clone()),
            ending,
            directory: event.directory.clone(),
            why: why.code().to_owned(),
        }
    }

    /// The line.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What the session that it belongs to is found by; none when it names none.
    pub(crate) fn session_key(&self) -> Option<String> {
        let harness = Harness::from_name(&self.harness)?;
        Some(super::sessions::session_key(harness, self.session.as_deref()?, self.agent.as_deref()))
    }

    /// The event, as far as it is known.
    pub(super) fn event(&self) -> Result<HookEvent> {
        let missing = || Error::invalid("bad_hook_input", "an event that was not recorded names no session");
        let harness = Harness::from_name(&self.harness).ok_or_else(missing)?;
        Ok(HookEvent {
            harness,
            name: self.name.clone(),
            session: self.session.clone().ok_or_else(missing)?,
            agent: self.agent.clone().map(|id| super::event::Agent { id, kind: None }),
            directory: self.directory.clone(),
            transcript: None,
            identity: None,
            what: What::Other,
            more: serde_json::Map::new(),
            raw: Vec::new(),
        })
    }
}

/// The file.
#[derive(Clone, Debug)]
pub struct Spool {
    path: PathBuf,
}

impl Spool {
    /// The one beside a store's directory.
    pub fn beside(store: &Path) -> Self {
        let mut name = store.file_name().unwrap_or_default().to_os_string();
        name.push(".unrecorded");
        Self { path: store.with_file_name(name) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether something is noted; none when there is no such file yet. A look that costs next to nothing.
    pub fn has_notes(&self) -> Option<bool> {
        let mut first = [b'\n'];
        let file = RangeFile::open(&self.path).ok()?;
        Some(file.fill_at(0, &mut first).unwrap_or_default() > 0 && first != [b'\n'])
    }

    /// Makes the file, with room for what may have to be noted on a disk that is full by then. When this returns, it is
    /// durable.
    ///
    /// # Errors
    /// As [`Spool::add`].
    pub fn reserve(&self) -> Result<()> {
        let mut lock = self.lock()?;
        let lines = lock.contents()?;
        lock.set_contents(&padded(&lines))
    }

    /// Adds an event. When this returns, it survives the process, not necessarily the machine.
    ///
    /// # Errors
    /// `unavailable` or `denied` when the file cannot be written.
    pub fn add(&self, missed: &Unrecorded) -> Result<()> {
        if let Some(directory) = self.path.parent() {
            files::create_private_dir(directory)?;
        }
        let mut lock = self.lock()?;
        let noted = lock.contents()?;
        let noted: Vec<&[u8]> = noted.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        if noted.len() >= LINES {
            return Err(Error::unavailable(
                "spool_full",
                format!("{} has {LINES} events that were not recorded already", self.path.display()),
            )
            .hint("mend what the warnings before say; the next event then records them"));
        }
        let mut lines = noted.join(&b'\n');
        lines.extend_from_slice(if lines.is_empty() { b"" } else { b"\n" });
        lines.extend_from_slice(missed.line().as_bytes());
        lines.push(b'\n');
        lock.set_contents(&padded(&lines))
    }

    /// Waits for others for a second, and no longer: an agent waits.
    fn lock(&self) -> Result<FileLock> {
        for _ in 0..100 {
            if let Some(lock) = FileLock::try_acquire(&self.path)? {
                return Ok(lock);
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Err(Error::unavailable("file_locked", format!("another process keeps the lock on {}", self.path.display())))
    }

    /// Forgets the events that `is_meant` says, and writes over what stood there. How many there were is the answer.
    ///
    /// # Errors
    /// As [`Spool::add`]; those of `is_meant`, and then nothing is forgotten.
    pub(crate) fn forget(&self, is_meant: impl Fn(&Unrecorded) -> Result<bool>) -> Result<u64> {
        let mut lock = self.lock()?;
        let text = String::from_utf8_lossy(&lock.contents()?).into_owned();
        let (mut kept, mut gone) = (String::new(), 0);
        for line in text.lines().filter(|line| !line.is_empty()) {
            let goes = match serde_json::from_str::<Unrecorded>(line) {
                Ok(missed) => is_meant(&missed)?,
                Err(_) => false,
            };
            if goes {
                gone += 1;
            } else {
                kept.extend([line, "\n"]);
            }
        }
        if gone > 0 {
            let mut over = padded(kept.as_bytes());
            over.resize(over.len().max(text.len()), b'\n');
            lock.set_contents(&over)?;
        }
        Ok(gone)
    }

    /// Hands out what is there, one after the other, and forgets what `record` says that it recorded. A line that is none is
    /// passed over.
    ///
    /// # Errors
    /// As `record`: what it did not record stays.
    pub async fn drain(&self, record: impl AsyncFn(&Unrecorded) -> Result<bool>) -> Result<usize> {
        // Another hook that is at it does this as well.
        let Some(mut lock) = FileLock::try_acquire(&self.path)? else { return Ok(0) };
        let text = String::from_utf8_lossy(&lock.contents()?).into_owned();
        let mut lines = text.lines();
        let mut count = 0;
        let mut kept = String::new();
        while let Some(line) = lines.clone().next() {
            if let Ok(missed) = serde_json::from_str::<Unrecorded>(line) {
                match record(&missed).await {
                    Ok(true) => count += 1,
                    Ok(false) => kept.extend([line, "\n"]),
                    // It names no session, or one that cannot be or was erased: it never will be recorded.
                    Err(error) if matches!(error.code(), "bad_hook_input" | "session_erased" | "step_erased") => {}
                    Err(error) => {
                        kept.extend(lines.flat_map(|line| [line, "\n"]));
                        lock.set_contents(&padded(kept.as_bytes()))?;
                        return Err(error);
                    }
                }
            }
            lines.next();
        }
        samite_host::kill_point("hook.spool_recorded");
        if count > 0 || kept.is_empty() {
            lock.set_contents(&padded(kept.as_bytes()))?;
        }
        Ok(count)
    }
}

/// Lines with empty ones after them.
fn padded(lines: &[u8]) -> Vec<u8> {
    let mut all = lines.to_vec();
    all.resize(all.len().max(RESERVED), b'\n');
    all
}

#[cfg(test)]
#[path = "spool_tests.rs"]
mod tests;
