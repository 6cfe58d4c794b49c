//! The few operations that everything else here is made of.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::{hkdf, hmac};
use samite_host::Random;
use samite_model::envelope::{NONCE_SIZE, TAG_SIZE};
use samite_model::{Error, Result};
use zeroize::Zeroizing;

/// 32 secret bytes, overwritten when dropped.
pub type Secret = Zeroizing<[u8; 32]>;

/// A new secret.
pub(crate) fn random_secret(random: &dyn Random) -> Result<Secret> {
    let mut secret = Secret::default();
    random.fill(secret.as_mut())?;
    Ok(secret)
}

/// A secret that follows from another one and what it is for (HKDF with SHA-256).
pub(crate) fn derive(secret: &[u8], salt: &[u8], info: &[&[u8]]) -> Secret {
    let mut derived = Secret::default();
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    // 32 bytes are far below what HKDF can give, so that this does not fail.
    let filled = extracted.expand(info, hkdf::HKDF_SHA256).and_then(|material| material.fill(derived.as_mut()));
    debug_assert!(filled.is_ok(), "HKDF gives 32 bytes");
    derived
}

/// A key ready for use. The cipher keeps its own expanded copy, which is not overwritten when it is dropped.
pub(crate) fn cipher(secret: &Secret) -> Result<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, secret.as_ref())
        .map(LessSafeKey::new)
        .map_err(|_| Error::internal("bad_key", "a key does not have 32 bytes"))
}

/// Seals `bytes[from..]` in place and appends the tag.
pub(crate) fn seal_in_place(
    key: &LessSafeKey,
    nonce: [u8; NONCE_SIZE],
    additional: &[u8],
    bytes: &mut Vec<u8>,
    from: usize,
) -> Result<()> {
    let failed = || Error::internal("cannot_seal", "the cipher refused to seal");
    let plaintext = bytes.get_mut(from..).ok_or_else(failed)?;
    let tag = key
        .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(additional), plaintext)
        .map_err(|_| failed())?;
    bytes.extend_from_slice(tag.as_ref());
    Ok(())
}

/// Opens ciphertext and tag in place: the plaintext, or `None` when anything was changed.
pub(crate) fn open_in_place<'a>(
    key: &LessSafeKey,
    nonce: [u8; NONCE_SIZE],
    additional: &[u8],
    sealed: &'a mut [u8],
) -> Option<&'a mut [u8]> {
    key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(additional), sealed).ok()
}

/// nonce ‖ ciphertext ‖ tag.
pub(crate) fn wrap(key: &LessSafeKey, additional: &[u8], plaintext: &[u8], random: &dyn Random) -> Result<Vec<u8>> {
    let nonce = samite_host::random_id::<NONCE_SIZE>(random)?;
    // Enough room from the start: a vector that grows leaves copies of what it held.
    let mut bytes = Vec::with_capacity(NONCE_SIZE + plaintext.len() + TAG_SIZE);
    bytes.extend_from_slice(&nonce);
    bytes.extend_from_slice(plaintext);
    seal_in_place(key, nonce, additional, &mut bytes, NONCE_SIZE)?;
    Ok(bytes)
}

/// Opens what [`wrap`] made; `None` when anything was changed.
pub(crate) fn unwrap(key: &LessSafeKey, additional: &[u8], wrapped: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, sealed) = wrapped.split_first_chunk::<NONCE_SIZE>()?;
    let mut bytes = Zeroizing::new(sealed.to_vec());
    let length = open_in_place(key, *nonce, additional, &mut bytes)?.len();
    bytes.truncate(length);
    Some(bytes)
}

/// HMAC with SHA-256.
pub(crate) fn mac(key: &Secret, bytes: &[u8]) -> [u8; 32] {
    to_array(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), bytes).as_ref())
}

/// Whether a MAC is right, in constant time.
pub(crate) fn mac_is_right(key: &Secret, bytes: &[u8], mac: &[u8; 32]) -> bool {
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()), bytes, mac).is_ok()
}

/// SHA-256, as a checksum.
pub(crate) fn checksum(bytes: &[u8]) -> [u8; 32] {
    to_array(digest(&SHA256, bytes).as_ref())
}

fn to_array(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap_or_default()
}

/// Up to so many bytes are hashed in one piece.
const SHORT: usize = 512;

/// A keyed hash (BLAKE3) over a label, a domain with its length before it, and bytes.
pub(crate) fn keyed_hash(key: &Secret, label: &[u8], domain: &str, bytes: &[u8]) -> [u8; 32] {
    let length = u32::try_from(domain.len()).unwrap_or(u32::MAX).to_be_bytes();
    let parts = [label, &length, domain.as_bytes(), bytes];
    // One short piece is hashed in a fraction of the time that a hasher needs to be set up.
    let mut short = [0; SHORT];
    let mut end = 0;
    for part in parts {
        match short.get_mut(end..end + part.len()) {
            Some(place) => place.copy_from_slice(part),
            None => return keyed_hash_of_many(key, &parts),
        }
        end += part.len();
    }
    *blake3::keyed_hash(key, short.get(..end).unwrap_or_default()).as_bytes()
}

fn keyed_hash_of_many(key: &Secret, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// The first sixteen bytes of a hash.
pub(crate) fn first_half(hash: [u8; 32]) -> [u8; 16] {
    hash.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_host::SeededRandom;

    #[test]
    fn short_and_long_input_is_hashed_alike() {
        let key = Secret::new([3; 32]);
        for length in [0, 1, 400, 493, 494, 495, 496, 512, 513, 5000] {
            let bytes = vec![9; length];
            let (label, domain) = (b"label\0", "domain");
            let parts: [&[u8]; 4] = [label, &[0, 0, 0, 6], domain.as_bytes(), &bytes];
            assert_eq!(keyed_hash(&key, label, domain, &bytes), keyed_hash_of_many(&key, &parts), "{length}");
        }
    }

    #[test]
    fn what_is_wrapped_is_unwrapped_and_no_bit_may_change() {
        let key = cipher(&Secret::new([1; 32])).unwrap();
        let mut wrapped = wrap(&key, b"context", b"secret words", &SeededRandom::new(1)).unwrap();
        assert_eq!(unwrap(&key, b"context", &wrapped).unwrap().as_slice(), b"secret words");
        assert!(unwrap(&key, b"other", &wrapped).is_none());
        for bit in 0..wrapped.len() * 8 {
            wrapped[bit / 8] ^= 1 << (bit % 8);
            assert!(unwrap(&key, b"context", &wrapped).is_none(), "bit {bit}");
            wrapped[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(unwrap(&key, b"context", &wrapped[..20]).is_none());
    }

    // RFC 5869, test case 1, first 32 bytes.
    #[test]
    fn derivation_is_hkdf() {
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        assert_eq!(
            data_encoding::HEXLOWER.encode(derive(&[0x0b; 22], &salt, &[&info]).as_ref()),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
        );
    }
}
