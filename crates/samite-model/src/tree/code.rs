//! The integers and byte strings of tree blocks.

use crate::error::{Error, Result};

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

/// Appends a byte string with its length before it.
pub(super) fn put_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    put_varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

/// Reads a block from its front.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.0.split_first().ok_or_else(short)?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(super) fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let low = u64::from(byte & 0x7f);
            // One value has one encoding: no bits beyond 64, no empty last group.
            if (low << shift) >> shift != low || (byte == 0 && shift > 0) {
                break;
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("bad_tree_block", "a tree block holds a malformed integer"))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        u32::try_from(self.varint()?)
            .map_err(|_| Error::corrupt("bad_tree_block", "a tree block holds an integer that is too large"))
    }

    pub(super) fn count(&mut self) -> Result<usize> {
        let count = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        // Each counted thing takes a byte at least, so a count beyond the rest is a lie that must not allocate.
        if count > self.0.len() { Err(short()) } else { Ok(count) }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = rest;
        Ok(*array)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn end(&self) -> Result<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Error::corrupt("bad_tree_block", format!("a tree block has {} bytes too many", self.0.len())))
        }
    }
}

fn short() -> Error {
    Error::corrupt("bad_tree_block", "a tree block ends too early")
}

/// Reads the version and refuses others.
pub(super) fn version(reader: &mut Reader<'_>, expected: u8) -> Result<()> {
    match reader.byte()? {
        found if found == expected => Ok(()),
        found => Err(Error::corrupt("unknown_version", format!("a tree block has version {found}, not {expected}"))
            .hint("it may come from a newer samite: use that one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_come_back(value: u64) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.varint().unwrap(), value);
            prop_assert!(reader.end().is_ok());
        }
    }

    #[test]
    fn an_integer_has_one_encoding() {
        assert!(Reader::new(&[0x80, 0x00]).varint().is_err());
        assert!(Reader::new(&[0xff; 11]).varint().is_err());
        assert!(Reader::new(&[0x80]).varint().is_err());
        assert_eq!(Reader::new(&[0xac, 0x02]).varint().unwrap(), 300);
    }

    #[test]
    fn a_count_beyond_the_block_does_not_allocate() {
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0x7f, 1]).count().is_err());
    }
}
