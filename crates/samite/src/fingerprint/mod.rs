//! What a workspace's work depends on besides its files: toolchains, package manifests and locks, running services, the
//! system. Taken at checkpoints; compared at recovery, so that whoever resumes knows what is not as it was.

mod compare;
mod manifests;
mod resolve;
mod state;
mod told;
mod toolchains;

pub use compare::{Difference, Subject, compare};
pub(crate) use state::NAMES as STATE_FILES;
pub use state::{STATE_FILE_LIMIT, StateFile, state_files};

use resolve::Site;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long all toolchains together have to tell their versions: 2 seconds. Who takes longer is asked again next time.
pub const TIME_LIMIT: Duration = Duration::from_secs(2);

/// An environment, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The distribution, as it names itself.
    pub system: String,
    /// The kernel's name and release.
    pub kernel: String,
    /// The processor's architecture.
    pub architecture: String,
    /// The toolchains that the workspace's manifests call for, as they are on the `PATH`, by name.
    pub toolchains: BTreeMap<String, Toolchain>,
    /// The names of those that are called for and are not there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing: BTreeSet<String>,
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
    /// Where it is on the `PATH`.
    pub path: String,
    /// The file of the program itself, behind links and what chooses between versions.
    #[serde(default)]
    pub file: String,
    /// Its version, in one line; none when that cannot be told without side effects, or in time.
    pub version: Option<String>,
    /// When its file was changed, in nanoseconds since 1970.
    pub modified: i64,
    /// The size of its file in bytes.
    pub size: u64,
    /// The number of its file in the file system.
    #[serde(default)]
    pub inode: u64,
}

impl Toolchain {
    /// Whether another is the same file, as it is.
    fn is_file_of(&self, other: &Self) -> bool {
        (&self.file, self.modified, self.size, self.inode) == (&other.file, other.modified, other.size, other.inode)
    }
}

/// Takes the fingerprint of a workspace's environment, or of the environment alone. Blocks for at most about
/// [`TIME_LIMIT`], and changes nothing. Looks only at the toolchains that the workspace's
/// manifests call for; without a workspace, at those of `previous`, which is the last checkpoint's fingerprint, say. One
/// whose file is as it was in that is not asked for its version again.
pub fn take(workspace: Option<&Path>, previous: Option<&Fingerprint>) -> Fingerprint {
    take_on(&Site::of_this_process(), workspace, previous, TIME_LIMIT)
}

fn take_on(site: &Site, workspace: Option<&Path>, previous: Option<&Fingerprint>, time_limit: Duration) -> Fingerprint {
    let workspace = workspace.filter(|workspace| workspace.is_dir());
    let found = workspace.map(manifests::find).unwrap_or_default();
    let wanted = match (workspace, previous) {
        (None, Some(previous)) => previous.toolchains.keys().chain(&previous.missing).cloned().collect(),
        _ => toolchains::called_for(&found.names),
    };
    let (toolchains, missing) =
        toolchains::find(site, &wanted, workspace, previous.map(|previous| &previous.toolchains), time_limit);
    Fingerprint {
        system: system(),
        kernel: kernel(),
        architecture: std::env::consts::ARCH.to_owned(),
        toolchains,
        missing,
        manifests: found.hashes,
        manifests_cut: found.cut,
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

    const MINUTE: Duration = Duration::from_mins(1);

    /// A site whose programs are scripts that note when they are run.
    fn site(dir: &Path, programs: &[(&str, &str)]) -> Site {
        let bin = dir.join("bin");
        fs::create_dir_all(&bin).unwrap();
        for (name, script) in programs {
            let path = bin.join(name);
            fs::write(&path, format!("#!/bin/sh\necho {name} >> {}\n{script}\n", dir.join("asked").display())).unwrap();
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        Site { path: bin.into_os_string(), ..Site::default() }
    }

    fn asked(dir: &Path) -> Vec<String> {
        let mut asked: Vec<String> =
            fs::read_to_string(dir.join("asked")).unwrap_or_default().lines().map(str::to_owned).collect();
        asked.sort();
        asked
    }

    #[test]
    fn only_what_the_manifests_call_for_is_asked_and_only_once() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("Cargo.toml"), "[package]").unwrap();
        let programs =
            [("cargo", "echo cargo 1.2"), ("rustc", "echo 'no toolchain 7' >&2; exit 1"), ("node", "echo v20")];
        let site = site(dir.path(), &programs);
        let before = take_on(&site, Some(&work), None, MINUTE);
        assert_eq!(asked(dir.path()), ["cargo", "rustc"]);
        assert!(before.kernel.starts_with("Linux "), "{}", before.kernel);
        assert!(!before.system.is_empty() && !before.architecture.is_empty() && !before.manifests_cut);
        let names: Vec<&str> = before.toolchains.keys().map(String::as_str).collect();
        assert_eq!(names, ["cargo", "rustc"]);
        assert_eq!(before.toolchains["cargo"].version.as_deref(), Some("cargo 1.2"));
        assert_eq!(before.toolchains["rustc"].version, None, "what a failure says is no version");

        // What has told its version is not asked again, although a manifest changed; what has not, is.
        fs::write(work.join("Cargo.toml"), "[workspace]").unwrap();
        let again = take_on(&site, Some(&work), Some(&before), MINUTE);
        assert_eq!(asked(dir.path()), ["cargo", "rustc", "rustc"]);
        assert_eq!(again.toolchains, before.toolchains);
        let differences = compare(&before, &Fingerprint { services: before.services.clone(), ..again.clone() });
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].words(), "manifest Cargo.toml has changed");
        let json = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), before);

        // Another program in its place is asked.
        super::tests::site(dir.path(), &[("cargo", "echo cargo 1.3.1")]);
        let changed = take_on(&site, Some(&work), Some(&again), MINUTE);
        assert_eq!(changed.toolchains["cargo"].version.as_deref(), Some("cargo 1.3.1"));
        // What is called for and not there is told, and what is no longer called for is not missed.
        fs::write(work.join("go.mod"), "module x").unwrap();
        fs::remove_file(work.join("Cargo.toml")).unwrap();
        let other = take_on(&site, Some(&work), Some(&changed), MINUTE);
        assert!(other.toolchains.is_empty());
        assert_eq!(other.missing, BTreeSet::from(["go".to_owned()]));
    }

    #[test]
    fn without_a_workspace_the_toolchains_of_before_are_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("package.json"), "{}").unwrap();
        fs::write(work.join("go.mod"), "module x").unwrap();
        let site = site(dir.path(), &[("node", "echo v20"), ("cargo", "echo 1")]);
        let before = take_on(&site, Some(&work), None, MINUTE);
        fs::remove_dir_all(&work).unwrap();
        for workspace in [None, Some(work.as_path())] {
            let now = take_on(&site, workspace, Some(&before), MINUTE);
            assert_eq!((&now.toolchains, &now.missing), (&before.toolchains, &before.missing));
            assert!(now.manifests.is_empty());
        }
        fs::remove_file(dir.path().join("bin/node")).unwrap();
        let gone = take_on(&site, None, Some(&before), MINUTE);
        assert_eq!(gone.missing, BTreeSet::from(["go".to_owned(), "node".to_owned()]));
        assert_eq!(asked(dir.path()), ["node"]);
        assert!(take_on(&site, None, None, MINUTE).toolchains.is_empty());
    }

    #[test]
    fn a_fingerprint_of_before_is_read() {
        let text = r#"{"system":"a","kernel":"b","architecture":"c","toolchains":
            {"git":{"path":"/usr/bin/git","version":"git version 2","modified":1,"size":2}},
            "manifests":{},"services":[]}"#;
        let old: Fingerprint = serde_json::from_str(text).unwrap();
        assert_eq!((old.toolchains["git"].inode, old.missing.len()), (0, 0));
    }
}
