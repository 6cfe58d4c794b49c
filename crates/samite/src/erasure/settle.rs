//! Finishing what was begun, and doing again in an older copy of the store what it has forgotten.

use super::ErasureRecord;
use super::carry_out::Carried;
use super::note::Noted;
use crate::embedded::Embedded;
use crate::payload::ErasureStarted;
use crate::views;
use futures_lite::future::block_on;
use samite_host::files::FileLock;
use samite_host::kill_point;
use samite_model::erasure::RunSet;
use samite_model::{EntryKind, Error, ErrorKind, FamilyId, Observer, Result};
use std::collections::HashSet;

/// What came of finishing erasures.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Those that are done now.
    pub(crate) done: Vec<ErasureRecord>,
    /// Why some wait. Where others are in the way of the last stages, nothing of what they take can be read by then.
    pub(crate) waits: Option<Error>,
}

/// Whether an erasure waits for nothing but what is to be taken off the disk: nothing of it can be read by then.
pub(crate) fn is_unreadable(waits: &Error) -> bool {
    matches!(waits.code(), "busy" | "store_busy" | "erasure_incomplete")
}

/// After a try at which others were in the way, it is not tried at each opening of the store: so many nanoseconds not.
const AGAIN_AFTER: i64 = 60_000_000_000;

/// What the lock's file tells of a try at which others were in the way.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tried {
    /// When, in nanoseconds since 1970.
    at: i64,
    /// The erasures that wait.
    ids: Vec<FamilyId>,
    /// Whether something of what they take may be read: it was not others who were in the way.
    readable: bool,
}

/// The word that says so.
const READABLE: &str = "readable";

impl Tried {
    /// What cannot be read is no try.
    fn of(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut words = text.split_whitespace();
        let Some(at) = words.next().and_then(|word| word.parse().ok()) else { return Self::default() };
        let (mut ids, mut readable) = (Vec::new(), false);
        for word in words {
            readable |= word == READABLE;
            ids.extend(word.parse::<FamilyId>());
        }
        Self { at, ids, readable }
    }

    fn text(&self) -> String {
        if self.ids.is_empty() {
            return String::new();
        }
        let mut words: Vec<String> = self.ids.iter().map(ToString::to_string).collect();
        words.extend(self.readable.then(|| READABLE.to_owned()));
        format!("{} {}\n", self.at, words.join(" "))
    }

    fn lately(&self, erasure: FamilyId, now: i64) -> bool {
        self.ids.contains(&erasure) && (0..AGAIN_AFTER).contains(&now.saturating_sub(self.at))
    }
}

fn waits_still(tried: &Tried) -> Error {
    let error = if tried.readable {
        Error::unavailable("erasure_failed", "it could not be carried out a moment ago")
    } else {
        Error::unavailable("busy", "another process was using the ledger")
    };
    error.hint("`samite erase resume` tries again, and says what is in the way")
}

/// The user of the command line.
pub(super) const LOCAL_USER: &str = "local";

impl Embedded {
    /// Before anything is served: erasures that this store has forgotten, since it is a copy from before them, are done again;
    /// those that were cut off are finished, unless somebody is at it. What of this store's own cannot be finished now, since
    /// others are in the way, is finished later: nothing of it can be read by then. Returns what was done, and what waits.
    pub(crate) fn settle_erasures(&self) -> Result<Settled> {
        block_on(self.settle(&Observer::default()))
    }

    /// Finishes the erasures that have begun and are not done.
    ///
    /// # Errors
    /// As [`Embedded::erase`].
    pub async fn resume_erasures(&self, observer: &Observer) -> Result<Vec<ErasureRecord>> {
        let Some(_lock) = FileLock::try_acquire(&self.erasing_lock())? else {
            return Err(Error::conflict("erasure_running", "another erasure is being carried out")
                .hint("wait for it: `samite erase list` shows it"));
        };
        let settled = self.finish(observer).await?;
        match settled.waits {
            Some(error) => Err(error),
            None => Ok(settled.done),
        }
    }

    async fn settle(&self, observer: &Observer) -> Result<Settled> {
        let core = &self.store().core;
        let name = |error: Error| error.context(self.directory().display());
        let Noted { erasures, done } = core.noted_erasures().map_err(name)?;
        let noted: Vec<FamilyId> = erasures.iter().map(|noted| noted.erasure).collect();
        let forgotten = core.unknown_erasures(erasures).await.map_err(name)?;
        let unfinished = match core.unfinished_erasures().await {
            // What is damaged is named by a verification, and the rest can be used.
            Err(error) if error.kind() == ErrorKind::Corrupt && forgotten.is_empty() => Vec::new(),
            unfinished => unfinished.map_err(name)?,
        };
        // Nothing of an older copy is served before all of it is done. One that is done elsewhere makes this a copy from before
        // its end.
        let of_older = |started: &&ErasureStarted| started.replayed || done.contains(&started.erasure);
        let pending = forgotten.len() + unfinished.iter().filter(of_older).count();
        if self.is_read_only() {
            return if pending == 0 {
                Ok(Settled::default())
            } else {
                Err(Error::denied(
                    "erasures_pending",
                    format!(
                        "this is a copy of the store from before {pending} erasures, which must be done here first"
                    ),
                )
                .hint("open it once for writing: `samite erase resume`"))
            };
        }
        let ended: Vec<FamilyId> = noted
            .into_iter()
            .filter(|id| !done.contains(id) && unfinished.iter().all(|started| started.erasure != *id))
            .filter(|id| forgotten.iter().all(|started| started.erasure != *id))
            .collect();
        if forgotten.is_empty() && unfinished.is_empty() && ended.is_empty() {
            return Ok(Settled::default());
        }
        let lock = if pending == 0 {
            // Somebody who is at it needs no help.
            FileLock::try_acquire(&self.erasing_lock())?
        } else {
            Some(FileLock::acquire(&self.erasing_lock())?)
        };
        let Some(mut lock) = lock else { return Ok(Settled::default()) };
        // Whoever ended these was killed before that was noted.
        core.note_done(&ended)?;
        if forgotten.is_empty() && unfinished.is_empty() {
            return Ok(Settled::default());
        }
        let tried = Tried::of(&lock.contents()?);
        if pending == 0 && unfinished.iter().all(|started| tried.lately(started.erasure, core.now())) {
            return Ok(Settled { waits: Some(waits_still(&tried)), ..Settled::default() });
        }
        // In one commit: what is recorded here takes places in the tenant's journal at which a later one may have had entries.
        let forgotten = core.unknown_erasures(forgotten).await?;
        if let Some(by) = forgotten.first().map(ErasureStarted::by) {
            let tenant = core.as_tenant(by)?;
            let mut drafts = Vec::with_capacity(forgotten.len());
            let mut before = HashSet::new();
            for noted in forgotten {
                let mut runs = core.runs_here(&noted).await?;
                runs.extend(core.records_here(&noted).await?);
                runs = RunSet::new(runs).runs();
                let mut started = ErasureStarted { replayed: true, runs, commitments: Vec::new(), ..noted };
                started.close = core.to_close(&started).await?;
                started.kept = Some(core.rows_to_keep(&started.runs, &started.close).await?);
                (started.found, started.derived) = tenant.found_here(&started, &mut before).await?;
                drafts.push(core.draft(EntryKind::ERASURE_STARTED, &started, views::erasure_started(&started))?);
            }
            core.append_as_tenant(by, drafts, Vec::new()).await?;
            kill_point("erase.replayed");
        }
        let settled = self.finish(observer).await?;
        let tried = match &settled.waits {
            Some(error) => Tried {
                at: core.now(),
                ids: unfinished.iter().map(|started| started.erasure).collect(),
                readable: !is_unreadable(error),
            },
            None => Tried::default(),
        };
        let text = tried.text();
        if text.as_bytes() != lock.contents()? {
            lock.set_contents(text.as_bytes())?;
        }
        Ok(settled)
    }

    /// Finishes what was begun; what of this store's own cannot be finished, whatever is the matter, waits, and keeps nobody from
    /// writing. Whoever calls this holds the lock.
    ///
    /// # Errors
    /// Those of erasures that this store had forgotten, since it is a copy from before them or from before their ends.
    async fn finish(&self, observer: &Observer) -> Result<Settled> {
        let core = &self.store().core;
        let ended = core.noted_erasures()?.done;
        let mut settled = Settled::default();
        let mut forgotten = None;
        for started in core.unfinished_erasures().await? {
            let of_older = started.replayed || ended.contains(&started.erasure);
            let carried = match core.note_erasure(&started) {
                Ok(_) => self.carry_on(&started, observer).await,
                Err(error) => Err(error),
            };
            match carried {
                Ok(Carried::Done(record)) => settled.done.push(*record),
                Ok(Carried::Waits(error)) if of_older => forgotten = Some(error),
                Err(error) if of_older => return Err(error),
                Ok(Carried::Waits(error)) | Err(error) => settled.waits = Some(error),
            }
        }
        forgotten.map_or(Ok(settled), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_is_told_by_its_text_and_passes() {
        let id = |number| FamilyId([number; 16]);
        let tried = Tried { at: 7, ids: vec![id(1), id(2)], readable: false };
        assert_eq!(tried.text(), format!("7 {} {}\n", id(1), id(2)));
        assert_eq!(Tried::of(tried.text().as_bytes()), tried);
        assert!(is_unreadable(&waits_still(&tried)));
        let failed = Tried { readable: true, ..Tried::of(tried.text().as_bytes()) };
        assert_eq!(failed.text(), format!("7 {} {} readable\n", id(1), id(2)));
        assert_eq!(Tried::of(failed.text().as_bytes()), failed);
        assert!(!is_unreadable(&waits_still(&failed)));
        for nothing in ["", "\n", "soon", "\u{1}\u{2}"] {
            assert_eq!(Tried::of(nothing.as_bytes()), Tried::default());
        }
        assert_eq!(Tried::default().text(), "");
        let lately = |number, now| tried.lately(id(number), now);
        assert!(lately(1, 7) && lately(2, 6 + AGAIN_AFTER));
        // Another, one that is long ago, and one by a clock that was put back since.
        assert!(!lately(3, 7) && !lately(1, 7 + AGAIN_AFTER) && !lately(1, 6));
    }
}
