//! Where harnesses keep their transcripts, and how they are resumed. Pure, but for looking which directory Gemini CLI has given
//! a project.

use super::Target;
use crate::hook::Harness;
use samite_host::files;
use samite_model::Result;
use std::path::{Path, PathBuf};

/// Where a new transcript goes, with a file that must be there too for the harness to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// Gemini CLI knows a project's directory by a file in it that names the project.
    pub(super) marker: Option<(PathBuf, String)>,
}

/// The place of a transcript for a target, beside the harness's own of the session before, which worked in `from`.
pub(super) fn place(harness: Harness, own: &Path, from: &Path, target: &Target) -> Result<Place> {
    let directory = Path::new(&target.directory);
    let beside = own.parent().unwrap_or(Path::new(""));
    let date = |format: &str| {
        jiff::Timestamp::from_nanosecond(i128::from(target.now))
            .map(|time| time.strftime(format).to_string())
            .unwrap_or_default()
    };
    let plain = |path: PathBuf| Ok(Place { path, marker: None });
    match harness {
        Harness::ClaudeCode => {
            let name = format!("{}.jsonl", target.session);
            if directory == from {
                return plain(beside.join(name));
            }
            let projects = beside.parent().unwrap_or(beside);
            plain(projects.join(claude_project(&target.directory)).join(name))
        }
        Harness::Codex => {
            let name = format!("rollout-{}-{}.jsonl", date("%Y-%m-%dT%H-%M-%S"), target.session);
            // sessions/YEAR/MONTH/DAY
            let sessions = beside.ancestors().find(|above| above.file_name().is_some_and(|name| name == "sessions"));
            plain(sessions.map_or_else(|| beside.to_owned(), |sessions| sessions.join(date("%Y/%m/%d"))).join(name))
        }
        Harness::GeminiCli => {
            // Not the session's first digits, as Gemini CLI itself would have it: when a session is resumed, it makes a file of
            // that name with nothing in it, and at its next start takes that away again with every file of the same ending.
            let end: String = target.session.chars().skip(target.session.len().saturating_sub(8)).collect();
            let name = format!("session-{}-{end}.jsonl", date("%Y-%m-%dT%H-%M"));
            let project = beside.parent().unwrap_or(beside);
            let projects = project.parent().unwrap_or(project);
            if directory == from {
                return plain(beside.join(name));
            }
            let project = match gemini_project(projects, &target.directory)? {
                Some(known) => known,
                None => projects.join(format!("{}-{end}", slug(directory))),
            };
            let marker = Some((project.join(GEMINI_MARKER), target.directory.clone()));
            Ok(Place { path: project.join("chats").join(name), marker })
        }
    }
}

const GEMINI_MARKER: &str = ".project_root";

/// The directory that Gemini CLI has for a project.
fn gemini_project(projects: &Path, directory: &str) -> Result<Option<PathBuf>> {
    if !files::exists(projects)? {
        return Ok(None);
    }
    for name in files::list(projects)? {
        let marker = projects.join(&name).join(GEMINI_MARKER);
        let owner = files::read_if_exists(&marker).ok().flatten();
        if owner.is_some_and(|owner| String::from_utf8_lossy(&owner).trim() == directory) {
            return Ok(Some(projects.join(name)));
        }
    }
    Ok(None)
}

/// A directory's own name, as a name of a project.
fn slug(directory: &Path) -> String {
    let name = directory.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().to_lowercase());
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).take(64).collect()
}

/// So many letters of a project's path are in the name of its directory, and a hash of the path beyond.
const CLAUDE_NAME: usize = 200;

/// Claude Code's directory of a project: its path with other characters as dashes, of what is no ASCII as many as JavaScript
/// counts, in UTF-16. The name of a long one ends with JavaScript's usual hash of the whole path, in base 36.
fn claude_project(directory: &str) -> String {
    let units = || directory.encode_utf16();
    let is_plain = |unit: &char| unit.is_ascii_alphanumeric();
    let mut name: String =
        units().map(|unit| char::from_u32(u32::from(unit)).filter(is_plain).unwrap_or('-')).collect();
    if name.len() > CLAUDE_NAME {
        let hash = units().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
        name.truncate(CLAUDE_NAME);
        name.push('-');
        name.push_str(&base36(hash.unsigned_abs()));
    }
    name
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// The command with which the harness resumes a session.
pub(super) fn command(harness: Harness, session: &str) -> Vec<String> {
    let words: [&str; 3] = match harness {
        Harness::ClaudeCode => ["claude", "--resume", session],
        Harness::Codex => ["codex", "resume", session],
        Harness::GeminiCli => ["gemini", "--resume", session],
    };
    words.map(ToOwned::to_owned).to_vec()
}

/// A session's id for a harness: sixteen bytes as a UUID.
pub(crate) fn uuid(bytes: &[u8; 16]) -> String {
    let digits = data_encoding::HEXLOWER.encode(bytes);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// The bytes of a session's id for a harness, where it is a UUID in lower case.
pub(crate) fn uuid_bytes(session: &str) -> Option<[u8; 16]> {
    let bytes: [u8; 16] = data_encoding::HEXLOWER.decode(session.replace('-', "").as_bytes()).ok()?.try_into().ok()?;
    (uuid(&bytes) == session).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "0f0e0d0c-0b0a-0908-0706-050403020100";

    fn placed(harness: Harness, own: &str, directory: &str) -> String {
        let target = Target {
            session: SESSION.to_owned(),
            directory: directory.to_owned(),
            moved: None,
            now: 1_795_974_821_372_000_000,
        };
        place(harness, Path::new(own), Path::new("/work/a b"), &target).unwrap().path.display().to_string()
    }

    #[test]
    fn transcripts_go_where_the_harness_looks_for_them() {
        let claude = "/h/.claude/projects/-work-a-b/old.jsonl";
        for (harness, own, directory, expected) in [
            (Harness::ClaudeCode, claude, "/work/a b", format!("/h/.claude/projects/-work-a-b/{SESSION}.jsonl")),
            (Harness::ClaudeCode, claude, "/work/c.d", format!("/h/.claude/projects/-work-c-d/{SESSION}.jsonl")),
            (
                Harness::Codex,
                "/h/.codex/sessions/2026/01/02/rollout-x.jsonl",
                "/work/c",
                format!("/h/.codex/sessions/2026/11/29/rollout-2026-11-29T17-53-41-{SESSION}.jsonl"),
            ),
            (
                Harness::Codex,
                "/h/odd/x.jsonl",
                "/work/c",
                format!("/h/odd/rollout-2026-11-29T17-53-41-{SESSION}.jsonl"),
            ),
            (
                Harness::GeminiCli,
                "/h/.gemini/tmp/a-b/chats/session-x-0f0e0d0c.jsonl",
                "/work/a b",
                "/h/.gemini/tmp/a-b/chats/session-2026-11-29T17-53-03020100.jsonl".to_owned(),
            ),
            (
                Harness::GeminiCli,
                "/h/.gemini/tmp/a-b/chats/session-x-0f0e0d0c.jsonl",
                "/work/C d",
                "/h/.gemini/tmp/c-d-03020100/chats/session-2026-11-29T17-53-03020100.jsonl".to_owned(),
            ),
        ] {
            assert_eq!(placed(harness, own, directory), expected);
        }
    }

    #[test]
    fn claude_code_names_a_project_by_what_javascript_makes_of_its_path() {
        // Right sides as a JavaScript engine computes them.
        let deep = format!("/w/{}🙂é", "deep_dir/".repeat(30));
        for (directory, name) in [
            ("/work/a_b/.c d", "-work-a-b--c-d".to_owned()),
            ("/w/é/文档/🙂", "-w--------".to_owned()),
            (&format!("/{}", "a".repeat(199)), format!("-{}", "a".repeat(199))),
            (&format!("/{}", "a".repeat(200)), format!("-{}-b6ymvl", "a".repeat(199))),
            (&deep, format!("-w-{}deep-dir-kmtfoj", "deep-dir-".repeat(21))),
            (&format!("/{}", "é".repeat(250)), format!("{}-5hvcwf", "-".repeat(200))),
        ] {
            assert_eq!(claude_project(directory), name, "{directory}");
        }
    }

    #[test]
    fn a_project_that_gemini_knows_keeps_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let known = folder.path().join("tmp/other-name");
        files::create_private_dir(&known).unwrap();
        files::write_atomic(&known.join(".project_root"), b"/work/c\n", 0o600).unwrap();
        let own = folder.path().join("tmp/a-b/chats/session-x.jsonl");
        let target = Target { session: SESSION.to_owned(), directory: "/work/c".to_owned(), moved: None, now: 0 };
        let place = place(Harness::GeminiCli, &own, Path::new("/work/a b"), &target).unwrap();
        assert_eq!(place.path, known.join("chats/session-1970-01-01T00-00-03020100.jsonl"));
        assert_eq!(place.marker, Some((known.join(".project_root"), "/work/c".to_owned())));
    }

    #[test]
    fn ids_are_uuids_and_back() {
        let bytes = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
        assert_eq!(uuid(&bytes), SESSION);
        assert_eq!(uuid_bytes(SESSION), Some(bytes));
        for other in ["", "x", "0f0e0d0c0b0a09080706050403020100", &SESSION.to_uppercase(), &SESSION[1..]] {
            assert_eq!(uuid_bytes(other), None, "{other}");
        }
    }
}
