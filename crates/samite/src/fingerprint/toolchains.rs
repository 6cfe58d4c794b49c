//! Which toolchains a workspace's manifests call for, and which version of each is on the `PATH`.
//!
//! Looking changes nothing: a version is read from the program's own files where it writes one there, else the program
//! itself is run, where nothing lets it write and nothing lets it fetch. What chooses between versions, and may install
//! one, is never run.

use super::manifests::is_requirements;
use super::resolve::{Site, locate};
use super::{Toolchain, told};
use samite_host::look::Program;
use samite_host::supervise::{Bounded, run_bounded};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// How a program's version is found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// It is run with this argument.
    Run(&'static str),
    /// The Go distribution says it in a file; else it is run with this argument.
    Go(&'static str),
    /// A Java runtime says it in a file.
    Java,
    /// A jar in its distribution has it in its name, after this.
    Jar(&'static str),
    /// The package that its script belongs to says it.
    Package,
    /// The folders beside it are called by it.
    Sdks,
}

const RUST: &[&str] = &["Cargo.lock", "Cargo.toml", "rust-toolchain", "rust-toolchain.toml"];
const NODE: &[&str] =
    &[".nvmrc", "npm-shrinkwrap.json", "package-lock.json", "package.json", "pnpm-lock.yaml", "yarn.lock"];
const PYTHON: &[&str] = &[
    ".python-version",
    "Pipfile",
    "Pipfile.lock",
    "environment.yml",
    "poetry.lock",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
    "uv.lock",
];
const CONTAINERS: &[&str] = &["Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];
const GRADLE: &[&str] = &["build.gradle", "build.gradle.kts", "gradle.lockfile"];
const C: &[&str] = &["CMakeLists.txt", "Makefile", "configure.ac", "meson.build"];

/// Names, the manifests and build files that call for each, and how its version is found.
const TOOLS: [(&str, &[&str], Way); 26] = [
    ("bun", &["bun.lock", "bun.lockb"], Way::Run("--version")),
    ("cargo", RUST, Way::Run("--version")),
    ("cmake", &["CMakeLists.txt"], Way::Run("--version")),
    ("deno", &["deno.json", "deno.lock"], Way::Run("--version")),
    ("docker", CONTAINERS, Way::Run("--version")),
    ("dotnet", &["global.json", "packages.lock.json"], Way::Sdks),
    ("gcc", C, Way::Run("--version")),
    ("git", &[".git"], Way::Run("--version")),
    ("go", &["go.mod", "go.sum", "go.work"], Way::Go("version")),
    ("gradle", GRADLE, Way::Jar("gradle-core-")),
    ("java", &["build.gradle", "build.gradle.kts", "gradle.lockfile", "pom.xml"], Way::Java),
    ("make", &["Makefile"], Way::Run("--version")),
    ("meson", &["meson.build"], Way::Run("--version")),
    ("mvn", &["pom.xml"], Way::Jar("maven-core-")),
    ("node", NODE, Way::Run("--version")),
    ("npm", &["npm-shrinkwrap.json", "package-lock.json"], Way::Package),
    ("php", &["composer.json", "composer.lock"], Way::Run("--version")),
    ("pnpm", &["pnpm-lock.yaml"], Way::Package),
    ("podman", CONTAINERS, Way::Run("--version")),
    ("python3", PYTHON, Way::Run("--version")),
    ("ruby", &["Gemfile", "Gemfile.lock"], Way::Run("--version")),
    ("rustc", RUST, Way::Run("--version")),
    ("swift", &["Package.resolved", "Package.swift"], Way::Run("--version")),
    ("uv", &["uv.lock"], Way::Run("--version")),
    ("yarn", &["yarn.lock"], Way::Package),
    ("zig", &["build.zig.zon"], Way::Run("version")),
];

/// Where a program that would write finds no place to, and what keeps it from fetching.
const HARMLESS: [(&str, &str); 12] = [
    ("HOME", NOWHERE),
    ("XDG_CACHE_HOME", NOWHERE),
    ("XDG_CONFIG_HOME", NOWHERE),
    ("XDG_DATA_HOME", NOWHERE),
    ("XDG_STATE_HOME", NOWHERE),
    ("CARGO_HOME", NOWHERE),
    ("GOTOOLCHAIN", "local"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("RUSTUP_AUTO_INSTALL", "0"),
    ("UV_NO_CACHE", "1"),
    ("NO_COLOR", "1"),
    ("LC_ALL", "C"),
];

/// No directory, and nobody can make one below it.
const NOWHERE: &str = "/dev/null";

/// The names of the toolchains that files of these names call for.
pub(super) fn called_for(names: &BTreeSet<String>) -> BTreeSet<String> {
    let calls = |by: &[&str], name: &str| by.contains(&name) || (is_requirements(name) && by == PYTHON);
    let called = |by: &[&str]| names.iter().any(|name| calls(by, name));
    TOOLS.iter().filter(|(_, by, _)| called(by)).map(|(name, ..)| (*name).to_owned()).collect()
}

/// The wanted toolchains that are there, and the names of those that are not.
pub(super) fn find(
    site: &Site,
    wanted: &BTreeSet<String>,
    workspace: Option<&Path>,
    previous: Option<&BTreeMap<String, Toolchain>>,
    time_limit: Duration,
) -> (BTreeMap<String, Toolchain>, BTreeSet<String>) {
    let (mut found, mut missing) = (BTreeMap::new(), BTreeSet::new());
    let asked: Vec<(String, Toolchain)> = std::thread::scope(|scope| {
        let mut asking = Vec::new();
        for name in wanted {
            let Some((_, _, way)) = TOOLS.iter().find(|(tool, ..)| tool == name) else { continue };
            let known = previous.and_then(|previous| previous.get(name));
            let Some(located) = locate(site, name, workspace, known) else {
                missing.insert(name.clone());
                continue;
            };
            let mut toolchain = located.toolchain();
            let Some(program) = located.program else {
                found.insert(name.clone(), toolchain);
                continue;
            };
            toolchain.version = told::version(*way, name, &program.file);
            let asks = match way {
                Way::Run(argument) | Way::Go(argument) if toolchain.version.is_none() => *argument,
                _ => {
                    found.insert(name.clone(), toolchain);
                    continue;
                }
            };
            // A program that is as it was says what it said.
            if let Some(known) = known.filter(|known| known.version.is_some() && known.is_file_of(&toolchain)) {
                toolchain.version.clone_from(&known.version);
                found.insert(name.clone(), toolchain);
                continue;
            }
            // What belongs to the workspace may have been made there, to do anything.
            if workspace.is_some_and(|workspace| is_below(&program.file, workspace)) {
                found.insert(name.clone(), toolchain);
                continue;
            }
            asking.push(scope.spawn(move || {
                toolchain.version = ask(&program, asks, time_limit);
                (name.clone(), toolchain)
            }));
        }
        asking.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    found.extend(asked);
    (found, missing)
}

fn is_below(file: &Path, directory: &Path) -> bool {
    samite_host::files::canonical(directory).map_or(true, |directory| file.starts_with(directory))
}

/// What a program says about its version; none when it fails, or takes too long.
fn ask(program: &Program, argument: &str, time_limit: Duration) -> Option<String> {
    let argv = [program.file.clone().into_os_string(), OsString::from(argument)];
    let env = HARMLESS.map(|(name, value)| (name, OsStr::new(value)));
    let bounded = Bounded { cwd: Some(Path::new("/")), env: &env, ..Bounded::new(&argv, time_limit) };
    let outcome = run_bounded(&bounded).ok().filter(|outcome| outcome.status == Some(0))?;
    line(&outcome.stdout).or_else(|| line(&outcome.stderr))
}

/// The first line with a number in it, without the colours that some print into a pipe too.
fn line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(plain).find(|line| line.bytes().any(|byte| byte.is_ascii_digit()))?;
    Some(line.trim().chars().take(200).collect())
}

/// A line without control characters and the sequences that `ESC [` begins.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.trim_start_matches(|part: char| !part.is_ascii_alphabetic()).get(1..).unwrap_or_default());
    }
    plain.retain(|character| !character.is_control());
    plain
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the programs that are asked are made directly")]
    use super::*;
    use samite_host::look;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn script(dir: &Path, name: &str, text: &str) -> Program {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        look::program(&path).unwrap()
    }

    fn version_of(program: &Program) -> Option<String> {
        ask(program, "--version", Duration::from_mins(1))
    }

    #[test]
    fn every_tool_is_called_for_by_something_that_is_looked_at() {
        assert!(TOOLS.is_sorted_by_key(|(name, ..)| *name));
        let called = |names: &[&str]| -> Vec<String> {
            called_for(&names.iter().map(|name| (*name).to_owned()).collect()).into_iter().collect()
        };
        assert_eq!(called(&["Cargo.toml"]), ["cargo", "rustc"]);
        assert_eq!(called(&["rust-toolchain"]), ["cargo", "rustc"]);
        assert_eq!(called(&["package.json"]), ["node"]);
        assert_eq!(called(&["package-lock.json"]), ["node", "npm"]);
        assert_eq!(called(&["pyproject.toml"]), ["python3"]);
        assert_eq!(called(&["requirements-dev.txt"]), ["python3"]);
        assert_eq!(called(&["go.mod"]), ["go"]);
        assert_eq!(called(&[".git", "pom.xml"]), ["git", "java", "mvn"]);
        assert_eq!(called(&["README.md"]), Vec::<String>::new());
        assert_eq!(called(&[]), Vec::<String>::new());
    }

    #[test]
    fn the_first_line_with_a_number_is_the_version() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text, right) in [
            ("a", "echo tool 1.2; echo more 3", Some("tool 1.2")),
            ("b", "echo; echo '  Tool'; echo 'Version 7  '", Some("Version 7")),
            ("c", "echo 'openjdk version \"21\"' >&2", Some("openjdk version \"21\"")),
            ("d", "exit 1", None),
            ("e", r"printf '\033[1mApache Maven 3.8.7\033[0;1m!\033[m\n'", Some("Apache Maven 3.8.7!")),
            ("f", "echo 'error: toolchain 1.95 is not installed' >&2; exit 1", None),
            ("g", "echo 2.1; exit 2", None),
            ("h", "echo 2.1; kill -9 $$", None),
        ] {
            assert_eq!(version_of(&script(dir.path(), name, text)).as_deref(), right, "{name}");
        }
    }

    #[test]
    fn a_program_that_is_asked_finds_no_home_to_write_into() {
        let dir = tempfile::tempdir().unwrap();
        let text = "mkdir -p \"$HOME/.tool\" 2>/dev/null && echo wrote 1; echo \"$HOME $XDG_CACHE_HOME 2\"";
        assert_eq!(version_of(&script(dir.path(), "tool", text)).as_deref(), Some("/dev/null /dev/null 2"));
        let slow = script(dir.path(), "slow", "echo 1; sleep 600");
        assert_eq!(ask(&slow, "--version", Duration::from_millis(50)), None);
    }

    #[test]
    fn a_program_of_the_workspace_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("work/bin");
        fs::create_dir_all(&bin).unwrap();
        script(&bin, "node", "echo v20; echo >> \"$0.ran\"");
        let site = Site { path: bin.clone().into_os_string(), ..Site::default() };
        let wanted = BTreeSet::from(["node".to_owned()]);
        let work = dir.path().join("work");
        let (found, missing) = find(&site, &wanted, Some(&work), None, Duration::from_mins(1));
        assert!(missing.is_empty() && found["node"].version.is_none());
        assert!(!bin.join("node.ran").exists());
        let (found, _) = find(&site, &wanted, Some(&dir.path().join("work/other")), None, Duration::from_mins(1));
        assert_eq!(found["node"].version, None, "a workspace that cannot be looked at may be anywhere");
    }
}
