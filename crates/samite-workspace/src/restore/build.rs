//! Building what is new, before anything in the workspace is touched.

mod files;

use super::file::{make_directory, make_special, set_open};
use super::source::Source;
use super::temporary::Temporary;
use super::{RestoreOptions, RestoreReport, makes};
use crate::scan::{Scanned, Special};
use crate::store::Store;
use crate::system::{DirectoryStack, Stamp, open_directory_at};
use crate::tree::Tree;
use files::{NewFile, write_files};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, linkat};
use rustix::io::Errno;
use samite_model::tree::{Action, Body, Content, Entry, LinkGroup, Listing, TreePath};
use samite_model::{Error, Result};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What was built: where each new entry waits, and what is known of the files.
#[derive(Default)]
pub(crate) struct Built {
    /// For each path that changes place as a whole, its name in the temporary directory.
    pub(crate) roots: HashMap<TreePath, TreePath>,
    /// The stamps of files by the number of the action that makes each; a rename of what they are in changes none.
    pub(crate) stamps: Vec<Option<Stamp>>,
    /// The segments of files that list them in blocks.
    pub(crate) listed: HashMap<TreePath, Vec<samite_model::tree::Segment>>,
}

/// A further name of a file.
struct NewLink {
    path: TreePath,
    /// Where it is built.
    temporary: TreePath,
    anchor: Anchor,
}

/// Where the first name of a file is.
#[derive(Clone)]
enum Anchor {
    /// In the temporary directory.
    Built(TreePath),
    /// In the workspace, where it stays.
    Standing(TreePath),
}

struct Builder<'a> {
    temporary: &'a Temporary<'a>,
    built: Built,
    files: Vec<NewFile<'a>>,
    links: Vec<NewLink>,
    directories: Vec<(TreePath, TreePath, Entry)>,
    anchors: HashMap<LinkGroup, Anchor>,
    failed: Vec<Special>,
}

/// Builds everything that the actions make.
///
/// # Errors
/// `unavailable` when the disk is full, `corrupt` when a block cannot be read: nothing was changed in the workspace.
#[expect(clippy::too_many_arguments, reason = "what a restore knows, each used once")]
pub(crate) fn build<'a>(
    store: &Store,
    options: &RestoreOptions,
    top: &OwnedFd,
    temporary: &'a Temporary<'a>,
    actions: &'a [Action],
    target: &Listing,
    scanned: &Scanned,
    source: Option<&Source>,
    report: &mut RestoreReport,
) -> Result<Built> {
    let mut builder = Builder {
        temporary,
        built: Built::default(),
        files: Vec::new(),
        links: Vec::new(),
        directories: Vec::new(),
        anchors: standing_anchors(actions, target, scanned),
        failed: Vec::new(),
    };
    builder.lay_out(actions)?;
    let tree = Tree::new(store, options.owner, options.target);
    for file in &mut builder.files {
        if let Content::File { body: body @ Body::List(_), .. } = &file.entry.content {
            let segments = tree.segments(body)?;
            builder.built.listed.insert(file.path.clone(), segments.clone());
            file.segments = Cow::Owned(segments);
        }
    }
    let files = std::mem::take(&mut builder.files);
    let written = write_files(store, options.owner, temporary, &files, source, &options.scan.observer)?;
    report.cloned_files += written.cloned_files;
    report.cloned_bytes += written.cloned_bytes;
    report.copied_files += written.copied_files;
    report.copied_bytes += written.copied_bytes;
    builder.failed.extend(written.failed);
    builder.built.stamps = vec![None; actions.len()];
    for (number, stamp) in written.stamps {
        if let Some(place) = builder.built.stamps.get_mut(number) {
            *place = Some(stamp);
        }
    }
    builder.link(top);
    builder.set_directories()?;
    report.failed.append(&mut builder.failed);
    Ok(builder.built)
}

/// Files of the target that stand where they shall, and of which new names are to be made.
fn standing_anchors(actions: &[Action], target: &Listing, scanned: &Scanned) -> HashMap<LinkGroup, Anchor> {
    let wanted: HashSet<LinkGroup> =
        actions.iter().filter_map(makes).filter_map(|(_, entry)| entry.metadata.link).collect();
    if wanted.is_empty() {
        return HashMap::new();
    }
    let made: HashSet<&TreePath> = actions.iter().filter_map(makes).map(|(path, _)| path).collect();
    let current = scanned.listing();
    let mut anchors = HashMap::new();
    for (path, entry) in target {
        let Some(group) = entry.metadata.link.filter(|group| wanted.contains(group) && !made.contains(path)) else {
            continue;
        };
        let stands = current.get(path).is_some_and(|current| {
            current.metadata.link == entry.metadata.link && current.content.is_same(&entry.content)
        });
        if stands {
            anchors.entry(group).or_insert_with(|| Anchor::Standing(path.clone()));
        }
    }
    anchors
}

impl<'a> Builder<'a> {
    /// Makes directories, links, pipes and devices, and lists the files to be written.
    fn lay_out(&mut self, actions: &'a [Action]) -> Result<()> {
        let mut inside: Option<(TreePath, TreePath)> = None;
        let mut stack = DirectoryStack::new(self.temporary.directory.as_fd());
        for (number, action) in actions.iter().enumerate() {
            let Some((path, entry)) = makes(action) else { continue };
            let within = inside.as_ref().filter(|(root, _)| path.is_within(root));
            let temporary = if let Some((root, temporary)) = within {
                // What follows the root and a separator.
                temporary.join(path.as_bytes().get(root.as_bytes().len() + 1..).unwrap_or_default())
            } else {
                let at = TreePath::top().join(format!("{}", self.built.roots.len()).as_bytes());
                self.built.roots.insert(path.clone(), at.clone());
                inside = matches!(entry.content, Content::Directory(_)).then(|| (path.clone(), at.clone()));
                at
            };
            if let Some(group) = entry.metadata.link {
                if let Some(anchor) = self.anchors.get(&group) {
                    self.links.push(NewLink { path: path.clone(), temporary, anchor: anchor.clone() });
                    continue;
                }
                self.anchors.insert(group, Anchor::Built(temporary.clone()));
            }
            let parent = temporary.parent().unwrap_or_default();
            let fail = |errno: Errno| self.temporary.failed(&format!("build {path} in"), errno);
            match &entry.content {
                Content::Directory(_) => {
                    let opened = stack.open(&parent).map_err(fail)?;
                    make_directory(opened, temporary.name(), entry.metadata.mode).map_err(fail)?;
                    self.directories.push((path.clone(), temporary, entry.clone()));
                }
                Content::File { body, .. } => {
                    let segments = match body {
                        Body::Segments(segments) => Cow::Borrowed(segments.as_slice()),
                        Body::List(_) => Cow::Owned(Vec::new()),
                    };
                    self.files.push(NewFile { number, path, temporary, entry, segments });
                }
                Content::Unread(_) => {}
                _ => {
                    let made = make_special(stack.open(&parent).map_err(fail)?, temporary.name(), entry);
                    match made {
                        Ok(None) => {}
                        // A device needs a privilege that a user does not have.
                        Ok(Some(errno)) | Err(errno @ Errno::PERM) => {
                            self.failed.push(Special { path: path.clone(), what: errno.to_string() });
                        }
                        Err(errno) => return Err(fail(errno)),
                    }
                }
            }
        }
        Ok(())
    }

    fn link(&mut self, top: &OwnedFd) {
        let mut new = DirectoryStack::new(self.temporary.directory.as_fd());
        let mut standing = DirectoryStack::new(top.as_fd());
        let mut built = DirectoryStack::new(self.temporary.directory.as_fd());
        for link in std::mem::take(&mut self.links) {
            let (from, stack) = match &link.anchor {
                Anchor::Built(path) => (path, &mut built),
                Anchor::Standing(path) => (path, &mut standing),
            };
            let place = link.temporary.parent().unwrap_or_default();
            let linked = stack.open(&from.parent().unwrap_or_default()).and_then(|old: BorrowedFd<'_>| {
                linkat(old, from.name(), new.open(&place)?, link.temporary.name(), AtFlags::empty())
            });
            if let Err(errno) = linked {
                self.failed.push(Special { path: link.path, what: format!("not linked: {errno}") });
            }
        }
    }

    /// Sets the metadata of directories, inner ones first. Those that change place themselves must be writable for that;
    /// their mode is set once they are there.
    fn set_directories(&mut self) -> Result<()> {
        let mut stack = DirectoryStack::new(self.temporary.directory.as_fd());
        for (path, temporary, entry) in self.directories.iter().rev() {
            let parent = temporary.parent().unwrap_or_default();
            let mut wanted = entry.metadata.clone();
            if parent.is_top() {
                wanted.mode |= 0o700;
            }
            let fail = |errno: Errno| -> Error { self.temporary.failed(&format!("finish {path} in"), errno) };
            let opened =
                stack.open(&parent).and_then(|parent| open_directory_at(parent, temporary.name())).map_err(fail)?;
            let (_, refused) = set_open(&opened, &wanted, true).map_err(fail)?;
            if let Some(errno) = refused {
                self.failed.push(Special { path: path.clone(), what: errno.to_string() });
            }
        }
        Ok(())
    }
}
