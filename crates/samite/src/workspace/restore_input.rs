//! What somebody else did, as the step of a restore records it: enough to go on after a crash. Pure.

use data_encoding::HEXLOWER;
use samite_model::tree::{Other, Torn, TreePath, Whose};
use samite_model::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Paths that somebody else changed. They are in hexadecimal: a name may be no text, and names that look alike are not the same.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Others {
    /// All of them.
    #[serde(rename = "others")]
    all: Vec<String>,
    /// Those of them that a person changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    persons: Vec<String>,
    /// Those of them of which it is not sure that it was somebody else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unsure: Vec<String>,
    /// Those of them that the session changed after that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    then_steps: Vec<String>,
}

impl Others {
    pub(super) fn new(others: &[Other]) -> Self {
        let those = |is_it: &dyn Fn(&Other) -> bool| {
            others.iter().filter(|other| is_it(other)).map(|other| HEXLOWER.encode(other.path.as_bytes())).collect()
        };
        Self {
            all: those(&|_| true),
            persons: those(&|other| other.whose == Whose::Person),
            unsure: those(&|other| other.whose == Whose::Unsure),
            then_steps: those(&|other| other.then_steps),
        }
    }

    /// The paths again.
    ///
    /// # Errors
    /// `corrupt` when one is none.
    pub(super) fn paths(&self) -> Result<Vec<Other>> {
        let set = |paths: &[String]| paths.iter().cloned().collect::<HashSet<String>>();
        let (persons, unsure, then_steps) = (set(&self.persons), set(&self.unsure), set(&self.then_steps));
        let other = |hex: &String| {
            let whose = match () {
                () if persons.contains(hex) => Whose::Person,
                () if unsure.contains(hex) => Whose::Unsure,
                () => Whose::Session,
            };
            Ok(Other { path: path_of_hex(hex)?, whose, then_steps: then_steps.contains(hex) })
        };
        self.all.iter().map(other).collect()
    }
}

/// A path that a step was at which was cut off.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TornPath {
    path: String,
    /// The hash over what stood there; none where nothing did.
    left: Option<String>,
}

impl TornPath {
    pub(super) fn new(torn: &Torn) -> Self {
        Self { path: HEXLOWER.encode(torn.path.as_bytes()), left: torn.left.map(|left| HEXLOWER.encode(&left)) }
    }

    /// The path again.
    ///
    /// # Errors
    /// `corrupt` when it is none.
    pub(super) fn torn(&self) -> Result<Torn> {
        let hash = |hex: &String| {
            let bytes = HEXLOWER.decode(hex.as_bytes()).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            bytes.ok_or_else(damaged)
        };
        Ok(Torn { path: path_of_hex(&self.path)?, left: self.left.as_ref().map(hash).transpose()? })
    }
}

fn damaged() -> Error {
    Error::corrupt("bad_payload", "a restore's step does not say what it restores")
}

fn path_of_hex(hex: &str) -> Result<TreePath> {
    TreePath::new(HEXLOWER.decode(hex.as_bytes()).map_err(|_| damaged())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_read_again_and_so_is_what_an_older_samite_recorded() {
        let path = |name: &str| TreePath::new(name).unwrap();
        let others = [
            Other::new(path("a"), Whose::Person),
            Other { then_steps: true, ..Other::new(path("b"), Whose::Session) },
            Other { then_steps: true, ..Other::new(path("c"), Whose::Unsure) },
        ];
        let written = serde_json::to_value(Others::new(&others)).unwrap();
        let read: Others = serde_json::from_value(written).unwrap();
        assert_eq!(read.paths().unwrap(), others);
        let older: Others = serde_json::from_str(r#"{"others": ["61"]}"#).unwrap();
        assert_eq!(older.paths().unwrap(), [Other::new(path("a"), Whose::Session)]);
        let damaged: Others = serde_json::from_str(r#"{"others": ["6"]}"#).unwrap();
        assert_eq!(damaged.paths().unwrap_err().code(), "bad_payload");
        for torn in [Torn { path: path("a"), left: Some([7; 32]) }, Torn { path: path("a"), left: None }] {
            assert_eq!(TornPath::new(&torn).torn().unwrap(), torn);
        }
        let short = TornPath { path: "61".to_owned(), left: Some("00".to_owned()) };
        assert_eq!(short.torn().unwrap_err().code(), "bad_payload");
    }
}
