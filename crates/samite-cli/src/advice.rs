//! What to do next where only the command line knows: which option, variable or command of samite helps.

use samite_model::Error;

/// An error with what to do next on the command line.
pub(crate) fn with_advice(error: Error) -> Error {
    let advice: &[&str] = match error.code() {
        "lease_held" => &[
            "--take-over takes the branch from it: it can write no more",
            "commands of one harness are one writer: give each the same --writer (SAMITE_WRITER)",
        ],
        "no_tree" => &["a branch without a workspace gets one with `samite workspace attach SESSION DIR`"],
        "not_a_file" => {
            &["name a file; `samite fork SESSION@SEQ --into DIR` puts the whole tree into a directory to look at"]
        }
        "no_file" if error.hints().is_empty() => &["look at the path: it, or a directory above it, is not there"],
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
    advice.iter().fold(error, |error, advice| error.hint(*advice))
}
