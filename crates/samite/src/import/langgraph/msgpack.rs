//! Msgpack, as LangGraph writes it, into JSON values. Nothing that it names is looked up or run.
//!
//! What JSON has no word for is an object with one key that starts with `$`: `$bytes` (base64), `$map` (keys that are no
//! strings), `$float` (not a number, or infinite), `$type` with `value` (an object of a class: its module, name and
//! arguments), `$ext` (anything else).

use serde_json::{Map, Value, json};

/// How deep values may lie in each other.
const DEPTH: usize = 100;
/// The codes of objects: a class with its arguments.
const OBJECTS: std::ops::RangeInclusive<i8> = 0..=5;

/// The value that fills some bytes; nothing when they are no whole msgpack, nest too deep, or hold more than `most`
/// values.
pub(super) fn decode(bytes: &[u8], most: usize) -> Option<Value> {
    let mut reader = Reader { rest: bytes, left: most };
    let value = reader.value(0)?;
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a [u8],
    /// How many values may still come.
    left: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// An unsigned number of one, two, four or eight bytes.
    fn unsigned(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn length(&mut self, bytes: usize) -> Option<usize> {
        usize::try_from(self.unsigned(bytes)?).ok()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        let [first] = self.array()?;
        Some(match first {
            0x00..=0x7f => first.into(),
            0x80..=0x8f => self.map(usize::from(first & 0x0f), depth)?,
            0x90..=0x9f => self.list(usize::from(first & 0x0f), depth)?,
            0xa0..=0xbf => self.text(usize::from(first & 0x1f))?,
            0xc0 => Value::Null,
            0xc2 => false.into(),
            0xc3 => true.into(),
            0xc4..=0xc6 => {
                let length = self.length(1 << (first - 0xc4))?;
                json!({ "$bytes": base64(self.take(length)?) })
            }
            0xc7..=0xc9 => {
                let length = self.length(1 << (first - 0xc7))?;
                self.extension(length, depth)?
            }
            0xca => float(f32::from_be_bytes(self.array()?).into()),
            0xcb => float(f64::from_be_bytes(self.array()?)),
            0xcc..=0xcf => self.unsigned(1 << (first - 0xcc))?.into(),
            0xd0 => i8::from_be_bytes(self.array()?).into(),
            0xd1 => i16::from_be_bytes(self.array()?).into(),
            0xd2 => i32::from_be_bytes(self.array()?).into(),
            0xd3 => i64::from_be_bytes(self.array()?).into(),
            0xd4..=0xd8 => self.extension(1 << (first - 0xd4), depth)?,
            0xd9..=0xdb => {
                let length = self.length(1 << (first - 0xd9))?;
                self.text(length)?
            }
            0xdc | 0xdd => {
                let length = self.length(2 << (first - 0xdc))?;
                self.list(length, depth)?
            }
            0xde | 0xdf => {
                let length = self.length(2 << (first - 0xde))?;
                self.map(length, depth)?
            }
            0xe0..=0xff => first.cast_signed().into(),
            0xc1 => return None,
        })
    }

    fn text(&mut self, length: usize) -> Option<Value> {
        let bytes = self.take(length)?;
        Some(String::from_utf8_lossy(bytes).into_owned().into())
    }

    fn list(&mut self, length: usize, depth: usize) -> Option<Value> {
        // Every element takes a byte at least, so a length that lies is found before it costs anything.
        if length > self.rest.len() {
            return None;
        }
        (0..length).map(|_| self.value(depth + 1)).collect::<Option<Vec<_>>>().map(Value::Array)
    }

    fn map(&mut self, length: usize, depth: usize) -> Option<Value> {
        if length > self.rest.len() {
            return None;
        }
        let pairs: Vec<(Value, Value)> =
            (0..length).map(|_| Some((self.value(depth + 1)?, self.value(depth + 1)?))).collect::<Option<_>>()?;
        if pairs.iter().all(|(key, _)| key.is_string()) {
            let pairs = pairs.into_iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)));
            return Some(Value::Object(pairs.collect::<Map<_, _>>()));
        }
        Some(json!({ "$map": pairs.into_iter().map(|(key, value)| json!([key, value])).collect::<Vec<_>>() }))
    }

    fn extension(&mut self, length: usize, depth: usize) -> Option<Value> {
        let code = i8::from_be_bytes(self.array()?);
        let bytes = self.take(length)?;
        let mut inner = Reader { rest: bytes, left: self.left };
        let value = inner.value(depth + 1).filter(|_| inner.rest.is_empty());
        self.left = inner.left;
        // What is no msgpack inside stands as bytes; what is too much of it does not.
        if value.is_none() && self.left == 0 {
            return None;
        }
        if OBJECTS.contains(&code)
            && let Some([Value::String(module), Value::String(name), arguments, ..]) =
                value.as_ref().and_then(Value::as_array).map(Vec::as_slice)
        {
            return Some(json!({ "$type": format!("{module}.{name}"), "value": arguments }));
        }
        Some(match value {
            Some(value) => json!({ "$ext": code, "value": value }),
            None => json!({ "$ext": code, "$bytes": base64(bytes) }),
        })
    }
}

fn base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}

fn float(number: f64) -> Value {
    match serde_json::Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None => json!({ "$float": number.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_is_read() {
        for (bytes, expected) in [
            (&b"\x07"[..], json!(7)),
            (b"\xff", json!(-1)),
            (b"\xc0", json!(null)),
            (b"\xc3", json!(true)),
            (b"\xcc\xc8", json!(200)),
            (b"\xcd\x01\x00", json!(256)),
            (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", json!(u64::MAX)),
            (b"\xd0\x80", json!(-128)),
            (b"\xd1\xff\x00", json!(-256)),
            (b"\xd3\x80\0\0\0\0\0\0\0", json!(i64::MIN)),
            (b"\xcb\x3f\xf8\0\0\0\0\0\0", json!(1.5)),
            (b"\xcb\x7f\xf8\0\0\0\0\0\0", json!({ "$float": "NaN" })),
            (b"\xca\x3f\x80\0\0", json!(1.0)),
            (b"\xa2hi", json!("hi")),
            (b"\xd9\x02hi", json!("hi")),
            (b"\xda\x00\x02hi", json!("hi")),
            (b"\xc4\x02hi", json!({ "$bytes": "aGk=" })),
            (b"\x92\x01\x90", json!([1, []])),
            (b"\xdc\x00\x01\x01", json!([1])),
            (b"\xdd\x00\x00\x00\x01\x01", json!([1])),
            (b"\x81\xa1a\x01", json!({ "a": 1 })),
            (b"\xde\x00\x01\xa1a\x01", json!({ "a": 1 })),
            (b"\x81\x01\x02", json!({ "$map": [[1, 2]] })),
            (b"\xd4\x63\x01", json!({ "$ext": 99, "value": 1 })),
            (b"\xd5\x63\x01\x01", json!({ "$ext": 99, "$bytes": "AQE=" })),
            (b"\xc7\x06\x00\x93\xa1m\xa1n\x05", json!({ "$type": "m.n", "value": 5 })),
        ] {
            assert_eq!(decode(bytes, 1000), Some(expected), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_cut_or_lies_is_refused() {
        for bytes in [&b""[..], b"\xa2h", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff\x01", b"\xc1", b"\x01\x01"] {
            assert_eq!(decode(bytes, 1000), None, "{bytes:?}");
        }
        assert_eq!(decode(&[0x91; 5000], 9000), None);
        assert!(decode(&[&[0x91; 90][..], &[0x01]].concat(), 91).is_some());
        assert!(decode(&[&[0x91; 90][..], &[0x01]].concat(), 90).is_none());
        // An object of two words and two numbers.
        let object = b"\xc7\x08\x00\x93\xa1m\xa1n\x92\x05\x06";
        assert!(decode(object, 7).is_some() && decode(object, 6).is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, 1000);
        }
    }
}
