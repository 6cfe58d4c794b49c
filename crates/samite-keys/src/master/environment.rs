//! A master key that comes from the environment: it opens, and cannot destroy.

use super::{KeystoreName, Master};
use crate::crypto::{Secret, derive};
use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use samite_model::{Error, Result};
use zeroize::Zeroizing;

const SALT: &[u8] = b"samite/environment-master/v1";
const ONLY_EPOCH: u64 = 1;

/// 32 bytes that the caller read from `SAMITE_MASTER_KEY`; a keystore's secret is derived from them and its name.
pub struct EnvironmentMaster {
    key: Secret,
}

impl EnvironmentMaster {
    /// The master of a value: 32 bytes as hexadecimal digits or base64.
    ///
    /// # Errors
    /// `invalid` (`bad_master_key`) when it is something else. The value is in no message.
    pub fn new(value: &str) -> Result<Self> {
        let text = value.trim().as_bytes();
        let encodings = [HEXLOWER_PERMISSIVE, BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD];
        encodings
            .iter()
            .filter_map(|encoding| encoding.decode(text).ok().map(Zeroizing::new))
            .find_map(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok())
            .map(|key| Self { key: Secret::new(key) })
            .ok_or_else(|| {
                Error::invalid("bad_master_key", "SAMITE_MASTER_KEY does not hold 32 bytes as hexadecimal or base64")
                    .hint("make one with: openssl rand -hex 32")
            })
    }
}

impl std::fmt::Debug for EnvironmentMaster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EnvironmentMaster")
    }
}

impl Master for EnvironmentMaster {
    fn secret(&self, keystore: &KeystoreName, epoch: u64) -> Result<Secret> {
        let tenant = keystore.tenant.as_str().as_bytes();
        let length = [u8::try_from(tenant.len()).unwrap_or(u8::MAX)];
        Ok(derive(self.key.as_ref(), SALT, &[&length, tenant, &keystore.id, &epoch.to_be_bytes()]))
    }

    fn create_epoch(&self, _keystore: &KeystoreName) -> Result<u64> {
        Ok(ONLY_EPOCH)
    }

    fn can_destroy(&self) -> Result<()> {
        Err(Error::denied(
            "cannot_destroy",
            "a master key in the environment cannot be destroyed, so nothing is erased",
        )
        .hint("use a master key in a file, or a command such as a KMS client"))
    }

    fn destroy_epoch(&self, _keystore: &KeystoreName, _epoch: u64) -> Result<()> {
        self.can_destroy()
    }

    fn store_copy(&self, _keystore: &KeystoreName, _wrapped: &[u8]) -> Result<()> {
        Ok(())
    }

    fn load_copy(&self, _keystore: &KeystoreName) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn describe(&self) -> String {
        "the environment variable SAMITE_MASTER_KEY".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_model::Tenant;

    #[test]
    fn a_value_is_hexadecimal_or_base64() {
        let name = KeystoreName { tenant: Tenant::new("local").unwrap(), id: [1; 16] };
        let hexadecimal = EnvironmentMaster::new(&"07".repeat(32)).unwrap().secret(&name, 1).unwrap();
        let base64 = EnvironmentMaster::new(&format!("{}\n", BASE64.encode(&[7; 32]))).unwrap();
        assert_eq!(hexadecimal, base64.secret(&name, 1).unwrap());
        let other = KeystoreName { id: [2; 16], ..name };
        assert_ne!(hexadecimal, base64.secret(&other, 1).unwrap());
        for bad in ["", "07", &"07".repeat(33), "no key at all"] {
            assert_eq!(EnvironmentMaster::new(bad).unwrap_err().code(), "bad_master_key");
        }
    }

    #[test]
    fn it_says_that_it_cannot_destroy() {
        let master = EnvironmentMaster::new(&"07".repeat(32)).unwrap();
        assert_eq!(master.can_destroy().unwrap_err().code(), "cannot_destroy");
        assert_eq!(master.export("words").unwrap_err().code(), "cannot_export");
    }
}
