//! Named points at which a test makes the process die.

/// Dies here by SIGKILL when the environment's `SAMITE_KILL_POINT` is this name, or `name:N` at the Nth time.
///
/// Without the feature `kill-points` this is nothing.
#[cfg(not(feature = "kill-points"))]
#[inline]
pub fn kill_point(_name: &str) {}

/// Dies here by SIGKILL when the environment's `SAMITE_KILL_POINT` is this name, or `name:N` at the Nth time.
#[cfg(feature = "kill-points")]
pub fn kill_point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static HITS: AtomicU64 = AtomicU64::new(0);

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
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
