//! A master's secrets under a passphrase (docs/formats.md), to be kept elsewhere.

use crate::bytes::Reader;
use crate::crypto::{Secret, cipher, open_in_place, seal_in_place};
use ring::pbkdf2;
use samite_host::{Random, random_id};
use samite_model::envelope::{NONCE_SIZE, TAG_SIZE};
use samite_model::{Error, Result};
use std::num::NonZeroU32;
use zeroize::Zeroizing;

const MAGIC: &[u8; 16] = b"samite-export\0\0\0";
const VERSION: u16 = 1;
const ITERATIONS: u32 = 600_000;
/// An export that asks for more work is refused: it would only keep the reader busy.
const MAXIMUM_ITERATIONS: u32 = 20_000_000;
const PREFIX: usize = 16 + 2 + 4 + 16 + NONCE_SIZE;
const SHORTEST_PASSPHRASE: usize = 8;

/// magic ‖ version ‖ iterations ‖ salt ‖ nonce ‖ ciphertext ‖ tag; everything before the ciphertext is bound to it.
pub(super) fn seal(records: &[u8], passphrase: &str, random: &dyn Random) -> Result<Vec<u8>> {
    if passphrase.len() < SHORTEST_PASSPHRASE {
        return Err(Error::invalid(
            "short_passphrase",
            format!("the passphrase has {} bytes; at least {SHORTEST_PASSPHRASE}", passphrase.len()),
        )
        .hint("several random words are better than one with digits"));
    }
    let salt = random_id::<16>(random)?;
    let nonce = random_id::<NONCE_SIZE>(random)?;
    let mut bytes = Vec::with_capacity(PREFIX + records.len() + TAG_SIZE);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&ITERATIONS.to_be_bytes());
    bytes.extend_from_slice(&salt);
    bytes.extend_from_slice(&nonce);
    let prefix = bytes.clone();
    bytes.extend_from_slice(records);
    let key = cipher(&stretch(passphrase, &salt, ITERATIONS)?)?;
    seal_in_place(&key, nonce, &prefix, &mut bytes, PREFIX)?;
    Ok(bytes)
}

pub(super) fn open(exported: &[u8], passphrase: &str) -> Result<Zeroizing<Vec<u8>>> {
    let parts = || {
        let mut reader = Reader::new(exported);
        (reader.array::<16>()? == *MAGIC && reader.u16()? == VERSION).then_some(())?;
        let iterations = reader.u32().filter(|count| (1..=MAXIMUM_ITERATIONS).contains(count))?;
        let (salt, nonce) = (reader.array::<16>()?, reader.array::<NONCE_SIZE>()?);
        let (prefix, sealed) = exported.split_at_checked(PREFIX)?;
        Some((iterations, salt, nonce, prefix, sealed))
    };
    let (iterations, salt, nonce, prefix, sealed) =
        parts().ok_or_else(|| Error::corrupt("bad_export", "this is not an exported key of samite"))?;
    let key = cipher(&stretch(passphrase, &salt, iterations)?)?;
    let mut bytes = Zeroizing::new(sealed.to_vec());
    let length = open_in_place(&key, nonce, prefix, &mut bytes).map(|plaintext| plaintext.len()).ok_or_else(|| {
        Error::denied("wrong_passphrase", "the passphrase does not open the exported key, or the export was changed")
    })?;
    bytes.truncate(length);
    Ok(bytes)
}

fn stretch(passphrase: &str, salt: &[u8], iterations: u32) -> Result<Secret> {
    let iterations = NonZeroU32::new(iterations)
        .ok_or_else(|| Error::corrupt("bad_export", "this is not an exported key of samite"))?;
    let mut secret = Secret::default();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, passphrase.as_bytes(), secret.as_mut());
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_host::SeededRandom;

    #[test]
    fn only_the_passphrase_opens_it() {
        let mut exported = seal(b"records", "four random words", &SeededRandom::new(1)).unwrap();
        assert_eq!(open(&exported, "four random words").unwrap().as_slice(), b"records");
        assert_eq!(open(&exported, "other random words").unwrap_err().code(), "wrong_passphrase");
        assert_eq!(open(&exported[..40], "four random words").unwrap_err().code(), "bad_export");
        let last = exported.len() - 1;
        exported[last] ^= 1;
        assert_eq!(open(&exported, "four random words").unwrap_err().code(), "wrong_passphrase");
        assert_eq!(seal(b"", "short", &SeededRandom::new(1)).unwrap_err().code(), "short_passphrase");
    }

    #[test]
    fn an_export_cannot_keep_its_reader_busy() {
        let mut exported = seal(b"records", "four random words", &SeededRandom::new(1)).unwrap();
        exported[18..22].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(open(&exported, "four random words").unwrap_err().code(), "bad_export");
    }
}
