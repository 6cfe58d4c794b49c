//! An entry as an answer.

use super::Keys;
use crate::printer::words::{bytes, rfc3339, time};
use crate::printer::{Answer, Page, Style};
use data_encoding::BASE64;
use samite::Entry;
use samite_model::SessionId;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An entry.
#[derive(Debug, Serialize)]
pub(crate) struct EntryShape {
    id: String,
    session: String,
    branch: String,
    seq: u64,
    kind: String,
    time: String,
    epoch: u64,
    /// How many bytes its payload has; a caller's payload must be read to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dedupe: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Value>,
    /// How `payload` is to be read: `json` (the value itself), `text`, `base64`; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    /// Whether the payload was erased.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    erased: bool,
    /// Whether the payload is there, and too large to be shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    large: bool,
    #[serde(skip)]
    at: i64,
    #[serde(skip)]
    text: Option<String>,
    /// One of samite's own entries in words.
    #[serde(skip)]
    own: Option<String>,
    #[serde(skip)]
    whole: bool,
}

/// How much of a payload a person is shown, unless they ask for the whole.
const LINES: usize = 12;

impl EntryShape {
    /// The shape of an entry; `whole` shows a person all of its payload, `with_payload` says that it was asked for.
    pub(crate) fn new(
        session: SessionId,
        entry: &Entry,
        keys: &mut Keys,
        (whole, with_payload): (bool, bool),
    ) -> samite_model::Result<Self> {
        let parts = parts(entry)?;
        let (encoding, payload) = match parts.body.map(raw) {
            Some((encoding, payload)) => (Some(encoding), payload),
            None => (None, None),
        };
        let text = parts.body.map(|body| match std::str::from_utf8(body) {
            Ok(text) => text.to_owned(),
            Err(_) => format!("({} that are no text)", bytes(body.len() as u64)),
        });
        Ok(Self {
            id: entry.header.id.to_string(),
            session: session.to_string(),
            branch: entry.position.journal.to_string(),
            seq: entry.position.seq,
            kind: entry.header.kind.name(),
            time: rfc3339(entry.header.time),
            epoch: entry.header.epoch,
            bytes: match parts.body {
                Some(body) => Some(body.len() as u64),
                // The header's length is that of a caller's payload in its frame.
                None => (!entry.is_event()).then_some(entry.header.length),
            },
            dedupe: parts.dedupe,
            attributes: parts.attributes,
            encoding,
            payload,
            erased: with_payload && entry.payload.is_none() && entry.blocks.is_empty(),
            large: with_payload && entry.payload.is_none() && !entry.blocks.is_empty(),
            at: entry.header.time,
            text,
            own: keys.words(entry),
            whole,
        })
    }
}

struct Parts<'a> {
    dedupe: Option<String>,
    attributes: Option<Value>,
    body: Option<&'a [u8]>,
}

/// A caller's event apart from what samite knows of it; samite's own entries are JSON as they are.
fn parts(entry: &Entry) -> samite_model::Result<Parts<'_>> {
    if entry.payload.is_some() && entry.is_event() {
        let event = entry.event()?;
        return Ok(Parts {
            dedupe: event.dedupe.map(str::to_owned),
            attributes: event.attributes,
            body: Some(event.body),
        });
    }
    Ok(Parts { dedupe: None, attributes: None, body: entry.payload.as_deref() })
}

/// Bytes as a JSON value: themselves when they are JSON, else a string.
fn raw(body: &[u8]) -> (&'static str, Option<Box<RawValue>>) {
    let as_is = std::str::from_utf8(body).ok().filter(|text| {
        // Half of a surrogate pair may stand in JSON, but not every reader of the line can take it.
        let surrogates = text.contains("\\ud") || text.contains("\\uD");
        serde_json::from_str::<&RawValue>(text).is_ok() && !(surrogates && serde_json::from_str::<Value>(text).is_err())
    });
    if let Some(text) = as_is {
        return ("json", RawValue::from_string(without_line_breaks(text)).ok());
    }
    let (encoding, text) = match std::str::from_utf8(body) {
        Ok(text) => ("text", text.to_owned()),
        Err(_) => ("base64", BASE64.encode(body)),
    };
    (encoding, serde_json::value::to_raw_value(&text).ok())
}

/// JSON on one line. Numbers, order and repeated names stay as they are.
fn without_line_breaks(json: &str) -> String {
    // A line break inside a string is written as an escape, so every one found here is white space.
    json.trim().replace(['\n', '\r'], " ")
}

impl Answer for EntryShape {
    fn show(&self, page: &mut Page) {
        let head = format!("{:>6}  ", self.seq);
        if let (Some(own), false) = (&self.own, self.whole) {
            let (own, when) = (format!("  {own}"), format!("  {}", time(self.at)));
            page.spans(&[
                (Style::Plain, &head),
                (Style::Strong, &self.kind),
                (Style::Plain, &own),
                (Style::Dim, &when),
            ]);
            return;
        }
        let size = self.bytes.map_or_else(String::new, |size| format!("  {}", bytes(size)));
        let when = format!("  {}{size}", time(self.at));
        page.spans(&[(Style::Plain, &head), (Style::Strong, &self.kind), (Style::Dim, &when)]);
        if let Some(dedupe) = &self.dedupe {
            page.styled(Style::Dim, format!("        dedupe {dedupe}"));
        }
        if let Some(attributes) = &self.attributes {
            page.styled(Style::Dim, format!("        {attributes}"));
        }
        match &self.text {
            Some(text) => page.block(8, text, (!self.whole).then_some(LINES)),
            None if self.erased => page.styled(Style::Dim, "        (erased)"),
            None if self.large => page.styled(Style::Dim, "        (too large to be shown)"),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &[u8]) -> (&'static str, String) {
        let (encoding, raw) = raw(body);
        (encoding, raw.unwrap().get().to_owned())
    }

    #[test]
    fn json_stays_as_it_is_on_one_line() {
        assert_eq!(shown(b"{\"b\":1.50,\n \"a\":1e400}\n"), ("json", "{\"b\":1.50,  \"a\":1e400}".to_owned()));
        assert_eq!(shown(b"12345678901234567890123"), ("json", "12345678901234567890123".to_owned()));
    }

    #[test]
    fn other_bytes_are_a_string() {
        assert_eq!(shown(b"say \"hi\"\n"), ("text", "\"say \\\"hi\\\"\\n\"".to_owned()));
        assert_eq!(shown(&[0xff, 0]), ("base64", "\"/wA=\"".to_owned()));
        assert_eq!(shown(b""), ("text", "\"\"".to_owned()));
    }
}
