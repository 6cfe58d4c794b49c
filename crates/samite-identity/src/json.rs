//! JSON objects in which no name stands twice: two readers never see different values.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A value whose objects have each name once, at every depth.
struct Strict(Value);

/// Reads an object. `None` when the text is none, or a name stands twice in it.
pub(crate) fn object(text: &[u8]) -> Result<Map<String, Value>, Fault> {
    match serde_json::from_slice::<Strict>(text) {
        Ok(Strict(Value::Object(object))) => Ok(object),
        Err(error) if error.to_string().starts_with(TWICE) => Err(Fault::Twice),
        Ok(_) | Err(_) => Err(Fault::NoObject),
    }
}

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is no JSON object.
    NoObject,
    /// A name stands twice.
    Twice,
}

const TWICE: &str = "a name stands twice";

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Read).map(Self)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = map.next_entry::<String, Strict>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom(TWICE));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_at_every_depth() {
        let text = r#"{"a":[{"b":1},{"b":-2.5}],"c":null,"d":true,"e":"x"}"#;
        assert_eq!(Value::Object(object(text.as_bytes()).unwrap()).to_string(), text);
        for text in [r#"{"a":1,"a":1}"#, r#"{"x":[{"a":1,"b":2,"a":3}]}"#, r#"{"a":1,"\u0061":2}"#] {
            assert_eq!(object(text.as_bytes()), Err(Fault::Twice), "{text}");
        }
        for text in ["", "[]", "1", "{", "{} {}", "{\"a\":\"\u{1}\"}", &"[".repeat(500)] {
            assert_eq!(object(text.as_bytes()), Err(Fault::NoObject), "{text}");
        }
    }
}
