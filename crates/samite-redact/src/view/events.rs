//! Texts that come in pieces: the deltas of a stream of events (`data: {"delta":{"text":"…"}}`), joined.

use super::{View, json};
use crate::alphabet::slice;
use memchr::memmem;
use std::collections::BTreeMap;
use std::ops::Range;

/// The most pieces that are joined.
const PIECES: usize = 1 << 16;

/// The key that a piece stands under, and what else its event says of its place.
type Place = (Vec<u8>, Vec<u8>);

/// The joined texts of a stream's events, by the place in the event that they stand at. None unless at least two events
/// have a piece.
pub(crate) fn joined(text: &[u8]) -> Vec<View> {
    if memmem::find(text, b"data:").is_none() {
        return Vec::new();
    }
    // By the key alone, and by what else the event says of its place: choices and blocks may come in turns, and what counts
    // events up is no place.
    let mut pieces: BTreeMap<Place, Vec<Range<usize>>> = BTreeMap::new();
    let mut count = 0;
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        start += line.len();
        let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let Some(rest) = slice(line, indent, line.len()).strip_prefix(b"data:") else { continue };
        let body = start - rest.len()..start;
        let place = place(rest);
        for leaf in json::leaves(slice(text, body.start, body.end)).unwrap_or_default() {
            let key = slice(text, body.start + leaf.key.start, body.start + leaf.key.end);
            if !is_delta(key) || count >= PIECES {
                continue;
            }
            count += 1;
            let range = body.start + leaf.range.start..body.start + leaf.range.end;
            if !place.is_empty() {
                pieces.entry((key.to_vec(), place.clone())).or_default().push(range.clone());
            }
            pieces.entry((key.to_vec(), Vec::new())).or_default().push(range);
        }
    }
    let mut all: Vec<Vec<Range<usize>>> = pieces.into_values().filter(|pieces| pieces.len() >= 2).collect();
    all.sort_by(|one, other| one.iter().map(|range| range.start).cmp(other.iter().map(|range| range.start)));
    all.dedup();
    all.into_iter().map(|pieces| join(text, &pieces)).collect()
}

/// Which choice, item or block an event says that it is of.
fn place(event: &[u8]) -> Vec<u8> {
    let mut place = Vec::new();
    for name in [&b"\"index\""[..], b"\"output_index\"", b"\"content_index\"", b"\"item_id\"", b"\"choice\""] {
        let Some(at) = memmem::find(event, name) else { continue };
        let value = slice(event, at + name.len(), at + name.len() + 80);
        let end = value.iter().position(|byte| matches!(byte, b',' | b'}' | b']')).unwrap_or(value.len());
        place.extend(slice(value, 0, end).iter().filter(|byte| !byte.is_ascii_whitespace()));
        place.push(b'/');
    }
    place
}

fn join(text: &[u8], pieces: &[Range<usize>]) -> View {
    let mut whole = View::default();
    for piece in pieces {
        match json::unescape(text, piece) {
            None => whole.copy(text, piece.clone()),
            Some(view) => whole.extend(text, &view),
        }
    }
    whole
}

fn is_delta(key: &[u8]) -> bool {
    matches!(
        key,
        b"text"
            | b"content"
            | b"delta"
            | b"partial_json"
            | b"arguments"
            | b"thinking"
            | b"output"
            | b"reasoning_content"
            | b"reasoning"
            | b"output_text"
            | b"input_json_delta"
            | b"chunk"
            | b"token"
            | b"completion"
            | b"generated_text"
            | b"response"
            | b"v"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_are_joined_with_the_way_back() {
        let text = "event: delta\ndata: {\"type\":\"d\",\"delta\":{\"text\":\"ghp_\\nab\"}}\n\ndata: {\"delta\":{\"text\":\"cd\"}}\n\ndata: [DONE]\n";
        let views = joined(text.as_bytes());
        assert_eq!(views.len(), 1);
        assert_eq!(views[0].text, b"ghp_\nabcd");
        let places: Vec<&str> = views[0].places(&(3..9)).into_iter().map(|place| &text[place]).collect();
        assert_eq!(places, ["_\\nab", "cd"]);
        let turns = "  data: {\"index\":0,\"text\":\"ab\"}\n  data: {\"index\":1,\"text\":\"12\"}\n  data: {\"index\": 0,\"text\":\"cd\"}\n  data: {\"index\":1,\"text\":\"34\"}\n";
        let mut texts: Vec<_> =
            joined(turns.replace(": 0", ":0").as_bytes()).into_iter().map(|view| view.text).collect();
        texts.sort();
        assert_eq!(texts, [b"1234".to_vec(), b"ab12cd34".to_vec(), b"abcd".to_vec()]);
        assert_eq!(joined(b"data: {\"text\":\"one\"}\n"), []);
        assert_eq!(joined(b"no data: here\n"), []);
    }
}
