//! What a command put out, as an outcome holds it.

use data_encoding::BASE64;
use samite_host::supervise::Output;
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

impl Captured {
    pub(super) fn new(output: &Output, entry: Option<u64>) -> Self {
        let (first, end) = match output.whole() {
            Some(whole) => (whole, None),
            None => (output.first.clone(), Some(BASE64.encode(&output.last))),
        };
        let (text, base64) = match String::from_utf8(first) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(BASE64.encode(error.as_bytes()))),
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
