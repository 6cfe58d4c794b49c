//! The frame around a caller's event: version 1 ‖ length of the dedupe id (u16) ‖ length of the attributes (u16) ‖
//! dedupe id ‖ attributes (JSON) ‖ the body, as it came. Integers are big-endian. Version 2, for an event in which
//! something was found, has a third length (u16) after the second and its marks (JSON) before the body.

use super::Marks;
use samite_model::{EntryKind, Error, Result};
use serde_json::Value;

const VERSION: u8 = 1;
const MARKED: u8 = 2;

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
    /// What was found in it as it was written; none where nothing was.
    pub marks: Option<Marks>,
    /// Its bytes, as they came but for placeholders.
    pub body: &'a [u8],
}

impl<'a> Event<'a> {
    pub(crate) fn encode(dedupe: Option<&str>, attributes: Option<&Value>, body: &[u8]) -> Result<Vec<u8>> {
        Self::encode_marked(dedupe, attributes, None, body)
    }

    pub(crate) fn encode_marked(
        dedupe: Option<&str>,
        attributes: Option<&Value>,
        marks: Option<&Marks>,
        body: &[u8],
    ) -> Result<Vec<u8>> {
        let dedupe = dedupe.unwrap_or_default().as_bytes();
        let attributes = match attributes {
            Some(value) => crate::core::to_json(value)?,
            None => Vec::new(),
        };
        let too_long = |_| Error::invalid("attributes_too_long", "an event's attributes have more than 65,535 bytes");
        let marks = marks.map(crate::core::to_json).transpose()?;
        let marked = marks.as_ref().map_or(0, |marks| 2 + marks.len());
        let mut bytes = Vec::with_capacity(5 + dedupe.len() + attributes.len() + marked + body.len());
        bytes.push(if marks.is_some() { MARKED } else { VERSION });
        bytes.extend_from_slice(&u16::try_from(dedupe.len()).map_err(too_long)?.to_be_bytes());
        bytes.extend_from_slice(&u16::try_from(attributes.len()).map_err(too_long)?.to_be_bytes());
        if let Some(marks) = &marks {
            bytes.extend_from_slice(&u16::try_from(marks.len()).map_err(too_long)?.to_be_bytes());
        }
        bytes.extend_from_slice(dedupe);
        bytes.extend_from_slice(&attributes);
        bytes.extend_from_slice(marks.as_deref().unwrap_or_default());
        bytes.extend_from_slice(body);
        Ok(bytes)
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self> {
        let damaged = || Error::corrupt("bad_payload", "an event's payload is not framed as one");
        let (version, rest) = bytes.split_first().ok_or_else(damaged)?;
        let (dedupe, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (attributes, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (marks, rest) =
            if *version == MARKED { rest.split_first_chunk::<2>().ok_or_else(damaged)? } else { (&[0; 2], rest) };
        let (dedupe, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*dedupe))).ok_or_else(damaged)?;
        let (attributes, rest) =
            rest.split_at_checked(usize::from(u16::from_be_bytes(*attributes))).ok_or_else(damaged)?;
        let (marks, body) = rest.split_at_checked(usize::from(u16::from_be_bytes(*marks))).ok_or_else(damaged)?;
        if !matches!(*version, VERSION | MARKED) {
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
            marks: match marks {
                [] => None,
                bytes => Some(crate::core::from_json("an event's marks", bytes)?),
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
        assert_eq!(event, Event { dedupe: Some("id"), attributes: Some(attributes), marks: None, body: b"body" });
        let marks = Marks { submitted: Some(crate::payload::Submitted([7; 16])), found: Vec::new() };
        let marked = Event::encode_marked(Some("id"), None, Some(&marks), b"body").unwrap();
        assert_eq!(&marked[..7], b"\x02\x00\x02\x00\x00\x00\x3b");
        let read = Event::decode(&marked).unwrap();
        assert_eq!((read.marks, read.dedupe, read.body), (Some(marks), Some("id"), &b"body"[..]));
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
