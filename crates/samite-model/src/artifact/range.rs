//! Which bytes a range means, as HTTP writes one: `0-99`, `100-`, `-100`.

use crate::error::{Error, Result};
use std::ops::Range;
use std::str::FromStr;

/// A range of bytes of something whose size is not known yet. Its end is included, as in HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From a byte on, up to and with another one or the end.
    From(u64, Option<u64>),
    /// So many bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// The bytes of something of this size; an end behind its end is its end.
    ///
    /// # Errors
    /// `invalid` (`bad_range`) when it begins behind the end.
    pub fn of(self, size: u64) -> Result<Range<u64>> {
        match self {
            Self::From(start, end) if start < size => {
                Ok(start..end.map_or(size, |end| end.saturating_add(1).min(size)))
            }
            Self::From(start, _) => {
                Err(Error::invalid("bad_range", format!("the range begins at byte {start} of {size}"))
                    .hint("the first byte is 0"))
            }
            Self::Last(count) => Ok(size.saturating_sub(count)..size),
        }
    }
}

impl FromStr for ByteRange {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("{text:?} is no range; write 0-99, 100- or -100");
        let (start, end) = text.split_once('-').ok_or_else(wrong)?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            if plain { digits.parse::<u64>().map_err(|_| wrong()) } else { Err(wrong()) }
        };
        match (start, end) {
            ("", end) => number(end).map(Self::Last),
            (start, "") => Ok(Self::From(number(start)?, None)),
            (start, end) => {
                let (start, end) = (number(start)?, number(end)?);
                if end < start { Err(wrong()) } else { Ok(Self::From(start, Some(end))) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_means_what_http_says() {
        let table = [
            ("0-0", 0..1),
            ("0-99", 0..10),
            ("3-5", 3..6),
            ("9-", 9..10),
            ("-4", 6..10),
            ("-99", 0..10),
            ("0-18446744073709551615", 0..10),
        ];
        for (text, bytes) in table {
            assert_eq!(text.parse::<ByteRange>().unwrap().of(10).unwrap(), bytes, "{text}");
        }
        assert_eq!("10-".parse::<ByteRange>().unwrap().of(10).unwrap_err().code(), "bad_range");
        assert_eq!("-0".parse::<ByteRange>().unwrap().of(10).unwrap(), 10..10);
        assert_eq!("-5".parse::<ByteRange>().unwrap().of(0).unwrap(), 0..0);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "-", "5", "5-3", "a-b", "+1-2", "1-+2", "1--2", "0-99999999999999999999", "0-1,3-4"] {
            assert!(text.parse::<ByteRange>().is_err(), "{text:?}");
        }
    }
}
