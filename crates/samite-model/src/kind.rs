//! What an entry is, as a code in its header.

use std::fmt;

/// The kind of an entry. Codes are permanent; an unknown code comes from a newer samite and is kept and shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKind(u16);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        impl EntryKind {
            $($(#[$doc])* pub const $name: Self = Self($code);)*

            /// Every known kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name, or `kind-CODE` for an unknown one.
            pub fn name(self) -> String {
                match self.0 {
                    $($code => $text.to_owned(),)*
                    code => format!("kind-{code}"),
                }
            }

            /// The kind of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$name),)*
                    _ => name.strip_prefix("kind-").and_then(|code| code.parse().ok()).map(Self),
                }
            }
        }
    };
}

kinds! {
    /// A message of the conversation.
    MESSAGE = 1, "message";
    /// A model's response as received, recorded before it is acted on.
    MODEL_RESPONSE = 2, "model_response";
    /// Anything else that a caller records.
    EVENT = 3, "event";
    /// A compaction: it names the range that it summarises.
    COMPACTION = 4, "compaction";
    /// A turn of the agent has ended.
    TURN_ENDED = 5, "turn_ended";
    /// A step has started.
    STEP_STARTED = 16, "step_started";
    /// A step has completed.
    STEP_COMPLETED = 17, "step_completed";
    /// A step has failed.
    STEP_FAILED = 18, "step_failed";
    /// A doubt about a step was settled by a person or a probe.
    STEP_RESOLVED = 19, "step_resolved";
    /// A step in doubt was given up.
    STEP_ABANDONED = 20, "step_abandoned";
    /// An outcome that came from a fenced writer, kept as evidence.
    STEP_EVIDENCE = 21, "step_evidence";
    /// Steps that were open at a fork point are in doubt in the child.
    STEPS_INHERITED = 22, "steps_inherited";
    /// The caller of a step that was settled as happened in its absence has been told.
    STEP_SEEN = 23, "step_seen";
    /// A workspace's tree: this position is a checkpoint.
    TREE = 32, "tree";
    /// A workspace was attached to a branch.
    WORKSPACE_ATTACHED = 33, "workspace_attached";
    /// A workspace's tree or interval, in the workspace's own control journal.
    WORKSPACE_INTERVAL = 34, "workspace_interval";
    /// A merge waits for decisions.
    MERGE_STARTED = 35, "merge_started";
    /// Another branch's files were merged: this position has two parents.
    MERGED = 36, "merged";
    /// A merge was given up.
    MERGE_ABORTED = 37, "merge_aborted";
    /// Something for the user was published.
    ARTIFACT_PUBLISHED = 40, "artifact_published";
    /// How long an artifact is kept (the owner's artifacts).
    ARTIFACT_RETAINED = 41, "artifact_retained";
    /// A workspace was closed: what of it is durable.
    WORKSPACE_CLOSED = 44, "workspace_closed";
    /// A session was made (control journal).
    SESSION_CREATED = 48, "session_created";
    /// A branch was made by a fork (control journal).
    BRANCH_FORKED = 49, "branch_forked";
    /// A branch became current (control journal).
    BRANCH_CURRENT = 50, "branch_current";
    /// A branch's lifetime was set (control journal).
    BRANCH_LIFETIME = 51, "branch_lifetime";
    /// A branch was deleted (control journal).
    BRANCH_DELETED = 52, "branch_deleted";
    /// A session got a key that a caller knows it by (tenant's control journal).
    SESSION_KEYED = 53, "session_keyed";
    /// What a person decided for a session (control journal).
    SESSION_SETTINGS = 54, "session_settings";
    /// Old checkpoints were thinned out (control journal).
    CHECKPOINTS_THINNED = 55, "checkpoints_thinned";
    /// A principal was first seen (tenant's control journal).
    PRINCIPAL_SEEN = 64, "principal_seen";
    /// Collection ran and reclaimed something (tenant's control journal).
    COLLECTED = 65, "collected";
    /// A loss was accepted by a person (tenant's control journal).
    LOSS_ACCEPTED = 66, "loss_accepted";
    /// Everything before was cut by retention; the marker carries what `verify` needs.
    CUT = 67, "cut";
    /// Something was shared (control journal; owner's artifacts).
    GRANTED = 68, "granted";
    /// Grants were revoked (control journal; owner's artifacts).
    GRANT_REVOKED = 69, "grant_revoked";
    /// Somebody other than the owner read (tenant's control journal).
    READ_RECORDED = 70, "read_recorded";
    /// How far other journals had come was put into the audit log (tenant's control journal).
    ANCHORED = 71, "anchored";
    /// What is looked for in what is written, and what happens with it, was decided (tenant's control journal).
    REDACTION_SET = 82, "redaction_set";
    /// A secret that is looked for was registered, or forgotten (tenant's control journal).
    SECRET_REGISTERED = 83, "secret_registered";
    /// A signed head of the audit log left the store: exported, or cosigned by a witness (tenant's control journal).
    HEAD_PUBLISHED = 85, "head_published";
    /// An erasure has begun: what it takes (tenant's control journal).
    ERASURE_STARTED = 72, "erasure_started";
    /// What an erasure takes in journals of others beside what was planned (tenant's control journal).
    ERASURE_EXTENDED = 91, "erasure_extended";
    /// An erasure is done: the proof of deletion (tenant's control journal).
    ERASED = 73, "erased";
    /// A legal hold was set: what is under it is kept (tenant's control journal).
    HOLD_SET = 74, "hold_set";
    /// A legal hold was lifted (tenant's control journal).
    HOLD_LIFTED = 75, "hold_lifted";
    /// How long a kind of things is kept was decided (tenant's control journal).
    RETENTION_SET = 76, "retention_set";
    /// What was said about training with a person's data or a session (tenant's control journal).
    CONSENT_SET = 77, "consent_set";
    /// Somebody else who is given data was registered, or removed (tenant's control journal).
    PROCESSOR_SET = 78, "processor_set";
    /// A data set left the store (tenant's control journal).
    DATASET_EXPORTED = 79, "dataset_exported";
    /// Something was refused since it was in another region (tenant's control journal).
    REFUSED = 80, "refused";
    /// How much of callers' events is kept was decided (tenant's control journal).
    CAPTURE_SET = 81, "capture_set";
    /// The tenant was pinned to a region (tenant's control journal).
    REGION_SET = 87, "region_set";
    /// A transfer to another region was decided, or taken back (tenant's control journal).
    TRANSFER_DECIDED = 88, "transfer_decided";
    /// The store was copied: what is erased later is still in that copy (tenant's control journal).
    BACKED_UP = 86, "backed_up";
    /// The organisation's own policies were decided, or taken back (tenant's control journal).
    ORGANISATION_SET = 93, "organisation_set";
    /// The beginning of the audit log was moved to an archive, and left the store (the audit log's own journal).
    AUDIT_ARCHIVED = 94, "audit_archived";
    /// Data of a person, or the master key, was handed out (tenant's control journal).
    HANDED_OUT = 95, "handed_out";
    /// A namespace of long-term memory was made (its journal's first entry).
    MEMORY_OPENED = 96, "memory_opened";
    /// A record came, in the place of another or by itself (namespace's journal; branch).
    MEMORY_ASSERTED = 97, "memory_asserted";
    /// A record does not hold any more (namespace's journal; branch).
    MEMORY_RETRACTED = 98, "memory_retracted";
    /// A record is in every prompt, or not any more (namespace's journal; branch).
    MEMORY_PINNED = 99, "memory_pinned";
    /// Records in quarantine were approved or rejected (namespace's journal).
    MEMORY_DECIDED = 100, "memory_decided";
    /// All that came from a source was retired (namespace's journal).
    MEMORY_REVOKED = 101, "memory_revoked";
    /// What a branch wrote to a namespace was taken over into it (branch).
    MEMORY_PROMOTED = 102, "memory_promoted";
    /// How records of each class of trust are treated was decided (namespace's journal).
    MEMORY_SETTINGS = 103, "memory_settings";
    /// Somebody searched, and this is what was found (the namespace's journal of searches).
    MEMORY_SEARCHED = 104, "memory_searched";
    /// The model that makes the vectors of a namespace is changed, step by step (namespace's journal).
    MEMORY_MODEL = 105, "memory_model";
}

impl EntryKind {
    /// The kind of a stored code.
    pub const fn from_code(code: u16) -> Self {
        Self(code)
    }

    /// The stored code.
    pub const fn code(self) -> u16 {
        self.0
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl fmt::Debug for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_are_one_to_one() {
        for kind in EntryKind::ALL {
            assert_eq!(EntryKind::from_name(&kind.name()), Some(*kind));
            assert_eq!(EntryKind::from_code(kind.code()), *kind);
        }
        assert_eq!(EntryKind::from_code(999).name(), "kind-999");
        assert_eq!(EntryKind::from_name("kind-999"), Some(EntryKind::from_code(999)));
    }
}
