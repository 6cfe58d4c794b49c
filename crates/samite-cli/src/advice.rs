//! What to do next: which option, variable or command of samite helps, and for whatever else the table of errors.

use samite_model::Error;

/// The table of all codes; a test keeps it whole.
const ERRORS: &str = include_str!("../../../docs/errors.md");

/// What the table says to do next.
fn documented(error: &Error) -> Option<&'static str> {
    let row = format!("| `{}` | {} | ", error.code(), error.kind());
    let (_status, next) = ERRORS.lines().find_map(|line| line.strip_prefix(&row))?.split_once(" | ")?;
    next.strip_suffix(" |")
}

/// An error with what to do next on the command line.
pub(crate) fn with_advice(error: Error) -> Error {
    let advice: &[&str] = match error.code() {
        "lease_held" if error.message().starts_with("a turn of") => {
            &["--take-over takes the branch from it; `samite log` shows how far the turn is"]
        }
        "lease_held" => &[
            "--take-over takes the branch from it: it can write no more",
            "commands of one harness are one writer: give each the same --writer (SAMITE_WRITER)",
        ],
        "no_tree" => &["a branch without a workspace gets one with `samite workspace attach SESSION DIR`"],
        "not_a_file" => {
            &["name a file; `samite fork SESSION@SEQ --into DIR` puts the whole tree into a directory to look at"]
        }
        "bad_json" => &["quote it for the shell, or give it with --file"],
        "no_master" | "master_not_found" => &[
            "`samite key import FILE` puts an exported key there",
            "SAMITE_MASTER_FILE names another file, SAMITE_MASTER_COMMAND a program that answers with the key",
        ],
        "wrong_passphrase" => {
            &["it is the first line of --passphrase-file, of SAMITE_PASSPHRASE or of standard input, as at the export"]
        }
        "bad_export" => {
            &["`samite key export FILE` writes one; a master key's own file is not imported, but named with \
             SAMITE_MASTER_FILE"]
        }
        "wrong_master" => &["`samite key import FILE`, or SAMITE_MASTER_FILE=FILE"],
        _ => &[],
    };
    let error = advice.iter().fold(error, |error, advice| error.hint(*advice));
    match documented(&error).filter(|_| error.hints().is_empty()) {
        Some(next) => error.hint(next),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_advice_has_that_of_the_table_for_its_kind() {
        let hints = |error: Error| with_advice(error).hints().to_vec();
        assert_eq!(hints(Error::corrupt("bad_id", "x")), ["run `samite verify --rebuild`"]);
        assert_eq!(hints(Error::invalid("bad_id", "x")), ["write the id's hexadecimal digits"]);
        assert_eq!(hints(Error::invalid("bad_id", "x").hint("known better")), ["known better"]);
        assert_eq!(hints(Error::internal("bad_id", "of no such kind")), [""; 0]);
    }
}
