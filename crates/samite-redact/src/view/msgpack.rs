//! `MessagePack`: its strings, bytes and extensions, written anew with their lengths where something in them is replaced
//! (<https://github.com/msgpack/msgpack/blob/master/spec.md>).

use crate::alphabet::slice;

/// How deep arrays, maps and extensions may be within each other.
const DEPTH: usize = 64;

/// What replaces a leaf, given what it is called; none where it stays.
pub(crate) type Replace<'a> = dyn FnMut(&[u8], &[u8]) -> Option<Vec<u8>> + 'a;

/// The document with what replaces its leaves. None when it is no `MessagePack` of at least one array, map or extension.
pub(crate) fn rewritten(text: &[u8], replace: &mut Replace<'_>) -> Option<Vec<u8>> {
    let first = *text.first()?;
    let opens = matches!(first, 0x81..=0x8f | 0x91..=0x9f | 0xdc..=0xdf | 0xc7..=0xc9 | 0xd4..=0xd8);
    if !opens || std::str::from_utf8(text).is_ok() {
        return None;
    }
    // All of it must be one, before any of it is looked at.
    let mut check = Walk { text, at: 0, out: None, replace: &mut |_, _| None };
    check.value(b"", DEPTH)?;
    if check.at != text.len() {
        return None;
    }
    let mut walk = Walk { text, at: 0, out: Some(Vec::with_capacity(text.len())), replace };
    walk.value(b"", DEPTH)?;
    walk.out
}

struct Walk<'a, 'b> {
    text: &'a [u8],
    at: usize,
    /// What is written; none while it is only checked.
    out: Option<Vec<u8>>,
    replace: &'b mut Replace<'b>,
}

impl<'a> Walk<'a, '_> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.text.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        let taken = self.take(bytes)?;
        Some(taken.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    fn keep(&mut self, from: usize) {
        let kept = slice(self.text, from, self.at);
        if let Some(out) = &mut self.out {
            out.extend_from_slice(kept);
        }
    }

    /// One value, called so by the key before it. Answers with its bytes when it is a string.
    fn value(&mut self, name: &[u8], depth: usize) -> Option<&'a [u8]> {
        let depth = depth.checked_sub(1)?;
        let from = self.at;
        let [mark] = *self.take(1)? else { return None };
        let low = usize::from(mark);
        match mark {
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => {}
            0x80..=0x8f => return self.items(from, low & 0xf, true, name, depth),
            0x90..=0x9f => return self.items(from, low & 0xf, false, name, depth),
            0xdc | 0xdd => {
                let count = self.number(if mark == 0xdc { 2 } else { 4 })?;
                return self.items(from, count, false, name, depth);
            }
            0xde | 0xdf => {
                let count = self.number(if mark == 0xde { 2 } else { 4 })?;
                return self.items(from, count, true, name, depth);
            }
            0xa0..=0xbf => return self.leaf(Kind::String, low & 0x1f, name, depth),
            0xd9..=0xdb => {
                let length = self.number(1 << (mark - 0xd9))?;
                return self.leaf(Kind::String, length, name, depth);
            }
            0xc4..=0xc6 => {
                let length = self.number(1 << (mark - 0xc4))?;
                return self.leaf(Kind::Bytes, length, name, depth);
            }
            0xc7..=0xc9 => {
                let length = self.number(1 << (mark - 0xc7))?;
                let of = self.number(1)?;
                return self.leaf(Kind::Extension(of), length, name, depth);
            }
            0xd4..=0xd8 => {
                let of = self.number(1)?;
                return self.leaf(Kind::Extension(of), 1 << (mark - 0xd4), name, depth);
            }
            0xca | 0xce | 0xd2 => {
                self.take(4)?;
            }
            0xcb | 0xcf | 0xd3 => {
                self.take(8)?;
            }
            0xcc | 0xd0 => {
                self.take(1)?;
            }
            0xcd | 0xd1 => {
                self.take(2)?;
            }
            // The one mark that is never used.
            0xc1 => return None,
        }
        self.keep(from);
        Some(b"")
    }

    fn items(&mut self, from: usize, count: usize, keyed: bool, name: &[u8], depth: usize) -> Option<&'a [u8]> {
        self.keep(from);
        for _ in 0..count {
            if keyed {
                let begun = self.at;
                // Keys stay as they are.
                let out = self.out.take();
                let key = self.value(b"", depth);
                self.out = out;
                let key = key?;
                self.keep(begun);
                self.value(key, depth)?;
            } else {
                self.value(name, depth)?;
            }
        }
        Some(b"")
    }

    fn leaf(&mut self, kind: Kind, length: usize, name: &[u8], depth: usize) -> Option<&'a [u8]> {
        let bytes = self.take(length)?;
        if self.out.is_some() {
            let inside = if matches!(kind, Kind::String) { None } else { self.inside(bytes, depth) };
            let replaced = inside.or_else(|| (self.replace)(name, bytes));
            let bytes = replaced.as_deref().unwrap_or(bytes);
            if let Some(out) = &mut self.out {
                kind.write_head(out, bytes.len());
                out.extend_from_slice(bytes);
            }
        }
        Some(bytes)
    }

    /// What stands in bytes or an extension, when that is `MessagePack` itself.
    fn inside(&mut self, bytes: &[u8], depth: usize) -> Option<Vec<u8>> {
        let mut check = Walk { text: bytes, at: 0, out: None, replace: &mut |_, _| None };
        check.value(b"", depth)?;
        if check.at != bytes.len() || bytes.len() < 2 {
            return None;
        }
        let replace = &mut *self.replace;
        let mut walk =
            Walk { text: bytes, at: 0, out: Some(Vec::new()), replace: &mut |name, leaf| replace(name, leaf) };
        walk.value(b"", depth)?;
        walk.out
    }
}

#[derive(Clone, Copy)]
enum Kind {
    String,
    Bytes,
    /// Of this type.
    Extension(usize),
}

impl Kind {
    /// The shortest mark and length.
    fn write_head(self, out: &mut Vec<u8>, length: usize) {
        let (short, eight): (Option<u8>, u8) = match self {
            Self::String => (u8::try_from(length).ok().filter(|length| *length < 32).map(|length| 0xa0 | length), 0xd9),
            Self::Bytes => (None, 0xc4),
            Self::Extension(_) => {
                let power = [1, 2, 4, 8, 16].iter().position(|fixed| *fixed == length);
                (power.and_then(|power| u8::try_from(power).ok()).map(|power| 0xd4 + power), 0xc7)
            }
        };
        let wide = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
        let [.., third, fourth] = wide;
        match (short, length) {
            (Some(mark), _) => out.push(mark),
            (None, ..0x100) => out.extend_from_slice(&[eight, fourth]),
            (None, ..0x1_0000) => out.extend_from_slice(&[eight + 1, third, fourth]),
            (None, _) => {
                out.push(eight + 2);
                out.extend_from_slice(&wide);
            }
        }
        if let Self::Extension(of) = self {
            out.push(u8::try_from(of).unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Kind::String.write_head(&mut out, text.len());
        out.extend_from_slice(text.as_bytes());
        out
    }

    fn upper(text: &[u8]) -> Option<Vec<u8>> {
        rewritten(text, &mut |name, leaf| {
            (name == b"k" && leaf.len() > 1)
                .then(|| format!("{}!{}", String::from_utf8_lossy(leaf), "x".repeat(40)).into())
        })
    }

    #[test]
    fn lengths_follow_what_is_replaced() {
        let long = format!("v2!{}", "x".repeat(40));
        let whole = |value: &str| {
            let inner = [vec![0x81], string("k"), string(value)].concat();
            let mut extension = Vec::new();
            Kind::Extension(5).write_head(&mut extension, inner.len());
            extension.extend_from_slice(&inner);
            let mut bytes = Vec::new();
            Kind::Bytes.write_head(&mut bytes, inner.len());
            bytes.extend_from_slice(&inner);
            let numbers = [
                &[0x9d, 1, 0xff, 0xc0, 0xc2, 0xcc, 200, 0xcd, 1, 2, 0xce, 1, 2, 3, 4][..],
                &[0xca, 0, 0, 0, 0],
                &[0xcb],
                &[7; 8],
                &[0xd0, 1],
                &[0xd1, 1, 2],
                &[0xd3],
                &[9; 8],
                &[0xc3],
            ]
            .concat();
            [
                vec![0x95],
                inner,
                extension,
                bytes,
                numbers,
                vec![0xde, 0, 1],
                string("k"),
                vec![0x92],
                string(value),
                string("w"),
            ]
            .concat()
        };
        assert_eq!(upper(&whole("v2")), Some(whole(&long)));
    }

    #[test]
    fn what_is_none_is_left_alone() {
        for text in [
            &b""[..],
            b"text",
            b"\x82\xa1k",
            b"\x81\xa1k\xa1vv",
            b"\xc1",
            b"\x81\xc1\x01",
            b"\xa5hello",
            "\u{7ff}x".as_bytes(),
        ] {
            assert_eq!(upper(text), None, "{text:?}");
        }
        assert_eq!(upper(&[0x91; 100]), None);
    }

    #[test]
    fn heads_are_the_shortest() {
        for (kind, length, expected) in [
            (Kind::String, 31, vec![0xbf]),
            (Kind::String, 32, vec![0xd9, 32]),
            (Kind::String, 256, vec![0xda, 1, 0]),
            (Kind::String, 65_536, vec![0xdb, 0, 1, 0, 0]),
            (Kind::Bytes, 3, vec![0xc4, 3]),
            (Kind::Extension(7), 4, vec![0xd6, 7]),
            (Kind::Extension(7), 5, vec![0xc7, 5, 7]),
            (Kind::Extension(7), 300, vec![0xc8, 1, 44, 7]),
        ] {
            let mut out = Vec::new();
            kind.write_head(&mut out, length);
            assert_eq!(out, expected);
        }
    }
}
