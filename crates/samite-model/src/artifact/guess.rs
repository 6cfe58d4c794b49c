//! What a file probably is, by its first bytes and its name. A guess is for people and browsers: nothing is decided by it.

/// The media type of bytes that need no name to be recognised.
const MAGIC: [(&[u8], &str); 12] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"BM", "image/bmp"),
    (b"OggS", "application/ogg"),
    (b"\x7fELF", "application/x-executable"),
];

/// The media type of names with these endings.
const NAMES: [(&str, &str); 35] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("bmp", "image/bmp"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("pdf", "application/pdf"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("parquet", "application/vnd.apache.parquet"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
    ("tar", "application/x-tar"),
    ("gz", "application/gzip"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ipynb", "application/x-ipynb+json"),
];

const UNKNOWN: &str = "application/octet-stream";

/// The media type of a file with this name that begins with these bytes.
pub fn guess_mime(name: &str, begins: &[u8]) -> &'static str {
    let by_bytes = MAGIC.iter().find(|(magic, _)| begins.starts_with(magic)).map(|(_, mime)| *mime);
    let ending = name.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    let ending = ending.unwrap_or_default().to_ascii_lowercase();
    let by_name = NAMES.iter().find(|(known, _)| *known == ending).map(|(_, mime)| *mime);
    match (by_bytes, by_name) {
        (Some(mime), _) | (None, Some(mime)) => mime,
        // The beginning may end in the middle of a character.
        (None, None) => match std::str::from_utf8(begins) {
            Ok(text) if is_text(text) && !begins.is_empty() => "text/plain",
            Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => "text/plain",
            _ => UNKNOWN,
        },
    }
}

fn is_text(text: &str) -> bool {
    text.chars().all(|letter| !letter.is_control() || matches!(letter, '\n' | '\r' | '\t'))
}

/// The type that a media type goes with, where its caller names none.
pub fn guess_type(mime: &str) -> &'static str {
    match mime {
        "text/csv"
        | "text/tab-separated-values"
        | "application/vnd.apache.parquet"
        | "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        | "application/vnd.oasis.opendocument.spreadsheet" => "table",
        "application/pdf"
        | "application/msword"
        | "application/vnd.oasis.opendocument.text"
        | "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        | "application/vnd.openxmlformats-officedocument.presentationml.presentation"
        | "text/markdown"
        | "text/html" => "document",
        image if image.starts_with("image/") => "image",
        _ => "file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_before_names_and_text_is_recognised() {
        let table: [(&str, &[u8], &str); 12] = [
            ("a.png", b"\x89PNG\r\n\x1a\n....", "image/png"),
            ("a.txt", b"\x89PNG\r\n\x1a\n....", "image/png"),
            ("dir.png/report.PDF", b"", "application/pdf"),
            ("dir.png/report", b"", UNKNOWN),
            ("data.csv", b"a,b\n", "text/csv"),
            ("notes", b"plain words\n", "text/plain"),
            ("notes", "caf\u{e9}".as_bytes().split_at(4).0, "text/plain"),
            ("x", b"\x1b[2Jescape", UNKNOWN),
            ("x", b"\xff\xfe\x00", UNKNOWN),
            (".png", b"", "image/png"),
            ("page.html", b"<html>", "text/html"),
            ("", b"", UNKNOWN),
        ];
        for (name, begins, mime) in table {
            assert_eq!(guess_mime(name, begins), mime, "{name} {begins:?}");
        }
    }

    #[test]
    fn a_type_goes_with_each_media_type() {
        for (mime, expected) in [
            ("image/svg+xml", "image"),
            ("text/csv", "table"),
            ("application/pdf", "document"),
            ("application/x-made-up", "file"),
        ] {
            assert_eq!(guess_type(mime), expected);
        }
        assert!(NAMES.iter().all(|(_, mime)| super::super::TYPES.contains(&guess_type(mime))));
    }
}
