//! What a command reads: payloads and passphrases come through files and standard input, never through arguments that
//! other processes can see.

use samite_host::files::{self, io_error};
use samite_model::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write, stderr, stdin};
use std::path::Path;

/// Whether there is a person to ask: one who sees standard error and types into standard input.
pub(crate) fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Asks a person, who says yes or anything else.
///
/// # Errors
/// `unavailable` (`input_failed`) when the answer cannot be read.
pub(crate) fn asked(question: &str) -> Result<bool> {
    let failed = |error: std::io::Error| {
        Error::unavailable("input_failed", format!("cannot read standard input: {error}")).because(error)
    };
    write!(stderr(), "{question} [y/N] ").and_then(|()| stderr().flush()).map_err(failed)?;
    let mut answer = String::new();
    stdin().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// All of standard input, up to `limit` bytes.
///
/// # Errors
/// `invalid` when it is a terminal (`no_input`) or longer than `limit` (`input_too_large`).
pub(crate) fn standard_input(what: &str, limit: u64) -> Result<Vec<u8>> {
    if stdin().is_terminal() {
        return Err(Error::invalid("no_input", format!("{what} is missing"))
            .hint("pipe it in, or see --help for the other ways to give it"));
    }
    bounded(what, stdin().lock(), limit, |error| {
        Error::unavailable("input_failed", format!("cannot read standard input: {error}")).because(error)
    })
}

/// All bytes of a reader, which may have no end.
fn bounded(what: &str, from: impl Read, limit: u64, failed: impl Fn(io::Error) -> Error) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit { Err(too_large(what, limit)) } else { Ok(bytes) }
}

fn too_large(what: &str, limit: u64) -> Error {
    Error::invalid("input_too_large", format!("{what} has more than {limit} bytes"))
        .hint("keep it as a file of the workspace instead")
}

/// Refuses a file that cannot be made: before anything is recorded of what is to be written there.
///
/// # Errors
/// `conflict` (`file_exists`); `not_found` (`no_file`) when the directory that it is to be in is not there.
pub(crate) fn check_new_file(path: &Path) -> Result<()> {
    if files::exists(path)? {
        return Err(Error::conflict("file_exists", format!("{} exists already", path.display()))
            .hint("name a file that does not exist"));
    }
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if !files::exists(parent)? => {
            Err(Error::not_found("no_file", format!("there is no directory {}", parent.display()))
                .hint("make it, or name a file elsewhere"))
        }
        _ => Ok(()),
    }
}

/// A file's bytes; `-` is standard input.
///
/// # Errors
/// As [`standard_input`]; `not_found`, `denied`, `invalid` or `unavailable`, naming the path, when it cannot be read. A
/// file that is too large is not read.
pub(crate) fn file_or_input(what: &str, path: &Path, limit: u64) -> Result<Vec<u8>> {
    if path == Path::new("-") {
        return standard_input(what, limit);
    }
    // Before any of it is read; what is no regular file, such as a pipe, has no length to look at.
    if path.metadata().is_ok_and(|metadata| metadata.len() > limit) {
        return Err(too_large(what, limit));
    }
    let failed = |error| io_error("read", path, error);
    bounded(what, OpenOptions::new().read(true).open(path).map_err(failed)?, limit, failed)
}

/// Standard input, however long, in a file without a name, which goes with its handle. It has no path: what the operating
/// system shows as one, such as `/tmp/#7 (deleted)`, leads nowhere.
///
/// # Errors
/// `invalid` (`no_input`) when it is a terminal; `unavailable` when it cannot be read, or kept.
pub(crate) fn spooled_input(what: &str) -> Result<File> {
    if stdin().is_terminal() {
        return Err(Error::invalid("no_input", format!("{what} is missing")).hint("pipe it in, or name a file"));
    }
    let directory = std::env::temp_dir();
    let mut file = tempfile::tempfile_in(&directory).map_err(|error| io_error("write in", &directory, error))?;
    io::copy(&mut stdin().lock(), &mut file).and_then(|_| file.flush()).map_err(|error| {
        Error::unavailable("input_failed", format!("cannot keep standard input: {error}")).because(error)
    })?;
    Ok(file)
}

/// Standard input, to be read piece by piece.
///
/// # Errors
/// `invalid` (`no_input`) when it is a terminal.
pub(crate) fn reading_input(what: &str) -> Result<io::StdinLock<'static>> {
    if stdin().is_terminal() {
        return Err(Error::invalid("no_input", format!("{what} is missing")).hint("pipe it in"));
    }
    Ok(stdin().lock())
}

/// A passphrase: the first line of a file, of `SAMITE_PASSPHRASE`, or of standard input.
///
/// # Errors
/// `invalid` when it is empty or no text.
pub(crate) fn passphrase(file: Option<&Path>) -> Result<String> {
    let bytes = match (file, std::env::var_os("SAMITE_PASSPHRASE")) {
        (Some(file), _) => file_or_input("the passphrase", file, 4096)?,
        (None, Some(value)) => value.into_encoded_bytes(),
        (None, None) => standard_input("the passphrase", 4096)?,
    };
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid("bad_passphrase", "the passphrase is no text"))?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err(Error::invalid("bad_passphrase", "the passphrase is empty")
            .hint("its first line is read from --passphrase-file, SAMITE_PASSPHRASE or standard input"));
    }
    Ok(line.to_owned())
}
