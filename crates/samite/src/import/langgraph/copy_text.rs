//! Rows as PostgreSQL writes them in a plain dump: `COPY table (columns) FROM stdin;`, a row a line, and `\.`.

use std::borrow::Cow;

/// The tables of a saver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Checkpoints,
    Blobs,
    Writes,
}

/// The start of a table's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// Nothing for a table of no interest.
    pub(super) table: Option<Table>,
    /// As it stands there; empty when there is none.
    pub(super) schema: String,
    pub(super) columns: Vec<String>,
}

/// What a line outside of rows starts.
pub(super) fn start(line: &str) -> Option<Start> {
    let rest = line.strip_prefix("COPY ")?.strip_suffix(" FROM stdin;")?;
    let (name, columns) = rest.split_once(" (")?;
    let columns = columns.strip_suffix(')')?.split(", ").map(|column| column.trim_matches('"').to_owned()).collect();
    let (schema, name) = name.rsplit_once('.').unwrap_or(("", name));
    let table = match name.trim_matches('"') {
        "checkpoints" => Some(Table::Checkpoints),
        "checkpoint_blobs" => Some(Table::Blobs),
        "checkpoint_writes" => Some(Table::Writes),
        _ => None,
    };
    Some(Start { table, schema: schema.to_owned(), columns })
}

/// A row's fields; nothing in one that is null.
pub(super) fn row(line: &[u8]) -> Vec<Option<Cow<'_, [u8]>>> {
    line.split(|byte| *byte == b'\t').map(field).collect()
}

fn field(field: &[u8]) -> Option<Cow<'_, [u8]>> {
    if field == b"\\N" {
        return None;
    }
    if !field.contains(&b'\\') {
        return Some(Cow::Borrowed(field));
    }
    let mut plain = Vec::with_capacity(field.len());
    let mut bytes = field.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        plain.push(match bytes.next() {
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 11,
            Some(other) => other,
            None => b'\\',
        });
    }
    Some(Cow::Owned(plain))
}

/// The bytes of a `bytea`, in hexadecimal form (`\x00ff`) or escaped (`\000\377`), as the server was told to write them.
pub(super) fn bytes(text: &[u8]) -> Option<Vec<u8>> {
    // In the other form, a backslash is followed by a second one or by digits.
    if let Some(digits) = text.strip_prefix(b"\\x") {
        return data_encoding::HEXLOWER_PERMISSIVE.decode(digits).ok();
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            plain.push(*first);
            continue;
        }
        match *rest {
            [b'\\', ref after @ ..] => {
                plain.push(b'\\');
                rest = after;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ref after @ ..] => {
                plain.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => return None,
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_table_names_its_columns() {
        let found = start("COPY public.checkpoint_blobs (thread_id, \"type\", blob) FROM stdin;").unwrap();
        assert_eq!(
            (found.table, found.schema.as_str(), found.columns),
            (Some(Table::Blobs), "public", ["thread_id", "type", "blob"].map(Into::into).to_vec())
        );
        assert_eq!(start("COPY public.other (a) FROM stdin;").unwrap().table, None);
        let bare = start("COPY checkpoints (a) FROM stdin;").unwrap();
        assert_eq!((bare.table, bare.schema.as_str()), (Some(Table::Checkpoints), ""));
        for line in ["", "-- COPY", "COPY x FROM '/tmp/y';", "SELECT 1;"] {
            assert_eq!(start(line), None, "{line}");
        }
    }

    #[test]
    fn fields_are_unescaped() {
        let fields = row(b"a\\tb\t\\N\t\t\\\\x00ff\tx\\\\ny\\n");
        let fields: Vec<_> = fields.iter().map(|field| field.as_deref()).collect();
        assert_eq!(fields, [Some(&b"a\tb"[..]), None, Some(b""), Some(b"\\x00ff"), Some(b"x\\ny\n")]);
        assert_eq!(bytes(b"\\x00ff"), Some(vec![0, 255]));
        assert_eq!((bytes(b"\\x"), bytes(b"\\xzz"), bytes(b"\\x0")), (Some(vec![]), None, None));
        assert_eq!(bytes(br"\221\245hello\\x\000"), Some(b"\x91\xa5hello\\x\0".to_vec()));
        for cut in [&br"\"[..], br"a\12", br"\400", br"\q"] {
            assert_eq!(bytes(cut), None, "{cut:?}");
        }
    }
}
