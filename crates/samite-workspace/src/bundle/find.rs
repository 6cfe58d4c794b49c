//! The files of a directory that patterns name.

use super::FileStamp;
use crate::system::{DirectoryStack, Stamp, failed, kind_of, list_directory, open_directory_at, open_top};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;
use samite_model::tree::TreePath;
use samite_model::{Error, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Patterns that name more files than this are a mistake.
const MOST: usize = 10_000;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The regular files that a pattern names, in the order of their paths, with what they look like.
    pub files: Vec<(TreePath, FileStamp)>,
    /// Directories that a pattern may reach into and that cannot be read, and why.
    pub unreadable: Vec<(TreePath, String)>,
}

/// Finds the regular files that patterns name, written as in `.gitignore`. Symbolic links are neither followed nor named,
/// and what is in a `.git` is none of it, nor is what is `excludes`.
///
/// # Errors
/// `invalid`: `bad_pattern` naming the pattern, `too_many_files` when patterns name more than 10,000; `not_found`, `denied`
/// or `unavailable` when the directory cannot be read.
pub fn find_files(top: &Path, patterns: &[String], excludes: &[TreePath]) -> Result<Found> {
    let matcher = matcher(patterns)?;
    let roots = roots(patterns);
    let opened = open_top(top)?;
    let mut found = Found::default();
    let mut buffer = Vec::new();
    let mut stack = DirectoryStack::new(opened.as_fd());
    let mut pending = vec![TreePath::top()];
    while let Some(path) = pending.pop() {
        // The top is opened anew: what was read of a directory is not read again.
        let opened = if path.is_top() { open_directory_at(opened.as_fd(), b".") } else { duplicate(&mut stack, &path) };
        let listed = match opened.and_then(|directory| list_directory(directory.as_fd(), &mut buffer)) {
            Ok(listed) => listed,
            Err(errno) if path.is_top() => return Err(failed("read", top, &path, errno)),
            // It went meanwhile, or became something else.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(errno) => {
                found.unreadable.push((path, errno.to_string()));
                continue;
            }
        };
        for item in listed {
            let inside = path.join(&item.name);
            if excludes.contains(&inside) || &*item.name == b".git" {
                continue;
            }
            match kind_of(&item.stat) {
                FileType::Directory if may_reach(roots.as_ref(), &inside) => pending.push(inside),
                FileType::RegularFile if names(&matcher, &inside) => {
                    found.files.push((inside, Stamp::of(&item.stat).into()));
                    if found.files.len() > MOST {
                        return Err(Error::invalid(
                            "too_many_files",
                            format!("the patterns name more than {MOST} files in {}", top.display()),
                        )
                        .hint("name what is for the user, such as 'dist/**'"));
                    }
                }
                _ => {}
            }
        }
    }
    found.files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Opens a directory below the top, for its own use.
fn duplicate(stack: &mut DirectoryStack<'_>, path: &TreePath) -> std::result::Result<OwnedFd, Errno> {
    let directory = stack.open(path)?;
    open_directory_at(directory, b".")
}

fn matcher(patterns: &[String]) -> Result<Gitignore> {
    let bad = |pattern: &str, why: String| {
        Error::invalid("bad_pattern", format!("{pattern:?} is no pattern: {why}"))
            .hint("patterns are written as in .gitignore, such as 'dist/**' or '*.pdf'")
    };
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder.add_line(None, pattern).map_err(|error| bad(pattern, error.to_string()))?;
    }
    builder.build().map_err(|error| bad(&patterns.join(" "), error.to_string()))
}

/// Checks patterns.
///
/// # Errors
/// `invalid` (`bad_pattern`) naming the first that is none.
/// One that can name nothing is none either: no path of a workspace has `.` or `..` in it, or leads out of it.
pub fn check_patterns(patterns: &[String]) -> Result<()> {
    for pattern in patterns {
        let (not, names) = pattern.strip_prefix('!').map_or(("", pattern.as_str()), |names| ("!", names));
        if names.split('/').any(|name| name == "..") {
            return Err(Error::invalid(
                "bad_pattern",
                format!("{pattern:?} names nothing: '..' leads out of the workspace"),
            )
            .hint("a pattern says where files are from the top of the workspace on, such as 'dist/**'"));
        }
        if names.split('/').any(|name| name == ".") {
            let without: Vec<&str> = names.split('/').filter(|name| *name != ".").collect();
            return Err(Error::invalid("bad_pattern", format!("{pattern:?} names nothing: no path has a '.' in it"))
                .hint(format!("write '{not}/{}' for what is at the top of the workspace", without.join("/"))));
        }
    }
    matcher(patterns).map(|_| ())
}

fn names(matcher: &Gitignore, path: &TreePath) -> bool {
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    matcher.matched_path_or_any_parents(path, false).is_ignore()
}

/// The directories below which all named files are; none when they may be anywhere.
fn roots(patterns: &[String]) -> Option<Vec<Vec<String>>> {
    let mut roots = Vec::new();
    for pattern in patterns {
        let pattern = pattern.trim_end();
        if pattern.starts_with('!') || pattern.starts_with('#') || pattern.is_empty() {
            continue;
        }
        let anchored = pattern.trim_end_matches('/').contains('/');
        let names = pattern.trim_start_matches('/').split('/');
        let plain = |name: &&str| !name.is_empty() && !name.contains(['*', '?', '[', '\\']);
        let names: Vec<String> = names.take_while(plain).map(str::to_owned).collect();
        if !anchored || names.is_empty() {
            return None;
        }
        roots.push(names);
    }
    Some(roots)
}

/// Whether a directory is on the way to one of the roots, or below one.
fn may_reach(roots: Option<&Vec<Vec<String>>>, path: &TreePath) -> bool {
    let Some(roots) = roots else { return true };
    roots.iter().any(|root| path.names().zip(root).all(|(name, wanted)| name == wanted.as_bytes()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use super::*;
    use std::fs;

    fn found(patterns: &[&str]) -> Vec<String> {
        let scratch = tempfile::tempdir().unwrap();
        for file in ["dist/a.js", "dist/deep/b.js", "src/c.js", "report.pdf", "docs/report.pdf", ".git/x.pdf"] {
            let path = scratch.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        fs::write(scratch.path().join("secret"), "outside").unwrap();
        std::os::unix::fs::symlink("../secret", scratch.path().join("dist/link.js")).unwrap();
        std::os::unix::fs::symlink("src", scratch.path().join("linked")).unwrap();
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let found = find_files(scratch.path(), &patterns, &[]).unwrap();
        assert!(found.unreadable.is_empty());
        found.files.iter().map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn patterns_name_files_as_in_gitignore_and_no_link_is_followed() {
        let table: [(&[&str], &[&str]); 8] = [
            (&["dist/**"], &["dist/a.js", "dist/deep/b.js"]),
            (&["dist/"], &["dist/a.js", "dist/deep/b.js"]),
            (&["/dist"], &["dist/a.js", "dist/deep/b.js"]),
            (&["*.pdf"], &["docs/report.pdf", "report.pdf"]),
            (&["/report.pdf"], &["report.pdf"]),
            (&["dist/**", "!dist/deep/**"], &["dist/a.js"]),
            (&["linked/**"], &[]),
            (&["dist/*.js", "docs/*"], &["dist/a.js", "docs/report.pdf"]),
        ];
        for (patterns, files) in table {
            assert_eq!(found(patterns), files, "{patterns:?}");
        }
    }

    #[test]
    fn only_directories_that_a_pattern_reaches_are_entered() {
        let roots = |patterns: &[&str]| roots(&patterns.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let reach = |patterns: &[&str], path: &str| may_reach(roots(patterns).as_ref(), &TreePath::new(path).unwrap());
        assert!(reach(&["dist/**"], "dist"));
        assert!(reach(&["dist/**"], "dist/deep"));
        assert!(!reach(&["dist/**"], "node_modules"));
        assert!(reach(&["a/b/*.pdf"], "a"));
        assert!(!reach(&["a/b/*.pdf"], "a/c"));
        assert!(reach(&["*.pdf"], "anything"));
        assert!(reach(&["**/x/y"], "anything"));
        assert!(reach(&["/report.pdf", "dist/**"], "dist"));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        let error = check_patterns(&["a[z-a]".to_owned()]).unwrap_err();
        assert_eq!(error.code(), "bad_pattern");
        for pattern in ["dist/**", "/dist/*", "!dist/x", "..x", "a..b/**", ".hidden/*", "*"] {
            check_patterns(&[pattern.to_owned()]).unwrap();
        }
        for (pattern, part) in [
            ("../*", "leads out"),
            ("a/../b", "leads out"),
            ("!../x", "leads out"),
            ("..", "leads out"),
            ("./dist/*", "no path has"),
            ("a/./b", "no path has"),
        ] {
            let error = check_patterns(&["ok".to_owned(), pattern.to_owned()]).unwrap_err();
            assert_eq!((error.code(), error.message().contains(part)), ("bad_pattern", true), "{error}");
        }
    }
}
