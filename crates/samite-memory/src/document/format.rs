//! What kind of document a file is.

use samite_model::{Error, Result};

/// How a document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text of which nothing is known but paragraphs and sentences.
    Plain,
    /// Markdown.
    Markdown,
    /// Source code, configuration, data: lines whose indentation means something.
    Code,
    /// HTML.
    Html,
}

const MARKDOWN: &[&str] = &["markdown", "md", "mdown", "mdx", "mkd"];
const HTML: &[&str] = &["htm", "html", "xhtml"];
const PLAIN: &[&str] = &["adoc", "csv", "log", "org", "rst", "text", "tsv", "txt"];
const CODE: &[&str] = &[
    "bash", "c", "cc", "cfg", "clj", "cmake", "conf", "cpp", "cs", "css", "cu", "cxx", "d", "dart", "elm", "erl", "ex",
    "exs", "fish", "fs", "gd", "go", "gradle", "graphql", "groovy", "h", "hcl", "hh", "hpp", "hs", "ini", "java", "jl",
    "js", "json", "jsonl", "jsx", "kt", "kts", "less", "lisp", "lua", "m", "mjs", "ml", "mli", "mm", "nim", "nix",
    "php", "pl", "pm", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "sass", "scala", "scm", "scss", "sh", "sol",
    "sql", "svelte", "swift", "tcl", "tf", "toml", "ts", "tsx", "v", "vb", "vhd", "vue", "xml", "yaml", "yml", "zig",
    "zsh",
];
/// Files of code that go by their whole name.
const NAMES: &[&str] = &["cmakelists.txt", "dockerfile", "gemfile", "justfile", "makefile", "rakefile", "vagrantfile"];

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Markdown, Self::Code, Self::Html];

    /// Its name: `plain`, `markdown`, `code`, `html`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Markdown => "markdown",
            Self::Code => "code",
            Self::Html => "html",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// What a file is by its name, or by its first bytes where the name does not say: some thousand are enough.
    ///
    /// # Errors
    ///
    /// `binary_document` when the bytes are not the beginning of a text in UTF-8, whatever the name says.
    pub fn guess(name: &str, first: &[u8]) -> Result<Self> {
        let beginning = match std::str::from_utf8(first) {
            Ok(text) => text,
            // The last character may have been cut off.
            Err(error) if error.error_len().is_none() => {
                first.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()).unwrap_or_default()
            }
            Err(_) => return Err(binary(name)),
        };
        if is_binary(beginning) || beginning.is_empty() && !first.is_empty() {
            return Err(binary(name));
        }
        Ok(by_name(name).unwrap_or_else(|| by_beginning(beginning)))
    }
}

/// The whole of a document's bytes as text.
///
/// # Errors
///
/// `binary_document` when they are not UTF-8.
pub fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| binary(name).because(error))
}

fn binary(name: &str) -> Error {
    Error::invalid("binary_document", format!("{name:?} is not text in UTF-8")).hint(
        "give text in UTF-8: take the text out of a PDF, an image or an office document first, convert other encodings",
    )
}

/// Whether it begins like a file of bytes, or has characters that no text has.
fn is_binary(beginning: &str) -> bool {
    let controls = beginning
        .chars()
        .filter(|character| character.is_ascii_control() && !matches!(character, '\t' | '\n' | '\r' | '\x0c' | '\x1b'))
        .count();
    beginning.starts_with("%PDF-")
        || beginning.starts_with("{\\rtf")
        || beginning.starts_with("PK\x03\x04")
        || beginning.contains('\0')
        || controls * 20 > beginning.len()
}

fn by_name(name: &str) -> Option<Format> {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name).to_lowercase();
    if NAMES.contains(&file.as_str()) {
        return Some(Format::Code);
    }
    let (_, extension) = file.rsplit_once('.')?;
    [(MARKDOWN, Format::Markdown), (HTML, Format::Html), (PLAIN, Format::Plain), (CODE, Format::Code)]
        .into_iter()
        .find(|(extensions, _)| extensions.contains(&extension))
        .map(|(_, format)| format)
}

/// By what documents of a kind begin with. What is no kind's is plain.
fn by_beginning(beginning: &str) -> Format {
    let text = beginning.trim_start_matches(super::limits::is_silent);
    let head: String = text.chars().take(15).collect::<String>().to_lowercase();
    if head.starts_with("<!doctype html")
        || head.starts_with("<html")
        || head.starts_with("<head")
        || head.starts_with("<body")
    {
        return Format::Html;
    }
    if head.starts_with("#!") || head.starts_with("<?xml") || head.starts_with("<?php") {
        return Format::Code;
    }
    let marked = |line: &str| {
        line.starts_with("```")
            || line.trim_start_matches('#').starts_with(' ') && line.starts_with('#')
            || line.contains("](")
    };
    if text.starts_with("---\n") || text.lines().take(100).any(marked) { Format::Markdown } else { Format::Plain }
}
