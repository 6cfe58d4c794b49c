//! An organisation's own policies, written in Cedar: what they say of one act. Pure.
//!
//! They only take away. What ownership, grants and scopes do not allow, no policy allows; what those allow is done only when the
//! policies permit it as well. As everywhere in Cedar, what nothing permits is denied, a `forbid` beats every `permit`, and
//! here an error in the evaluation of any policy denies too.
//!
//! The engine is there with the feature `cedar`. Without it nothing can be evaluated, and [`Engine::new`] says so.

#[cfg(feature = "cedar")]
mod cedar;

#[cfg(feature = "cedar")]
pub use cedar::Engine;

use samite_model::access::ResourceKind;
use samite_model::{Error, Owner, Tenant};

/// What policies can speak of, as a Cedar schema.
pub const SCHEMA: &str = include_str!("samite.cedarschema");

/// Whether this build can evaluate policies.
pub const AVAILABLE: bool = cfg!(feature = "cedar");

/// The longest text of policies, in bytes: 256 KiB.
pub const LONGEST: usize = 256 << 10;

/// What is acted on.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its id; none for the tenant.
    pub id: Option<[u8; 16]>,
    /// Whose it is; none for what is the tenant's, or whose owner was erased.
    pub owner: Option<&'a Owner>,
    /// Its tenant.
    pub tenant: &'a Tenant,
}

/// That this build cannot evaluate policies: `denied` (`policy_engine_missing`).
pub fn engine_missing() -> Error {
    Error::denied(
        "policy_engine_missing",
        "this tenant has policies of its organisation, and this build of samite cannot evaluate them",
    )
    .hint("use a build with the feature cedar: cargo build --release --features cedar")
}

/// Policies, ready to be asked. There are none in a build without the engine.
#[cfg(not(feature = "cedar"))]
#[derive(Debug)]
pub enum Engine {}

#[cfg(not(feature = "cedar"))]
impl Engine {
    /// Refuses: there is no engine in this build.
    ///
    /// # Errors
    /// `denied` (`policy_engine_missing`).
    pub fn new(_: &str) -> samite_model::Result<Self> {
        Err(engine_missing())
    }

    /// How many policies there are.
    pub fn count(&self) -> usize {
        match *self {}
    }

    /// What may be a mistake in them, in words.
    pub fn warnings(&self) -> &[String] {
        match *self {}
    }

    /// What they say of one act.
    pub fn say(
        &self,
        _: &samite_model::Principal,
        _: samite_model::access::Right,
        _: &Target<'_>,
    ) -> samite_model::access::Policy {
        match *self {}
    }
}

#[cfg(all(test, not(feature = "cedar")))]
mod tests {
    #[test]
    fn without_an_engine_nothing_is_evaluated() {
        let error = super::Engine::new("permit(principal, action, resource);").unwrap_err();
        assert_eq!((error.code(), super::AVAILABLE), ("policy_engine_missing", false));
    }
}
