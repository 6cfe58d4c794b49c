//! The integers and byte strings of a part.

use samite_model::{Error, Result};

/// Appends an unsigned integer, seven bits a byte, lowest first.
pub(super) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Reads from the front of bytes that nobody vouches for.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// An unsigned integer below 2^63.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub(super) fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }
}

/// The error for a part whose bytes say something that no part says.
pub(super) fn damaged(what: &str) -> Error {
    Error::corrupt("bad_lexical_part", format!("a lexical part is damaged: {what}")).hint("index the namespace again")
}

/// A value, or the error that the bytes end before it.
pub(super) fn need<T>(value: Option<T>, what: &str) -> Result<T> {
    value.ok_or_else(|| damaged(what))
}
