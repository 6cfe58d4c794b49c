//! The bytes of bundles: length [2] ‖ entry, for each.

use super::FULL;
use samite_model::{Error, Result};

/// The most bytes that an entry may have.
pub const LONGEST_ENTRY: usize = u16::MAX as usize;

/// Appends an entry to a bundle.
///
/// # Errors
/// `invalid` (`leaf_too_long`) when it has more than 65,535 bytes; then nothing is appended.
pub fn bundle_push(bundle: &mut Vec<u8>, entry: &[u8]) -> Result<()> {
    let length = u16::try_from(entry.len()).map_err(|_| too_long(entry.len()))?;
    bundle.extend(length.to_be_bytes());
    bundle.extend(entry);
    Ok(())
}

/// The error for an entry of so many bytes.
pub(crate) fn too_long(bytes: usize) -> Error {
    let what = format!("an entry of the audit log has at most {LONGEST_ENTRY} bytes, and this one has {bytes}");
    Error::invalid("leaf_too_long", what).hint("put fewer anchors or fields into one entry")
}

/// The entries of a bundle, in order.
///
/// # Errors
/// `corrupt` (`bad_bundle`) when the bytes are no bundle: cut within an entry, or of more than 256.
pub fn bundle_entries(bundle: &[u8]) -> Result<Vec<&[u8]>> {
    let mut entries = Vec::with_capacity(FULL.into());
    let mut rest = bundle;
    while !rest.is_empty() {
        if entries.len() == usize::from(FULL) {
            return Err(Error::corrupt("bad_bundle", format!("a bundle has more than {FULL} entries")));
        }
        let split = rest.split_first_chunk::<2>();
        let split = split.and_then(|(length, rest)| rest.split_at_checked(u16::from_be_bytes(*length).into()));
        let Some((entry, after)) = split else {
            return Err(Error::corrupt("bad_bundle", format!("a bundle is cut off in its entry {}", entries.len())));
        };
        entries.push(entry);
        rest = after;
    }
    Ok(entries)
}
