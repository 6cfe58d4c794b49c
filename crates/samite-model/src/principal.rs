//! Who acts, and whose data it is.

use crate::error::{Error, Result};
use crate::limits;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A tenant: the wall that nothing crosses. Its name is also the name of its folder in a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tenant(String);

impl Tenant {
    /// A tenant by name.
    ///
    /// # Errors
    /// `invalid` unless the name is 1 to 64 of `a-z`, `0-9`, `-`, `_`, and begins with a letter or digit.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if first && name.len() <= 64 && name.bytes().all(allowed) {
            Ok(Self(name))
        } else {
            Err(Error::invalid("bad_tenant", format!("{name:?} is not a tenant's name"))
                .hint("use 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit"))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Tenant {
    type Error = Error;
    fn try_from(name: String) -> Result<Self> {
        Self::new(name)
    }
}

impl From<Tenant> for String {
    fn from(tenant: Tenant) -> Self {
        tenant.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The data subject that a resource belongs to, such as `user:alice`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Owner(String);

impl Owner {
    /// An owner by name.
    ///
    /// # Errors
    /// `invalid` when the name is empty, longer than 512 bytes, or holds a control character.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        limits::check_name("an owner", &name)?;
        Ok(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Owner {
    type Error = Error;
    fn try_from(name: String) -> Result<Self> {
        Self::new(name)
    }
}

impl From<Owner> for String {
    fn from(owner: Owner) -> Self {
        owner.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of the user whom somebody means who writes NAME, or `user:NAME` as grants, the audit log and owners have it. A name that
/// begins with `user:` itself is written with another before it.
///
/// # Errors
/// `invalid` when the name is empty, longer than 512 bytes, or holds a control character.
pub fn user_name(written: &str) -> Result<&str> {
    let name = written.strip_prefix("user:").unwrap_or(written);
    limits::check_name("a user's name", name)?;
    Ok(name)
}

/// Who calls. Samite verifies and records identity; it does not issue it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Principal {
    /// From the token alone.
    pub tenant: Tenant,
    /// The person on whose behalf.
    pub user: String,
    /// The agent that acts.
    pub agent: String,
    /// The process or service that the agent runs in.
    pub workload: String,
    /// What the token allows.
    pub scopes: Vec<String>,
    /// The agents that this one works for, the outermost first; none when it works for the user itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
}

impl Principal {
    /// Checks that no part is missing: a missing part is a denial, never a wildcard.
    ///
    /// # Errors
    /// `denied` when user, agent or workload is empty.
    pub fn check(&self) -> Result<()> {
        for (part, value) in [("user", &self.user), ("agent", &self.agent), ("workload", &self.workload)] {
            if value.is_empty() {
                return Err(Error::denied("incomplete_principal", format!("the principal names no {part}"))
                    .hint("a principal has a tenant, a user, an agent and a workload"));
            }
            limits::check_name(part, value)?;
        }
        self.parents.iter().try_for_each(|parent| limits::check_name("a parent agent", parent))
    }

    /// The owner of what this principal makes for its user.
    ///
    /// # Errors
    /// `denied` when the principal is incomplete.
    pub fn owner(&self) -> Result<Owner> {
        self.check()?;
        Owner::new(format!("user:{}", self.user))
    }

    /// The bytes that the actor's pseudonym is a keyed hash of: each part with its length before it.
    pub fn actor_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let parts = [self.tenant.as_str(), &self.user, &self.agent, &self.workload];
        for part in parts.into_iter().chain(self.parents.iter().map(String::as_str)) {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(user: &str) -> Principal {
        Principal {
            tenant: Tenant::new("local").unwrap(),
            user: user.into(),
            agent: "cli".into(),
            workload: "host".into(),
            scopes: Vec::new(),
            parents: Vec::new(),
        }
    }

    #[test]
    fn a_missing_part_is_a_denial() {
        assert_eq!(principal("").check().unwrap_err().kind(), crate::ErrorKind::Denied);
        assert_eq!(principal("ada").owner().unwrap().as_str(), "user:ada");
    }

    #[test]
    fn a_user_is_the_same_however_written() {
        for (written, name) in [("ada", "ada"), ("user:ada", "ada"), ("user:user:ada", "user:ada"), ("i|7", "i|7")] {
            assert_eq!(user_name(written).unwrap(), name);
        }
        for wrong in ["", "user:", "a\nb"] {
            assert!(user_name(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_tenant_is_a_safe_folder_name() {
        for bad in ["", "..", "a/b", "A", "-a", "a.b", "é"] {
            assert!(Tenant::new(bad).is_err(), "{bad}");
        }
        assert!(Tenant::new("acme-2").is_ok());
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let (mut a, mut b) = (principal("ab"), principal("a"));
        a.agent = "c".into();
        b.agent = "bc".into();
        assert_ne!(a.actor_bytes(), b.actor_bytes());
    }
}
