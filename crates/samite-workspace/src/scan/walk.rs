//! Walking through a directory.

use super::{Directory, Item, ScanOptions, ScanReport, Scanned, Special, State};
use crate::cache::{self, StatCache};
use crate::rules::{RULE_FILE, RuleStack, TEMPORARY_PREFIX};
use crate::secrets::looks_secret;
use crate::system::{
    Failure, Listed, Stamp, entry_type, failed, kind_of, list_directory, metadata_of, open_directory_at,
    open_for_reading, read_to_end_of, read_xattrs, read_xattrs_at,
};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Stat, fstat, major, minor, readlinkat};
use rustix::io::Errno;
use samite_host::mounts::{self, Mount};
use samite_model::Result;
use samite_model::tree::{Body, Content, Entry, EntryType, RuleFile, TreePath};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Rules are small; a larger file of this name is not read as rules.
const LARGEST_RULES: usize = 1 << 20;

struct Frame {
    directory: OwnedFd,
    index: usize,
    /// The item to go on with.
    next: usize,
    /// The device that it is on.
    device: u64,
}

struct Walker<'a> {
    options: &'a ScanOptions,
    top_path: &'a Path,
    cache: &'a StatCache,
    scanned: Scanned,
    rules: RuleStack,
    buffer: Vec<u8>,
    key: Vec<u8>,
    cached: usize,
    /// The file systems below the top that the kernel makes up; looked up when another device is met.
    pseudo: Option<Vec<Mount>>,
}

/// Finds everything in a directory that rules do not leave out. Files that the cache knows are known; others are to be
/// read. A walk that is asked to stop ends with what it saw.
///
/// # Errors
/// `not_found`, `denied` or `unavailable` when the top cannot be read, or `unavailable` when the system runs out of
/// file descriptors; `invalid` (`bad_rule`). What cannot be read below the top is in the report instead.
pub(crate) fn walk(top_path: &Path, top: &OwnedFd, options: &ScanOptions, cache: &StatCache) -> Result<Scanned> {
    let fail = |errno| failed("read", top_path, &TreePath::top(), errno);
    let stat = fstat(top).map_err(fail)?;
    let mut metadata = metadata_of(&stat);
    metadata.xattrs = read_xattrs(top.as_fd()).map_err(fail)?;
    let report = ScanReport { cache: cache.state, ..ScanReport::default() };
    let scanned = Scanned {
        top: metadata,
        directories: Vec::new(),
        rules: Vec::new(),
        report,
        cache_changed: false,
        began: None,
        stopped: false,
    };
    let mut walker = Walker {
        options,
        top_path,
        cache,
        scanned,
        rules: RuleStack::default(),
        buffer: Vec::new(),
        key: Vec::new(),
        cached: 0,
        pseudo: None,
    };
    let first = open_directory_at(top.as_fd(), b".").map_err(fail)?;
    walker.enter(first.as_fd(), TreePath::top()).map_err(fail)??;
    walker.run(first, stat.st_dev)?;
    let mut scanned = walker.scanned;
    scanned.cache_changed |= walker.cached != cache.len();
    Ok(scanned)
}

impl Walker<'_> {
    fn run(&mut self, first: OwnedFd, device: u64) -> Result<()> {
        let mut frames = vec![Frame { directory: first, index: 0, next: 0, device }];
        while let Some(frame) = frames.last_mut() {
            if self.options.observer.is_stopping() {
                self.scanned.stopped = true;
                return Ok(());
            }
            let items = self.scanned.directories.get(frame.index).map_or(&[][..], |found| &found.items);
            let found = items
                .iter()
                .enumerate()
                .skip(frame.next)
                .find(|(_, item)| item.state != State::Gone && matches!(item.entry.content, Content::Directory(_)));
            let Some((at, item)) = found else {
                frames.pop();
                continue;
            };
            frame.next = at + 1;
            let index = frame.index;
            let (name, device, above) = (item.entry.name.clone(), item.device, frame.device);
            let path = self.scanned.directories.get(index).map_or_else(TreePath::top, |found| found.path.join(&name));
            if device != above
                && let Some(what) = self.made_up(&path)
            {
                let item = self.scanned.directories.get_mut(index).and_then(|found| found.items.get_mut(at));
                if let Some(item) = item {
                    item.entry.content = Content::Unread(EntryType::Directory);
                }
                self.scanned.report.unreadable.push(Special { path, what });
                continue;
            }
            let entered = self.scanned.directories.len();
            let opened = open_directory_at(frame.directory.as_fd(), &name);
            let outcome = opened.and_then(|directory| {
                let xattrs = read_xattrs(directory.as_fd())?;
                Ok((self.enter(directory.as_fd(), path.clone())?, xattrs, directory))
            });
            let outcome = match outcome {
                Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                    return Err(failed("open", self.top_path, &path, errno));
                }
                Err(errno) => Err(Failure::from(errno)),
                Ok((entered, xattrs, directory)) => {
                    entered?;
                    Ok((xattrs, directory))
                }
            };
            let report = &mut self.scanned.report;
            let item = self.scanned.directories.get_mut(index).and_then(|found| found.items.get_mut(at));
            match (outcome, item) {
                (Ok((xattrs, directory)), Some(item)) => {
                    item.entry.metadata.xattrs = xattrs;
                    item.directory = Some(entered);
                    frames.push(Frame { directory, index: entered, next: 0, device });
                }
                (Err(Failure::Gone), Some(item)) => item.state = State::Gone,
                (Err(Failure::Unreadable(errno)), Some(item)) => {
                    item.entry.content = Content::Unread(EntryType::Directory);
                    report.unreadable.push(Special { path, what: errno.to_string() });
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// What is mounted at a path, when the kernel makes it up: there is nothing of anybody's in it, and no end to it.
    fn made_up(&mut self, path: &TreePath) -> Option<String> {
        let top = samite_host::files::canonical(self.top_path).ok()?;
        let pseudo = self.pseudo.get_or_insert_with(|| mounts::pseudo_below(&top));
        let at = top.join(OsStr::from_bytes(path.as_bytes()));
        let mount = pseudo.iter().find(|mount| mount.point == at)?;
        Some(format!("a file system that holds no files ({})", mount.file_system))
    }

    /// Lists a directory. The outer error is that of listing it, the inner one ends the scan.
    fn enter(&mut self, directory: BorrowedFd<'_>, path: TreePath) -> std::result::Result<Result<()>, Errno> {
        let listed = list_directory(directory, &mut self.buffer)?;
        self.rules.enter(&path);
        if listed.iter().any(|listed| &*listed.name == RULE_FILE && kind_of(&listed.stat) == FileType::RegularFile)
            && let Some(text) = read_rules(directory)
        {
            let file = RuleFile { directory: path.clone(), text: text.into() };
            if let Err(error) = self.rules.push(&file) {
                return Ok(Err(error));
            }
            self.scanned.rules.push(file);
        }
        self.scanned.report.directories += 1;
        self.options.observer.tell("looking at files", self.scanned.report.files, None);
        let mut items = Vec::with_capacity(listed.len());
        let slash = !path.is_top();
        self.key.clear();
        self.key.extend_from_slice(path.as_bytes());
        if slash {
            self.key.push(b'/');
        }
        for listed in listed {
            if let Some(item) = self.item(directory, &path, listed) {
                items.push(item);
            }
        }
        self.scanned.directories.push(Directory { path, items });
        Ok(Ok(()))
    }

    fn is_left_out(&mut self, directory: &TreePath, name: &[u8], is_directory: bool) -> bool {
        if directory.is_top() && name.starts_with(TEMPORARY_PREFIX) {
            return true;
        }
        if self.options.excludes.is_empty() && self.rules.is_empty() {
            return false;
        }
        let path = directory.join(name);
        let excluded = self.options.excludes.contains(&path) || self.rules.excludes(&path, is_directory);
        if excluded {
            self.scanned.report.excluded.push(path);
        }
        excluded
    }

    fn item(&mut self, directory: BorrowedFd<'_>, path: &TreePath, listed: Listed) -> Option<Item> {
        let Listed { name, stat } = listed;
        let kind = kind_of(&stat);
        if self.is_left_out(path, &name, kind == FileType::Directory) {
            return None;
        }
        let Some(of) = entry_type(kind) else {
            self.scanned.report.sockets.push(path.join(&name));
            return None;
        };
        let mut item = Item {
            entry: Entry { name, metadata: metadata_of(&stat), content: Content::Fifo },
            stamp: Stamp::of(&stat),
            device: stat.st_dev,
            linked: stat.st_nlink > 1 && kind != FileType::Directory,
            sparse: is_sparse(&stat),
            state: State::Known,
            directory: None,
            listed: None,
        };
        if of != EntryType::Directory {
            self.scanned.report.files += 1;
        }
        let found = match of {
            EntryType::Directory => {
                item.entry.content = Content::Directory(samite_model::BlockId([0; 32]));
                Ok(())
            }
            EntryType::File => self.file(directory, path, &mut item),
            _ => special(directory, of, &stat, &mut item),
        };
        match found {
            Ok(()) => {}
            Err(Failure::Gone) => return None,
            Err(Failure::Unreadable(errno)) => {
                item.entry.content = Content::Unread(of);
                item.state = State::Known;
                let path = path.join(&item.entry.name);
                self.scanned.report.unreadable.push(Special { path, what: errno.to_string() });
            }
        }
        Some(item)
    }

    fn file(
        &mut self,
        directory: BorrowedFd<'_>,
        path: &TreePath,
        item: &mut Item,
    ) -> std::result::Result<(), Failure> {
        self.scanned.report.bytes += item.stamp.size;
        if looks_secret(path.name(), &item.entry.name) {
            self.scanned.report.secrets.push(path.join(&item.entry.name));
        }
        let prefix = self.key.len();
        self.key.extend_from_slice(&item.entry.name);
        let cached = if self.cache.len() == 0 { None } else { self.cache.find(&cache::key(&self.key), &item.stamp) };
        self.key.truncate(prefix);
        if let Some(cached) = cached {
            self.cached += 1;
            if cached.xattrs {
                item.entry.metadata.xattrs = read_xattrs_at(directory, &item.entry.name)?;
            }
            item.entry.content = Content::File { size: item.stamp.size, body: Body::Segments(cached.segments) };
        } else {
            self.scanned.cache_changed = true;
            item.entry.content = Content::File { size: item.stamp.size, body: Body::Segments(Vec::new()) };
            item.state = State::ToRead;
        }
        Ok(())
    }
}

/// Whether a file takes less room than its size says, so that it is worth asking for its holes.
pub(crate) fn is_sparse(stat: &Stat) -> bool {
    stat.st_blocks.saturating_mul(512) < stat.st_size
}

fn special(directory: BorrowedFd<'_>, of: EntryType, stat: &Stat, item: &mut Item) -> std::result::Result<(), Failure> {
    let (major, minor) = (major(stat.st_rdev), minor(stat.st_rdev));
    item.entry.content = match of {
        EntryType::Symlink => {
            Content::Symlink(readlinkat(directory, &*item.entry.name, Vec::new())?.into_bytes().into())
        }
        EntryType::Character => Content::Character { major, minor },
        EntryType::Block => Content::Block { major, minor },
        _ => Content::Fifo,
    };
    item.entry.metadata.xattrs = read_xattrs_at(directory, &item.entry.name)?;
    Ok(())
}

fn read_rules(directory: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let file = open_for_reading(directory, RULE_FILE).ok()?;
    let mut text = Vec::new();
    read_to_end_of(&file, 4096, LARGEST_RULES, &mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::open_top;

    #[test]
    fn what_the_kernel_makes_up_below_the_top_is_named_and_not_entered() {
        let top = Path::new("/dev");
        if !mounts::pseudo_below(top).iter().any(|mount| mount.point == Path::new("/dev/pts")) {
            eprintln!("SKIPPED: /dev/pts is not mounted");
            return;
        }
        let path = |text: &str| TreePath::new(text).unwrap();
        let options = ScanOptions { excludes: vec![path("shm")], ..ScanOptions::default() };
        let scanned = walk(top, &open_top(top).unwrap(), &options, &StatCache::load(None).unwrap()).unwrap();
        let named = scanned.report.unreadable.iter().find(|special| special.path == path("pts")).unwrap();
        assert_eq!(named.what, "a file system that holds no files (devpts)");
        let listing = scanned.listing();
        assert_eq!(listing.get(&path("pts")).unwrap().content, Content::Unread(EntryType::Directory));
        assert!(listing.iter().all(|(found, _)| !found.is_within(&path("pts")) || *found == path("pts")));
    }
}
