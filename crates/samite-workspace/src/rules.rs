//! What a snapshot leaves out: rules in `.samiteignore` files, in gitignore syntax.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use samite_model::tree::{RuleFile, TreePath};
use samite_model::{Error, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The name of a file of rules.
pub const RULE_FILE: &[u8] = b".samiteignore";
/// Temporary directories of restores begin with this, at the top of a workspace.
pub(crate) const TEMPORARY_PREFIX: &[u8] = b".samite-restore-";

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

struct Rules {
    directory: TreePath,
    matcher: Gitignore,
}

/// The rules on the way to the directory that is being looked at.
#[derive(Default)]
pub(crate) struct RuleStack(Vec<Rules>);

/// Rules of one file.
///
/// # Errors
/// `invalid` (`bad_rule`) naming the file and the line.
fn parse(file: &RuleFile) -> Result<Rules> {
    let mut builder = GitignoreBuilder::new(Path::new(""));
    let text = String::from_utf8_lossy(&file.text);
    for (number, line) in text.lines().enumerate() {
        builder.add_line(None, line).map_err(|error| {
            let path = file.directory.join(RULE_FILE);
            Error::invalid("bad_rule", format!("line {} of {path} is no rule: {line:?}", number + 1))
                .hint("rules are in gitignore syntax")
                .because(error)
        })?;
    }
    let matcher = builder.build().map_err(|error| {
        let path = file.directory.join(RULE_FILE);
        Error::invalid("bad_rule", format!("the rules of {path} cannot be read")).because(error)
    })?;
    Ok(Rules { directory: file.directory.clone(), matcher })
}

impl RuleStack {
    /// Adds the rules of a directory. Those of directories that it is not in are dropped.
    pub(crate) fn push(&mut self, file: &RuleFile) -> Result<()> {
        self.0.push(parse(file)?);
        Ok(())
    }

    /// Drops the rules of directories that this one is not in.
    pub(crate) fn enter(&mut self, directory: &TreePath) {
        self.0.retain(|rules| directory.is_within(&rules.directory));
    }

    /// Whether a path in the entered directory is excluded.
    pub(crate) fn excludes(&self, path: &TreePath, directory: bool) -> bool {
        excluded(self.0.iter().rev(), path, directory)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The innermost rules that say something decide.
fn excluded<'a>(rules: impl Iterator<Item = &'a Rules>, path: &TreePath, directory: bool) -> bool {
    for rules in rules {
        let prefix = rules.directory.as_bytes();
        let relative = path.as_bytes().get(if prefix.is_empty() { 0 } else { prefix.len() + 1 }..).unwrap_or_default();
        match rules.matcher.matched(as_path(relative), directory) {
            ignore::Match::None => {}
            ignore::Match::Ignore(_) => return true,
            ignore::Match::Whitelist(_) => return false,
        }
    }
    false
}

/// Says whether rules as a tree recorded them exclude a path (`true` for a directory); none where there are no rules.
pub fn exclusion(rules: &[RuleFile]) -> Option<impl Fn(&TreePath, bool) -> bool + use<>> {
    let recorded = RecordedRules::new(rules);
    (!recorded.0.is_empty()).then_some(move |path: &TreePath, directory: bool| recorded.excludes(path, directory))
}

/// The rules that a tree recorded, to ask about any path.
pub(crate) struct RecordedRules(Vec<Rules>);

impl RecordedRules {
    /// Rules as recorded; those that cannot be read exclude nothing.
    pub(crate) fn new(files: &[RuleFile]) -> Self {
        Self(files.iter().filter_map(|file| parse(file).ok()).collect())
    }

    /// Whether a path, or a directory on the way to it, is excluded.
    pub(crate) fn excludes(&self, path: &TreePath, directory: bool) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut above = Some(path.clone());
        let mut is_directory = directory;
        while let Some(path) = above.filter(|path| !path.is_top()) {
            let rules = self.0.iter().rev().filter(|rules| path != rules.directory && path.is_within(&rules.directory));
            if excluded(rules, &path, is_directory) {
                return true;
            }
            above = path.parent();
            is_directory = true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(directory: &str, text: &str) -> RuleFile {
        RuleFile { directory: TreePath::new(directory).unwrap(), text: text.as_bytes().into() }
    }

    fn path(text: &str) -> TreePath {
        TreePath::new(text).unwrap()
    }

    #[test]
    fn inner_rules_decide_before_outer_ones() {
        let recorded = RecordedRules::new(&[rules("", "*.log\nbuild/\n/only-top\n"), rules("keep", "!*.log\n")]);
        assert!(recorded.excludes(&path("a.log"), false));
        assert!(recorded.excludes(&path("d/a.log"), false));
        assert!(!recorded.excludes(&path("keep/a.log"), false));
        assert!(recorded.excludes(&path("d/build"), true));
        assert!(!recorded.excludes(&path("d/build"), false));
        assert!(recorded.excludes(&path("d/build/inside/it"), false));
        assert!(recorded.excludes(&path("only-top"), false));
        assert!(!recorded.excludes(&path("d/only-top"), false));
    }

    #[test]
    fn a_bad_rule_is_named_with_its_line() {
        let mut stack = RuleStack::default();
        let error = stack.push(&rules("d", "ok\n[z-a]\n")).unwrap_err();
        assert_eq!(error.code(), "bad_rule");
        assert!(error.message().contains("line 2 of d/.samiteignore"), "{error}");
    }

    #[test]
    fn a_stack_forgets_rules_of_directories_that_were_left() {
        let mut stack = RuleStack::default();
        stack.push(&rules("a", "x\n")).unwrap();
        stack.enter(&path("a/b"));
        assert!(stack.excludes(&path("a/b/x"), false));
        stack.enter(&path("c"));
        assert!(stack.is_empty());
    }
}
