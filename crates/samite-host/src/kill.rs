//! Named points at which a test makes the process die.

/// Dies here by SIGKILL when the environment's `SAMITE_KILL_POINT` is this name, or `name:N` at the Nth time. When
/// `SAMITE_KILL_HOLD` names a file, it writes its process id there and stops (SIGSTOP) instead, so that a test can say
/// who dies. When `SAMITE_KILL_TRACE` names a file, the name of every point that is passed is appended to it.
///
/// Without the feature `kill-points` this is nothing.
#[cfg(not(feature = "kill-points"))]
#[inline]
pub fn kill_point(_name: &str) {}

/// Dies here by SIGKILL when the environment's `SAMITE_KILL_POINT` is this name, or `name:N` at the Nth time. When
/// `SAMITE_KILL_HOLD` names a file, it writes its process id there and stops (SIGSTOP) instead, so that a test can say
/// who dies. When `SAMITE_KILL_TRACE` names a file, the name of every point that is passed is appended to it.
#[cfg(feature = "kill-points")]
pub fn kill_point(name: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static HITS: AtomicU64 = AtomicU64::new(0);

    append("SAMITE_KILL_TRACE", name);
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("SAMITE_KILL_POINT").ok()?;
        Some(match text.rsplit_once(':').and_then(|(name, times)| Some((name, times.parse().ok()?))) {
            Some((name, times)) => (name.to_owned(), times),
            None => (text, 1),
        })
    });
    if let Some((wanted, times)) = wanted
        && wanted == name
        && HITS.fetch_add(1, Ordering::SeqCst) + 1 == *times
    {
        let held = append("SAMITE_KILL_HOLD", &std::process::id().to_string());
        let _ = kill_process(getpid(), if held { Signal::STOP } else { Signal::KILL });
        while held && is_stop_pending() {
            std::thread::yield_now();
        }
    }
}

/// Whether the process was told to stop and has not begun to. The kernel gives such a signal to a thread of its choice;
/// until that one has the processor, this one would run on, past its point.
#[cfg(feature = "kill-points")]
#[expect(clippy::disallowed_methods, reason = "the kernel's table, which is no file of a store")]
fn is_stop_pending() -> bool {
    const STOP: u64 = 1 << 18;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & STOP != 0)
}

/// Appends a line to the file that a variable names, in one write; whether there is one.
#[cfg(feature = "kill-points")]
fn append(variable: &str, line: &str) -> bool {
    use std::io::Write as _;
    let Some(path) = std::env::var_os(variable) else { return false };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).is_ok()
}
