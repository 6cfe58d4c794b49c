//! What somebody else changed in a workspace, and who; and what a step left there that was cut off.

use super::KeptReason;
use crate::BlockId;
use crate::tree::entry::{Content, Entry};
use crate::tree::path::TreePath;

/// Who changed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Whose {
    /// A person, while nothing of the session ran.
    Person,
    /// Another session.
    Session,
    /// This session or another: both were at work.
    Unsure,
}

impl Whose {
    /// Who it was that changed something in one of two spans.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Unsure }
    }
}

/// A path that somebody else changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The path.
    pub path: TreePath,
    /// Who changed it, for the last time.
    pub whose: Whose,
    /// Whether the session itself changed it after that.
    pub then_steps: bool,
}

impl Other {
    /// A path that somebody else changed, and nobody after that.
    pub const fn new(path: TreePath, whose: Whose) -> Self {
        Self { path, whose, then_steps: false }
    }

    /// Why it is kept.
    pub(super) const fn reason(&self) -> KeptReason {
        match (self.whose, self.then_steps) {
            (Whose::Person, false) => KeptReason::Persons,
            (Whose::Person, true) => KeptReason::PersonsAndSteps,
            (Whose::Session, false) => KeptReason::Others,
            (Whose::Session, true) => KeptReason::OthersAndSteps,
            (Whose::Unsure, _) => KeptReason::PerhapsOthers,
        }
    }
}

/// A path as a step left it that was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The path.
    pub path: TreePath,
    /// A hash over what stands there; none where nothing does.
    pub left: Option<[u8; 32]>,
}

impl Torn {
    /// A path as it stands now.
    pub fn new(path: TreePath, current: Option<&Entry>) -> Self {
        Self { path, left: current.map(mark) }
    }

    /// Whether it still stands so.
    pub(super) fn is_still(&self, current: Option<&Entry>) -> bool {
        self.left == current.map(mark)
    }
}

/// A hash over what an entry holds and what the file system knows of it. What a directory holds is not its own.
fn mark(entry: &Entry) -> [u8; 32] {
    let mut entry = entry.clone();
    if let Content::Directory(node) = &mut entry.content {
        *node = BlockId([0; 32]);
        entry.metadata.mtime = 0;
    }
    let mut bytes = Vec::new();
    entry.encode(&mut bytes);
    *blake3::Hasher::new_derive_key("samite torn path v1").update(&bytes).finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::node::tests::file;

    #[test]
    fn what_a_step_left_is_told_from_what_came_later() {
        let left = file("a", 1);
        let mut later = left.clone();
        later.metadata.mtime += 1;
        let torn = Torn::new(TreePath::top(), Some(&left));
        assert!(torn.is_still(Some(&left)));
        assert!(!torn.is_still(Some(&later)) && !torn.is_still(Some(&file("a", 2))) && !torn.is_still(None));
        assert!(Torn::new(TreePath::top(), None).is_still(None));
    }

    #[test]
    fn whose_a_path_is_says_why_it_is_kept() {
        let reason = |whose, then_steps| Other { path: TreePath::top(), whose, then_steps }.reason();
        assert_eq!(reason(Whose::Person, false), KeptReason::Persons);
        assert_eq!(reason(Whose::Person, true), KeptReason::PersonsAndSteps);
        assert_eq!(reason(Whose::Session, false), KeptReason::Others);
        assert_eq!(reason(Whose::Session, true), KeptReason::OthersAndSteps);
        assert_eq!(reason(Whose::Unsure, false), KeptReason::PerhapsOthers);
        assert_eq!(reason(Whose::Unsure, true), KeptReason::PerhapsOthers);
        assert_eq!(Whose::Person.or(Whose::Person), Whose::Person);
        assert_eq!(Whose::Person.or(Whose::Session), Whose::Unsure);
    }
}
