//! Asking a witness over HTTP.

use super::{Answer, answer, request};
use crate::merkle::Hash;
use crate::note::{Cosigner, Note, Signature, VerifierKey};
use crate::tree_head::TreeHead;
use samite_model::{Error, Result};
use std::io::Read as _;
use std::net::IpAddr;
use std::time::Duration;
use ureq::Agent;

/// How much of an answer is read.
const LONGEST_ANSWER: u64 = 64 << 10;
/// How often a witness may name another size: somebody else may have sent it one meanwhile.
const TRIES: usize = 3;

/// Which witness is asked.
#[derive(Clone, Debug)]
pub struct Submission<'a> {
    /// The witness's submission prefix: `http://` or `https://`.
    pub url: &'a str,
    /// Its key.
    pub key: &'a VerifierKey,
    /// The size that it saw last, as far as is known; 0 when it is not.
    pub seen: u64,
    /// How long each request may take.
    pub time_limit: Duration,
}

/// Sends a signed tree head to a witness and answers with it and the witness's verified signature on it. `prove` makes the proof
/// from a size to the tree head's.
///
/// # Errors
/// `conflict` (`witness_ahead`) when the witness saw a larger tree, and (`witness_differs`) when it saw another one of this size:
/// either way the log's history is not what it was; as [`answer`] and [`accept`]; `unavailable` (`no_witness`) when it cannot be
/// reached; what `prove` answers.
pub fn submit(
    submission: &Submission<'_>,
    signed: &Note,
    prove: &mut dyn FnMut(u64) -> Result<Vec<Hash>>,
) -> Result<(Note, Cosigner)> {
    let head = TreeHead::parse(signed.text())?;
    let name = submission.key.name();
    let mut seen = submission.seen.min(head.size);
    for _ in 0..TRIES {
        let body = request(seen, &prove(seen)?, signed)?;
        let (status, bytes) = post(submission, &body)?;
        let differs = |size: u64| {
            let what = format!("the witness {name} saw another log of {size} entries under the name {}", head.origin);
            Error::conflict("witness_differs", what)
                .hint("two signed tree heads of one size and different roots prove that history was changed")
        };
        let said = match answer(name, status, &bytes) {
            // Where nothing is to be proved, it is the root that is another one; some witnesses say so with this status.
            Err(error) if error.code() == "witness_proof" && seen == head.size => return Err(differs(seen)),
            said => said?,
        };
        match said {
            Answer::Cosigned(signatures) => return accept(signed, &signatures, submission.key),
            Answer::Size(size) if size > head.size => {
                let what = format!("the witness {name} saw {size} entries of {}, which has {}", head.origin, head.size);
                return Err(Error::conflict("witness_ahead", what)
                    .hint("the log is an older copy of itself: look whether a backup was restored"));
            }
            Answer::Size(size) if size == seen => return Err(differs(size)),
            Answer::Size(size) => seen = size,
        }
    }
    Err(Error::unavailable("witness_answer", format!("the witness {name} keeps naming another size"))
        .hint("try again later"))
}

/// Whether anybody answers at a witness's address, whatever they say: nothing is sent but a request for the address itself.
///
/// # Errors
/// `unavailable` (`no_witness`) when it cannot be reached.
pub fn reach(submission: &Submission<'_>) -> Result<()> {
    let sent = agent(submission).get(submission.url).call();
    sent.map(drop).map_err(|error| unreachable(submission, submission.url, &error))
}

/// The tree head with a witness's signature on it, once that is verified. Signatures of other keys in the answer are left out.
///
/// # Errors
/// `corrupt` (`bad_signature`) when it does not verify, and (`not_signed`) when the witness's is not among them.
pub fn accept(signed: &Note, signatures: &[Signature], key: &VerifierKey) -> Result<(Note, Cosigner)> {
    let mut answered = signed.clone();
    let named = |signature: &&Signature| signature.name == key.name() && signature.key_id == key.id();
    let theirs: Vec<&Signature> = signatures.iter().filter(named).collect();
    // Only what this answer has counts, and not what the tree head had before.
    let mut alone = Note::sign(signed.text(), &[])?;
    for signature in &theirs {
        alone.add((*signature).clone());
    }
    let cosigner = alone.verify(std::slice::from_ref(key))?.cosigners.into_iter().next().ok_or_else(|| {
        Error::corrupt("not_signed", format!("{} did not cosign as a witness does", key.name()))
            .hint("give the verifier key of a witness")
    })?;
    for signature in theirs {
        answered.add(signature.clone());
    }
    Ok((answered, cosigner))
}

fn post(submission: &Submission<'_>, body: &str) -> Result<(u16, Vec<u8>)> {
    let url = format!("{}/add-checkpoint", submission.url.trim_end_matches('/'));
    let failed = |error: &dyn std::fmt::Display| unreachable(submission, &url, error);
    let sent = agent(submission).post(&url).header("content-type", "text/plain; charset=utf-8").send(body);
    let mut response = sent.map_err(|error| failed(&error))?;
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    response.body_mut().as_reader().take(LONGEST_ANSWER).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    Ok((status, bytes))
}

fn unreachable(submission: &Submission<'_>, url: &str, error: &dyn std::fmt::Display) -> Error {
    let what = format!("the witness {} cannot be asked at {url}: {error}", submission.key.name());
    Error::unavailable("no_witness", what).hint("look whether its address is right and it runs, then try again")
}

fn agent(submission: &Submission<'_>) -> Agent {
    let mut config = Agent::config_builder()
        .timeout_global(Some(submission.time_limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("samite/", env!("CARGO_PKG_VERSION")));
    if is_loopback(submission.url) {
        // A proxy would look at its own machine.
        config = config.proxy(None);
    }
    config.build().into()
}

/// Whether a URL is of this machine.
fn is_loopback(url: &str) -> bool {
    let authority =
        url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
