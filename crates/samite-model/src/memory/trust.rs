//! How far the source of a record is trusted. Fixed when it is written.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who stands behind a record, from the least trusted to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A page, a mail, a document of somebody unknown.
    Web,
    /// What a tool gave back.
    Tool,
    /// What a model concluded.
    Model,
    /// What the user said.
    User,
    /// Who looks after the agents.
    Operator,
}

impl Trust {
    /// Every class, the least trusted first.
    pub const ALL: [Self; 5] = [Self::Web, Self::Tool, Self::Model, Self::User, Self::Operator];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::User => "user",
            Self::Operator => "operator",
        }
    }

    /// The class of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trust| trust.name() == name)
    }

    /// Whether a record of this class may be pinned, and so be in every prompt.
    pub const fn may_be_pinned(self) -> bool {
        matches!(self, Self::User | Self::Operator)
    }

    /// What a record may claim that was made of records of these classes: the least of them, and no more than it says itself.
    #[must_use]
    pub fn derived(self, inputs: impl IntoIterator<Item = Self>) -> Self {
        inputs.into_iter().fold(self, Self::min)
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_derived_is_trusted_as_its_least_trusted_input() {
        use Trust::{Model, Operator, Tool, User, Web};
        assert_eq!(Operator.derived([]), Operator);
        assert_eq!(User.derived([Operator, Tool]), Tool);
        assert_eq!(Model.derived([User, Web, Tool]), Web);
        assert_eq!(Tool.derived([Operator]), Tool);
        let pinned: Vec<Trust> = Trust::ALL.into_iter().filter(|trust| trust.may_be_pinned()).collect();
        assert_eq!(pinned, [User, Operator]);
        for trust in Trust::ALL {
            assert_eq!(Trust::from_name(trust.name()), Some(trust));
        }
        assert_eq!(Trust::from_name("USER"), None);
    }
}
