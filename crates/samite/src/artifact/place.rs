//! Where things stand: in the workspace or outside of it, and in an artifact's tree. Pure but for looking a path up.

use samite_host::files;
use samite_model::tree::TreePath;
use samite_model::{Error, Result};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The artifact's bytes in its tree.
pub(super) const BYTES: &str = "artifact";
/// Inputs from the workspace.
pub(super) const WORK: &str = "work";
/// Inputs from elsewhere, by their absolute paths.
const OUTSIDE: &str = "outside";

/// A path, looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Where it is on disk.
    pub(super) path: PathBuf,
    /// Its path in the workspace, when it is in it.
    pub(super) inside: Option<TreePath>,
}

/// Finds out where a path stands. What it is called decides, not what a last symbolic link leads to.
pub(super) fn locate(workspace: Option<&Path>, path: &Path) -> Result<Located> {
    let path = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            files::canonical(parent)?.join(name)
        }
        // `/`, `.` and `..` have no name of their own.
        _ => files::canonical(path)?,
    };
    let inside = workspace.and_then(|workspace| path.strip_prefix(workspace).ok());
    let inside = inside.map(|inside| TreePath::new(inside.as_os_str().as_bytes())).transpose()?;
    Ok(Located { path, inside })
}

impl Located {
    /// What it is called for people: relative to the workspace, else absolute.
    pub(super) fn shown(&self) -> String {
        match &self.inside {
            Some(inside) => inside.to_string(),
            None => self.path.to_string_lossy().into_owned(),
        }
    }

    /// Its place in an artifact's tree, as an input.
    pub(super) fn place(&self) -> Result<TreePath> {
        let (top, below) = match &self.inside {
            Some(inside) => (WORK, inside.as_bytes()),
            None => (OUTSIDE, self.path.as_os_str().as_bytes()),
        };
        let below = below.strip_prefix(b"/").unwrap_or(below);
        let mut bytes = top.as_bytes().to_vec();
        if !below.is_empty() {
            bytes.push(b'/');
            bytes.extend_from_slice(below);
        }
        TreePath::new(bytes)
    }
}

/// Refuses inputs of which one is in another.
pub(super) fn check_apart(places: &[TreePath]) -> Result<()> {
    let mut sorted: Vec<&TreePath> = places.iter().collect();
    sorted.sort();
    for pair in sorted.windows(2) {
        if let [outer, inner] = pair
            && inner.is_within(outer)
        {
            return Err(Error::invalid("paths_collide", format!("{inner} is in {outer}, which is an input already"))
                .hint("name the outer one alone"));
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_in_the_workspace_or_outside() {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        let work = top.join("work");
        std::fs::create_dir_all(work.join("dist")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", work.join("link")).unwrap();
        let place = |path: &Path| {
            let located = locate(Some(&work), path).unwrap();
            (located.shown(), located.place().unwrap().to_string())
        };
        assert_eq!(place(&work.join("dist/../dist/a.js")), ("dist/a.js".to_owned(), "work/dist/a.js".to_owned()));
        assert_eq!(place(&work.join("link")), ("link".to_owned(), "work/link".to_owned()));
        assert_eq!(place(&work), (".".to_owned(), "work".to_owned()));
        let outside = top.join("x.csv");
        let shown = outside.to_string_lossy().into_owned();
        assert_eq!(place(&outside), (shown.clone(), format!("outside{shown}")));
        assert!(locate(Some(&work), &work.join("none/a")).is_err());
    }

    #[test]
    fn an_input_in_another_is_refused() {
        let paths = |texts: &[&str]| texts.iter().map(|text| TreePath::new(*text).unwrap()).collect::<Vec<_>>();
        check_apart(&paths(&["work/a", "work/b", "outside/a"])).unwrap();
        for wrong in [&["work", "work/a"][..], &["work/a/b", "work/a"], &["work/a", "work/a"]] {
            assert_eq!(check_apart(&paths(wrong)).unwrap_err().code(), "paths_collide", "{wrong:?}");
        }
    }
}
