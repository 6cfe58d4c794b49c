//! Which keys have signed a note.

use super::{KeyKind, Note, Signature, VerifierKey, cosigned};
use samite_model::{Error, Result};

/// A witness's signature that verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosigner {
    /// Whose it is.
    pub key: VerifierKey,
    /// When they saw the tree head, in seconds since 1970, as they say.
    pub seconds: u64,
}

/// The known keys that have signed a note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Those that signed the text itself.
    pub signers: Vec<VerifierKey>,
    /// Those that cosigned it.
    pub cosigners: Vec<Cosigner>,
}

impl Note {
    /// Verifies the signatures of these keys. Those of other keys are passed over: anybody may add one.
    ///
    /// # Errors
    /// `corrupt` (`bad_signature`) when one of a known key does not verify, and (`not_signed`) when no known key has signed;
    /// `invalid` (`same_key_id`) when two of the keys have the same name and id.
    pub fn verify(&self, keys: &[VerifierKey]) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut seen: Vec<&VerifierKey> = Vec::new();
        for signature in &self.signatures {
            let Some(key) = known(signature, keys)? else { continue };
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            match self.check(signature, key)? {
                Some(seconds) => verified.cosigners.push(Cosigner { key: key.clone(), seconds }),
                None => verified.signers.push(key.clone()),
            }
        }
        if seen.is_empty() {
            let names: Vec<&str> = self.signatures.iter().map(|signature| signature.name.as_str()).collect();
            let what = format!("no known key has signed the note; it names {}", names.join(", "));
            return Err(Error::corrupt("not_signed", what).hint("give the verifier key of whoever signed it"));
        }
        Ok(verified)
    }

    /// Verifies one signature: the time that it says, when it is a witness's.
    fn check(&self, signature: &Signature, key: &VerifierKey) -> Result<Option<u64>> {
        let refused = || {
            let what =
                format!("the signature of {} does not verify: the text, or the signature, was changed", key.name());
            Error::corrupt("bad_signature", what).hint("do not rely on the note, and keep it")
        };
        match key.kind() {
            KeyKind::Ed25519 => {
                let right = key.has_signed(self.text.as_bytes(), &signature.bytes);
                if right { Ok(None) } else { Err(refused()) }
            }
            KeyKind::Cosignature => {
                let (seconds, made) = signature.bytes.split_first_chunk::<8>().ok_or_else(refused)?;
                let seconds = u64::from_be_bytes(*seconds);
                let right = i64::try_from(seconds).is_ok() && key.has_signed(&cosigned(&self.text, seconds), made);
                if right { Ok(Some(seconds)) } else { Err(refused()) }
            }
        }
    }
}

/// The key with the name and id of a signature.
fn known<'a>(signature: &Signature, keys: &'a [VerifierKey]) -> Result<Option<&'a VerifierKey>> {
    let mut same = keys.iter().filter(|key| key.name() == signature.name && key.id() == signature.key_id);
    let found = same.next();
    if same.any(|other| Some(other) != found) {
        let what = format!("two keys have the name {:?} and the same id", signature.name);
        return Err(Error::invalid("same_key_id", what).hint("give only the key that is meant"));
    }
    Ok(found)
}
