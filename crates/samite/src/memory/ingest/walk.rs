//! Which files of a directory are documents.

use ignore::WalkBuilder;
use samite_host::files;
use samite_host::look;
use samite_memory::document::{Format, text};
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};

/// A file that may be a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFile {
    /// What the document is called: the name of the whole, and the file's path in it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Why a file is no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotRead {
    /// It is not text in UTF-8.
    Binary,
    /// It is longer than is wanted.
    TooLong,
    /// It is a symbolic link, which is not followed.
    Link,
    /// It is neither a file nor a directory.
    Special,
    /// Its name is not UTF-8, or holds what no name may.
    Name,
    /// It cannot be read.
    Unreadable,
    /// It went meanwhile.
    Gone,
}

impl NotRead {
    /// The reason in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLong => "too_long",
            Self::Link => "link",
            Self::Special => "special",
            Self::Name => "name",
            Self::Unreadable => "unreadable",
            Self::Gone => "gone",
        }
    }
}

/// What there is to take in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentTree {
    /// What the names of its documents begin with.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// The files, by their names.
    pub files: Vec<DocumentFile>,
    /// What is no document, and why.
    pub skipped: Vec<(String, NotRead)>,
}

impl DocumentTree {
    /// Whether a document of this name would be one of these, were it there.
    pub fn has_place_for(&self, document: &str) -> bool {
        self.is_directory && document.strip_prefix(self.name.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// The files at a path that may be documents. What is hidden, what a `.gitignore` or a `.samiteignore` leaves out, and what symbolic
/// links lead to is none of it; the path itself may be a link.
///
/// Documents are called `NAME/path/in/it`, and a single file `NAME`. Without a name that is the last part of the path.
///
/// # Errors
/// `not_found` (`no_file`), `denied` and others as the operating system answers for the path itself; `invalid` (`bad_name`) where nothing
/// says what to call it.
pub fn document_tree(path: &Path, name: Option<&str>) -> Result<DocumentTree> {
    let top = files::canonical(path)?;
    let called = || top.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let name = name.map(|name| name.trim_end_matches('/').to_owned()).or_else(called).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
        Error::invalid("bad_name", format!("nothing says what the documents in {} are called", path.display()))
            .hint("give --name")
    })?;
    if !top.is_dir() {
        let files = vec![DocumentFile { name: name.clone(), path: top }];
        return Ok(DocumentTree { name, is_directory: false, files, skipped: Vec::new() });
    }
    let mut tree = DocumentTree { name, is_directory: true, ..DocumentTree::default() };
    let mut builder = WalkBuilder::new(&top);
    // The same wherever it lies and whoever asks: no rules but those of the tree and of what it is in.
    builder.require_git(false).git_global(false).follow_links(false).add_custom_ignore_filename(".samiteignore");
    builder.sort_by_file_name(std::ffi::OsStr::cmp);
    for found in builder.build() {
        let entry = match found {
            Ok(entry) => entry,
            Err(error) => {
                let at = path_of(&error).unwrap_or(&top);
                tree.skipped.push((called_in(&tree.name, &top, at).unwrap_or_else(|lossy| lossy), NotRead::Unreadable));
                continue;
            }
        };
        let kind = entry.file_type();
        if kind.is_none_or(|kind| kind.is_dir()) {
            continue;
        }
        let name = match called_in(&tree.name, &top, entry.path()) {
            Ok(name) => name,
            Err(lossy) => {
                tree.skipped.push((lossy, NotRead::Name));
                continue;
            }
        };
        match kind {
            Some(kind) if kind.is_file() => tree.files.push(DocumentFile { name, path: entry.into_path() }),
            Some(kind) if kind.is_symlink() => tree.skipped.push((name, NotRead::Link)),
            _ => tree.skipped.push((name, NotRead::Special)),
        }
    }
    Ok(tree)
}

/// The bytes of a file, if it is a document of at most so many: of this format, or one that its name or its beginning says.
///
/// # Errors
/// The reason why it is not read.
pub fn read_document(file: &DocumentFile, most: u64, format: Option<Format>) -> std::result::Result<Vec<u8>, NotRead> {
    let found = look::part(&file.path, most.saturating_add(1), false).map_err(|_| NotRead::Unreadable)?;
    let (bytes, length) = found.ok_or(NotRead::Gone)?;
    if length > most || bytes.len() as u64 > most {
        return Err(NotRead::TooLong);
    }
    let is_guessed = format.is_some() || Format::guess(&file.name, &bytes).is_ok();
    if !is_guessed || text(&file.name, &bytes).is_err() {
        return Err(NotRead::Binary);
    }
    samite_model::limits::check_name("the document's name", &file.name).map_err(|_| NotRead::Name)?;
    Ok(bytes)
}

/// The name of the document at a path; what it looks like where that is no text.
fn called_in(name: &str, top: &Path, at: &Path) -> std::result::Result<String, String> {
    let inside = at.strip_prefix(top).unwrap_or(at);
    match inside.to_str() {
        Some("") => Ok(name.to_owned()),
        Some(inside) => Ok(format!("{name}/{inside}")),
        None => Err(format!("{name}/{}", inside.to_string_lossy())),
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}
