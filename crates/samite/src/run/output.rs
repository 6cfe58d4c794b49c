//! What a command put out, as an outcome holds it.

use data_encoding::BASE64;
use samite_host::supervise::Output;
use samite_redact::Redactor;
use serde::{Deserialize, Serialize};

/// What a supervised command put out, as an outcome's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
}

/// One output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The beginning, when it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The beginning in base64, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// The end in base64, when the middle is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The seq of the event that holds the whole of it, when it is longer than what stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// How many bytes it had.
    pub bytes: u64,
}

/// How far from a cut a line may begin or end.
const NEAR: usize = 64 << 10;
/// What is left out before a cut of something that has no lines: more than most secrets have.
const MARGIN: usize = 4 << 10;

/// The beginning of an output as far as it has whole lines; where none ends near, all but what a secret could have.
fn whole_lines(first: &[u8]) -> &[u8] {
    let near = first.len().saturating_sub(NEAR);
    let end = |is: fn(&u8) -> bool| first.get(near..)?.iter().rposition(is).map(|at| near + at + 1);
    let end = end(|byte| *byte == b'\n').or_else(|| end(|byte| matches!(byte, b' ' | b'\t' | b'\r')));
    first.get(..end.unwrap_or(first.len().saturating_sub(MARGIN))).unwrap_or_default()
}

/// The end of an output from a whole line on, and after a key in lines that began before.
fn after_lines(last: &[u8]) -> &[u8] {
    let near = last.get(..last.len().min(NEAR)).unwrap_or_default();
    let begin = |is: fn(&u8) -> bool| near.iter().position(is).map(|at| at + 1);
    let begin = begin(|byte| *byte == b'\n').or_else(|| begin(|byte| matches!(byte, b' ' | b'\t' | b'\r')));
    let rest = last.get(begin.unwrap_or(last.len().min(MARGIN))..).unwrap_or_default();
    let near = rest.get(..rest.len().min(NEAR)).unwrap_or_default();
    let find = |what: &[u8]| near.windows(what.len()).position(|window| window == what);
    match (find(b"-----END "), find(b"-----BEGIN ")) {
        (Some(end), begin) if begin.is_none_or(|begin| end < begin) => {
            let line = rest.get(end..).unwrap_or_default().iter().position(|byte| *byte == b'\n');
            rest.get(line.map_or(rest.len(), |line| end + line + 1)..).unwrap_or_default()
        }
        _ => rest,
    }
}

impl Captured {
    /// What was put out, as an outcome has it. What becomes base64 is redacted before, whatever its bytes are: text is redacted
    /// with the outcome.
    pub(super) fn new(output: &Output, entry: Option<u64>, redactor: &Redactor) -> Self {
        let encoded = |bytes: &[u8]| {
            let redacted = redactor.redact(bytes).bytes;
            BASE64.encode(redacted.as_deref().unwrap_or(bytes))
        };
        let (first, end) = match output.whole() {
            Some(whole) => (whole, None),
            // The middle is left out: a secret that is cut is known no more, and half of one stays one.
            None => (whole_lines(&output.first).to_vec(), Some(encoded(after_lines(&output.last)))),
        };
        let (text, base64) = match String::from_utf8(first) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(encoded(error.as_bytes()))),
        };
        Self { text, base64, end, entry, bytes: output.total }
    }

    /// The bytes that were kept of its beginning.
    pub fn bytes(&self) -> Vec<u8> {
        match (&self.text, &self.base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(base64)) => BASE64.decode(base64.as_bytes()).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_between_lines() {
        assert_eq!(whole_lines(b"one\ntoken=ghp_16C7e4"), b"one\n");
        assert_eq!(whole_lines(b"one token=ghp_16C7e4"), b"one ");
        assert_eq!(whole_lines(&[b'x'; 10_000]).len(), 10_000 - MARGIN);
        assert_eq!(after_lines(b"2F292c69\ntwo\n"), b"two\n");
        assert_eq!(after_lines(b"2F292c69 two"), b"two");
        assert_eq!(after_lines(&[b'x'; 10_000]).len(), 10_000 - MARGIN);
        let key = b"MIIEvQ\nSCBKcwgg\n-----END PRIVATE KEY-----\ntwo\n-----BEGIN PRIVATE KEY-----\nMII\n";
        assert_eq!(after_lines(key), b"two\n-----BEGIN PRIVATE KEY-----\nMII\n");
    }
}
