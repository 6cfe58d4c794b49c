//! What leaves the store: exports, proofs that the log continues, and heads that witnesses cosign.

use super::Audit;
use super::heads::Handed;
use crate::payload::HeadPublished;
use crate::subject_export::outside;
use crate::views::Projection;
use samite_audit::consistency::ConsistencyProof;
use samite_audit::export::{Exported, export_after};
use samite_audit::merkle::{prove_consistency, root};
use samite_audit::note::Cosigner;
use samite_audit::witness::{Submission, reach, submit};
use samite_audit::{Hash, Note, TreeHead, VerifierKey};
use samite_ledger::LogState;
use samite_model::{EntryKind, Error, Observer, Result};
use std::path::Path;
use std::time::Duration;

/// How long a witness may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often others may move leaves while they are exported.
const TRIES: usize = 50;

/// That a log continues another size of it.
#[derive(Clone, Debug)]
pub struct Continued {
    /// The log.
    pub log: u64,
    /// The root at the older size.
    pub old: (u64, Hash),
    /// The root at the newer size.
    pub new: (u64, Hash),
    /// The hashes between them (RFC 6962).
    pub hashes: Vec<Hash>,
    /// The same as a file that is checked offline, where the newer size is that of a signed head.
    pub proof: Option<ConsistencyProof>,
}

/// What witnesses said to a head.
#[derive(Debug)]
pub struct Cosigned {
    /// The log.
    pub log: u64,
    /// The head.
    pub head: TreeHead,
    /// What each of them answered, in the order in which they were asked.
    pub answers: Vec<Result<Cosigner>>,
}

impl Audit {
    /// The proof that the log at a newer size (none: the newest head) continues it as it was at an older one. The newest head is
    /// noted as published.
    ///
    /// # Errors
    /// `invalid` (`bad_leaf_range`) when there are not so many leaves; `not_found` (`leaf_archived`) for a size that cannot be
    /// shown, because the leaves about it were moved to an archive that is not there; `conflict` (`published_ahead`).
    pub async fn consistency(&self, log: Option<u64>, old: u64, new: Option<u64>) -> Result<Continued> {
        let handed = self.hand_out(log).await?;
        let (log, size) = (handed.state.log, handed.head.size);
        let new = new.unwrap_or(size);
        if old > new || new > size {
            let what = format!("log {log} has {size} leaves; {old} to {new} is no part of its history");
            return Err(Error::invalid("bad_leaf_range", what).hint("give an older and a newer size up to that"));
        }
        for size in [old, new] {
            Self::check_shown(&handed, size)?;
        }
        let (hashes, old_root, new_root) = self.with_tiles(&handed, &mut |tiles| {
            let hashes = if old == 0 || old == new { Vec::new() } else { prove_consistency(tiles, old, new)? };
            let old_root = root(tiles, old)?;
            Ok((hashes, old_root, root(tiles, new)?))
        })?;
        let signed = if new == size {
            Some(handed.note.clone())
        } else {
            self.cosigned(&handed)?.into_iter().find(|(head, _)| head.size == new).map(|(_, note)| note)
        };
        let proof = signed.map(|signed| ConsistencyProof { old, hashes: hashes.clone(), signed });
        Ok(Continued { log, old: (old, old_root), new: (new, new_root), hashes, proof })
    }

    /// Writes a log as a plain folder that anybody can verify with its key alone, or what it has more than the folder. Before
    /// that every journal is anchored. It goes up to the newest head; to the last one that a witness cosigned where nothing was
    /// done since, or where `cosigned` asks for that. What was exported is noted beside the master key, so that no older copy of
    /// the store ever contradicts it. When this returns, all of it is durable.
    ///
    /// # Errors
    /// `invalid` (`inside_store`) for a folder in the store; `conflict` when the folder has other files or another log's, or another history was published (`published_ahead`);
    /// `not_found` (`not_cosigned`) when no witness cosigned a head of the log; `corrupt` (`other_root`) when the leaves are not
    /// those of the head.
    pub async fn export(
        &self,
        log: Option<u64>,
        cosigned: bool,
        folder: &Path,
        observer: &Observer,
    ) -> Result<(TreeHead, Exported)> {
        if let Some(store) = &self.client.core.0.directory {
            outside(store, folder)?;
        }
        // A folder that it cannot go into changes nothing.
        let to_be = match log {
            Some(log) => self.state(Some(log)).await?.log,
            None => self.log_to_be().await?,
        };
        samite_audit::export::check(folder, &self.key_of(to_be)?)?;
        if log.is_none() && !cosigned {
            self.anchor(observer).await?;
        }
        let mut tries = 0..TRIES;
        loop {
            let handed = self.hand_out(log).await?;
            let (head, signed) = if cosigned { self.last_cosigned(&handed)? } else { self.current(&handed).await? };
            let leaves = |from| self.leaves_from(&handed.state, from);
            let mut tell = |done| observer.tell("exporting leaves", done, Some(head.size));
            let key = self.key_of(handed.state.log)?;
            let exported = match export_after(folder, &signed, &key, &handed.cold.roots(), leaves, &mut tell) {
                // Others moved leaves meanwhile: what is left is exported.
                Err(error) if error.code() == "leaf_archived" && tries.next().is_some() => continue,
                exported => exported?,
            };
            let name = folder.display().to_string();
            self.record_published(&handed.state, &head, "export", name).await?;
            return Ok((head, exported));
        }
    }

    /// The last head that a witness cosigned, where its leaves are in the store.
    fn last_cosigned(&self, handed: &Handed) -> Result<(TreeHead, Note)> {
        let (log, minimum) = (handed.state.log, handed.minimum());
        let newest = self.cosigned(handed)?.pop().filter(|(head, _)| head.size > minimum || minimum == 0);
        newest.ok_or_else(|| {
            let what = if minimum == 0 {
                format!("no witness cosigned a head of log {log}")
            } else {
                format!(
                    "no witness cosigned a head of log {log} since leaf {minimum}, with which it begins in the store"
                )
            };
            Error::not_found("not_cosigned", what).hint("`samite audit witness URL --key KEY` has one cosign it")
        })
    }

    /// Has witnesses cosign one head, the newest (the last that was cosigned, where nothing was done since): whoever trusts one of
    /// them knows then that no other history is shown to anybody else. Each is a URL and a key. What one answered is kept also
    /// when another cannot be reached.
    ///
    /// # Errors
    /// `invalid` (`bad_witness_address`) for what is no address, and `unavailable` (`no_witness`) where nobody answers at any of them:
    /// then nothing was done; what keeps the head from being published. What a witness answers is in the result: `conflict` (`witness_ahead`,
    /// `witness_differs`) when it saw another history; `unavailable` when it cannot be reached.
    pub async fn witness(&self, witnesses: &[(String, VerifierKey)], observer: &Observer) -> Result<Cosigned> {
        witnesses.iter().try_for_each(|(url, _)| check_address(url))?;
        reach_any(witnesses)?;
        self.anchor(observer).await?;
        let handed = self.hand_out(None).await?;
        let (head, note) = self.current(&handed).await?;
        let mut answers = Vec::new();
        for (url, key) in witnesses {
            let answer = self.ask(&handed, &head, &note, url, key);
            if let Ok((note, _)) = &answer {
                self.keep_cosigned(handed.state.log, &head, note)?;
                self.record_published(&handed.state, &head, "witness", key.name().to_owned()).await?;
            }
            answers.push(answer.map(|(_, cosigner)| cosigner));
        }
        Ok(Cosigned { log: handed.state.log, head, answers })
    }

    fn ask(
        &self,
        handed: &Handed,
        head: &TreeHead,
        signed: &Note,
        url: &str,
        key: &VerifierKey,
    ) -> Result<(Note, Cosigner)> {
        let by = |(_, note): &(TreeHead, Note)| note.signatures().iter().any(|one| one.name == key.name());
        let seen = self.cosigned(handed)?.iter().filter(|one| by(one)).map(|(head, _)| head.size).max();
        let submission = Submission { url, key, seen: seen.unwrap_or(0), time_limit: PATIENCE };
        let mut prove = |old: u64| -> Result<Vec<Hash>> {
            if old == 0 || old >= head.size {
                return Ok(Vec::new());
            }
            Self::check_shown(handed, old)?;
            self.with_tiles(handed, &mut |tiles| prove_consistency(tiles, old, head.size))
        };
        submit(&submission, signed, &mut prove)
    }

    /// Refuses a size of the log of which nothing can be shown, because the leaves about it were moved to an archive that is not
    /// there.
    fn check_shown(handed: &Handed, size: u64) -> Result<()> {
        if handed.shows(size) {
            return Ok(());
        }
        Err(handed.cold.gone(size))
    }

    async fn record_published(&self, state: &LogState, head: &TreeHead, to: &str, name: String) -> Result<()> {
        let published = HeadPublished {
            log: state.log,
            origin: head.origin.clone(),
            size: head.size,
            root: head.root.to_string(),
            to: to.to_owned(),
            name,
        };
        let scribe = self.scribe()?;
        let draft = scribe.core.draft(EntryKind::HEAD_PUBLISHED, &published, Projection::default())?;
        let entry = scribe.core.seal(self.journal(), &scribe.author(0), draft)?;
        self.append(&scribe, entry).await
    }
}

/// Refuses to begin where none of the witnesses can be reached.
fn reach_any(witnesses: &[(String, VerifierKey)]) -> Result<()> {
    let mut failed = None;
    for (url, key) in witnesses {
        match reach(&Submission { url, key, seen: 0, time_limit: PATIENCE }) {
            Ok(()) => return Ok(()),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), |error| Err(error.hint("nothing was anchored or published")))
}

/// Refuses what is no address of a witness, before anything is done.
fn check_address(url: &str) -> Result<()> {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_host = |host: &str| !host.is_empty() && !host.starts_with(['/', ':', '?', '#']);
    if host.is_some_and(is_host) && !url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Ok(());
    }
    let shown: String = url.chars().take(80).collect();
    Err(Error::invalid("bad_witness_address", format!("{shown:?} is no address of a witness"))
        .hint("write its submission prefix, such as https://witness.example"))
}
