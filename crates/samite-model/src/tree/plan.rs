//! What a restore in place does, path by path, decided before anything is touched.
//!
//! Three trees meet: `current` (what the directory holds now), `base` (what samite knows it held) and `target`. What
//! stands as in `base` may become as in `target`. What differs from both was changed by somebody else and is kept and
//! listed. What is in neither is not samite's and is never removed, forced or not. A git repository becomes as in `target`
//! whole, or is kept whole as it is.

mod others;
pub(super) mod units;

use super::entry::{Content, Entry};
use super::listing::{Listing, merge};
use super::path::TreePath;
pub use others::{Other, Torn, Whose};
use std::collections::{BTreeSet, HashMap, HashSet};
use units::Units;

/// Says whether rules exclude a path; the flag is set for a directory.
pub type IsExcluded<'a> = dyn Fn(&TreePath, bool) -> bool + 'a;

/// What to respect.
#[derive(Default)]
pub struct PlanOptions<'a> {
    /// Only these paths and what is in them; empty means all.
    pub within: Vec<TreePath>,
    /// Paths that somebody else changed.
    pub others: Vec<Other>,
    /// Paths that a step was at which was cut off, as it left them: what still stands so is not a change of somebody's, and
    /// goes back.
    pub torn: Vec<Torn>,
    /// Overwrite what was changed since `base` and what belongs to others. Unknown and excluded paths stay.
    pub force: bool,
    /// Whether the process may set owners, so that they count.
    pub owners: bool,
    /// Paths that the scan of the directory left out by its rules.
    pub excluded: Vec<TreePath>,
    /// Whether the rules recorded in `base` or `target` exclude a path (`true` for a directory).
    pub is_excluded: Option<&'a IsExcluded<'a>>,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make an entry where there is none.
    Create {
        /// The path.
        path: TreePath,
        /// What to make.
        entry: Entry,
    },
    /// Put an entry in the place of another.
    Replace {
        /// The path.
        path: TreePath,
        /// What to make.
        entry: Entry,
        /// What must be there.
        was: Entry,
    },
    /// Set metadata; the content is right already.
    SetMetadata {
        /// The path.
        path: TreePath,
        /// What to set.
        entry: Entry,
        /// What must be there.
        was: Entry,
    },
    /// Remove an entry.
    Remove {
        /// The path.
        path: TreePath,
        /// What must be there.
        was: Entry,
    },
}

impl Action {
    /// The path.
    pub const fn path(&self) -> &TreePath {
        match self {
            Self::Create { path, .. }
            | Self::Replace { path, .. }
            | Self::SetMetadata { path, .. }
            | Self::Remove { path, .. } => path,
        }
    }
}

/// Why a path is kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptReason {
    /// It was changed since `base`.
    Changed,
    /// It was removed since `base`.
    Removed,
    /// It was made since `base`, or samite never knew it.
    Unknown,
    /// It is out of scope, or another session changed it.
    Others,
    /// Another session changed it, and this session after that.
    OthersAndSteps,
    /// It changed while another session worked there too: whose it is cannot be told.
    PerhapsOthers,
    /// A person changed it.
    Persons,
    /// A person changed it, and this session after that.
    PersonsAndSteps,
    /// It is excluded by rules.
    Excluded,
    /// It could not be read, now or when a tree was made.
    Unread,
    /// It is a directory that still holds something that is kept.
    NotEmpty,
    /// What it would be in is kept as something other than a directory.
    Blocked,
    /// It is a git repository of which `within` names a part, and other parts would have to change with it.
    Parted,
}

/// A path that a restore does not touch although the target has it otherwise.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    /// The path.
    pub path: TreePath,
    /// Why.
    pub reason: KeptReason,
    /// Whether it is a git repository, which is kept whole because of something in it.
    #[serde(skip_serializing_if = "is_false")]
    pub repository: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Kept {
    /// A path that is kept for its own sake.
    pub const fn new(path: TreePath, reason: KeptReason) -> Self {
        Self { path, reason, repository: false }
    }
}

/// What a restore does and what it keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What to do: removals first, deepest first, then the rest in the order of paths.
    pub actions: Vec<Action>,
    /// What is kept, in the order of paths.
    pub kept: Vec<Kept>,
}

struct Planner<'a> {
    options: &'a PlanOptions<'a>,
    others: HashMap<&'a TreePath, &'a Other>,
    torn: HashMap<&'a TreePath, &'a Torn>,
}

impl<'a> Planner<'a> {
    fn new(options: &'a PlanOptions<'a>) -> Self {
        let others = options.others.iter().map(|other| (&other.path, other)).collect();
        let torn = options.torn.iter().map(|torn| (&torn.path, torn)).collect();
        Self { options, others, torn }
    }

    /// Why a path is kept that somebody else changed.
    fn kept_for_another(&self, path: &TreePath) -> Option<KeptReason> {
        self.others.get(path).map(|other| other.reason())
    }
    /// Whether nothing of the entry has to change.
    fn is_done(&self, current: &Entry, target: &Entry) -> bool {
        current.content.is_same(&target.content)
            && current.metadata.link == target.metadata.link
            && self.has_metadata(current, target)
    }

    fn has_metadata(&self, current: &Entry, target: &Entry) -> bool {
        let (a, b) = (&current.metadata, &target.metadata);
        let owners = !self.options.owners || (a.uid, a.gid) == (b.uid, b.gid);
        a.mode == b.mode && a.mtime == b.mtime && a.xattrs == b.xattrs && owners
    }

    /// Whether each thing that must not be lost is as one of the two has it. Times and hard links are no such thing:
    /// putting them right loses nobody's work, and a restore that died half-way leaves some of each.
    fn is_either(&self, current: &Entry, base: Option<&Entry>, target: Option<&Entry>) -> bool {
        let either = |same: &dyn Fn(&Entry) -> bool| base.is_some_and(same) || target.is_some_and(same);
        let directory = matches!(current.content, Content::Directory(_));
        // A directory that is being worked in may have been made writable for that.
        let mode = |entry: &Entry| if directory { entry.metadata.mode | 0o700 } else { entry.metadata.mode };
        either(&|entry| entry.content.is_same(&current.content))
            && either(&|entry| mode(entry) == mode(current))
            && either(&|entry| entry.metadata.xattrs == current.metadata.xattrs)
            && (!self.options.owners
                || either(&|entry| {
                    (entry.metadata.uid, entry.metadata.gid) == (current.metadata.uid, current.metadata.gid)
                }))
    }

    /// Whether what stands at a path is left out by rules: those by which the directory was looked at, or that were recorded.
    /// Where nothing stands, nothing is lost by making what the target has.
    fn is_excluded(&self, path: &TreePath, current: Option<&Entry>) -> bool {
        self.options.excluded.iter().any(|excluded| path.is_within(excluded))
            || current.is_some_and(|current| {
                let directory = matches!(current.content, Content::Directory(_));
                self.options.is_excluded.is_some_and(|is_excluded| is_excluded(path, directory))
            })
    }

    /// Whether rules left a path out when the directory was looked at: one that is listed for itself, and not for the
    /// directory that it is in.
    fn is_left_out(&self, path: &TreePath) -> bool {
        let excluded = &self.options.excluded;
        excluded.contains(path)
            || self.options.within.contains(path) && excluded.iter().any(|excluded| path.is_within(excluded))
    }

    fn decide(
        &self,
        path: &TreePath,
        current: Option<&Entry>,
        base: Option<&Entry>,
        target: Option<&Entry>,
    ) -> Result<Option<Action>, KeptReason> {
        let unread = |entry: Option<&Entry>| matches!(entry.map(|entry| &entry.content), Some(Content::Unread(_)));
        let done = match (current, target) {
            // It may stand there, left out by rules that came later.
            (None, None) if base.is_some() && self.is_left_out(path) => return Err(KeptReason::Excluded),
            (None, None) => true,
            (Some(current), Some(target)) => self.is_done(current, target),
            _ => false,
        };
        if done {
            return Ok(None);
        }
        if self.is_excluded(path, current) {
            return Err(KeptReason::Excluded);
        }
        if unread(current) || unread(base) || unread(target) {
            return Err(KeptReason::Unread);
        }
        let Some(current) = current else {
            return match (base, target) {
                (Some(_), Some(_)) if !self.options.force => Err(KeptReason::Removed),
                // Who removed it is not this session, or not alone.
                (None, Some(_)) if !self.options.force && self.others.contains_key(path) => {
                    let removed_since =
                        |other: &&Other| if other.then_steps { other.reason() } else { KeptReason::Removed };
                    Err(self.others.get(path).map_or(KeptReason::Removed, removed_since))
                }
                (_, Some(target)) => Ok(Some(Action::Create { path: path.clone(), entry: target.clone() })),
                (_, None) => Ok(None),
            };
        };
        if base.is_none() && target.is_none() {
            return Err(KeptReason::Unknown);
        }
        if !self.options.force {
            if !self.is_either(current, base, target) {
                return Err(if base.is_none() { KeptReason::Unknown } else { KeptReason::Changed });
            }
            // The restore asks for no change here; what differs is what somebody else did (or a time).
            if let (Some(base), Some(target)) = (base, target)
                && self.is_done(base, target)
            {
                if !self.is_either(current, Some(base), None) {
                    return Err(KeptReason::Changed);
                }
                // A directory's time is put right after a restore that died; a file's may be somebody's doing.
                return Ok(matches!(current.content, Content::Directory(_)).then(|| Action::SetMetadata {
                    path: path.clone(),
                    entry: target.clone(),
                    was: current.clone(),
                }));
            }
            // What this restore made before it died may have the time of then, and is nobody's work.
            let is_made = (is_directory(Some(current)) || base.is_none()) && self.is_either(current, None, target);
            if let Some(reason) = self.kept_for_another(path).filter(|_| !is_made) {
                return Err(reason);
            }
        }
        let (path, was) = (path.clone(), current.clone());
        Ok(Some(match target {
            None => Action::Remove { path, was },
            Some(target) => {
                let entry = target.clone();
                let content = current.content.is_same(&target.content) && current.metadata.link == target.metadata.link;
                // Links of one file are put right by making them anew; a directory has none.
                if content { Action::SetMetadata { path, entry, was } } else { Action::Replace { path, entry, was } }
            }
        }))
    }
}

fn is_directory(entry: Option<&Entry>) -> bool {
    entry.is_some_and(|entry| matches!(entry.content, Content::Directory(_)))
}

/// Whether two entries hold the same: the times of files, and the metadata of directories, do not count.
fn is_same_file(current: Option<&Entry>, target: Option<&Entry>) -> bool {
    match (current, target) {
        (None, None) => true,
        (Some(current), Some(target)) => current.content.is_same(&target.content),
        _ => false,
    }
}

/// Whether all that an action does is to set the time of a directory.
fn sets_time_alone(action: &Action) -> bool {
    let Action::SetMetadata { entry, was, .. } = action else { return false };
    let timeless = |entry: &Entry| super::Metadata { mtime: 0, ..entry.metadata.clone() };
    is_directory(Some(entry)) && timeless(entry) == timeless(was)
}

fn removes_directory(action: &Action) -> bool {
    match action {
        Action::Remove { was, .. } => is_directory(Some(was)),
        Action::Replace { was, entry, .. } => is_directory(Some(was)) && !is_directory(Some(entry)),
        _ => false,
    }
}

/// A directory goes only when nothing in it stays.
fn keep_holding(actions: &mut Vec<Action>, kept: &mut Vec<Kept>, excluded: &[TreePath]) {
    let mut holding: HashSet<TreePath> = HashSet::new();
    for path in kept.iter().map(|kept| &kept.path).chain(excluded) {
        let mut above = path.parent();
        while let Some(directory) = above {
            above = directory.parent();
            if !holding.insert(directory) {
                break;
            }
        }
    }
    actions.retain(|action| {
        let stays = removes_directory(action) && (holding.contains(action.path()) || action.path().is_top());
        if stays {
            kept.push(Kept::new(action.path().clone(), KeptReason::NotEmpty));
        }
        !stays
    });
}

/// Decides about every path.
pub fn plan(current: &Listing, base: &Listing, target: &Listing, options: &PlanOptions<'_>) -> Plan {
    let planner = Planner::new(options);
    let mut actions = Vec::new();
    let mut kept: Vec<Kept> = Vec::new();
    let mut blocked: Option<TreePath> = None;
    let units = Units::find(&[current, base, target]);
    let mut parted: BTreeSet<TreePath> = BTreeSet::new();
    for (path, [current, base, target]) in merge([current, base, target]) {
        let inside = options.within.is_empty() || options.within.iter().any(|within| path.is_within(within));
        let leads = options.within.iter().any(|within| within.is_within(path));
        let makes_way = leads && current.is_none() && is_directory(target);
        if !inside && !makes_way {
            // What is out of scope is no concern, but keeps its directory from being removed.
            if current.is_some() {
                kept.push(Kept::new(path.clone(), KeptReason::Others));
            }
            // There is no way through what is no directory.
            if leads && current.is_some() && !is_directory(current) {
                blocked = Some(path.clone());
            }
            if !is_same_file(current, target)
                && let Some(unit) = units.of(path)
            {
                parted.insert(unit.clone());
            }
            continue;
        }
        if blocked.as_ref().is_some_and(|blocked| path.is_within(blocked)) {
            if target.is_some() {
                kept.push(Kept::new(path.clone(), KeptReason::Blocked));
            }
            continue;
        }
        let is_torn = planner.torn.get(path).is_some_and(|torn| torn.is_still(current));
        let base = if is_torn { current } else { base };
        match planner.decide(path, current, base, target) {
            Ok(None) => {}
            Ok(Some(action)) => actions.push(action),
            Err(reason) => {
                // What is in a directory that could not be read is neither known nor gone.
                if is_directory(target) && !is_directory(current) || reason == KeptReason::Unread {
                    blocked = Some(path.clone());
                }
                kept.push(Kept::new(path.clone(), reason));
            }
        }
    }
    let in_scope =
        |path: &TreePath| options.within.is_empty() || options.within.iter().any(|within| path.is_within(within));
    if units.iter().next().is_some() {
        // A directory of a repository that stays keeps the repository, which then keeps the directories that it is in.
        keep_holding(&mut actions, &mut kept, &options.excluded);
        units.keep_whole(&mut actions, &mut kept, &parted, in_scope);
    }
    keep_holding(&mut actions, &mut kept, &options.excluded);
    // The time of a directory in which something is kept says when that came.
    let disturbed: HashSet<TreePath> = kept.iter().filter_map(|kept| kept.path.parent()).collect();
    actions.retain(|action| !(sets_time_alone(action) && disturbed.contains(action.path())));
    kept.retain(|kept| kept.repository || in_scope(&kept.path));
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    let is_removal = |action: &Action| matches!(action, Action::Remove { .. });
    // Most plans remove nothing, and one that makes a whole workspace is long: it is not copied for nothing.
    if actions.iter().any(is_removal) {
        let (mut removals, rest): (Vec<_>, Vec<_>) = actions.into_iter().partition(is_removal);
        removals.reverse();
        removals.extend(rest);
        actions = removals;
    }
    Plan { actions, kept }
}

#[cfg(test)]
mod tests;
