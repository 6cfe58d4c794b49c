//! Which toolchains are on the `PATH`, and what they say their version is.

use super::Toolchain;
use samite_host::look::executable;
use samite_host::supervise::{Bounded, run_bounded};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Names, and the argument that makes each tell its version. Not among them are programs that run code of the
/// workspace before they answer (yarn), or fetch something (corepack).
const TOOLS: [(&str, &str); 27] = [
    ("bun", "--version"),
    ("cargo", "--version"),
    ("clang", "--version"),
    ("cmake", "--version"),
    ("deno", "--version"),
    ("docker", "--version"),
    ("dotnet", "--version"),
    ("gcc", "--version"),
    ("git", "--version"),
    ("go", "version"),
    ("gradle", "--version"),
    ("java", "-version"),
    ("javac", "-version"),
    ("make", "--version"),
    ("mvn", "--version"),
    ("node", "--version"),
    ("npm", "--version"),
    ("perl", "-v"),
    ("php", "--version"),
    ("podman", "--version"),
    ("python3", "--version"),
    ("ruby", "--version"),
    ("rustc", "--version"),
    ("sqlite3", "--version"),
    ("swift", "--version"),
    ("uv", "--version"),
    ("zig", "version"),
];

/// A program's file, where it is asked, and which of its states the answer is for.
type Question = (PathBuf, Option<PathBuf>, i64, u64);

/// The answers of this process's life. A process that lives long asks each program once, until its file changes.
static ANSWERS: OnceLock<Mutex<HashMap<Question, String>>> = OnceLock::new();

pub(super) fn find(
    workspace: Option<&Path>,
    previous: Option<&BTreeMap<String, Toolchain>>,
    time_limit: Duration,
) -> BTreeMap<String, Toolchain> {
    let cwd = workspace.filter(|workspace| workspace.is_dir());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = BTreeMap::new();
    let asked: Vec<(&str, Toolchain)> = std::thread::scope(|scope| {
        let mut asking = Vec::new();
        for (name, argument) in TOOLS {
            let Some((file, modified, size)) = on_path(name, &path) else { continue };
            let mut toolchain = Toolchain { path: file.to_string_lossy().into_owned(), version: None, modified, size };
            let known = previous.and_then(|previous| previous.get(name)).filter(|known| {
                (known.path.as_str(), known.modified, known.size) == (toolchain.path.as_str(), modified, size)
            });
            if let Some(version) = known.and_then(|known| known.version.clone()) {
                toolchain.version = Some(version);
                found.insert(name.to_owned(), toolchain);
                continue;
            }
            asking.push(scope.spawn(move || {
                toolchain.version = ask((file, cwd.map(Path::to_owned), modified, size), argument, time_limit);
                (name, toolchain)
            }));
        }
        asking.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    found.extend(asked.into_iter().map(|(name, toolchain)| (name.to_owned(), toolchain)));
    found
}

fn on_path(name: &str, path: &OsStr) -> Option<(PathBuf, i64, u64)> {
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find_map(|file| executable(&file).map(|(modified, size)| (file, modified, size)))
}

fn ask(question: Question, argument: &str, time_limit: Duration) -> Option<String> {
    let answers = ANSWERS.get_or_init(Mutex::default);
    if let Some(answer) = answers.lock().unwrap_or_else(PoisonError::into_inner).get(&question) {
        return Some(answer.clone());
    }
    let argv = [question.0.clone().into_os_string(), OsString::from(argument)];
    // A version must not cost a download.
    let env = [
        ("RUSTUP_AUTO_INSTALL", OsStr::new("0")),
        ("GOTOOLCHAIN", OsStr::new("local")),
        ("COREPACK_ENABLE_NETWORK", OsStr::new("0")),
        ("DOTNET_CLI_TELEMETRY_OPTOUT", OsStr::new("1")),
        ("NO_COLOR", OsStr::new("1")),
        ("LC_ALL", OsStr::new("C")),
    ];
    let bounded =
        Bounded { argv: &argv, cwd: question.1.as_deref(), env: &env, without: &[], output_limit: 4096, time_limit };
    let outcome = run_bounded(&bounded).ok().filter(|outcome| !outcome.timed_out)?;
    let answer = line(&outcome.stdout).or_else(|| line(&outcome.stderr))?;
    answers.lock().unwrap_or_else(PoisonError::into_inner).insert(question, answer.clone());
    Some(answer)
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn script(dir: &Path, name: &str, text: &str, modified: u64) -> PathBuf {
        let path = dir.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let time = std::time::UNIX_EPOCH + Duration::from_secs(modified);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    }

    fn version_of(path: &Path) -> Option<String> {
        let (modified, size) = executable(path).unwrap();
        ask((path.to_owned(), None, modified, size), "--version", Duration::from_mins(1))
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
        ] {
            assert_eq!(version_of(&script(dir.path(), name, text, 1)).as_deref(), right, "{name}");
        }
    }

    #[test]
    fn a_program_is_asked_again_only_when_its_file_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = script(dir.path(), "tool", "echo 1; echo x >> \"$0.asked\"", 1);
        let asked = || fs::read_to_string(dir.path().join("tool.asked")).unwrap().lines().count();
        assert_eq!(version_of(&path).as_deref(), Some("1"));
        assert_eq!(version_of(&path).as_deref(), Some("1"));
        assert_eq!(asked(), 1);
        script(dir.path(), "tool", "echo 2; echo x >> \"$0.asked\"", 2);
        assert_eq!(version_of(&path).as_deref(), Some("2"));
        assert_eq!(asked(), 2);
    }

    #[test]
    fn the_path_is_searched_in_order_and_only_for_programs() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        fs::write(first.join("tool"), "no program").unwrap();
        let right = script(&second, "tool", "echo 1", 5);
        let path = std::env::join_paths([Path::new("relative"), &first, &second]).unwrap();
        assert_eq!(on_path("tool", &path).unwrap().0, right);
        assert_eq!(on_path("other", &path), None);
    }
}
