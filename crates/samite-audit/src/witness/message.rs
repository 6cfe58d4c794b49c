//! The bytes that go to a witness, and what those that come back mean.

use crate::merkle::Hash;
use crate::note::{Note, Signature};
use crate::tree_head::number;
use samite_model::{Error, Result};
use std::fmt::Write as _;

/// The most hashes that may be sent.
const MOST_HASHES: usize = 63;

/// The body of `POST PREFIX/add-checkpoint`: the size that the witness saw last, the proof from it to the signed tree head, and that.
///
/// # Errors
/// `invalid` (`proof_too_long`) when there are more than 63 hashes.
pub fn request(old: u64, proof: &[Hash], signed: &Note) -> Result<String> {
    if proof.len() > MOST_HASHES {
        let what = format!("a proof for a witness has at most {MOST_HASHES} hashes, and this one has {}", proof.len());
        return Err(Error::invalid("proof_too_long", what));
    }
    let mut body = format!("old {old}\n");
    for hash in proof {
        // Writing into a string does not fail.
        let _ = writeln!(body, "{}", hash.to_base64());
    }
    let _ = write!(body, "\n{signed}");
    Ok(body)
}

/// What a witness says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It cosigned the tree head: lines of signature, not verified yet.
    Cosigned(Vec<Signature>),
    /// It saw a tree of this size last: the proof must begin there. When that is the size that was sent, its tree has another root.
    Size(u64),
}

/// What an answer with this status and body means; `witness` is named in errors.
///
/// # Errors
/// `not_found` (`witness_unknown_log`) for 404; `denied` (`witness_signature`) for 403; `conflict` (`witness_proof`) for 422;
/// `invalid` (`witness_request`) for 400; `unavailable` (`witness_answer`) for anything else, and for bodies that are not what
/// the status says.
pub fn answer(witness: &str, status: u16, body: &[u8]) -> Result<Answer> {
    let other = |what: &str| {
        Error::unavailable("witness_answer", format!("the witness {witness} answered {status}{what}"))
            .hint("look whether this is the address of a witness, then try again")
    };
    let text = str::from_utf8(body).map_err(|_| other(", and what is no text"));
    match status {
        200 => {
            let signatures = Signature::parse_lines(text?).map_err(|error| other(": ").context(error.message()))?;
            Ok(Answer::Cosigned(signatures))
        }
        409 => {
            let size = text?.strip_suffix('\n').and_then(number);
            Ok(Answer::Size(size.ok_or_else(|| other(", and no size"))?))
        }
        400 => Err(Error::invalid("witness_request", format!("the witness {witness} does not understand the request"))
            .hint("report it, with the witness's name and version")),
        403 => Err(Error::denied("witness_signature", format!("the witness {witness} does not know the log's key"))
            .hint("give its operator the key that `samite audit key` prints")),
        404 => Err(Error::not_found("witness_unknown_log", format!("the witness {witness} does not know the log"))
            .hint("give its operator the log's name and the key that `samite audit key` prints")),
        422 => Err(Error::conflict(
            "witness_proof",
            format!("the witness {witness} saw a log that this one does not continue"),
        )
        .hint("the log may be an older copy of itself that went another way: look whether a backup was restored")),
        _ => Err(other("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documented::signed;

    fn note() -> Note {
        Note::parse(signed().as_bytes()).unwrap()
    }

    #[test]
    fn a_request_is_the_size_the_proof_and_the_tree_head() {
        let body = request(7, &[Hash([1; 32]), Hash([2; 32])], &note()).unwrap();
        let (first, second) =
            ("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=");
        assert_eq!(body, format!("old 7\n{first}\n{second}\n\n{}", signed()));
        assert_eq!(request(0, &[], &note()).unwrap(), format!("old 0\n\n{}", signed()));
        assert!(request(1, &[Hash([1; 32]); 63], &note()).is_ok());
        assert_eq!(request(1, &[Hash([1; 32]); 64], &note()).unwrap_err().code(), "proof_too_long");
    }

    #[test]
    fn each_answer_has_its_meaning() {
        let lines = signed().split("\n\n").nth(1).unwrap().to_owned();
        assert_eq!(answer("w", 200, lines.as_bytes()).unwrap(), Answer::Cosigned(note().signatures().to_vec()));
        assert_eq!(answer("w", 409, b"20852014\n").unwrap(), Answer::Size(20_852_014));
        assert_eq!(answer("w", 409, b"0\n").unwrap(), Answer::Size(0));
        let said = |status, body: &[u8]| {
            let error = answer("w", status, body).unwrap_err();
            assert!(error.message().contains("witness w"), "{}", error.message());
            (error.kind().name(), error.code())
        };
        assert_eq!(said(400, b""), ("invalid", "witness_request"));
        assert_eq!(said(403, b""), ("denied", "witness_signature"));
        assert_eq!(said(404, b"x"), ("not_found", "witness_unknown_log"));
        assert_eq!(said(422, b""), ("conflict", "witness_proof"));
        for (status, body) in [
            (200, &b""[..]),
            (200, b"fine\n"),
            (200, b"\xff\n"),
            (409, b""),
            (409, b"7"),
            (409, b"07\n"),
            (409, b"-7\n"),
            (429, b""),
            (500, b""),
            (503, b""),
            (301, b""),
            (204, b""),
        ] {
            assert_eq!(said(status, body), ("unavailable", "witness_answer"), "{status} {body:?}");
        }
    }
}
