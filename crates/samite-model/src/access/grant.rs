//! Grants: what an owner allows to whom, and until when.

use super::rights::{Right, Rights};
use crate::error::{Error, Result};
use crate::limits;
use crate::principal::{Owner, Principal};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whom a grant names. What is not named is anybody's, within the tenant; at least one is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grantee {
    /// This user, whichever agent acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// This agent and those that work for it, whichever user it acts for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Grantee {
    /// Reads what a person writes: `user:NAME` and `agent:NAME`, one or both; NAME alone, without a colon, is a user.
    ///
    /// # Errors
    /// `invalid` (`bad_grantee`) for anything else, or a name that no principal can have.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self> {
        let mut grantee = Self::default();
        for word in words {
            let (place, name) = match word.as_ref().split_once(':') {
                Some(("user", name)) => (&mut grantee.user, name),
                Some(("agent", name)) => (&mut grantee.agent, name),
                // As everywhere else a user is named.
                None => (&mut grantee.user, word.as_ref()),
                _ => return Err(bad(format!("{:?} names nobody", word.as_ref()))),
            };
            limits::check_name("a grantee's name", name).map_err(|error| bad(error.message().to_owned()))?;
            if place.replace(name.to_owned()).is_some() {
                return Err(bad("two users, or two agents, are named".to_owned()));
            }
        }
        if grantee == Self::default() {
            return Err(bad("nobody is named".to_owned()));
        }
        Ok(grantee)
    }

    /// Whether it names this principal. The agent that all others work for is the one that counts: a grant to a sub-agent
    /// alone would give it what its parent has not.
    pub fn names(&self, principal: &Principal) -> bool {
        let agent = principal.parents.first().unwrap_or(&principal.agent);
        let is = |named: &Option<String>, name: &str| named.as_ref().is_none_or(|named| named == name);
        *self != Self::default() && is(&self.user, &principal.user) && is(&self.agent, agent)
    }
}

impl fmt::Display for Grantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.user, &self.agent) {
            (Some(user), Some(agent)) => write!(f, "user:{user} agent:{agent}"),
            (Some(user), None) => write!(f, "user:{user}"),
            (None, Some(agent)) => write!(f, "agent:{agent}"),
            (None, None) => f.write_str("nobody"),
        }
    }
}

fn bad(message: String) -> Error {
    Error::invalid("bad_grantee", message).hint("write user:NAME, agent:NAME, or both")
}

/// What an owner allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// To whom.
    pub to: Grantee,
    /// Which acts.
    pub rights: Rights,
    /// Until when, in nanoseconds since 1970; none means until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Who gave it.
    pub by: Principal,
    /// Whether a policy let its giver give it, and no grant: then it rests on none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_policy: bool,
}

impl Grant {
    /// Whether it holds by itself: the owner gave it, or somebody whom a policy let.
    pub fn rests_on_none(&self, owner: &Owner) -> bool {
        self.by_policy || self.by.owner().is_ok_and(|giver| giver == *owner)
    }

    /// Whether it is for a principal and an act at a time; where it rests on other grants, those say whether it stands.
    pub fn allows(&self, principal: &Principal, right: Right, now: i64) -> bool {
        self.until.is_none_or(|until| now < until)
            && self.rights.and(Rights::GRANTABLE).has(right)
            && self.to.names(principal)
    }
}
