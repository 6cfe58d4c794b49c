//! From scores to what is shown: a list of what is open, a short one of what is apart, and no source that fills one of them.

use super::combine::Scored;
use samite_model::memory::{MemorySettings, Provenance, Trust};
use samite_model::{EntryId, RecordId, SessionId};
use std::collections::{HashMap, HashSet};

/// Whose word a record is: what is told apart when no source may fill a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An address, a path, a tool.
    Named(String),
    /// A step.
    Step(EntryId),
    /// A session.
    Session(SessionId),
    /// An agent.
    Agent(String),
}

impl Source {
    /// The sources of a record: the nearest that is known, and the step that brought it, whatever it says where that was from. Of an
    /// address the host counts, in lower case: whoever has one page there has others.
    pub fn of(from: &Provenance) -> Vec<Self> {
        let step = from.step.map(Self::Step);
        match (&from.source, step, from.session) {
            (Some(source), step, _) => [Self::Named(host(source))].into_iter().chain(step).collect(),
            (None, Some(step), _) => vec![step],
            (None, None, Some(session)) => vec![Self::Session(session)],
            (None, None, None) => vec![Self::Agent(from.writer.agent.clone())],
        }
    }
}

/// The host of an address, or the whole of what is none.
fn host(source: &str) -> String {
    let Some((_, rest)) = source.split_once("://").filter(|(scheme, _)| !scheme.is_empty()) else {
        return source.to_owned();
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_lowercase();
    if host.is_empty() { source.to_owned() } else { host }
}

/// What is listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The records of classes that are open, the best first.
    pub open: Vec<(RecordId, Scored)>,
    /// Those of classes that are apart.
    pub apart: Vec<(RecordId, Scored)>,
    /// Whether there is a next page of what is open.
    pub more: bool,
}

/// The best of two rankings, so many of what is open and a share of so many of what is apart. `skip` are left out of what is open, as
/// on the pages before.
///
/// On each page no source of a class below `user` has more than its share: what is too much comes on a later one. Places that nobody
/// else takes go to what models concluded, whoever it was; to tools and to the web never.
pub fn lists<'a>(
    open: &[Scored],
    apart: &[Scored],
    settings: &MemorySettings,
    (skip, limit): (usize, usize),
    of: impl Fn(u32) -> Option<(RecordId, &'a Provenance)>,
) -> Listed {
    let few = settings.places(Trust::Web, limit).unwrap_or(limit);
    let shares = Shares { settings, limit };
    let apart = shares.page(apart, &mut HashSet::new(), few, &of);
    let mut taken = HashSet::new();
    let mut passed = 0;
    loop {
        let page = shares.page(open, &mut taken, limit, &of);
        let mut left = open.iter().enumerate().filter(|(place, _)| !taken.contains(place));
        let is_last = page.is_empty() || !left.any(|(_, one)| of(one.document).is_some());
        if passed + page.len() > skip || is_last {
            let open = page.into_iter().skip(skip - passed).collect();
            return Listed { open, apart, more: !is_last };
        }
        passed += page.len();
    }
}

/// Which of a ranking get the places of one list, by the rule of [`lists`]: their numbers, in the order of the list.
pub fn fair<'a>(
    ranked: impl IntoIterator<Item = &'a Provenance>,
    settings: &MemorySettings,
    limit: usize,
) -> Vec<usize> {
    Shares { settings, limit }.choose(ranked, limit)
}

/// How much of a page a source may have.
struct Shares<'a> {
    settings: &'a MemorySettings,
    limit: usize,
}

impl Shares<'_> {
    /// The first page of so many places of what is left of a ranking, the best first. Its places are taken. Of the ranking only so much
    /// is looked at as the page needs.
    fn page<'a>(
        &self,
        ranked: &[Scored],
        taken: &mut HashSet<usize>,
        size: usize,
        of: &impl Fn(u32) -> Option<(RecordId, &'a Provenance)>,
    ) -> Vec<(RecordId, Scored)> {
        let left = ranked.iter().enumerate().filter(|(place, _)| !taken.contains(place));
        let mut known = Vec::new();
        let seen = left.filter_map(|(place, scored)| {
            let (record, from) = of(scored.document)?;
            Some((place, record, *scored, from))
        });
        let chosen = self.choose(
            seen.map(|(place, record, scored, from)| {
                known.push((place, record, scored));
                from
            }),
            size,
        );
        let mut page = Vec::with_capacity(chosen.len());
        for (place, record, scored) in chosen.into_iter().filter_map(|place| known.get(place).copied()) {
            taken.insert(place);
            page.push((record, scored));
        }
        page
    }

    fn choose<'a>(&self, ranked: impl IntoIterator<Item = &'a Provenance>, size: usize) -> Vec<usize> {
        let mut taken: HashMap<Source, usize> = HashMap::new();
        let (mut list, mut models) = (Vec::new(), Vec::new());
        let mut ranked = ranked.into_iter().enumerate();
        while list.len() < size
            && let Some((place, from)) = ranked.next()
        {
            if self.has_place(&mut taken, from) {
                list.push(place);
            } else if from.trust == Trust::Model {
                models.push(place);
            }
        }
        let free = size - list.len();
        list.extend(models.into_iter().take(free));
        list
    }

    /// Takes a place for what is from there, if each of its sources has one left.
    fn has_place(&self, taken: &mut HashMap<Source, usize>, from: &Provenance) -> bool {
        let Some(places) = self.settings.places(from.trust, self.limit) else { return true };
        let sources = Source::of(from);
        if sources.iter().any(|source| taken.get(source).is_some_and(|many| *many >= places)) {
            return false;
        }
        for source in sources {
            *taken.entry(source).or_default() += 1;
        }
        true
    }
}
