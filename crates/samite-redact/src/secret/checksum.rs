//! Checksums in tokens: a token whose checksum is right is one, however it looks.

use crate::alphabet::{ALNUM, slice};

/// CRC-32 as in zip files.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

/// A number in base 62 (digits, capitals, small letters), of six characters.
fn base62(mut number: u32) -> [u8; 6] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = [b'0'; 6];
    for place in text.iter_mut().rev() {
        *place = DIGITS.get((number % 62) as usize).copied().unwrap_or(b'0');
        number /= 62;
    }
    text
}

/// Whether the last six characters of a token are the checksum of what is between its prefix and them, as in the tokens of
/// GitHub and npm.
pub(crate) fn has_crc(token: &[u8]) -> bool {
    let Some(joint) = memchr::memchr(b'_', token) else { return false };
    let body = slice(token, joint + 1, token.len());
    if body.len() != 36 || !ALNUM.covers(body) {
        return false;
    }
    let (random, check) = (slice(body, 0, 30), slice(body, 30, 36));
    base62(crc32(random)) == *check
}

#[cfg(test)]
pub(crate) fn with_crc(prefix: &str, random: &str) -> String {
    let check = base62(crc32(random.as_bytes()));
    format!("{prefix}{random}{}", String::from_utf8_lossy(&check))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_field() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(&base62(62 * 62 + 1), b"000101");
        let token = with_crc("ghp_", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        assert!(has_crc(token.as_bytes()));
        assert!(!has_crc(token.replace("ghp_a", "ghp_b").as_bytes()));
        assert!(!has_crc(b"ghp_short") && !has_crc(b"nothing"));
    }
}
