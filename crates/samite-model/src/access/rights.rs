//! Rights, sets of them, and the scopes of a token that stand for them.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a scope of ours begins with. Other scopes mean nothing here.
const PREFIX: &str = "samite:";

/// A kind of act, told apart as far as anybody may be allowed one and not the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Right {
    /// Look at it: entries, trees, files, artifacts, what is decided for it.
    Read,
    /// Add to it: messages, steps, checkpoints, merges, a workspace.
    Append,
    /// Fork it, rewind it, and say which branch is current.
    Fork,
    /// Publish an artifact from it.
    Publish,
    /// Change its settings, its grants and how long it is kept.
    Manage,
    /// Delete or erase of it.
    Erase,
    /// Look after the whole tenant: collect, verify, rebuild, accept a loss.
    Operate,
}

impl Right {
    /// Every right.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::Append, Self::Fork, Self::Publish, Self::Manage, Self::Erase, Self::Operate];

    /// The name in commands, JSON, stored grants, and after `samite:` in scopes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Append => "append",
            Self::Fork => "fork",
            Self::Publish => "publish",
            Self::Manage => "manage",
            Self::Erase => "erase",
            Self::Operate => "operate",
        }
    }

    /// The right of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.name() == name)
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Append => 2,
            Self::Fork => 4,
            Self::Publish => 8,
            Self::Manage => 16,
            Self::Erase => 32,
            Self::Operate => 64,
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of rights. Stored as a list of their names; a name that is not known is a right to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct Rights(u8);

impl Rights {
    /// No right.
    pub const NONE: Self = Self(0);
    /// Every right.
    pub const ALL: Self = Self(127);
    /// What a principal may do without a scope that says so: all work, and no change of owner, grants or retention.
    pub const USUAL: Self = Self(1 | 2 | 4 | 8);
    /// What can be granted at all: erasing stays with the owner, and the tenant is nobody's to share.
    pub const GRANTABLE: Self = Self(1 | 2 | 4 | 8 | 16);

    /// These rights.
    pub fn of(rights: impl IntoIterator<Item = Right>) -> Self {
        Self(rights.into_iter().fold(0, |bits, right| bits | right.bit()))
    }

    /// One right.
    pub const fn only(right: Right) -> Self {
        Self(right.bit())
    }

    /// Whether a right is among them.
    pub const fn has(self, right: Right) -> bool {
        self.0 & right.bit() != 0
    }

    /// Those that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of them are among the others.
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |right| self.has(*right))
    }

    /// The names, in a fixed order.
    pub fn names(self) -> Vec<String> {
        self.iter().map(|right| right.name().to_owned()).collect()
    }

    /// What a principal with these scopes may do at most. Scopes that begin with `samite:` say it, all of it: each of them
    /// stands for the right of its name, `samite:all` for every one, and one that is not known for none. Where there is
    /// none of them, it is the usual ones.
    pub fn of_scopes(scopes: &[String]) -> Self {
        let mut ours = scopes.iter().filter_map(|scope| scope.strip_prefix(PREFIX)).peekable();
        if ours.peek().is_none() {
            return Self::USUAL;
        }
        ours.fold(Self::NONE, |rights, name| match name {
            "all" => Self::ALL,
            name => rights.or(Self::of(Right::from_name(name))),
        })
    }

    /// The scopes that stand for exactly these rights: `samite:none` where there is none.
    pub fn scopes(self) -> Vec<String> {
        if self.is_empty() {
            return vec![format!("{PREFIX}none")];
        }
        self.iter().map(|right| format!("{PREFIX}{right}")).collect()
    }

    /// The rights that somebody asks to be granted: what can be granted, and with anything also to look.
    ///
    /// # Errors
    /// `invalid` (`no_rights`) for none, (`not_grantable`) for one that stays with the owner.
    pub fn to_grant(self) -> Result<Self> {
        if self.is_empty() {
            return Err(Error::invalid("no_rights", "a grant needs a right").hint("such as --read"));
        }
        if let Some(right) = self.iter().find(|right| !Self::GRANTABLE.has(*right)) {
            return Err(Error::invalid("not_grantable", format!("the right to {right} cannot be granted"))
                .hint("read, append, fork, publish and manage can"));
        }
        Ok(self.or(Self::of([Right::Read])))
    }
}

impl From<Vec<String>> for Rights {
    fn from(names: Vec<String>) -> Self {
        Self::of(names.iter().filter_map(|name| Right::from_name(name)))
    }
}

impl From<Rights> for Vec<String> {
    fn from(rights: Rights) -> Self {
        rights.names()
    }
}
