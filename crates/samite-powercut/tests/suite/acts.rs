//! What the store acknowledges, and what files are known by.

use samite_model::{BranchId, FamilyId, Position, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The length and a hash of each file, by path.
pub(crate) type Files = BTreeMap<String, (u64, String)>;

/// Something that was acknowledged.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Act {
    /// The store was open for a process of this number.
    Opened(u64),
    /// This user's session was made.
    Session { user: String, session: SessionId },
    /// An entry was appended.
    Appended { user: String, session: SessionId, branch: BranchId, seq: u64, text: String },
    /// An entry too large for its journal was appended, of bytes that follow from a seed.
    AppendedLarge { session: SessionId, branch: BranchId, seq: u64, seed: u64 },
    /// A step began.
    Began { session: SessionId, branch: BranchId, key: String },
    /// A step completed, and gave this.
    Completed { session: SessionId, branch: BranchId, key: String, output: String },
    /// A directory was attached.
    Attached { session: SessionId, directory: String },
    /// A checkpoint was taken.
    Tree { session: SessionId, at: (FamilyId, u64), files: Files },
    /// A branch was made.
    Forked { session: SessionId, branch: BranchId, at: (FamilyId, u64) },
    /// Trees of a branch after this seq may go from now on.
    MayGo { branch: BranchId, after: u64 },
    /// What might go has gone, as far as nobody was writing.
    Collected,
    /// A branch was rewound to, and the workspace put back.
    Rewound { session: SessionId, branch: BranchId },
}

/// A position as an act notes it.
pub(crate) fn noted(position: Position) -> (FamilyId, u64) {
    (FamilyId(position.journal.0), position.seq)
}

/// The position that was noted.
pub(crate) fn position((journal, seq): (FamilyId, u64)) -> Position {
    Position { journal: samite_model::JournalId(journal.0), seq }
}

/// What a file is known by: its length and a hash of its bytes.
pub(crate) fn known(bytes: &[u8]) -> (u64, String) {
    (bytes.len() as u64, blake3::hash(bytes).to_hex().to_string())
}

/// The files of a directory.
pub(crate) fn files_of(directory: &Path) -> Files {
    let mut files = Files::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        files.insert(entry.file_name().into_string().unwrap(), known(&bytes));
    }
    files
}
