//! What a person decides for a whole session.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What may be done to the line of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branching {
    /// Fork and rewind.
    #[default]
    Tree,
    /// Rewind alone: there is one line to be on.
    Rewind,
    /// Neither, for transactional work: what was done stays done.
    Linear,
}

impl Branching {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Tree, Self::Rewind, Self::Linear];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Rewind => "rewind",
            Self::Linear => "linear",
        }
    }
}

/// What decides where the log and the state files of the workspace disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// The log.
    #[default]
    Log,
    /// The files in which the agent keeps its own state.
    Files,
}

impl Authority {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Log, Self::Files];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Files => "files",
        }
    }
}

/// When checkpoints are taken that nobody asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cadence {
    /// At the end of each turn. A contained step ends with a tree in any case.
    #[default]
    Turn,
    /// At the end of each step, and of each turn.
    Step,
    /// As often as the bounds allow.
    Adaptive(Bounds),
}

impl Cadence {
    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Step => "step",
            Self::Adaptive(_) => "adaptive",
        }
    }
}

/// What adaptive checkpoints keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bounds {
    /// Work of at most so long may be lost, in nanoseconds.
    pub max_loss: u64,
    /// Checkpoints may take at most so many thousandths of the time.
    pub max_overhead: u32,
    /// The trees of a session may take at most so many bytes.
    pub max_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_loss: 60_000_000_000, max_overhead: 50, max_bytes: 10 << 30 }
    }
}

impl Bounds {
    /// Whether they can be kept to at all.
    ///
    /// # Errors
    /// `invalid` (`bad_cadence`) for a loss of nothing, or an overhead of nothing or of all the time.
    pub fn check(&self) -> Result<()> {
        let wrong = if self.max_loss == 0 {
            "no checkpoint keeps every moment: the loss must be longer than 0"
        } else if self.max_overhead == 0 {
            "no checkpoint is free: the overhead must be more than 0"
        } else if self.max_overhead >= 1000 {
            "checkpoints that take all the time leave none for work: the overhead must be less than 100%"
        } else {
            return Ok(());
        };
        Err(Error::invalid("bad_cadence", wrong).hint("60s and 5% are the usual bounds"))
    }
}

/// All that is decided for a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Whether it may be forked and rewound.
    pub branching: Branching,
    /// What decides where log and state files disagree.
    pub authority: Authority,
    /// When checkpoints are taken that nobody asks for.
    pub cadence: Cadence,
    /// The files of the workspace that are for the user, as glob patterns: published when they changed.
    pub deliver: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_stored_as_written_down_and_what_is_missing_is_the_default() {
        let all = Settings {
            branching: Branching::Linear,
            authority: Authority::Files,
            cadence: Cadence::Adaptive(Bounds { max_loss: 7, max_overhead: 20, max_bytes: 9 }),
            deliver: vec!["dist/**".to_owned()],
        };
        let text = r#"{"branching":"linear","authority":"files","cadence":{"adaptive":{"max_loss":7,"max_overhead":20,"max_bytes":9}},"deliver":["dist/**"]}"#;
        assert_eq!(serde_json::to_string(&all).unwrap(), text);
        assert_eq!(serde_json::from_str::<Settings>(text).unwrap(), all);
        assert_eq!(serde_json::from_str::<Settings>(r#"{"newer":1}"#).unwrap(), Settings::default());
        assert_eq!(Settings::default().branching, Branching::Tree);
        assert_eq!(Settings::default().cadence, Cadence::Turn);
    }

    #[test]
    fn bounds_that_nothing_keeps_to_are_refused() {
        let usual = Bounds::default();
        usual.check().unwrap();
        for wrong in [
            Bounds { max_loss: 0, ..usual },
            Bounds { max_overhead: 0, ..usual },
            Bounds { max_overhead: 1000, ..usual },
        ] {
            assert_eq!(wrong.check().unwrap_err().code(), "bad_cadence");
        }
    }
}
