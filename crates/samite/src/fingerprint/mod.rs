//! What a workspace's work depends on besides its files: toolchains, package manifests and locks, running services, the
//! system. Taken at checkpoints; compared at recovery, so that whoever resumes knows what is not as it was.

mod compare;
mod manifests;
mod state;
mod toolchains;

pub use compare::{Difference, Subject, compare};
pub use state::{STATE_FILE_LIMIT, StateFile, state_files};

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long all toolchains together have to tell their versions: 5 seconds.
pub const TIME_LIMIT: Duration = Duration::from_secs(5);

/// An environment, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The distribution, as it names itself.
    pub system: String,
    /// The kernel's name and release.
    pub kernel: String,
    /// The processor's architecture.
    pub architecture: String,
    /// What is on the `PATH`, by name.
    pub toolchains: BTreeMap<String, Toolchain>,
    /// SHA-256 of package manifests and lock files, by path relative to the workspace.
    pub manifests: BTreeMap<String, String>,
    /// Whether the workspace has more of them than were looked at.
    #[serde(default)]
    pub manifests_cut: bool,
    /// Names of the processes that listen on a TCP port, as far as they can be seen.
    pub services: BTreeSet<String>,
}

/// A program that builds or runs things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// Where it is.
    pub path: String,
    /// What it says about its version, in one line; none when it did not answer in time.
    pub version: Option<String>,
    /// When its file was changed, in nanoseconds since 1970.
    pub modified: i64,
    /// The size of its file in bytes.
    pub size: u64,
}

/// Takes the fingerprint of a workspace's environment, or of the environment alone. Blocks for at most about the time
/// limit. A toolchain whose file is as it was in `previous` (the last checkpoint's, say) is not asked again, unless the
/// workspace's manifests, which may choose its version, have changed; give none to ask all.
pub fn take(workspace: Option<&Path>, previous: Option<&Fingerprint>, time_limit: Duration) -> Fingerprint {
    let (manifests, manifests_cut) = workspace.map(manifests::find).unwrap_or_default();
    let previous = previous.filter(|previous| previous.manifests == manifests).map(|previous| &previous.toolchains);
    Fingerprint {
        system: system(),
        kernel: kernel(),
        architecture: std::env::consts::ARCH.to_owned(),
        toolchains: toolchains::find(workspace, previous, time_limit),
        manifests,
        manifests_cut,
        services: samite_host::services::listening(),
    }
}

fn system() -> String {
    let text = text_of("/etc/os-release");
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| std::env::consts::OS.to_owned(), |name| name.trim_matches('"').to_owned())
}

fn kernel() -> String {
    let part = |name: &str| text_of(&format!("/proc/sys/kernel/{name}")).trim().to_owned();
    format!("{} {}", part("ostype"), part("osrelease")).trim().to_owned()
}

fn text_of(path: &str) -> String {
    samite_host::files::read(Path::new(path))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the workspace that is looked at is made directly")]
    use super::*;
    use std::fs;

    #[test]
    fn an_environment_is_like_itself_and_differs_where_it_changed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Cargo.toml"), "[package]").unwrap();
        let before = take(Some(dir.path()), None, TIME_LIMIT);
        assert!(before.kernel.starts_with("Linux "), "{}", before.kernel);
        assert!(!before.system.is_empty() && !before.architecture.is_empty());
        let git = &before.toolchains["git"];
        assert!(git.version.as_ref().unwrap().starts_with("git version "), "{git:?}");
        assert!(!before.manifests_cut);
        let again = take(Some(dir.path()), Some(&before), TIME_LIMIT);
        assert_eq!(again.toolchains, before.toolchains);
        assert_eq!(compare(&before, &Fingerprint { services: before.services.clone(), ..again }), []);

        fs::write(dir.path().join("Cargo.toml"), "[workspace]").unwrap();
        let changed = take(Some(dir.path()), Some(&before), TIME_LIMIT);
        let differences = compare(&before, &Fingerprint { services: before.services.clone(), ..changed });
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].words(), "manifest Cargo.toml has changed");
        let json = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), before);
    }

    #[test]
    fn without_a_workspace_there_is_still_an_environment() {
        let alone = take(None, None, TIME_LIMIT);
        assert!(alone.manifests.is_empty() && alone.toolchains.contains_key("git"));
        let gone = take(Some(Path::new("/nonexistent/workspace")), None, TIME_LIMIT);
        assert!(gone.manifests.is_empty());
        assert!(gone.toolchains["git"].version.is_some());
    }
}
