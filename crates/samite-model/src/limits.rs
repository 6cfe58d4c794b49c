//! What samite accepts at most.

use crate::error::{Error, Result};

/// A payload kept in the journal itself; a larger one goes to blocks.
pub const INLINE_PAYLOAD: u64 = 1 << 20;
/// A payload at all.
pub const PAYLOAD: u64 = 4 << 30;
/// A name or a key, in bytes.
pub const NAME: usize = 512;

/// Checks a name or key that a caller chose.
///
/// # Errors
/// `invalid` when it is empty, longer than [`NAME`] bytes, or holds a control character.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid("empty_name", format!("{what} is empty")));
    }
    if name.len() > NAME {
        return Err(Error::invalid("name_too_long", format!("{what} has {} bytes; at most {NAME}", name.len())));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid("bad_name", format!("{what} holds a control character")));
    }
    Ok(())
}

/// Checks the size of a payload.
///
/// # Errors
/// `invalid` when it is larger than [`PAYLOAD`].
pub fn check_payload(bytes: u64) -> Result<()> {
    if bytes > PAYLOAD {
        return Err(Error::invalid("payload_too_large", format!("the payload has {bytes} bytes; at most {PAYLOAD}"))
            .hint("publish it as a file of the workspace instead"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_512_bytes_are_the_longest() {
        assert!(check_name("a key", &"k".repeat(512)).is_ok());
        assert_eq!(check_name("a key", &"k".repeat(513)).unwrap_err().message(), "a key has 513 bytes; at most 512");
        assert!(check_name("a key", "").is_err());
        assert!(check_name("a key", "a\nb").is_err());
    }
}
