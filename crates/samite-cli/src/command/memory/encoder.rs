//! What makes vectors of texts.

use samite::memory::Embedder;
use samite_model::{Error, Result};
use std::sync::Arc;

/// The variable that names it.
const VARIABLE: &str = "SAMITE_EMBEDDER";

/// The encoder that is named, or else the built-in one; none where that is off, or this build has none.
///
/// # Errors
/// `invalid` (`bad_embedder`) for a name that is none.
pub(super) fn encoder() -> Result<Option<Arc<dyn Embedder>>> {
    match std::env::var(VARIABLE).as_deref() {
        Err(_) | Ok("" | "builtin") => built_in(),
        Ok("off") => Ok(None),
        Ok(other) => Err(Error::invalid("bad_embedder", format!("{VARIABLE} names no encoder: {other}"))
            .hint("leave it out, or set it to `builtin` or `off`")),
    }
}

#[cfg(feature = "encoder")]
fn built_in() -> Result<Option<Arc<dyn Embedder>>> {
    // One text at a time gains next to nothing from more threads.
    Ok(Some(Arc::new(samite_embed::Builtin::new(std::num::NonZeroUsize::MIN)?)))
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
