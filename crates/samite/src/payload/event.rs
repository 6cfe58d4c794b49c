//! The frame around a caller's event: version 1 ‖ length of the dedupe id (u16) ‖ length of the attributes (u16) ‖
//! dedupe id ‖ attributes (JSON) ‖ the body, as it came. Integers are big-endian.

use samite_model::{EntryKind, Error, Result};
use serde_json::Value;

const VERSION: u8 = 1;

/// Whether entries of this kind are callers' events.
pub fn is_event(kind: EntryKind) -> bool {
    EVENTS.contains(&kind)
}

/// The kinds of entries that callers write.
pub const EVENTS: [EntryKind; 4] =
    [EntryKind::MESSAGE, EntryKind::MODEL_RESPONSE, EntryKind::EVENT, EntryKind::COMPACTION];

/// A caller's event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// The caller's id for it.
    pub dedupe: Option<&'a str>,
    /// What samite knows of it beside its bytes.
    pub attributes: Option<Value>,
    /// Its bytes, as they came.
    pub body: &'a [u8],
}

impl<'a> Event<'a> {
    pub(crate) fn encode(dedupe: Option<&str>, attributes: Option<&Value>, body: &[u8]) -> Result<Vec<u8>> {
        let dedupe = dedupe.unwrap_or_default().as_bytes();
        let attributes = match attributes {
            Some(value) => crate::core::to_json(value)?,
            None => Vec::new(),
        };
        let too_long = |_| Error::invalid("attributes_too_long", "an event's attributes have more than 65,535 bytes");
        let mut bytes = Vec::with_capacity(5 + dedupe.len() + attributes.len() + body.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&u16::try_from(dedupe.len()).map_err(too_long)?.to_be_bytes());
        bytes.extend_from_slice(&u16::try_from(attributes.len()).map_err(too_long)?.to_be_bytes());
        bytes.extend_from_slice(dedupe);
        bytes.extend_from_slice(&attributes);
        bytes.extend_from_slice(body);
        Ok(bytes)
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self> {
        let damaged = || Error::corrupt("bad_payload", "an event's payload is not framed as one");
        let (version, rest) = bytes.split_first().ok_or_else(damaged)?;
        let (dedupe, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (attributes, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (dedupe, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*dedupe))).ok_or_else(damaged)?;
        let (attributes, body) =
            rest.split_at_checked(usize::from(u16::from_be_bytes(*attributes))).ok_or_else(damaged)?;
        if *version != VERSION {
            return Err(damaged());
        }
        Ok(Self {
            dedupe: match dedupe {
                [] => None,
                bytes => Some(std::str::from_utf8(bytes).map_err(|_| damaged())?),
            },
            attributes: match attributes {
                [] => None,
                bytes => Some(crate::core::from_json("an event's attributes", bytes)?),
            },
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_framed_as_documented() {
        let attributes = serde_json::json!({"from": 1});
        let bytes = Event::encode(Some("id"), Some(&attributes), b"body").unwrap();
        assert_eq!(bytes, b"\x01\x00\x02\x00\x0aid{\"from\":1}body");
        let event = Event::decode(&bytes).unwrap();
        assert_eq!(event, Event { dedupe: Some("id"), attributes: Some(attributes), body: b"body" });
        assert_eq!(Event::encode(None, None, b"x").unwrap(), b"\x01\x00\x00\x00\x00x");
        let document = include_str!("../../../../docs/formats.md");
        let vector = document.lines().find_map(|line| line.strip_prefix("event = ")).unwrap();
        let documented = Event::encode(Some("id"), Some(&serde_json::json!({"from": 1})), b"body").unwrap();
        assert_eq!(data_encoding::HEXLOWER.encode(&documented), vector);
        for cut in 0..17 {
            assert!(Event::decode(&bytes[..cut]).is_err(), "{cut}");
        }
    }
}
