//! The bytes of a master file (docs/formats.md): which keystores have which secrets.

use super::KeystoreName;
use crate::bytes::{Reader, split_trailer};
use crate::crypto::{Secret, checksum};
use samite_model::{Error, Result, Tenant};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

const MAGIC: &[u8; 16] = b"samite-master\0\0\0";
const VERSION: u16 = 1;

/// The secrets of one keystore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The greatest epoch that was ever made.
    pub(crate) latest: u64,
    /// The secrets that were not destroyed.
    pub(crate) secrets: BTreeMap<u64, Secret>,
}

/// All keystores of a master.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records(pub(crate) BTreeMap<KeystoreName, Record>);

impl Records {
    pub(crate) fn encode(&self) -> Zeroizing<Vec<u8>> {
        let size: usize =
            self.0.iter().map(|(name, record)| name.tenant.as_str().len() + 40 + record.secrets.len() * 40).sum();
        // Enough room from the start: a vector that grows leaves copies of what it held.
        let mut bytes = Zeroizing::new(Vec::with_capacity(64 + size));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_be_bytes());
        bytes.extend_from_slice(&u32::try_from(self.0.len()).unwrap_or(u32::MAX).to_be_bytes());
        for (name, record) in &self.0 {
            let tenant = name.tenant.as_str().as_bytes();
            bytes.push(u8::try_from(tenant.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(tenant);
            bytes.extend_from_slice(&name.id);
            bytes.extend_from_slice(&record.latest.to_be_bytes());
            bytes.extend_from_slice(&u16::try_from(record.secrets.len()).unwrap_or(u16::MAX).to_be_bytes());
            for (epoch, secret) in &record.secrets {
                bytes.extend_from_slice(&epoch.to_be_bytes());
                bytes.extend_from_slice(secret.as_ref());
            }
        }
        let check = checksum(&bytes);
        bytes.extend_from_slice(&check);
        bytes
    }

    /// `what` names the file in the error.
    pub(crate) fn decode(bytes: &[u8], what: &str) -> Result<Self> {
        split_trailer::<32>(bytes)
            .filter(|(body, check)| checksum(body) == **check)
            .and_then(|(body, _)| Self::decode_body(body))
            .ok_or_else(|| {
                Error::corrupt("bad_master", format!("{what} is damaged, or was written by a newer samite"))
                    .hint("put back a copy of it, or import an exported key")
            })
    }

    fn decode_body(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        (reader.array::<16>()? == *MAGIC && reader.u16()? == VERSION).then_some(())?;
        let mut records = BTreeMap::new();
        for _ in 0..reader.u32()? {
            let length = reader.u8()?;
            let tenant = std::str::from_utf8(reader.slice(length.into())?).ok()?;
            let name = KeystoreName { tenant: Tenant::new(tenant).ok()?, id: reader.array()? };
            let mut record = Record { latest: reader.u64()?, secrets: BTreeMap::new() };
            for _ in 0..reader.u16()? {
                record.secrets.insert(reader.u64()?, Secret::new(reader.array()?));
            }
            records.insert(name, record);
        }
        reader.is_empty().then_some(Self(records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Records {
        let name = |tenant, id| KeystoreName { tenant: Tenant::new(tenant).unwrap(), id: [id; 16] };
        Records(BTreeMap::from([
            (name("local", 1), Record { latest: 3, secrets: BTreeMap::from([(3, Secret::new([9; 32]))]) }),
            (name("acme", 2), Record { latest: 1, secrets: BTreeMap::new() }),
        ]))
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(Records::decode(&sample().encode(), "it").unwrap(), sample());
        assert_eq!(Records::decode(&Records::default().encode(), "it").unwrap(), Records::default());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_corrupt() {
        let mut bytes = sample().encode();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Records::decode(&bytes, "it").unwrap_err().code(), "bad_master", "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..bytes.len() {
            assert!(Records::decode(&bytes[..length], "it").is_err(), "cut at {length}");
        }
    }
}
