//! The list of journals, as far as it can be read.

use crate::{JournalFilter, JournalState, Ledger};
use samite_model::{ErrorKind, JournalId, Result};
use std::collections::{BTreeSet, HashMap, HashSet};

const DIGIT: &str = "0123456789abcdef";
/// So many digits of an id tell journals apart when their list cannot be read in one piece.
const DIGITS: usize = 8;
/// More unreadable beginnings than this are not told apart further: where the index of ids is damaged, those that no
/// journal has cannot be read either.
const MOST: usize = 1024;

/// The journals that can be read, and what cannot.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Those that can be read; a journal comes before its forks.
    pub journals: Vec<JournalState>,
    /// Those that cannot, in words that name the beginning of their ids.
    pub unreadable: Vec<String>,
}

/// Lists journals. One that is in the list and not found by its id is named and left out, since nothing of it could be read.
/// Where the list is damaged, what is left of it is found by the beginnings of ids.
///
/// # Errors
/// Those of the ledger other than `corrupt`, which is told in words.
pub async fn list(ledger: &dyn Ledger, filter: &JournalFilter) -> Result<Listed> {
    let Listed { journals, mut unreadable } = match ledger.journals(filter.clone()).await {
        Ok(journals) => Listed { journals, unreadable: Vec::new() },
        Err(error) if error.kind() == ErrorKind::Corrupt => piecewise(ledger, filter).await?,
        Err(error) => return Err(error),
    };
    let mut found = Vec::with_capacity(journals.len());
    for state in journals {
        match ledger.journal(state.id).await {
            Ok(Some(_)) => found.push(state),
            Ok(None) => unreadable.push(format!("journal {} is there, and is not found by its id", state.id)),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                unreadable.push(format!("journal {} is there, and cannot be read", state.id));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Listed { journals: found, unreadable })
}

/// The list of journals, found by the beginnings of ids, since it cannot be read in one piece.
async fn piecewise(ledger: &dyn Ledger, filter: &JournalFilter) -> Result<Listed> {
    let mut listed = Listed::default();
    let (first, family) = filter.prefix.clone().unwrap_or_default();
    let shortest = first.len();
    let mut digits = shortest;
    let mut unread = vec![first];
    while digits < DIGITS && (1..=MOST).contains(&unread.len()) {
        let longer = unread.iter().flat_map(|prefix| DIGIT.chars().map(move |digit| format!("{prefix}{digit}")));
        let prefixes: Vec<String> = longer.collect();
        digits += 1;
        unread.clear();
        for prefix in prefixes {
            let some = JournalFilter { prefix: Some((prefix.clone(), family)), ..filter.clone() };
            match ledger.journals(some).await {
                Ok(journals) => listed.journals.extend(journals),
                Err(error) if error.kind() == ErrorKind::Corrupt => unread.push(prefix),
                Err(error) => return Err(error),
            }
        }
    }
    if unread.len() > MOST {
        let first_digits: BTreeSet<&str> = unread.iter().filter_map(|prefix| prefix.get(..=shortest)).collect();
        let named = |digits| format!("journals whose ids begin with {digits} cannot be read");
        listed.unreadable.extend(first_digits.into_iter().map(named));
    } else {
        let named = |prefix| format!("a journal whose id begins with {prefix} cannot be read");
        listed.unreadable.extend(unread.into_iter().map(named));
    }
    let mut seen = HashSet::new();
    listed.journals.retain(|state| seen.insert(state.id));
    let parents: HashMap<JournalId, JournalId> =
        listed.journals.iter().filter_map(|state| Some((state.id, state.parent?.journal))).collect();
    listed.journals.sort_by_cached_key(|state| (depth(&parents, state.id), state.id));
    Ok(listed)
}

/// How many forks lie between a journal and its root.
fn depth(parents: &HashMap<JournalId, JournalId>, of: JournalId) -> usize {
    let mut depth = 0;
    let mut at = of;
    // Damage may make a ring of them.
    while let Some(parent) = parents.get(&at).filter(|_| depth <= parents.len()) {
        at = *parent;
        depth += 1;
    }
    depth
}
