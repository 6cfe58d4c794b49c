//! The file system: it does an operation in memory and records it before it answers.

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use samite_powercut::{Bytes, MARKS, Node, Operation, ROOT, Volume, encode};
use std::error::Error;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names and attributes change through the kernel alone, which may therefore remember them.
const KNOWN_FOR: Duration = Duration::from_hours(1);
const MARKS_FILE: u64 = ROOT + 1;
const BLOCK_SIZE: u32 = 4096;

struct State {
    volume: Volume,
    next: u64,
    log: Box<dyn Write + Send>,
    encoded: Vec<u8>,
    failed: Option<std::io::Error>,
}

impl State {
    /// Does an operation and records it.
    fn perform(&mut self, operation: &Operation) {
        self.volume.apply(operation);
        self.encoded.clear();
        encode(operation, &mut self.encoded);
        if let Err(error) = self.log.write_all(&self.encoded) {
            self.failed.get_or_insert(error);
        }
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }
}

/// A file system that records.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Mutex<State>>);

impl Recorder {
    pub(crate) fn new(log: Box<dyn Write + Send>) -> Self {
        let mut state =
            State { volume: Volume::default(), next: MARKS_FILE + 1, log, encoded: Vec::new(), failed: None };
        state.perform(&Operation::Create {
            directory: ROOT,
            name: MARKS.as_bytes().to_vec(),
            file: MARKS_FILE,
            mode: 0o600,
        });
        Self(Arc::new(Mutex::new(state)))
    }

    /// Writes out what is left of the log.
    pub(crate) fn finish(&self) -> Result<(), Box<dyn Error>> {
        let mut state = self.state();
        state.log.flush()?;
        state.failed.take().map_or(Ok(()), |error| Err(error.into()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn attributes(volume: &Volume, file: u64, request: &Request) -> Option<FileAttr> {
    let (kind, mode, size) = match volume.node(file)? {
        Node::File { bytes, mode } => (FileType::RegularFile, *mode, bytes.len() as u64),
        Node::Directory { mode, .. } => (FileType::Directory, *mode, 0),
    };
    Some(FileAttr {
        ino: INodeNo(file),
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm: u16::try_from(mode & 0o7777).unwrap_or(0o600),
        nlink: 1,
        uid: request.uid(),
        gid: request.gid(),
        rdev: 0,
        blksize: BLOCK_SIZE,
        flags: 0,
    })
}

fn flags(file: u64) -> FopenFlags {
    // A mark must arrive as it was written; of everything else the kernel has the only user.
    if file == MARKS_FILE { FopenFlags::FOPEN_DIRECT_IO } else { FopenFlags::FOPEN_KEEP_CACHE }
}

impl Filesystem for Recorder {
    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.state();
        let found = state.volume.find(parent.0, name.as_bytes());
        match found.and_then(|file| attributes(&state.volume, file, request)) {
            Some(attributes) => reply.entry(&KNOWN_FOR, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, request: &Request, file: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match attributes(&self.state().volume, file.0, request) {
            Some(attributes) => reply.attr(&KNOWN_FOR, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        file: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        if let Some(mode) = mode {
            state.perform(&Operation::ChangeMode { file: file.0, mode: mode & 0o7777 });
        }
        if let Some(length) = size {
            state.perform(&Operation::Truncate { file: file.0, length });
        }
        match attributes(&state.volume, file.0, request) {
            Some(attributes) => reply.attr(&KNOWN_FOR, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let mut state = self.state();
        if state.volume.find(parent.0, name.as_bytes()).is_some() {
            return reply.error(Errno::EEXIST);
        }
        let (file, mode) = (state.number(), mode & !umask & 0o7777);
        state.perform(&Operation::MakeDirectory { directory: parent.0, name: name.as_bytes().to_vec(), file, mode });
        match attributes(&state.volume, file, request) {
            Some(attributes) => reply.entry(&KNOWN_FOR, &attributes, Generation(0)),
            None => reply.error(Errno::EIO),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let mut state = self.state();
        if state.volume.find(parent.0, name.as_bytes()).is_some() {
            return reply.error(Errno::EEXIST);
        }
        let (file, mode) = (state.number(), mode & !umask & 0o7777);
        state.perform(&Operation::Create { directory: parent.0, name: name.as_bytes().to_vec(), file, mode });
        match attributes(&state.volume, file, request) {
            Some(attributes) => {
                reply.created(&KNOWN_FOR, &attributes, Generation(0), FileHandle(0), flags(file));
            }
            None => reply.error(Errno::EIO),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = self.state();
        if state.volume.find(parent.0, name.as_bytes()).is_none() {
            return reply.error(Errno::ENOENT);
        }
        state.perform(&Operation::Remove { directory: parent.0, name: name.as_bytes().to_vec() });
        reply.ok();
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = self.state();
        let Some(file) = state.volume.find(parent.0, name.as_bytes()) else { return reply.error(Errno::ENOENT) };
        if state.volume.names(file).is_none_or(|names| !names.is_empty()) {
            return reply.error(Errno::ENOTEMPTY);
        }
        state.perform(&Operation::Remove { directory: parent.0, name: name.as_bytes().to_vec() });
        reply.ok();
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut state = self.state();
        if flags.contains(RenameFlags::RENAME_EXCHANGE) {
            return reply.error(Errno::EINVAL);
        }
        if state.volume.find(parent.0, name.as_bytes()).is_none() {
            return reply.error(Errno::ENOENT);
        }
        let taken = state.volume.find(new_parent.0, new_name.as_bytes()).is_some();
        if taken && flags.contains(RenameFlags::RENAME_NOREPLACE) {
            return reply.error(Errno::EEXIST);
        }
        state.perform(&Operation::Rename {
            from: parent.0,
            name: name.as_bytes().to_vec(),
            to: new_parent.0,
            new_name: new_name.as_bytes().to_vec(),
        });
        reply.ok();
    }

    fn open(&self, _: &Request, file: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), flags(file.0));
    }

    fn read(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = self.state();
        let Some(Node::File { bytes, .. }) = state.volume.node(file.0) else { return reply.error(Errno::EBADF) };
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        let size = rest.len().min(usize::try_from(size).unwrap_or(usize::MAX));
        reply.data(rest.get(..size).unwrap_or_default());
    }

    fn write(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let bytes = Bytes::from(data);
        self.state().perform(&if file.0 == MARKS_FILE {
            Operation::Acknowledge { bytes }
        } else {
            Operation::Write { file: file.0, offset, bytes }
        });
        reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, file: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.state().perform(&Operation::Sync { file: file.0 });
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, directory: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.state().perform(&Operation::SyncDirectory { directory: directory.0 });
        reply.ok();
    }

    fn readdir(&self, _: &Request, directory: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let state = self.state();
        let Some(names) = state.volume.names(directory.0) else { return reply.error(Errno::ENOTDIR) };
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        for ((name, file), next) in names.iter().zip(1_u64..).skip(skip) {
            let kind = match state.volume.node(*file) {
                Some(Node::Directory { .. }) => FileType::Directory,
                _ => FileType::RegularFile,
            };
            if reply.add(INodeNo(*file), next, kind, OsStr::from_bytes(name)) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const BLOCKS: u64 = 1 << 24;
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCKS, BLOCK_SIZE, 255, BLOCK_SIZE);
    }
}
