//! The decision.

use super::grant::Grant;
use super::rights::{Right, Rights};
use super::standing::Standing;
use crate::error::{Error, Result};
use crate::principal::{Owner, Principal, Tenant};

/// What kind of thing is acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A session: its branches, steps, checkpoints and workspaces.
    Session,
    /// An artifact.
    Artifact,
    /// What is the tenant's as a whole.
    Tenant,
}

impl ResourceKind {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Session, Self::Artifact, Self::Tenant];

    /// The name in messages and policies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Artifact => "artifact",
            Self::Tenant => "tenant",
        }
    }

    /// The acts that there are on such a thing.
    pub const fn rights(self) -> Rights {
        match self {
            Self::Session => Rights::GRANTABLE.or(Rights::only(Right::Erase)),
            Self::Artifact => Rights::only(Right::Read).or(Rights::only(Right::Manage)).or(Rights::only(Right::Erase)),
            Self::Tenant => Rights::only(Right::Operate),
        }
    }
}

/// What is acted on.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'a> {
    /// Its tenant.
    pub tenant: &'a Tenant,
    /// Whose it is; none for what is the tenant's.
    pub owner: Option<&'a Owner>,
    /// What it is.
    pub kind: ResourceKind,
    /// What its owner allowed.
    pub grants: &'a [Grant],
}

/// What the organisation's own policies say of one act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Nothing, or there are none.
    #[default]
    Silent,
    /// It may be done, by somebody who is neither the owner nor granted it, too.
    Permit,
    /// It may not, by nobody.
    Forbid,
    /// They could not be evaluated, so it may not.
    Failed,
}

impl Policy {
    /// What policies say of a principal and of all that it works for, the outermost first and itself last ([`chain`]): what is
    /// forbidden to one of them is forbidden to those that work for it, and what permits is said of the outermost, which answers
    /// for them all.
    pub fn of_chain(said: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = None;
        for one in said {
            match one {
                Self::Forbid | Self::Failed => return one,
                Self::Silent | Self::Permit => {
                    whole.get_or_insert(one);
                }
            }
        }
        whole.unwrap_or_default()
    }
}

/// A principal and all that it works for, the outermost first and itself last, each with the scopes of the principal: what the
/// others' tokens allowed is not known here, and was no less.
pub fn chain(principal: &Principal) -> Vec<Principal> {
    let agents = principal.parents.iter().chain(std::iter::once(&principal.agent));
    let of = |(depth, agent): (usize, &String)| Principal {
        agent: agent.clone(),
        parents: principal.parents.iter().take(depth).cloned().collect(),
        ..principal.clone()
    };
    agents.enumerate().map(of).collect()
}

/// Whether an act may be done, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// It may.
    Allow(Why),
    /// It may not.
    Deny(Reason),
}

/// What allows an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is the principal's user's own.
    Owner,
    /// The grant in this place of the list: the first that does, and stands.
    Grant(usize),
    /// A policy of the organisation.
    Policy,
    /// A scope, for what is the tenant's.
    Scope,
}

/// What denies an act: the first of these that does, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The principal lacks a part.
    Incomplete,
    /// It is another tenant's.
    OtherTenant,
    /// A policy of the organisation forbids it, or could not be evaluated.
    Forbidden,
    /// No scope of the principal allows such an act.
    Scope,
    /// Neither ownership nor a grant nor a policy allows it.
    NotGranted,
}

/// Decides whether a principal may act so on a resource at `now` (ns since 1970).
pub fn decide(principal: &Principal, right: Right, resource: &Resource<'_>, policy: Policy, now: i64) -> Decision {
    if principal.check().is_err() {
        return Decision::Deny(Reason::Incomplete);
    }
    if principal.tenant != *resource.tenant {
        return Decision::Deny(Reason::OtherTenant);
    }
    if matches!(policy, Policy::Forbid | Policy::Failed) {
        return Decision::Deny(Reason::Forbidden);
    }
    if !Rights::of_scopes(&principal.scopes).has(right) {
        return Decision::Deny(Reason::Scope);
    }
    if !resource.kind.rights().has(right) {
        return Decision::Deny(Reason::NotGranted);
    }
    if resource.kind == ResourceKind::Tenant {
        return Decision::Allow(Why::Scope);
    }
    // What has no owner is nobody's to grant.
    let Some(owner) = resource.owner else { return Decision::Deny(Reason::NotGranted) };
    if principal.owner().is_ok_and(|own| own == *owner) {
        return Decision::Allow(Why::Owner);
    }
    // Most were given by the owner: what the others rest on is worked out where it matters.
    let mut standing = None;
    let mut gives = |place: usize, grant: &Grant| {
        grant.rests_on_none(owner)
            || standing.get_or_insert_with(|| Standing::of(owner, resource.grants)).gives(place, right, now)
    };
    let mut own = resource.grants.iter().enumerate().filter(|(_, grant)| grant.allows(principal, right, now));
    if let Some((place, _)) = own.find(|(place, grant)| gives(*place, grant)) {
        return Decision::Allow(Why::Grant(place));
    }
    if policy == Policy::Permit && Rights::GRANTABLE.has(right) {
        return Decision::Allow(Why::Policy);
    }
    Decision::Deny(Reason::NotGranted)
}

impl Decision {
    /// Whether it may be done.
    pub const fn is_allowed(self) -> bool {
        matches!(self, Self::Allow(_))
    }

    /// What somebody is told who may see that the thing is there. Who may not is told what would be said if it were not.
    ///
    /// # Errors
    /// `denied`: `incomplete_principal`, `other_tenant`, `policy_forbids`, `scope_missing`, `not_granted`.
    pub fn check(self, right: Right, what: &str) -> Result<Why> {
        let reason = match self {
            Self::Allow(why) => return Ok(why),
            Self::Deny(reason) => reason,
        };
        Err(match reason {
            Reason::Incomplete => Error::denied("incomplete_principal", "the principal lacks a part")
                .hint("a principal has a tenant, a user, an agent and a workload"),
            Reason::OtherTenant => {
                Error::denied("other_tenant", "the principal is of another tenant than what it asks for")
            }
            Reason::Forbidden => {
                Error::denied("policy_forbids", format!("the organisation's policies forbid to {right} {what}"))
                    .hint("ask whoever keeps the policies; where they cannot be evaluated, everything is forbidden")
            }
            Reason::Scope => {
                Error::denied("scope_missing", format!("no scope allows this principal to {right} {what}"))
                    .hint(format!("a token with the scope samite:{right} allows it, if that is yours to give"))
            }
            Reason::NotGranted => {
                Error::denied("not_granted", format!("this principal was not granted to {right} {what}"))
                    .hint(format!("ask the owner: `samite share` with --{right} grants it"))
            }
        })
    }
}
