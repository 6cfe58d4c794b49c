//! What makes vectors of texts.

use samite::memory::Embedder;
use samite_model::{Error, Result};
use std::sync::Arc;

/// The variable that names it.
const VARIABLE: &str = "SAMITE_EMBEDDER";

/// What stands before the directory of a model.
const FILE: &str = "file:";

/// The encoder that is named, or else the built-in one; none where that is off, or this build has none.
///
/// # Errors
/// `invalid` (`bad_embedder`) for a name that is none.
pub(super) fn encoder() -> Result<Option<Arc<dyn Embedder>>> {
    match std::env::var(VARIABLE).as_deref() {
        Err(_) | Ok("" | "builtin") => built_in(),
        Ok("off") => Ok(None),
        Ok(text) if text.starts_with(FILE) => of_files(text.strip_prefix(FILE).unwrap_or_default()),
        Ok(other) => Err(Error::invalid("bad_embedder", format!("{VARIABLE} names no encoder: {other}"))
            .hint("leave it out, or set it to `builtin`, `off` or `file:DIR`")),
    }
}

#[cfg(feature = "encoder")]
fn built_in() -> Result<Option<Arc<dyn Embedder>>> {
    // One text at a time gains next to nothing from more threads.
    Ok(Some(Arc::new(samite_embed::Builtin::new(std::num::NonZeroUsize::MIN)?)))
}

/// A model from files, whose vectors are of a space of their own.
#[cfg(feature = "encoder")]
fn of_files(directory: &str) -> Result<Option<Arc<dyn Embedder>>> {
    let directory = std::path::Path::new(directory);
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let options = samite_embed::FileOptions {
        model: name.filter(|name| !name.is_empty()).unwrap_or_else(|| "model".to_owned()),
        pooling: samite_embed::Pooling::Mean,
        query_prefix: String::new(),
        passage_prefix: String::new(),
        tokens: 256,
        threads: std::num::NonZeroUsize::MIN,
    };
    let model = samite_embed::FileModel::open(directory, options, &samite_host::files::read_if_exists)?;
    Ok(Some(Arc::new(model)))
}

#[cfg(not(feature = "encoder"))]
fn of_files(_directory: &str) -> Result<Option<Arc<dyn Embedder>>> {
    Err(Error::invalid("bad_embedder", "this build reads no models").hint("set SAMITE_EMBEDDER to `off`"))
}

#[cfg(not(feature = "encoder"))]
fn built_in() -> Result<Option<Arc<dyn Embedder>>> {
    Ok(None)
}

/// The same namespace, searched with it.
pub(super) fn with_encoder(memory: samite::memory::Memory) -> Result<samite::memory::Memory> {
    Ok(match encoder()? {
        Some(encoder) => memory.with_embedder(encoder),
        None => memory,
    })
}
