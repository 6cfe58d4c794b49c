//! Finding Claude Code's record in a torn line.

use super::record::{Parsed, parse};
use crate::import::frame::damage;
pub(super) use crate::import::frame::damage::{Flaw, decode, is_blank};

/// How records with a session start; a glued one is looked for there.
const RECORD_STARTS: [&str; 5] =
    ["{\"parentUuid\":", "{\"type\":\"", "{\"isSidechain\":", "{\"sessionId\":", "{\"uuid\":"];

/// A whole record of a session at the end of a torn text, and where it starts.
pub(super) fn glued(text: &str) -> Option<usize> {
    damage::glued(text, &RECORD_STARTS, |rest| match parse(rest) {
        // A record inside a record has no session of its own.
        Parsed::Record(record) => {
            record.kind.get().is_some() && record.uuid.get().is_some() && record.session.get().is_some()
        }
        Parsed::Other | Parsed::Broken => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glued_record_is_found_and_a_nested_one_is_not() {
        let record = r#"{"type":"user","uuid":"u","sessionId":"s","message":{"content":[{"type":"text","text":"a"}]}}"#;
        for cut in 1..record.len() {
            let head = &record[..cut];
            assert_eq!(glued(head), None, "{head}");
            assert_eq!(glued(&format!("{head}{record}")), Some(cut), "{head}");
        }
    }
}
