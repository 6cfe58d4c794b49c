//! Restores: a tree is put back into a directory, path by path.
//!
//! First everything is planned ([`samite_model::tree::plan`]); then everything new is built in a temporary directory
//! beside the workspace's own entries; then old and new change places, one rename each. Whoever dies in between leaves
//! paths as they were or as they shall be, and planning again rolls forward.

mod build;
mod cache;
mod file;
mod install;
mod source;
mod temporary;

use crate::rules::RecordedRules;
use crate::scan::{ScanOptions, ScanReport, Scanned, Special, is_own};
use crate::secrets::looks_secret;
use crate::snapshot::scan;
use crate::store::Store;
use crate::system::open_top;
use crate::tree::Tree;
use samite_host::kill_point;
use samite_model::tree::{
    Action, Content, Entry, IsExcluded, Kept, KeptReason, Listing, Other, Plan, PlanOptions, Torn, TreePath, plan,
};
use samite_model::{BlockId, Error, Pseudonym, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub(crate) use build::build;
pub(crate) use install::install;
pub use temporary::remove_leftovers;

/// What to put back, and what to respect.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// Names the temporary directory: the same for every attempt at one restore.
    pub operation: [u8; 16],
    /// Whose trees they are.
    pub owner: Pseudonym,
    /// What samite knows the directory held; `None` when it knows nothing.
    pub base: Option<BlockId>,
    /// What it shall hold.
    pub target: BlockId,
    /// Only these paths and what is in them; empty means all.
    pub within: Vec<TreePath>,
    /// Paths that somebody else changed.
    pub others: Vec<Other>,
    /// Paths that a step was at which was cut off, as it left them: they go back.
    pub torn: Vec<Torn>,
    /// Overwrite what was changed since `base`.
    pub force: bool,
    /// What to leave out and where the stat cache is.
    pub scan: ScanOptions,
    /// A directory from which files may be cloned where the file system can, instead of being copied out of packs.
    pub clone_from: Option<(PathBuf, ScanOptions)>,
}

impl RestoreOptions {
    /// Puts all of `target` in place of `base`.
    pub fn new(operation: [u8; 16], owner: Pseudonym, base: Option<BlockId>, target: BlockId) -> Self {
        Self {
            operation,
            owner,
            base,
            target,
            within: Vec::new(),
            others: Vec::new(),
            torn: Vec::new(),
            force: false,
            scan: ScanOptions::default(),
            clone_from: None,
        }
    }
}

/// A restore that was decided and not begun: the preview.
#[derive(Debug)]
pub struct PlannedRestore {
    /// What it does and what it keeps.
    pub plan: Plan,
    /// What the directory held when it was planned.
    pub scanned: Scanned,
    /// What it shall hold, where that may differ.
    pub(crate) target: Listing,
    outcome: Option<ScanReport>,
}

impl PlannedRestore {
    /// What a scan would report once all of it is done, where what is there then is the target and nothing else.
    pub const fn outcome(&self) -> Option<&ScanReport> {
        self.outcome.as_ref()
    }
}

/// What a restore did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct RestoreReport {
    /// Entries that were made.
    pub created: u64,
    /// Entries that took the place of others.
    pub replaced: u64,
    /// Entries whose metadata was set.
    pub set: u64,
    /// Entries that were removed.
    pub removed: u64,
    /// Paths that were kept as they are, and why.
    pub kept: Vec<Kept>,
    /// Paths that could not be put back, or not with all of their metadata.
    pub failed: Vec<Special>,
    /// Files that share their bytes with the directory they were cloned from.
    pub cloned_files: u64,
    /// How many bytes they have.
    pub cloned_bytes: u64,
    /// Files that were written.
    pub copied_files: u64,
    /// How many bytes they have.
    pub copied_bytes: u64,
    /// How long it took, in nanoseconds.
    pub nanoseconds: i64,
}

impl RestoreReport {
    /// Whether everything is as in the target.
    pub fn is_complete(&self) -> bool {
        self.kept.is_empty() && self.failed.is_empty()
    }
}

/// Decides what a restore does, and touches nothing.
///
/// # Errors
/// As [`scan`]; `corrupt` naming the block when a tree cannot be read.
pub fn plan_restore(store: &Store, path: &Path, options: &RestoreOptions) -> Result<PlannedRestore> {
    let scanned = scan(store, path, options.owner, &options.scan)?;
    plan_over(store, scanned, None, options)
}

/// The same for a directory of which a snapshot was just taken and committed: `seen` is what it found and the tree's root.
/// What changes after it is kept and listed when it is the plan's turn. Reads only what differs.
///
/// # Errors
/// `corrupt` naming the block when a tree cannot be read.
pub fn plan_restore_seen(
    store: &Store,
    (scanned, root): (Scanned, BlockId),
    options: &RestoreOptions,
) -> Result<PlannedRestore> {
    plan_over(store, scanned, Some(root), options)
}

fn plan_over(
    store: &Store,
    scanned: Scanned,
    root: Option<BlockId>,
    options: &RestoreOptions,
) -> Result<PlannedRestore> {
    let target_tree = Tree::new(store, options.owner, options.target);
    let mut rules = target_tree.root()?.rules;
    let same_rules = rules == scanned.rules;
    let (current, target) = match root {
        Some(root) => {
            let (current, target) = Tree::new(store, options.owner, root).differing(&target_tree)?;
            // A file's other names may be among what does not differ.
            let linked = |listing: &Listing| listing.iter().any(|(_, entry)| entry.metadata.link.is_some());
            if linked(&current) || linked(&target) {
                (scanned.listing(), target_tree.listing()?)
            } else {
                (current, target)
            }
        }
        None => (scanned.listing(), target_tree.listing()?),
    };
    let base = match options.base {
        Some(base) if base == options.target => target.clone(),
        Some(base) => {
            let tree = Tree::new(store, options.owner, base);
            rules.extend(tree.root()?.rules);
            // What does not differ from the target stays, whatever it was.
            if Some(base) == root { current.clone() } else { tree.listing()? }
        }
        None => top_of(&scanned),
    };
    let recorded = RecordedRules::new(&rules);
    let is_excluded: &IsExcluded<'_> = &|path, directory| recorded.excludes(path, directory);
    let owners = rustix::process::geteuid().is_root();
    let planning = PlanOptions {
        within: options.within.clone(),
        others: options.others.clone(),
        torn: options.torn.clone(),
        force: options.force,
        owners,
        excluded: scanned.report.excluded.clone(),
        is_excluded: Some(is_excluded),
    };
    let plan = plan(&current, &base, &target, &planning);
    let whole = plan.kept.is_empty() && same_rules && leaves_nothing_else(&plan, &current, &target);
    // Where this process cannot set owners, nobody else may own anything.
    let outcome = (whole && (owners || scanned.is_own() && target.iter().all(|(_, entry)| is_own(&entry.metadata))))
        .then(|| report_after(&scanned.report, &current, &target));
    Ok(PlannedRestore { plan, scanned, target, outcome })
}

/// Whether all that is not as in the target is something to do: a time that somebody set, for one, stays and is not listed.
fn leaves_nothing_else(plan: &Plan, current: &Listing, target: &Listing) -> bool {
    let acted: HashSet<&TreePath> = plan.actions.iter().map(Action::path).collect();
    let is_as = |found: &Entry, other: Option<&Entry>| {
        other.is_some_and(|other| found.metadata == other.metadata && found.content.is_same(&other.content))
    };
    let stands = |one: &Listing, other: &Listing| {
        one.iter().all(|(path, entry)| acted.contains(path) || is_as(entry, other.get(path)))
    };
    stands(current, target) && stands(target, current)
}

/// What a scan would report once what differs is as in the target.
fn report_after(found: &ScanReport, current: &Listing, target: &Listing) -> ScanReport {
    let counts = |listing: &Listing| {
        listing.iter().fold((0, 0, 0), |(files, directories, bytes), (_, entry)| match entry.content {
            Content::Directory(_) => (files, directories + 1, bytes),
            _ => (files + 1, directories, bytes + entry.content.size()),
        })
    };
    let (before, after) = (counts(current), counts(target));
    let mut report = ScanReport {
        files: (found.files + after.0).saturating_sub(before.0),
        directories: (found.directories + after.1).saturating_sub(before.1),
        bytes: (found.bytes + after.2).saturating_sub(before.2),
        ..found.clone()
    };
    report.secrets.retain(|path| current.get(path).is_none());
    report.torn.retain(|path| current.get(path).is_none());
    for (path, entry) in target {
        let above = path.parent();
        let directory = above.as_ref().map_or(&[][..], TreePath::name);
        if matches!(entry.content, Content::File { .. }) && looks_secret(directory, path.name()) {
            report.secrets.push(path.clone());
        }
        if entry.metadata.torn {
            report.torn.push(path.clone());
        }
    }
    report
}

/// Nothing is known of the directory but that it is there.
fn top_of(scanned: &Scanned) -> Listing {
    Listing::new(scanned.listing().iter().take(1).cloned().collect())
}

/// Does what was planned. What changed since then is kept and listed.
///
/// When this returns, the files are written but not synced: a power cut may lose some, and restoring again puts them
/// back.
///
/// # Errors
/// `unavailable` when the disk is full; `corrupt` naming the block when one cannot be read, in which case nothing was
/// changed yet; `denied` when the directory cannot be written.
pub fn apply_restore(
    store: &Store,
    path: &Path,
    planned: PlannedRestore,
    options: &RestoreOptions,
) -> Result<RestoreReport> {
    let began = store.clock.now();
    kill_point("restore.planned");
    let PlannedRestore { plan, scanned, target, .. } = planned;
    let mut report = RestoreReport { kept: plan.kept, ..RestoreReport::default() };
    let mut restored = cache::Restored::default();
    let top = open_top(path)?;
    let changed = |path: &TreePath| Kept::new(path.clone(), KeptReason::Changed);
    if plan.actions.is_empty() {
        // An attempt may have died when all was done.
        report.kept.extend(temporary::clear(path, &top, &options.operation)?.iter().map(changed));
    } else {
        let temporary = temporary::Temporary::make(path, &top, &options.operation)?;
        report.kept.extend(temporary.kept.iter().map(changed));
        let source = source::Source::open(store, options)?;
        let source = source.as_ref();
        let built = build(store, options, &top, &temporary, &plan.actions, &target, &scanned, source, &mut report);
        let built = match built {
            Ok(built) => built,
            Err(error) => {
                // The error matters more than what is left; the next attempt removes it.
                let _ = temporary.remove();
                return Err(error);
            }
        };
        kill_point("restore.built");
        install(&top, &temporary, &plan.actions, built, &scanned, &mut report, &mut restored)?;
        kill_point("restore.installed");
    }
    report.kept.sort_by(|a, b| a.path.cmp(&b.path));
    cache::refill(options, &scanned, &plan.actions, &restored)?;
    report.nanoseconds = store.clock.now().saturating_sub(began);
    kill_point("restore.done");
    Ok(report)
}

/// Puts a tree back into a directory.
///
/// # Errors
/// As [`plan_restore`] and [`apply_restore`].
pub fn restore(store: &Store, path: &Path, options: &RestoreOptions) -> Result<RestoreReport> {
    let planned = plan_restore(store, path, options)?;
    apply_restore(store, path, planned, options)
}

/// Puts a tree into a directory of its own, which is made when it does not exist: a second workspace.
///
/// # Errors
/// `conflict` (`not_empty`) when something other than this operation's own unfinished work is in it; as [`restore`].
pub fn materialise(store: &Store, path: &Path, options: &RestoreOptions) -> Result<RestoreReport> {
    temporary::make_directory(path)?;
    let planned = plan_restore(store, path, options)?;
    let foreign = planned.plan.kept.first().map(|kept| &kept.path);
    if let Some(foreign) = foreign {
        return Err(Error::conflict("not_empty", format!("{} holds {foreign} already", path.display()))
            .hint("give a directory that is empty or does not exist"));
    }
    apply_restore(store, path, planned, options)
}

/// The paths at which something new stands after the actions.
pub(crate) fn makes(action: &Action) -> Option<(&TreePath, &samite_model::tree::Entry)> {
    match action {
        Action::Create { path, entry } | Action::Replace { path, entry, .. } => Some((path, entry)),
        _ => None,
    }
}
