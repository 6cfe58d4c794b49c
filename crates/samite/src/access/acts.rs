//! Which right an entry needs: the act is the entry.

use samite_model::EntryKind;
use samite_model::access::Right;

/// Whose act an entry of a kind is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Whoever has this right on what the journal belongs to.
    Of(Right),
    /// Only the owner itself, with this right: it speaks for more than what was shared.
    Owners(Right),
    /// Whoever may do anything: who is seen for the first time says so.
    Anyones,
    /// Nobody through a client: the fabric writes it by itself, or for whoever operates the tenant.
    Fabrics,
}

/// Whose act an entry of this kind is. A kind that is not known here is nobody's.
pub(crate) fn act(kind: EntryKind) -> Act {
    use EntryKind as K;
    match kind {
        K::MESSAGE
        | K::MODEL_RESPONSE
        | K::EVENT
        | K::COMPACTION
        | K::TURN_ENDED
        | K::STEP_STARTED
        | K::STEP_COMPLETED
        | K::STEP_FAILED
        | K::STEP_RESOLVED
        | K::STEP_ABANDONED
        | K::STEP_EVIDENCE
        | K::STEPS_INHERITED
        | K::STEP_SEEN
        | K::TREE
        | K::WORKSPACE_ATTACHED
        | K::WORKSPACE_INTERVAL
        | K::MERGE_STARTED
        | K::MERGED
        | K::MERGE_ABORTED
        | K::MEMORY_OPENED
        | K::MEMORY_ASSERTED
        | K::MEMORY_RETRACTED
        | K::MEMORY_PINNED
        | K::MEMORY_PROMOTED => Act::Of(Right::Append),
        K::MEMORY_SEARCHED => Act::Of(Right::Read),
        K::BRANCH_FORKED | K::BRANCH_CURRENT => Act::Of(Right::Fork),
        K::ARTIFACT_PUBLISHED => Act::Of(Right::Publish),
        K::SESSION_SETTINGS
        | K::BRANCH_LIFETIME
        | K::CHECKPOINTS_THINNED
        | K::GRANTED
        | K::GRANT_REVOKED
        | K::MEMORY_DECIDED
        | K::MEMORY_REVOKED
        | K::MEMORY_SETTINGS
        | K::MEMORY_MODEL => Act::Of(Right::Manage),
        K::BRANCH_DELETED => Act::Of(Right::Erase),
        // What is safe to delete depends on all of the owner's sessions that work in the directory.
        K::WORKSPACE_CLOSED | K::SESSION_CREATED | K::SESSION_KEYED => Act::Owners(Right::Append),
        K::PRINCIPAL_SEEN => Act::Anyones,
        // A policy for a type is about all of the owner's artifacts.
        K::ARTIFACT_RETAINED => Act::Owners(Right::Manage),
        _ => Act::Fabrics,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_was_thought_about() {
        // Those that nobody writes through a client, by name: a new kind stands here or above.
        let fabrics: Vec<String> =
            EntryKind::ALL.iter().filter(|kind| act(**kind) == Act::Fabrics).map(|kind| kind.name()).collect();
        assert_eq!(
            fabrics,
            [
                "collected",
                "loss_accepted",
                "cut",
                "read_recorded",
                "anchored",
                "redaction_set",
                "secret_registered",
                "head_published",
                "erasure_started",
                "erasure_extended",
                "erased",
                "hold_set",
                "hold_lifted",
                "retention_set",
                "consent_set",
                "processor_set",
                "dataset_exported",
                "refused",
                "capture_set",
                "region_set",
                "transfer_decided",
                "backed_up",
                "organisation_set",
                "audit_archived",
                "handed_out",
            ]
        );
        assert_eq!(act(EntryKind::from_code(999)), Act::Fabrics);
    }

    #[test]
    fn what_changes_owner_grants_or_retention_is_managing_or_erasing() {
        for kind in [
            EntryKind::GRANTED,
            EntryKind::GRANT_REVOKED,
            EntryKind::SESSION_SETTINGS,
            EntryKind::BRANCH_LIFETIME,
            EntryKind::CHECKPOINTS_THINNED,
        ] {
            assert_eq!(act(kind), Act::Of(Right::Manage), "{kind}");
        }
        assert_eq!(act(EntryKind::ARTIFACT_RETAINED), Act::Owners(Right::Manage));
        assert_eq!(act(EntryKind::BRANCH_DELETED), Act::Of(Right::Erase));
    }
}
