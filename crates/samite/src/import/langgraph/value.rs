//! The values of a saver's columns, by their encodings.

use super::msgpack;
use serde_json::Value;

/// How many values one may hold: a hostile one of a byte each would take a hundred times its bytes.
pub(super) const VALUES: usize = 4 << 20;

/// A value by its encoding; nothing when it cannot be read, or holds too much, and `Null` for none.
pub(super) fn decode(encoding: &str, bytes: &[u8]) -> Option<Value> {
    match encoding {
        // Nothing, or bytes that stand for themselves.
        "null" | "empty" | "bytes" | "bytearray" => Some(Value::Null),
        "json" => json(bytes, VALUES),
        "msgpack" => msgpack::decode(bytes, VALUES),
        _ => None,
    }
}

fn json(bytes: &[u8], most: usize) -> Option<Value> {
    // What stands between values, outside of strings, is counted before anything is made of them.
    let (mut count, mut inside, mut is_escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = inside,
            b'"' => inside = !inside,
            b'[' | b'{' | b',' if !inside => count += 1,
            _ => {}
        }
    }
    if count > most { None } else { serde_json::from_slice(bytes).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_read_up_to_a_bound() {
        assert_eq!(decode("null", b""), Some(json!(null)));
        assert_eq!(decode("json", b"{\"a\":[1]}"), Some(json!({ "a": [1] })));
        assert_eq!(decode("msgpack", b"\x91\x01"), Some(json!([1])));
        for (encoding, bytes) in [("json", &b"{"[..]), ("msgpack", b"\x93"), ("pickle", b"\x80")] {
            assert_eq!(decode(encoding, bytes), None, "{encoding}");
        }
        let text = br#"[[],"\",,[",{"a":1}]"#;
        assert_eq!((json(text, 5), json(text, 4)), (Some(json!([[], "\",,[", { "a": 1 }])), None));
    }

    #[test]
    fn a_value_of_more_than_the_bound_is_not_made() {
        let count = VALUES + 1;
        let mut bomb = vec![0xdd];
        bomb.extend_from_slice(&u32::try_from(count).unwrap().to_be_bytes());
        bomb.resize(5 + count, 0x80);
        assert_eq!(decode("msgpack", &bomb), None);
        let mut text = "[{}".to_owned();
        text += &",{}".repeat(count / 2 + 1);
        text += "]";
        assert_eq!(decode("json", text.as_bytes()), None);
    }
}
