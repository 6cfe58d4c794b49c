//! What stood where `init` wrote its settings, when that was nothing: so that `--undo` leaves nothing there again.
//!
//! A file that a person made and that holds `{}` looks like one that only `init` made. So it notes what it made, in a file
//! for each settings file, in the user's configuration directory.

use crate::surface::configuration;
use samite_host::files;
use samite_model::Result;
use samite_model::hash::Sha256;
use serde::Deserialize;
use serde_json::json;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What was there before.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Made {
    /// The blank text that stood there; none where there was no file.
    pub(super) before: Option<String>,
    /// Whether the directory was made as well.
    pub(super) directory: bool,
}

/// Where it is noted for a settings file.
fn place(path: &Path) -> Result<PathBuf> {
    let mut hash = Sha256::default();
    hash.update(path.as_os_str().as_bytes());
    let hash = hash.finish();
    let name = hash.get(..32).unwrap_or(&hash);
    Ok(configuration()?.join("settings-made").join(format!("{name}.json")))
}

/// Notes what stands at a settings file that is about to be made. When this returns, it is durable.
///
/// # Errors
/// As writing a file.
pub(super) fn note(path: &Path, before: Option<&str>) -> Result<()> {
    let place = place(path)?;
    let directory = match path.parent() {
        Some(directory) => !files::exists(directory)?,
        None => false,
    };
    let made = json!({ "path": path.display().to_string(), "before": before, "directory": directory });
    if let Some(above) = place.parent() {
        files::create_private_dir(above)?;
    }
    files::write_atomic(&place, made.to_string().as_bytes(), files::PRIVATE_FILE)
}

/// What is noted for a settings file. A note that cannot be read says nothing: the file then stays.
///
/// # Errors
/// As reading a file.
pub(super) fn of(path: &Path) -> Result<Option<Made>> {
    Ok(files::read_if_exists(&place(path)?)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// Forgets what is noted.
///
/// # Errors
/// As removing a file.
pub(super) fn forget(path: &Path) -> Result<()> {
    let place = place(path)?;
    if files::exists(&place)? { files::remove(&place) } else { Ok(()) }
}
