//! An error as an answer.

use samite_model::Error;
use serde::Serialize;

/// An error: that of a whole command, or of a part that could not be read.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorShape {
    kind: &'static str,
    code: &'static str,
    pub(crate) message: String,
    hints: Vec<String>,
}

impl ErrorShape {
    /// The shape of an error.
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            kind: error.kind().name(),
            code: error.code(),
            message: error.message().to_owned(),
            hints: error.hints().to_vec(),
        }
    }
}
