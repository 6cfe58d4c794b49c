//! Canonical JSON (RFC 8785) of what leaves are made of: no white space, keys in order, integers that every reader holds exactly.

use samite_model::{Error, Result};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// The largest integer that every reader of JSON holds exactly (RFC 7493), and its negative the smallest.
pub const LARGEST_INTEGER: i64 = (1 << 53) - 1;
/// How deep values may lie in one another.
const DEEPEST: usize = 16;

/// A value of JSON without floating point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of at most 53 bits.
    Integer(i64),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Self>),
    /// Values by keys; written in the order of their keys, whatever their order here.
    Object(Vec<(String, Self)>),
}

impl Json {
    /// The canonical text.
    ///
    /// # Errors
    /// `invalid` (`bad_json_value`) when an integer is too large, a key stands twice, or values lie too deep.
    pub fn write(&self) -> Result<String> {
        let mut text = String::with_capacity(512);
        self.write_to(&mut text, 0)?;
        Ok(text)
    }

    fn write_to(&self, text: &mut String, depth: usize) -> Result<()> {
        let refused =
            |what: &str| Error::invalid("bad_json_value", format!("a leaf of the audit log cannot hold {what}"));
        if depth > DEEPEST {
            return Err(refused("values that lie so deep"));
        }
        match self {
            Self::Null => text.push_str("null"),
            Self::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Integer(value) if value.unsigned_abs() > LARGEST_INTEGER.unsigned_abs() => {
                return Err(refused(&format!("the integer {value}, which not every reader holds exactly")));
            }
            Self::Integer(value) => {
                // Writing into a string does not fail.
                let _ = write!(text, "{value}");
            }
            Self::String(value) => write_string(text, value),
            Self::Array(values) => {
                text.push('[');
                for (place, value) in values.iter().enumerate() {
                    text.push_str(if place > 0 { "," } else { "" });
                    value.write_to(text, depth + 1)?;
                }
                text.push(']');
            }
            Self::Object(fields) => {
                let mut fields: Vec<&(String, Self)> = fields.iter().collect();
                fields.sort_by(|(left, _), (right, _)| order(left, right));
                if let Some([(key, _), _]) = fields.array_windows().find(|[(left, _), (right, _)]| left == right) {
                    return Err(refused(&format!("the key {key:?} twice")));
                }
                text.push('{');
                for (place, (key, value)) in fields.into_iter().enumerate() {
                    text.push_str(if place > 0 { "," } else { "" });
                    write_string(text, key);
                    text.push(':');
                    value.write_to(text, depth + 1)?;
                }
                text.push('}');
            }
        }
        Ok(())
    }

    /// The value with this canonical text; any other spelling of it is refused, so that a value has one hash.
    ///
    /// # Errors
    /// `corrupt` (`bad_leaf`), with the place.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, place: 0 };
        let value = parser.value(0)?;
        if parser.rest().is_empty() { Ok(value) } else { Err(parser.refused("the end")) }
    }
}

/// The order of keys: that of their UTF-16 code units.
fn order(left: &str, right: &str) -> Ordering {
    if left.is_ascii() && right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Whether a string is written as it is.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\')
}

fn write_string(text: &mut String, value: &str) {
    text.push('"');
    if is_plain(value) {
        text.push_str(value);
        text.push('"');
        return;
    }
    for char in value.chars() {
        match char {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\0'..='\u{1f}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(char));
            }
            _ => text.push(char),
        }
    }
    text.push('"');
}

struct Parser<'a> {
    text: &'a str,
    place: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn refused(&self, wanted: &str) -> Error {
        let what =
            format!("a leaf of the audit log is no canonical JSON: {wanted} is missing at its byte {}", self.place);
        Error::corrupt("bad_leaf", what)
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.place += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.refused(token)) }
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        if depth > DEEPEST {
            return Err(self.refused("an end to the depth of values"));
        }
        match self.rest().bytes().next() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.integer(),
            _ if self.eat("null") => Ok(Json::Null),
            _ if self.eat("true") => Ok(Json::Bool(true)),
            _ if self.eat("false") => Ok(Json::Bool(false)),
            _ => Err(self.refused("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        self.expect("{")?;
        let mut fields: Vec<(String, Json)> = Vec::new();
        while !self.eat("}") {
            if !fields.is_empty() {
                self.expect(",")?;
            }
            let key = self.string()?;
            if fields.last().is_some_and(|(before, _)| order(before, &key) != Ordering::Less) {
                return Err(self.refused("the order of keys, each once,"));
            }
            self.expect(":")?;
            fields.push((key, self.value(depth + 1)?));
        }
        Ok(Json::Object(fields))
    }

    fn array(&mut self, depth: usize) -> Result<Json> {
        self.expect("[")?;
        let mut values = Vec::new();
        while !self.eat("]") {
            if !values.is_empty() {
                self.expect(",")?;
            }
            values.push(self.value(depth + 1)?);
        }
        Ok(Json::Array(values))
    }

    fn integer(&mut self) -> Result<Json> {
        let rest = self.rest();
        let length = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count() + 1;
        let digits = rest.get(..length).unwrap_or_default();
        let value = digits.parse::<i64>().ok().filter(|value| value.to_string() == digits);
        let small = value.filter(|value| value.unsigned_abs() <= LARGEST_INTEGER.unsigned_abs());
        // What follows an integer in JSON is never a part of a number: a fraction or an exponent is refused there.
        let value = small.ok_or_else(|| self.refused("an integer in its one spelling"))?;
        self.place += length;
        Ok(Json::Integer(value))
    }

    fn string(&mut self) -> Result<String> {
        self.expect("\"")?;
        let (began, rest) = (self.place, self.rest());
        if let Some((plain, _)) = rest.split_once('"').filter(|(plain, _)| is_plain(plain)) {
            self.place += plain.len() + 1;
            return Ok(plain.to_owned());
        }
        let mut value = String::new();
        let mut chars = rest.char_indices();
        while let Some((place, char)) = chars.next() {
            match char {
                '"' => {
                    self.place += place + 1;
                    let written = self.text.get(began - 1..self.place);
                    let mut canonical = String::new();
                    write_string(&mut canonical, &value);
                    return if written == Some(&canonical) {
                        Ok(value)
                    } else {
                        Err(self.refused("the one spelling of a string"))
                    };
                }
                '\\' => value.push(escaped(&mut chars).ok_or_else(|| self.refused("an escape that is needed"))?),
                _ => value.push(char),
            }
        }
        Err(self.refused("the end of a string"))
    }
}

/// The character of an escape that RFC 8785 may write.
fn escaped(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    Some(match chars.next()?.1 {
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'f' => '\u{c}',
        'r' => '\r',
        'u' => {
            let mut code = 0;
            for _ in 0..4 {
                code = code * 16 + chars.next()?.1.to_digit(16)?;
            }
            char::from_u32(code)?
        }
        other @ ('"' | '\\') => other,
        _ => return None,
    })
}
