//! `samite audit verify-proof`.

use crate::input::file_or_input;
use crate::printer::words::{rfc3339, time};
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::audit::tlog::consistency::ConsistencyProof;
use samite::audit::tlog::tree_head::OpenedTreeHead;
use samite::audit::tlog::{Leaf, Note, Proof, TreeHead, VerifierKey};
use samite::audit::{Receipt, Shown};
use samite_model::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check a receipt offline: without the store, with the log's key alone
///
/// The file is a receipt of `audit prove`, `erase prove` or `subject export`; or one of `audit consistency`, and then the older
/// head that it is to continue is given with --old. The exit status is 8 when it proves nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit verify-proof act.tlog-proof --key \"$(cat key)\"
  samite audit verify-proof erased.tlog-proof --key \"$(cat key)\" --json
  samite audit verify-proof grown --old older/checkpoint --key \"$(cat key)\"")]
pub(crate) struct VerifyProof {
    /// The receipt
    file: PathBuf,
    /// The log's verifier key [default: the store's own]
    #[arg(long, value_name = "KEY")]
    key: Option<VerifierKey>,
    /// The key of a witness that must have cosigned the head; may be given several times
    #[arg(long, value_name = "KEY")]
    witness: Vec<VerifierKey>,
    /// The leaf, when it does not go with the receipt
    #[arg(long, value_name = "FILE")]
    leaf: Option<PathBuf>,
    /// The older signed head that the log must continue: the `checkpoint` of an export, or any receipt's
    #[arg(long, value_name = "FILE", conflicts_with = "leaf")]
    old: Option<PathBuf>,
}

#[derive(Serialize)]
struct Verified {
    origin: String,
    size: u64,
    root: String,
    cosigned_by: Vec<String>,
    index: Option<u64>,
    act: Option<String>,
    at: Option<String>,
    leaf: Option<Value>,
    /// The entry that is proven.
    entry: Option<Entry>,
    /// What the entry says, where that is shown; it is what the entry commits to.
    payload: Option<Value>,
    /// What the log continues.
    old: Option<u64>,
    old_root: Option<String>,
    #[serde(skip)]
    time: i64,
}

#[derive(Serialize)]
struct Entry {
    kind: String,
    id: String,
    journal: String,
    seq: u64,
    at: String,
    /// Whether it is before the leaf's own entry, which covers it.
    covered: bool,
    #[serde(skip)]
    time: i64,
}

impl Answer for Verified {
    fn show(&self, page: &mut Page) {
        let good = |page: &mut Page, what: &str| page.spans(&[(Style::Good, "proven: "), (Style::Plain, what)]);
        if let (Some(old), Some(root)) = (self.old, &self.old_root) {
            good(page, &format!("{} leaves of {} continue the {old} of before", self.size, self.origin));
            page.line(format!("{old} leaves: {root}"));
            page.line(format!("{} leaves: {}", self.size, self.root));
        }
        if let Some(entry) = &self.entry {
            good(page, &format!("{} at {}", entry.kind, time(entry.time)));
            page.line(format!("entry {}, seq {} of journal {}", entry.id, entry.seq, entry.journal));
            if let (true, Some(act)) = (entry.covered, &self.act) {
                page.line(format!("covered by the later act {act} at {}", time(self.time)));
            }
        }
        if let Some(index) = self.index {
            page.line(format!("leaf {index} of {}, in a signed head of {} leaves", self.origin, self.size));
        }
        for witness in &self.cosigned_by {
            page.line(format!("cosigned by {witness}"));
        }
        if let Some(payload) = &self.payload {
            page.block(0, &format!("{payload:#}"), None);
        }
    }
}

/// So much of a receipt is read: it may hold a whole payload.
const LIMIT: u64 = 256 << 20;

impl VerifyProof {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let bytes = file_or_input("the receipt", &self.file, LIMIT)?;
        let verified = if ConsistencyProof::is_one(&bytes) {
            self.continued(&ConsistencyProof::parse(&bytes)?, surface).await?
        } else {
            self.included(&Proof::parse(&bytes)?, surface).await?
        };
        surface.printer.answer(&verified)?;
        Ok(ExitCode::SUCCESS)
    }

    async fn included(&self, proof: &Proof, surface: &Surface) -> Result<Verified> {
        let receipt: Option<Receipt> = proof.extra.as_deref().and_then(|extra| serde_json::from_slice(extra).ok());
        let bytes = match (&self.leaf, &receipt) {
            (Some(path), _) => file_or_input("the leaf", path, LIMIT)?,
            (None, Some(receipt)) => receipt.leaf.clone().into_bytes(),
            (None, None) => {
                return Err(Error::invalid("no_leaf_given", "the leaf does not go with the receipt")
                    .hint("name it with --leaf: it is in the bundle of an export"));
            }
        };
        let key = self.key_of(&proof.signed, surface).await?;
        let opened = proof.verify(&bytes, &key, &self.witness)?;
        let leaf = Leaf::parse(&bytes)?;
        let shown = receipt.as_ref().map(|receipt| receipt.check(&leaf)).transpose()?;
        let text = String::from_utf8_lossy(&bytes);
        let (payload, entry) = match shown {
            Some(shown) => {
                let payload = shown.said().map(<[u8]>::to_vec);
                let Shown { covered, .. } = shown;
                let journal = receipt.and_then(|receipt| receipt.covered).map(|covered| covered.journal);
                (payload, covered.zip(journal))
            }
            None => (None, None),
        };
        let entry = match entry {
            Some((header, journal)) => Entry {
                kind: header.kind.name(),
                id: header.id.to_string(),
                journal: journal.to_string(),
                seq: header.seq,
                at: rfc3339(header.time),
                covered: true,
                time: header.time,
            },
            None => Entry {
                kind: leaf.act.to_string(),
                id: leaf.entry.to_string(),
                journal: leaf.journal.to_string(),
                seq: leaf.seq,
                at: rfc3339(leaf.at),
                covered: false,
                time: leaf.at,
            },
        };
        Ok(Verified {
            index: Some(proof.index),
            act: Some(leaf.act.to_string()),
            at: Some(rfc3339(leaf.at)),
            leaf: serde_json::from_str(&text).ok(),
            entry: Some(entry),
            payload: payload.map(|payload| {
                let text = || Value::String(String::from_utf8_lossy(&payload).into_owned());
                serde_json::from_slice(&payload).unwrap_or_else(|_| text())
            }),
            time: leaf.at,
            ..self.head(opened)?
        })
    }

    async fn continued(&self, proof: &ConsistencyProof, surface: &Surface) -> Result<Verified> {
        let path = self.old.as_ref().ok_or_else(|| {
            Error::invalid("no_old_head", "the file proves that a log continues an older head, and none is given")
                .hint("give it with --old: the `checkpoint` of an older export, or an older receipt")
        })?;
        let key = self.key_of(&proof.signed, surface).await?;
        let old = old_head(path, &key)?;
        if old.size != proof.old {
            let what =
                format!("the file proves something of {} leaves, and the older head has {}", proof.old, old.size);
            return Err(Error::invalid("other_size", what)
                .hint(format!("make it for that size: `samite audit consistency {} --to FILE`", old.size)));
        }
        let opened = proof.verify(old.root, &key, &self.witness)?;
        Ok(Verified { old: Some(old.size), old_root: Some(old.root.to_string()), ..self.head(opened)? })
    }

    /// What is known of a head, once all witnesses that were named are found on it.
    fn head(&self, opened: OpenedTreeHead) -> Result<Verified> {
        let cosigned_by: Vec<String> = opened.cosigners.iter().map(|one| one.key.name().to_owned()).collect();
        if let Some(missing) = self.witness.iter().find(|one| !cosigned_by.iter().any(|name| name == one.name())) {
            return Err(Error::corrupt("not_signed", format!("the witness {} did not cosign it", missing.name())));
        }
        let (origin, size, root) = (opened.head.origin, opened.head.size, opened.head.root.to_string());
        Ok(Verified {
            origin,
            size,
            root,
            cosigned_by,
            index: None,
            act: None,
            at: None,
            leaf: None,
            entry: None,
            payload: None,
            old: None,
            old_root: None,
            time: 0,
        })
    }

    /// The key that was given, or that of the store's own log.
    async fn key_of(&self, signed: &Note, surface: &Surface) -> Result<VerifierKey> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let need = |error: Error| error.hint("give the log's verifier key with --key: no store is needed then");
        let client = surface.open(Access::Read).map_err(need)?.client().await?;
        let logs = client.audit().logs().await?;
        let origin = signed.text().lines().next().unwrap_or_default();
        logs.into_iter()
            .map(|log| log.key)
            .find(|key| key.name() == origin)
            .ok_or_else(|| need(Error::not_found("no_audit_log", format!("{origin} is no log of this store"))))
    }
}

/// The older signed head in a file: a head by itself, or that of a receipt.
fn old_head(path: &Path, key: &VerifierKey) -> Result<TreeHead> {
    let bytes = file_or_input("the older head", path, LIMIT)?;
    let signed = if ConsistencyProof::is_one(&bytes) {
        ConsistencyProof::parse(&bytes)?.signed.to_string().into_bytes()
    } else if let Ok(proof) = Proof::parse(&bytes) {
        proof.signed.to_string().into_bytes()
    } else {
        bytes
    };
    TreeHead::open(&signed, key, &[]).map(|opened| opened.head)
}
