//! How a namespace treats what is not trusted, and when what a branch writes reaches other sessions.

use super::trust::Trust;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What becomes of records of a class of trust when somebody searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// They are among the others.
    Open,
    /// They are in a list of their own, a short one.
    Apart,
    /// Nobody finds them until somebody approved them.
    Quarantined,
}

/// When what a branch writes to the namespace reaches other sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adoption {
    /// When somebody says so.
    #[default]
    ByHand,
    /// When its workspace is closed.
    AtClose,
    /// When a turn of it ends.
    AtTurnEnd,
}

/// What was decided for a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySettings {
    /// The treatment of each class; a class that is not named has that of [`MemorySettings::default`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub treatments: BTreeMap<Trust, Treatment>,
    /// How much of a list one source of a class below `user` may fill, in percent.
    pub share: u8,
    /// When what a branch writes is taken over.
    #[serde(default)]
    pub adoption: Adoption,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { treatments: BTreeMap::new(), share: 20, adoption: Adoption::ByHand }
    }
}

impl MemorySettings {
    /// What becomes of records of a class.
    pub fn treatment(&self, trust: Trust) -> Treatment {
        self.treatments.get(&trust).copied().unwrap_or(match trust {
            Trust::Web => Treatment::Quarantined,
            Trust::Tool => Treatment::Apart,
            Trust::Model | Trust::User | Trust::Operator => Treatment::Open,
        })
    }

    /// How many of so many places in a list one source of a class may fill; none means all of them.
    pub fn places(&self, trust: Trust, list: usize) -> Option<usize> {
        let is_capped = !matches!(trust, Trust::User | Trust::Operator);
        is_capped.then(|| (list * usize::from(self.share) / 100).max(1))
    }

    /// Checks what a caller chose.
    ///
    /// # Errors
    /// `invalid` (`bad_share`) unless the share is 1 to 100.
    pub fn check(&self) -> Result<()> {
        if (1..=100).contains(&self.share) {
            return Ok(());
        }
        Err(Error::invalid("bad_share", format!("a source cannot fill {} percent of a list", self.share))
            .hint("give 1 to 100"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_vouches_for_is_kept_apart_unless_decided_otherwise() {
        use Treatment::{Apart, Open, Quarantined};
        let mut settings = MemorySettings::default();
        let all = |settings: &MemorySettings| Trust::ALL.map(|trust| settings.treatment(trust));
        assert_eq!(all(&settings), [Quarantined, Apart, Open, Open, Open]);
        settings.treatments.insert(Trust::Web, Apart);
        assert_eq!(all(&settings), [Apart, Apart, Open, Open, Open]);
        assert_eq!(settings.places(Trust::Web, 10), Some(2));
        assert_eq!(settings.places(Trust::Model, 3), Some(1));
        assert_eq!(settings.places(Trust::User, 10), None);
        for (share, is_good) in [(0, false), (1, true), (100, true), (101, false)] {
            assert_eq!(MemorySettings { share, ..settings.clone() }.check().is_ok(), is_good);
        }
    }
}
