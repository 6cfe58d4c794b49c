//! What listens on this machine, by name: never with arguments, which may hold secrets.

use crate::files;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// How many processes, and files of each, are looked at.
const MOST_PROCESSES: usize = 8192;
const MOST_FILES: usize = 4096;

/// The names of the processes that listen on a TCP port, as far as we may look into them.
pub fn listening() -> BTreeSet<String> {
    let mut sockets = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        if let Ok(text) = files::read(Path::new(table)) {
            sockets.extend(listening_sockets(&String::from_utf8_lossy(&text)));
        }
    }
    let mut names = BTreeSet::new();
    if sockets.is_empty() {
        return names;
    }
    let Ok(processes) = files::list(Path::new("/proc")) else { return names };
    let pids = processes.iter().filter_map(|name| name.to_str()?.parse::<u32>().ok());
    for pid in pids.take(MOST_PROCESSES) {
        let process = Path::new("/proc").join(pid.to_string());
        let Ok(open) = std::fs::read_dir(process.join("fd")) else { continue };
        let listens = open.flatten().take(MOST_FILES).any(|file| {
            let target = std::fs::read_link(file.path()).unwrap_or_default();
            let inode = target.to_str().and_then(|target| target.strip_prefix("socket:[")?.strip_suffix(']'));
            inode.and_then(|inode| inode.parse().ok()).is_some_and(|inode: u64| sockets.contains(&inode))
        });
        if listens && let Ok(name) = files::read(&process.join("comm")) {
            names.insert(String::from_utf8_lossy(&name).trim().to_owned());
        }
    }
    names
}

/// The inodes of listening sockets (state 0A) in a table of the kernel.
fn listening_sockets(table: &str) -> Vec<u64> {
    let fields = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(3);
        let state = fields.next()?;
        let inode = fields.nth(5)?;
        (state == "0A").then(|| inode.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4 30 10 -1\n";
        assert_eq!(listening_sockets(table), [4711]);
    }

    #[test]
    fn a_process_that_listens_is_found_by_its_name() {
        let _listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // The name of a test's thread is not that of its process, which is what others see.
        let process = std::fs::read_link("/proc/self/exe").unwrap();
        let name = process.file_name().unwrap().to_str().unwrap();
        assert!(listening().iter().any(|found| name.starts_with(found.as_str())), "{:?}", listening());
    }
}
