//! A control group for a command: the one way to end all of its processes that none of them can dodge.

use super::table;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whether a command gets a control group of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cgroup {
    /// When this machine lets us make one.
    #[default]
    Auto,
    /// Yes; starting fails where that cannot be.
    Yes,
    /// No: descendants are found by walking the process table.
    No,
}

/// Makes a group called `name` below our own.
///
/// # Errors
/// When cgroup v2 is not mounted, too old to have `cgroup.kill`, or not ours to write.
pub(super) fn make(name: &str) -> io::Result<PathBuf> {
    let mounts = table::read("/proc/self/mountinfo")?;
    let groups = table::read("/proc/self/cgroup")?;
    let own = own_group(&String::from_utf8_lossy(&mounts), &String::from_utf8_lossy(&groups))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "cgroup v2 is not mounted"))?;
    // Whoever may move processes into the new group must be able to take them out of ours.
    std::fs::OpenOptions::new().write(true).open(own.join("cgroup.procs"))?;
    let group = own.join(name);
    std::fs::create_dir(&group)?;
    let usable = ["cgroup.kill", "cgroup.procs"]
        .iter()
        .try_for_each(|file| std::fs::OpenOptions::new().write(true).open(group.join(file)).map(drop));
    if let Err(error) = usable {
        remove(&group);
        return Err(error);
    }
    Ok(group)
}

/// Puts this process into a group.
pub(super) fn join(group: &Path) -> io::Result<()> {
    write(&group.join("cgroup.procs"), b"0")
}

/// Sends SIGKILL to everything in a group, at once.
pub(super) fn kill(group: &Path) -> io::Result<()> {
    write(&group.join("cgroup.kill"), b"1")
}

/// The pids in a group; none when the group is gone.
pub(super) fn members(group: &Path) -> Vec<u32> {
    let Some(path) = group.join("cgroup.procs").to_str().map(str::to_owned) else { return Vec::new() };
    let bytes = table::read(&path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().filter_map(|line| line.parse().ok()).collect()
}

/// Removes a group, with those below it, as far as they are empty.
pub(super) fn remove(group: &Path) {
    if let Ok(entries) = std::fs::read_dir(group) {
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            remove(&entry.path());
        }
    }
    std::fs::remove_dir(group).ok();
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
}

/// The directory of our own group, from what `/proc/self/mountinfo` and `/proc/self/cgroup` say.
fn own_group(mounts: &str, groups: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // The mount may show only a part of the hierarchy.
        let below = if root == "/" { own } else { own.strip_prefix(root)? };
        Some(Path::new(point).join(below.trim_start_matches('/')))
    })
}

#[cfg(test)]
mod tests {
    use super::own_group;
    use std::path::PathBuf;

    #[test]
    fn our_group_is_found_in_each_layout() {
        let unified = "26 23 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        let user = "0::/user.slice/user-1000.slice/session-2.scope";
        let expected = "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope";
        assert_eq!(own_group(unified, user), Some(PathBuf::from(expected)));
        let hybrid = "31 22 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        assert_eq!(own_group(hybrid, "8:pids:/\n0::/"), Some(PathBuf::from("/sys/fs/cgroup/unified/")));
        let part = "26 23 0:22 /machine/box /sys/fs/cgroup ro - cgroup2 cgroup rw";
        assert_eq!(own_group(part, "0::/machine/box/init"), Some(PathBuf::from("/sys/fs/cgroup/init")));
        assert_eq!(own_group(part, "0::/elsewhere"), None);
        assert_eq!(own_group("", "0::/"), None);
        assert_eq!(own_group(unified, "8:pids:/"), None);
    }
}
