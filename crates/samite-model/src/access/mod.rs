//! Who may do what with what is whose: one pure decision, deny by default.
//!
//! A principal acts with the rights that its scopes leave it, on what its user owns, on what was granted to it, and on
//! nothing else. Nothing here knows a clock or a store.

mod decide;
mod grant;
mod rights;
mod standing;
#[cfg(test)]
mod tests;

pub use decide::{Decision, Policy, Reason, Resource, ResourceKind, Why, chain, decide};
pub use grant::{Grant, Grantee};
pub use rights::{Right, Rights};
pub use standing::{Standing, fallen};

use crate::principal::Principal;

/// A principal for an agent that works for another one: the same user and workload, and never a right that the parent has
/// not. What the parent may not, the child may not either, whatever was granted to the child by name.
#[must_use]
pub fn attenuate(parent: &Principal, agent: &str, requested: Rights) -> Principal {
    let mut parents = parent.parents.clone();
    parents.push(parent.agent.clone());
    Principal {
        tenant: parent.tenant.clone(),
        user: parent.user.clone(),
        agent: agent.to_owned(),
        workload: parent.workload.clone(),
        scopes: Rights::of_scopes(&parent.scopes).and(requested).scopes(),
        parents,
    }
}
