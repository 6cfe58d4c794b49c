//! The directory in which the conflicts of a merge are laid out.
//!
//! Its names are made here and hold nothing of anybody's paths. What an agent puts into it is read through its real path,
//! which must lie in the directory.

use super::RepositoryMerge;
use super::carry_out::bad_decision;
use super::manifest::{self, Decisions, Listed, Manifest};
use super::sides::Sides;
use crate::client::Client;
use crate::subject_export::outside;
use samite_host::files;
use samite_model::tree::{Conflict, Content, Entry, Side, TreePath};
use samite_model::{BlockId, BranchId, Error, JournalId, Result, SessionId};
use samite_workspace::Tree;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Larger files are not laid out, nor taken from there: 64 MiB.
const FILE_LIMIT: u64 = 64 << 20;
/// So many bytes are laid out in all; the rest is read with `samite workspace cat`.
const TOTAL_LIMIT: u64 = 1 << 30;
/// Where layouts lie in the store, by branch.
const IN_STORE: &str = "merges";

impl Client {
    /// Where the conflicts of a merge into a branch are laid out when nobody says otherwise.
    pub(super) fn default_layout(&self, into: BranchId) -> Result<PathBuf> {
        let store = self.core.0.directory.as_ref().ok_or_else(|| {
            Error::invalid("no_layout", "this store is in no directory, so that conflicts cannot be laid out in it")
                .hint("name a directory for them: --layout DIR")
        })?;
        Ok(files::canonical(store)?.join(IN_STORE).join(into.to_string()))
    }

    /// Makes the directory of a layout, or finds it empty.
    pub(super) fn make_layout(&self, into: BranchId, asked: Option<&Path>, workspace: &Path) -> Result<PathBuf> {
        let Some(asked) = asked else {
            let directory = self.default_layout(into)?;
            // What a merge that was cut off before it was recorded left.
            files::remove_tree(&directory)?;
            files::create_private_dir(&directory)?;
            return Ok(directory);
        };
        if let Some(store) = &self.core.0.directory {
            outside(store, asked)?;
        }
        let before = files::exists(asked)?;
        // What a merge that was cut off before it was recorded laid out there is laid out anew.
        if before && !is_left_over(asked, into)? {
            return Err(Error::conflict("not_empty", format!("{} holds something already", asked.display()))
                .hint("name a directory that is empty or not there yet"));
        }
        // Before it is made, too: the directory itself would be merged.
        refuse_inside(&place_of(asked)?, workspace)?;
        files::create_private_dir(asked)?;
        let directory = files::canonical(asked)?;
        refuse_inside(&directory, workspace)?;
        if directory.to_str().is_none() {
            return Err(Error::invalid("bad_directory", format!("the path {} is not UTF-8", directory.display())));
        }
        Ok(directory)
    }

    /// Removes what a merge laid out; of a directory that somebody named, only what was laid out.
    pub(super) fn remove_layout(&self, into: BranchId, layout: &Path) -> Result<()> {
        if self.default_layout(into).is_ok_and(|ours| ours == layout) {
            return files::remove_tree(layout);
        }
        if !files::exists(layout)? {
            return Ok(());
        }
        let mut all = true;
        for name in files::list(layout)? {
            if is_laid_out(&name) {
                files::remove(&layout.join(name))?;
            } else {
                all = false;
            }
        }
        if all { files::remove_tree(layout) } else { Ok(()) }
    }

    /// Removes layouts in the store of merges that are not open any more.
    pub(super) async fn remove_old_layouts(&self) -> Result<()> {
        let Some(store) = &self.core.0.directory else { return Ok(()) };
        let all = store.join(IN_STORE);
        if !files::exists(&all)? {
            return Ok(());
        }
        for name in files::list(&all)? {
            let Some(branch) = name.to_str().and_then(|name| name.parse::<JournalId>().ok()) else { continue };
            let open = match self.core.0.ledger.journal(branch).await? {
                Some(state) => self.core.open_merge(&state).await?.is_some(),
                None => false,
            };
            if !open {
                files::remove_tree(&all.join(name))?;
            }
        }
        Ok(())
    }

    /// Lays the conflicts of a merge out, with the decisions that count.
    pub(super) fn lay_out(
        &self,
        layout: &Path,
        (session, from, into): (SessionId, BranchId, BranchId),
        sides: &Sides,
        before: &Decisions,
        decided: &BTreeMap<usize, String>,
        repositories: Vec<RepositoryMerge>,
    ) -> Result<()> {
        let store = self.core.blocks();
        // Content is read by its blocks, whichever tree it is in.
        let tree = Tree::new(&store, self.subject.pseudonym, BlockId([0; 32]));
        let mut manifest = Manifest::new(session.to_string(), from.to_string(), into.to_string());
        let mut repositories: BTreeMap<String, RepositoryMerge> =
            repositories.into_iter().map(|known| (known.path.clone(), known)).collect();
        let mut next = before.numbers.values().max().copied().unwrap_or_default();
        let mut total = 0;
        let mut put = |name: String, bytes: &[u8]| -> Result<Option<String>> {
            if bytes.len() as u64 > FILE_LIMIT || total + bytes.len() as u64 > TOTAL_LIMIT {
                return Ok(None);
            }
            total += bytes.len() as u64;
            // The manifest names it, and the merge is recorded after that: a file that lost power left empty would be taken.
            files::write_among(&layout.join(&name), bytes)?;
            Ok(Some(name))
        };
        let bytes_of = |entry: &Entry| -> Result<Option<Vec<u8>>> {
            match &entry.content {
                Content::File { size, body } if *size <= FILE_LIMIT => tree.bytes(body).map(Some),
                _ => Ok(None),
            }
        };
        for (place, conflict) in sides.merge.conflicts.iter().enumerate() {
            let mut listed = Listed::new(conflict, decided.get(&place).cloned());
            listed.repository = repositories.remove(&listed.path);
            let number = before.numbers.get(&listed.id).copied().unwrap_or_else(|| {
                next += 1;
                next
            });
            for side in Side::ALL {
                let (name, described) = match side {
                    Side::Base => ("base", &mut listed.base),
                    Side::Ours => ("ours", &mut listed.ours),
                    Side::Theirs => ("theirs", &mut listed.theirs),
                };
                if let (Some(entry), Some(described)) = (conflict.entry(side), described)
                    && let Some(bytes) = bytes_of(entry)?
                {
                    described.file = put(format!("{number}.{name}"), &bytes)?;
                }
            }
            let proposed = match (sides.texts.get(&place), &conflict.proposed) {
                (Some(text), _) => Some(text.clone()),
                (None, Some(entries)) => match entries.first() {
                    Some((_, entry)) => bytes_of(entry)?,
                    None => None,
                },
                (None, None) => None,
            };
            if let Some(bytes) = proposed {
                listed.proposed = put(format!("{number}.proposed"), &bytes)?;
            }
            manifest.conflicts.push(listed);
        }
        let mut text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Error::internal("unserialisable", "the manifest is not JSON").because(error))?;
        text.push(b'\n');
        files::write_atomic(&layout.join(manifest::NAME), &text, files::PRIVATE_FILE)
    }
}

/// The nearest directory that is there of those that a path leads through.
fn place_of(path: &Path) -> Result<PathBuf> {
    let mut above = path;
    while !files::exists(above)? {
        above = above.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    }
    files::canonical(above)
}

fn refuse_inside(directory: &Path, workspace: &Path) -> Result<()> {
    if !directory.starts_with(workspace) {
        return Ok(());
    }
    let words = format!("the layout would lie in the workspace {}, and be merged with it", workspace.display());
    Err(Error::invalid("layout_in_workspace", words).hint("name a directory elsewhere"))
}

/// Whether a directory holds nothing but what a merge into a branch laid out, none of which is open any more.
fn is_left_over(directory: &Path, into: BranchId) -> Result<bool> {
    let names = files::list(directory)?;
    if !names.iter().all(|name| is_laid_out(name)) {
        return Ok(false);
    }
    // The manifest is written last. That of another branch's merge may be waiting for decisions.
    let path = directory.join(manifest::NAME);
    Ok(!files::exists(&path)? || manifest::is_into(&files::read(&path)?, into))
}

/// Whether a file of a layout was laid out, rather than put there by somebody.
fn is_laid_out(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let numbered = name.split_once('.').is_some_and(|(number, side)| {
        number.parse::<u64>().is_ok() && ["base", "ours", "theirs", "proposed"].contains(&side)
    });
    numbered || name == manifest::NAME
}

/// The decisions in a layout; none when it has no manifest.
///
/// # Errors
/// `invalid` (`bad_manifest`, `bad_decision`).
pub(super) fn read_decisions(layout: &Path) -> Result<Decisions> {
    let path = layout.join(manifest::NAME);
    if !files::exists(&path)? {
        return Ok(Decisions::default());
    }
    let mut bytes = Vec::new();
    let reader = files::open_reader(&path)?;
    let failed = |error| files::io_error("read", &path, error);
    reader.take(manifest::LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > manifest::LIMIT {
        return Err(Error::invalid("bad_manifest", format!("{} is too long to be a manifest", path.display())));
    }
    Decisions::read(&bytes)
}

/// Refuses a decision that is neither one of the words nor a file of the layout.
///
/// # Errors
/// `invalid` (`bad_decision`).
pub(super) fn refuse_missing(conflict: &Conflict, layout: Option<&Path>, file: &TreePath) -> Result<()> {
    let why = match layout {
        None => format!("{:?} is none of the choices, and nothing is laid out yet", file.to_string()),
        Some(layout) if files::exists(&layout.join(OsStr::from_bytes(file.as_bytes())))? => return Ok(()),
        Some(layout) => {
            format!("{:?} is none of the choices, and no file in {}", file.to_string(), layout.display())
        }
    };
    Err(bad_decision(conflict, &why))
}

/// What a file of a layout holds.
///
/// # Errors
/// `invalid`: `layout_file_outside` when it leads elsewhere, `layout_file_too_large`; `not_found` when there is none.
pub(super) fn read_file(layout: &Path, file: &TreePath) -> Result<Vec<u8>> {
    let path = layout.join(OsStr::from_bytes(file.as_bytes()));
    let real = files::canonical(&path)?;
    if !real.starts_with(files::canonical(layout)?) {
        return Err(Error::invalid("layout_file_outside", format!("{file} of the layout leads out of it"))
            .hint("copy the file into the layout"));
    }
    let mut bytes = Vec::new();
    let reader = files::open_reader(&real)?;
    reader.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| files::io_error("read", &real, error))?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(Error::invalid(
            "layout_file_too_large",
            format!("{file} of the layout has more than {FILE_LIMIT} bytes"),
        )
        .hint("take a side for it, and put the file into the workspace afterwards"));
    }
    Ok(bytes)
}
