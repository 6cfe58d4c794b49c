//! Putting what was built into its place, and what it replaces out of the way: one rename a path, checked afterwards,
//! and taken back when what stood there was not what the plan had seen.

use super::build::Built;
use super::cache::Restored;
use super::file::{set_in_place, set_open};
use super::temporary::{Temporary, old_name, remove_tree};
use super::{RestoreReport, makes};
use crate::scan::{Item, Scanned, Special};
use crate::system::{DirectoryStack, Stamp};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, RenameFlags, fchmod, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use samite_host::kill_point;
use samite_model::Result;
use samite_model::tree::{Action, Content, Entry, Kept, KeptReason, Metadata, TreePath};
use std::collections::{BTreeMap, HashMap};

struct Installer<'a> {
    top: &'a OwnedFd,
    temporary: &'a Temporary<'a>,
    stack: DirectoryStack<'a>,
    scanned: &'a Scanned,
    directories: HashMap<&'a TreePath, usize>,
    report: &'a mut RestoreReport,
    /// Directories whose metadata is set at the end: what they shall have.
    finish: BTreeMap<TreePath, Metadata>,
    /// Names of old entries in the temporary directory.
    old: u64,
}

/// Does all actions.
///
/// # Errors
/// `denied` or `unavailable` for what concerns the whole directory; what concerns one path is in the report.
pub(crate) fn install(
    top: &OwnedFd,
    temporary: &Temporary<'_>,
    actions: &[Action],
    built: Built,
    scanned: &Scanned,
    report: &mut RestoreReport,
    restored: &mut Restored,
) -> Result<()> {
    let directories = scanned.directories.iter().enumerate().map(|(index, found)| (&found.path, index)).collect();
    let mut installer = Installer {
        top,
        temporary,
        stack: DirectoryStack::new(top.as_fd()),
        scanned,
        directories,
        report,
        finish: BTreeMap::new(),
        old: 0,
    };
    // The temporary directory itself comes and goes in the top.
    installer.touch(&TreePath::top());
    let mut failed: Option<TreePath> = None;
    for action in actions {
        let path = action.path();
        if failed.as_ref().is_some_and(|failed| path.is_within(failed)) {
            continue;
        }
        let done = installer.act(action, &built);
        kill_point("restore.installing");
        match done {
            Ok(()) => {}
            Err(reason) => {
                failed = makes(action).is_some().then(|| path.clone());
                installer.stopped(path.clone(), reason);
            }
        }
    }
    let kept = temporary.remove()?;
    installer.report.kept.extend(kept.into_iter().map(|path| Kept::new(path, KeptReason::Changed)));
    kill_point("restore.cleaned");
    installer.stamps(actions, &built, restored);
    installer.finish_directories();
    restored.listed = built.listed;
    Ok(())
}

/// Why an action was not done.
#[derive(Clone, Copy)]
enum Stopped {
    Kept(KeptReason),
    Failed(Errno),
}

impl From<Errno> for Stopped {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Self::Kept(KeptReason::Changed),
            Errno::EXIST => Self::Kept(KeptReason::Unknown),
            Errno::NOTEMPTY => Self::Kept(KeptReason::NotEmpty),
            other => Self::Failed(other),
        }
    }
}

/// Whether two stamps are of the same file in the same state; the time of its last change of name does not count.
fn is_same(found: &Stamp, expected: &Stamp) -> bool {
    (found.inode, found.size, found.mtime) == (expected.inode, expected.size, expected.mtime)
}

fn look(directory: BorrowedFd<'_>, name: &[u8]) -> std::result::Result<Stamp, Errno> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Stamp::of(&stat))
}

fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

impl Installer<'_> {
    fn item(&self, path: &TreePath) -> Option<&Item> {
        let parent = path.parent()?;
        let directory = self.directories.get(&parent).and_then(|index| self.scanned.directories.get(*index))?;
        let at = directory.items.binary_search_by(|item| (*item.entry.name).cmp(path.name())).ok()?;
        directory.items.get(at)
    }

    /// Notes that a directory's time changes by what is done in it, to put it right at the end.
    fn touch(&mut self, directory: &TreePath) {
        if self.finish.contains_key(directory) {
            return;
        }
        let metadata = if directory.is_top() {
            Some(self.scanned.top.clone())
        } else {
            self.item(directory).map(|item| item.entry.metadata.clone())
        };
        if let Some(metadata) = metadata {
            self.finish.insert(directory.clone(), metadata);
        }
    }

    /// Does something in a directory; makes the directory writable when that is what it needs.
    fn in_directory<T>(
        &mut self,
        directory: &TreePath,
        call: impl Fn(BorrowedFd<'_>) -> std::result::Result<T, Errno>,
    ) -> std::result::Result<T, Errno> {
        self.touch(directory);
        let mode = self.finish.get(directory).map_or(0, |metadata| metadata.mode);
        let opened = self.stack.open(directory)?;
        match call(opened) {
            Err(Errno::ACCESS | Errno::PERM) => {
                fchmod(opened, Mode::from_raw_mode(mode | 0o700))?;
                call(opened)
            }
            other => other,
        }
    }

    fn act(&mut self, action: &Action, built: &Built) -> std::result::Result<(), Stopped> {
        match action {
            Action::Remove { path, was } => {
                self.remove(path, was)?;
                self.report.removed += 1;
            }
            Action::Create { path, entry } => {
                if let Some(from) = built.roots.get(path) {
                    self.create(path, from)?;
                    self.finish_later(path, entry);
                }
                self.report.created += 1;
            }
            Action::Replace { path, entry, was } => {
                if let Some(from) = built.roots.get(path) {
                    self.replace(path, was, from)?;
                    self.finish_later(path, entry);
                }
                self.report.replaced += 1;
            }
            Action::SetMetadata { path, entry, was } => {
                if matches!(was.content, Content::Directory(_)) {
                    self.finish.insert(path.clone(), entry.metadata.clone());
                } else {
                    self.set(path, entry)?;
                }
                self.report.set += 1;
            }
        }
        Ok(())
    }

    fn finish_later(&mut self, path: &TreePath, entry: &Entry) {
        if matches!(entry.content, Content::Directory(_)) {
            self.finish.insert(path.clone(), entry.metadata.clone());
        }
    }

    fn expected(&self, path: &TreePath) -> std::result::Result<Stamp, Stopped> {
        self.item(path).map(|item| item.stamp).ok_or(Stopped::Kept(KeptReason::Changed))
    }

    fn old_name(&mut self, built: Option<u64>, expected: &Stamp) -> Vec<u8> {
        self.old += 1;
        old_name(self.old, built, expected)
    }

    fn create(&mut self, path: &TreePath, from: &TreePath) -> std::result::Result<(), Stopped> {
        let temporary = self.temporary.directory.as_fd();
        self.in_directory(&path.parent().unwrap_or_default(), |directory| {
            match renameat_with(temporary, from.as_bytes(), directory, path.name(), RenameFlags::NOREPLACE) {
                Err(errno) if is_unsupported(errno) => match look(directory, path.name()) {
                    Err(Errno::NOENT) => renameat(temporary, from.as_bytes(), directory, path.name()),
                    Ok(_) => Err(Errno::EXIST),
                    Err(errno) => Err(errno),
                },
                other => other,
            }
        })?;
        Ok(())
    }

    fn remove(&mut self, path: &TreePath, was: &Entry) -> std::result::Result<(), Stopped> {
        let parent = path.parent().unwrap_or_default();
        if matches!(was.content, Content::Directory(_)) {
            self.stack.forget(path);
            self.finish.remove(path);
            self.in_directory(&parent, |directory| unlinkat(directory, path.name(), AtFlags::REMOVEDIR))?;
            return Ok(());
        }
        let expected = self.expected(path)?;
        let (temporary, old) = (self.temporary.directory.as_fd(), self.old_name(None, &expected));
        let kept = self.in_directory(&parent, |directory| {
            if !is_same(&look(directory, path.name())?, &expected) {
                return Ok(true);
            }
            renameat(directory, path.name(), temporary, old.as_slice())?;
            kill_point("restore.moved_away");
            if is_same(&look(temporary, &old)?, &expected) {
                return Ok(false);
            }
            renameat_with(temporary, old.as_slice(), directory, path.name(), RenameFlags::NOREPLACE)?;
            Ok(true)
        })?;
        if kept {
            return Err(Stopped::Kept(KeptReason::Changed));
        }
        unlinkat(temporary, old.as_slice(), AtFlags::empty())?;
        Ok(())
    }

    fn replace(&mut self, path: &TreePath, was: &Entry, from: &TreePath) -> std::result::Result<(), Stopped> {
        if matches!(was.content, Content::Directory(_)) {
            self.remove(path, was)?;
            return self.create(path, from);
        }
        let expected = self.expected(path)?;
        let temporary = self.temporary.directory.as_fd();
        // Whoever finds it when this was cut off has to tell what was built from what stood in its place.
        let built = look(temporary, from.as_bytes())?.inode;
        let swapped = self.old_name(Some(built), &expected);
        renameat(temporary, from.as_bytes(), temporary, swapped.as_slice())?;
        let from = swapped.as_slice();
        let kept = self.in_directory(&path.parent().unwrap_or_default(), |directory| {
            if !is_same(&look(directory, path.name())?, &expected) {
                return Ok(true);
            }
            match renameat_with(temporary, from, directory, path.name(), RenameFlags::EXCHANGE) {
                Ok(()) => {}
                Err(errno) if is_unsupported(errno) => {
                    renameat(temporary, from, directory, path.name())?;
                    return Ok(false);
                }
                Err(errno) => return Err(errno),
            }
            kill_point("restore.exchanged");
            if is_same(&look(temporary, from)?, &expected) {
                return Ok(false);
            }
            renameat_with(temporary, from, directory, path.name(), RenameFlags::EXCHANGE)?;
            Ok(true)
        })?;
        if kept {
            return Err(Stopped::Kept(KeptReason::Changed));
        }
        remove_tree(temporary, from)?;
        Ok(())
    }

    fn set(&mut self, path: &TreePath, entry: &Entry) -> std::result::Result<(), Stopped> {
        let expected = self.expected(path)?;
        let directory = self.stack.open(&path.parent().unwrap_or_default())?;
        if !is_same(&look(directory, path.name())?, &expected) {
            // A file with several names may have been set by another of them.
            let found = statat(directory, path.name(), AtFlags::SYMLINK_NOFOLLOW)?;
            if entry.metadata.link.is_none() || Stamp::of(&found).inode != expected.inode {
                return Err(Stopped::Kept(KeptReason::Changed));
            }
        }
        if let Some(errno) = set_in_place(directory, path.name(), entry)? {
            self.report.failed.push(Special { path: path.clone(), what: errno.to_string() });
        }
        Ok(())
    }

    /// Takes the stamps of files that are in their place: those that were renamed themselves, and those with several
    /// names, have new ones.
    fn stamps(&mut self, actions: &[Action], built: &Built, restored: &mut Restored) {
        restored.stamps = vec![None; actions.len()];
        for ((action, known), place) in actions.iter().zip(&built.stamps).zip(&mut restored.stamps) {
            let Some((path, entry)) = makes(action) else { continue };
            if !matches!(entry.content, Content::File { .. }) {
                continue;
            }
            if known.is_some() && entry.metadata.link.is_none() && !built.roots.contains_key(path) {
                *place = *known;
                continue;
            }
            let found = self.stack.open(&path.parent().unwrap_or_default());
            let Ok(stamp) = found.and_then(|directory| look(directory, path.name())) else { continue };
            let size = entry.content.size();
            if stamp.size == size
                && stamp.mtime == entry.metadata.mtime
                && known.is_none_or(|known| known.inode == stamp.inode)
            {
                *place = Some(stamp);
            }
        }
    }

    fn finish_directories(&mut self) {
        for (path, metadata) in std::mem::take(&mut self.finish).into_iter().rev() {
            let set = if path.is_top() {
                set_open(self.top, &metadata, false).map(|(_, refused)| refused)
            } else {
                let entry = Entry {
                    name: path.name().into(),
                    metadata,
                    content: Content::Directory(samite_model::BlockId([0; 32])),
                };
                let parent = self.stack.open(&path.parent().unwrap_or_default());
                parent.and_then(|parent| set_in_place(parent, path.name(), &entry))
            };
            match set {
                Ok(None) => {}
                Ok(Some(errno)) => self.report.failed.push(Special { path, what: errno.to_string() }),
                // Somebody removed it meanwhile, or put something else there.
                Err(errno) => self.stopped(path, errno.into()),
            }
        }
    }

    fn stopped(&mut self, path: TreePath, why: Stopped) {
        match why {
            Stopped::Kept(reason) => self.report.kept.push(Kept::new(path, reason)),
            Stopped::Failed(errno) => self.report.failed.push(Special { path, what: errno.to_string() }),
        }
    }
}
