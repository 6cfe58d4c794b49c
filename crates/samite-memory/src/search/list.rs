//! From scores to what is shown: a list of what is open, a short one of what is apart, and no source that fills one of them.

use super::combine::Scored;
use samite_model::memory::{MemorySettings, Provenance, Trust};
use samite_model::{EntryId, RecordId, SessionId};
use std::collections::HashMap;

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
    let known = |scored: &Scored| of(scored.document).map(|(record, from)| Candidate { record, from, scored: *scored });
    let (apart, _) = shares.page(apart.iter().filter_map(known).collect(), few);
    let mut rest: Vec<Candidate<'_>> = open.iter().filter_map(known).collect();
    let mut passed = 0;
    loop {
        let (page, left) = shares.page(rest, limit);
        let is_last = page.is_empty() || left.is_empty();
        if passed + page.len() > skip || is_last {
            let listed = |page: Vec<Candidate<'_>>, skip: usize| {
                page.into_iter().skip(skip).map(|one| (one.record, one.scored)).collect()
            };
            return Listed { open: listed(page, skip - passed), apart: listed(apart, 0), more: !is_last };
        }
        passed += page.len();
        rest = left;
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

/// A record that may get a place.
struct Candidate<'a> {
    record: RecordId,
    from: &'a Provenance,
    scored: Scored,
}

/// How much of a page a source may have.
struct Shares<'a> {
    settings: &'a MemorySettings,
    limit: usize,
}

impl Shares<'_> {
    /// The first page of so many places of a ranking, and what is left of it, the best first.
    fn page<'a>(&self, mut ranked: Vec<Candidate<'a>>, size: usize) -> (Vec<Candidate<'a>>, Vec<Candidate<'a>>) {
        let chosen = self.choose(ranked.iter().map(|one| one.from), size);
        let order: HashMap<usize, usize> = chosen.iter().copied().zip(0..).collect();
        let (mut page, mut left) = (Vec::new(), Vec::new());
        for (place, one) in ranked.drain(..).enumerate() {
            match order.get(&place) {
                Some(at) => page.push((*at, one)),
                None => left.push(one),
            }
        }
        page.sort_by_key(|(at, _)| *at);
        (page.into_iter().map(|(_, one)| one).collect(), left)
    }

    fn choose<'a>(&self, ranked: impl IntoIterator<Item = &'a Provenance>, size: usize) -> Vec<usize> {
        let mut taken: HashMap<Source, usize> = HashMap::new();
        let (mut list, mut models) = (Vec::new(), Vec::new());
        for (place, from) in ranked.into_iter().enumerate() {
            if list.len() == size {
                break;
            }
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
