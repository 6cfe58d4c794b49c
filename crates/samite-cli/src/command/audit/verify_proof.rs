//! `samite audit verify-proof`.

use crate::input::file_or_input;
use crate::printer::words::{rfc3339, time};
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::audit::Receipt;
use samite::audit::tlog::{Leaf, Proof, VerifierKey};
use samite_model::{Error, Result, hash};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check a receipt offline: without the store, with the log's key alone
///
/// The exit status is 8 when the receipt proves nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit verify-proof act.tlog-proof --key \"$(cat key)\"
  samite audit verify-proof erased.tlog-proof --key \"$(cat key)\" --json")]
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
}

#[derive(Serialize)]
struct Verified {
    origin: String,
    index: u64,
    size: u64,
    act: String,
    at: String,
    cosigned_by: Vec<String>,
    leaf: Value,
    /// What the act's entry says, where that is shown; it is what the leaf commits to.
    payload: Option<Value>,
    #[serde(skip)]
    time: i64,
}

impl Answer for Verified {
    fn show(&self, page: &mut Page) {
        page.spans(&[(Style::Good, "proven: "), (Style::Plain, &format!("{} at {}", self.act, time(self.time)))]);
        page.line(format!("leaf {} of {}, in a signed head of {} leaves", self.index, self.origin, self.size));
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
        let proof = Proof::parse(&file_or_input("the receipt", &self.file, LIMIT)?)?;
        let receipt: Option<Receipt> = proof.extra.as_deref().and_then(|extra| serde_json::from_slice(extra).ok());
        let bytes = match (&self.leaf, &receipt) {
            (Some(path), _) => file_or_input("the leaf", path, LIMIT)?,
            (None, Some(receipt)) => receipt.leaf.clone().into_bytes(),
            (None, None) => {
                return Err(Error::invalid("no_leaf_given", "the leaf does not go with the receipt")
                    .hint("name it with --leaf: it is in the bundle of an export"));
            }
        };
        let key = if let Some(key) = self.key {
            key
        } else {
            let logs = surface.open(Access::Read)?.client().await?.audit().logs().await?;
            let origin = proof.signed.text().lines().next().unwrap_or_default();
            logs.into_iter().map(|log| log.key).find(|key| key.name() == origin).ok_or_else(|| {
                Error::not_found("no_audit_log", format!("{origin} is no log of this store"))
                    .hint("give the log's verifier key with --key")
            })?
        };
        let opened = proof.verify(&bytes, &key, &self.witness)?;
        let cosigned_by: Vec<String> = opened.cosigners.iter().map(|one| one.key.name().to_owned()).collect();
        if let Some(missing) = self.witness.iter().find(|one| !cosigned_by.iter().any(|name| name == one.name())) {
            return Err(Error::corrupt("not_signed", format!("the witness {} did not cosign it", missing.name())));
        }
        let leaf = Leaf::parse(&bytes)?;
        let payload = receipt.as_ref().map(|receipt| revealed(receipt, &leaf)).transpose()?.flatten();
        let text = String::from_utf8_lossy(&bytes);
        surface.printer.answer(&Verified {
            origin: opened.head.origin,
            index: proof.index,
            size: opened.head.size,
            act: leaf.act.to_string(),
            at: rfc3339(leaf.at),
            cosigned_by,
            leaf: serde_json::from_str(&text).unwrap_or(Value::Null),
            payload,
            time: leaf.at,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What the entry says, once it is checked to be what the leaf commits to.
fn revealed(receipt: &Receipt, leaf: &Leaf) -> Result<Option<Value>> {
    let (Some(salt), Some(payload)) = (&receipt.salt, &receipt.payload) else { return Ok(None) };
    let refused = || Error::corrupt("commitment_mismatch", "what the receipt shows is not what its leaf commits to");
    let salt = data_encoding::HEXLOWER.decode(salt.as_bytes()).map_err(|_| refused())?;
    let salt: [u8; 32] = salt.try_into().map_err(|_| refused())?;
    let payload = data_encoding::BASE64.decode(payload.as_bytes()).map_err(|_| refused())?;
    if hash::commitment(&salt, &payload) != leaf.commitment {
        return Err(refused());
    }
    let text = || Value::String(String::from_utf8_lossy(&payload).into_owned());
    Ok(Some(serde_json::from_slice(&payload).unwrap_or_else(|_| text())))
}
