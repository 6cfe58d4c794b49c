//! What the model had before it.

use samite_model::EntryKind;
use serde_json::Value;

/// What an entry is to the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextRole {
    /// The model never saw it.
    Outside,
    /// The model saw it.
    Inside,
    /// The mark of a compaction: everything before it is no more in context, and it is not itself shown.
    Boundary,
    /// A compaction's summary: everything before it is no more in context, and it is shown.
    Summary,
}

impl ContextRole {
    /// The role of an entry of which nothing else is known: only an entry whose role differs needs to carry it.
    pub fn of_kind(kind: EntryKind) -> Self {
        match kind {
            EntryKind::MESSAGE | EntryKind::MODEL_RESPONSE => Self::Inside,
            EntryKind::COMPACTION => Self::Summary,
            _ => Self::Outside,
        }
    }

    /// The role of an entry of this kind with these attributes ([`super::plan::Append::attributes`]).
    pub fn of_entry(kind: EntryKind, attributes: Option<&Value>) -> Self {
        attributes
            .and_then(|attributes| attributes.get("context"))
            .and_then(Value::as_str)
            .and_then(Self::from_name)
            .unwrap_or_else(|| Self::of_kind(kind))
    }

    /// The name, as stored beside an entry.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Inside => "inside",
            Self::Boundary => "boundary",
            Self::Summary => "summary",
        }
    }

    /// The role of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Outside, Self::Inside, Self::Boundary, Self::Summary].into_iter().find(|role| role.name() == name)
    }
}

/// The entries that the model had before it at the end of a branch.
///
/// `roles` are those of the branch's entries with what it inherits, in order of position; the answer holds indexes
/// into them, in order. Time: linear.
pub fn context(roles: impl IntoIterator<Item = ContextRole>) -> Vec<usize> {
    let mut seen = Vec::new();
    for (at, role) in roles.into_iter().enumerate() {
        match role {
            ContextRole::Outside => {}
            ContextRole::Inside => seen.push(at),
            ContextRole::Boundary => seen.clear(),
            ContextRole::Summary => {
                seen.clear();
                seen.push(at);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::ContextRole::{Boundary, Inside, Outside, Summary};
    use super::{ContextRole, context};
    use samite_model::EntryKind;

    #[test]
    fn roles_have_names_and_kinds_have_roles() {
        for role in [Outside, Inside, Boundary, Summary] {
            assert_eq!(ContextRole::from_name(role.name()), Some(role));
        }
        assert_eq!(ContextRole::of_kind(EntryKind::COMPACTION), Summary);
        assert_eq!(ContextRole::of_kind(EntryKind::TREE), Outside);
        let attributes = serde_json::json!({"context": "boundary"});
        assert_eq!(ContextRole::of_entry(EntryKind::EVENT, Some(&attributes)), Boundary);
        let unknown = serde_json::json!({"context": "aside"});
        assert_eq!(ContextRole::of_entry(EntryKind::MESSAGE, Some(&unknown)), Inside);
        assert_eq!(ContextRole::of_entry(EntryKind::MESSAGE, None), Inside);
    }

    #[test]
    fn a_compaction_takes_what_is_before_it_away() {
        assert_eq!(context([]), [0; 0]);
        assert_eq!(context([Inside, Outside, Inside]), [0, 2]);
        assert_eq!(context([Inside, Boundary, Inside, Outside, Inside]), [2, 4]);
        assert_eq!(context([Inside, Summary, Inside]), [1, 2]);
        assert_eq!(context([Inside, Boundary, Inside, Summary]), [3]);
    }
}
