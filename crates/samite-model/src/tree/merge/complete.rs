//! From a merge and what was decided to one tree.

use super::decide::is_alike;
use super::{Conflict, Merge, Scope, Side, link};
use crate::error::{Error, Result};
use crate::tree::entry::{Content, Entry};
use crate::tree::listing::Listing;
use crate::tree::path::TreePath;
use std::collections::BTreeMap;

/// What is taken for a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// What a side has of its scope.
    Side(Side),
    /// Nothing: all of its scope goes.
    Removed,
    /// These instead of its scope.
    Entries(Vec<(TreePath, Entry)>),
}

impl Conflict {
    fn taken(&self, taken: Taken) -> Vec<(TreePath, Entry)> {
        let [base, ours, theirs] = &self.sides;
        match taken {
            Taken::Side(Side::Base) => base.clone(),
            Taken::Side(Side::Ours) => ours.clone(),
            Taken::Side(Side::Theirs) => theirs.clone(),
            Taken::Removed => Vec::new(),
            Taken::Entries(entries) => entries,
        }
    }

    fn covers(&self, path: &TreePath) -> bool {
        match &self.scope {
            Scope::Paths(paths) => paths.contains(path),
            Scope::Within(whole) => path.is_within(whole),
        }
    }
}

impl Merge {
    /// The merged tree, when each conflict is decided as `decide` says; the trees are those that were merged. Directories
    /// that hold something stay, whoever removed them.
    ///
    /// # Errors
    /// `invalid` (`merge_shape`) when decisions put something into what is no directory.
    pub fn complete(
        &self,
        [base, ours, theirs]: [&Listing; 3],
        mut decide: impl FnMut(&Conflict) -> Taken,
    ) -> Result<Listing> {
        let mut merged = self.taken.clone();
        for conflict in &self.conflicts {
            let taken = conflict.taken(decide(conflict));
            // A file that somebody put elsewhere stays where it is.
            merged.extend(taken.into_iter().filter(|(path, _)| conflict.covers(path)));
        }
        let needed: Vec<TreePath> = merged.keys().filter_map(TreePath::parent).collect();
        for mut directory in needed {
            loop {
                match merged.get(&directory).map(|entry| &entry.content) {
                    Some(Content::Directory(_)) => break,
                    Some(_) => return Err(shape(&directory)),
                    None => {}
                }
                let is_directory = |entry: &&Entry| matches!(entry.content, Content::Directory(_));
                let found = [ours, theirs, base].iter().find_map(|side| side.get(&directory).filter(is_directory));
                let Some(found) = found else { return Err(shape(&directory)) };
                merged.insert(directory.clone(), found.clone());
                let Some(above) = directory.parent() else { break };
                directory = above;
            }
        }
        for (path, entry) in &mut merged {
            entry.name = path.name().into();
        }
        link::relink(&mut merged, [base, ours, theirs]);
        self.say_nothing(&mut merged, base, ours);
        Ok(Listing::new(merged.into_iter().collect()))
    }

    /// What ours says nothing of stays unsaid, unless theirs changed it.
    fn say_nothing(&self, merged: &mut BTreeMap<TreePath, Entry>, base: &Listing, ours: &Listing) {
        for path in &self.silent {
            let unchanged = merged.get(path).zip(base.get(path)).is_some_and(|(now, before)| is_alike(now, before));
            if !unchanged {
                continue;
            }
            match ours.get(path) {
                Some(unread) => {
                    merged.insert(path.clone(), unread.clone());
                }
                None => {
                    merged.remove(path);
                }
            }
        }
    }
}

fn shape(path: &TreePath) -> Error {
    Error::invalid("merge_shape", format!("something would lie in {path}, which would be no directory"))
        .hint("decide the conflict at that path, or those in it, otherwise")
}
