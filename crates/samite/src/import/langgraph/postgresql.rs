//! A PostgreSQL saver's rows: from a plain dump, or from the server through `psql`, which writes them in the same form.
//!
//! `psql` brings what a driver would have to: encryption, passwords and services as the person has them set up. A driver
//! of our own would bring a runtime and some forty crates into the fabric for three tables.

use super::address::without_password;
use super::copy_text::{Start, bytes, row, start};
use super::database::Checkpoints;
use crate::import::frame::lines::Lines;
use samite_host::files::open_reader;
use samite_model::{Error, Result};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// What `psql` is told to do: the rows of the three tables as a dump has them, as they are at one moment.
const SCRIPT: &str = r"\set ON_ERROR_STOP on
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL bytea_output = hex;
\echo 'COPY checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata) FROM stdin;'
COPY (SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata FROM checkpoints) TO STDOUT;
\echo '\\.'
\echo 'COPY checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) FROM stdin;'
COPY (SELECT thread_id, checkpoint_ns, channel, version, type, blob FROM checkpoint_blobs) TO STDOUT;
\echo '\\.'
\echo 'COPY checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob) FROM stdin;'
COPY (SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob FROM checkpoint_writes) TO STDOUT;
\echo '\\.'
COMMIT;
";

impl Checkpoints {
    /// The database of a PostgreSQL saver, as a plain dump (`pg_dump`) has it. Its rows are staged in a private file
    /// in the directory for temporary files, as large as they are; `progress` is told how many bytes were read.
    ///
    /// # Errors
    /// `invalid` (`no_checkpoints`) when the dump holds no table of a saver; `invalid` (`bad_dump`) when a row has not
    /// the columns that its table has; as opening and reading the file.
    pub fn from_dump(path: &Path, progress: &mut dyn FnMut(u64)) -> Result<Self> {
        stage(open_reader(path)?, progress)
    }

    /// The database of a PostgreSQL saver at an address (`postgresql://…`), read through `psql` in one read-only
    /// transaction, and staged as a dump's.
    ///
    /// # Errors
    /// `invalid` (`bad_address`) when the address holds a secret that is no password; `not_found` (`no_psql`) when there is
    /// no `psql`; `unavailable` (`checkpoints_unreadable`) with what it says when
    /// it fails; as [`Checkpoints::from_dump`].
    pub fn from_server(address: &str, progress: &mut dyn FnMut(u64)) -> Result<Self> {
        let (address, password) = without_password(address)?;
        let mut command = Command::new("psql");
        command.args(["--no-psqlrc", "--quiet", "--no-password", "--dbname"]).arg(&address);
        if let Some(password) = password {
            // Not as an argument, which every process can see.
            command.env("PGPASSWORD", password);
        }
        command.env("PGCLIENTENCODING", "UTF8").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return Error::not_found("no_psql", "there is no psql to read a PostgreSQL server with")
                    .hint("install PostgreSQL's client, or name a plain dump (pg_dump -t 'checkpoint*')");
            }
            Error::unavailable("checkpoints_unreadable", "psql cannot be run").because(error)
        };
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            // It may have ended already, and then says why itself.
            let _ = input.write_all(SCRIPT.as_bytes());
        }
        let staged = match child.stdout.take() {
            Some(output) => stage(BufReader::with_capacity(1 << 20, output), progress),
            None => Err(Error::internal("bad_plan", "psql has no output")),
        };
        if staged.is_err() {
            let _ = child.kill();
        }
        let mut said = String::new();
        if let Some(mut errors) = child.stderr.take() {
            let _ = errors.by_ref().take(4096).read_to_string(&mut said);
        }
        let status = child.wait().map_err(failed)?;
        if !status.success() && !said.trim().is_empty() {
            let said: String = said.trim().chars().filter(|one| !one.is_control() || *one == '\n').collect();
            return Err(Error::unavailable("checkpoints_unreadable", format!("psql cannot read the server: {said}"))
                .hint("psql with the same address shows what is wrong"));
        }
        if !status.success() && staged.is_ok() {
            return Err(Error::unavailable("checkpoints_unreadable", "psql ended before its end").hint("import again"));
        }
        staged
    }
}

/// Stages the rows of a dump.
fn stage(reader: impl BufRead, progress: &mut dyn FnMut(u64)) -> Result<Checkpoints> {
    let staged = Checkpoints::staged()?;
    let mut lines = Lines::new(reader);
    let mut tables = 0;
    let mut inside: Option<Start> = None;
    let mut schema = None;
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        if number % 64 == 0 {
            progress(line.offset);
        }
        let Some(Start { table, schema: of, columns }) = &inside else {
            if line.bytes.starts_with(b"COPY ") {
                inside = start(&String::from_utf8_lossy(line.bytes));
                tables += usize::from(inside.as_ref().is_some_and(|start| start.table.is_some()));
            }
            continue;
        };
        if line.bytes == b"\\." {
            inside = None;
            continue;
        }
        let Some(table) = table else { continue };
        let fields = row(line.bytes);
        if fields.len() != columns.len() || !line.terminated {
            return Err(Error::invalid("bad_dump", format!("line {number} of the dump is no whole row of its table"))
                .hint("the dump was cut or changed: make it again with pg_dump"));
        }
        // Their threads may have the same names, and are not the same.
        if *schema.get_or_insert_with(|| of.clone()) != *of {
            return Err(Error::invalid("bad_dump", format!("line {number} of the dump is of a second schema, {of}"))
                .hint("make a dump of each of them (pg_dump --schema NAME) and import one after the other"));
        }
        let stored = |name: &str| fields.get(columns.iter().position(|column| column == name)?)?.as_deref();
        let blob = stored("blob").map(|value| {
            bytes(value).ok_or_else(|| {
                Error::invalid("bad_dump", format!("line {number} of the dump has a blob that is no bytea"))
                    .hint("make the dump again with pg_dump, in the plain form")
            })
        });
        let blob = blob.transpose()?;
        let field = |name: &str| -> Option<Vec<u8>> {
            if name == "blob" { blob.clone() } else { stored(name).map(<[u8]>::to_vec) }
        };
        staged.stage(*table, &field)?;
    }
    if inside.is_some() {
        return Err(Error::invalid("bad_dump", "the dump ends before its end")
            .hint("the dump was cut: make it again with pg_dump"));
    }
    staged.staging_done(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_that_was_cut_is_refused() {
        let code = |text: &str| stage(text.as_bytes(), &mut |_| {}).map(|_| ()).unwrap_err().code();
        let head = "COPY public.checkpoints (thread_id, checkpoint_ns) FROM stdin;\n";
        assert_eq!(code("SELECT 1;\n"), "no_checkpoints");
        for rest in ["", "t\t", "t\t\n", "t\n\\.\n", "t\t\tx\n\\.\n"] {
            assert_eq!(code(&format!("{head}{rest}")), "bad_dump", "{rest:?}");
        }
        assert!(stage(format!("{head}t\t\n\\.\n").as_bytes(), &mut |_| {}).is_ok());
    }

    #[test]
    fn a_dump_of_two_schemas_is_refused_where_both_have_rows() {
        let of = |schema: &str, row: &str| {
            format!("COPY {schema}.checkpoints (thread_id, checkpoint_ns) FROM stdin;\n{row}\\.\n")
        };
        let refused = |text: String| stage(text.as_bytes(), &mut |_| {}).map(|_| ()).err().map(|error| error.code());
        assert_eq!(refused(of("public", "t\t\n") + &of("other", "t\t\n")), Some("bad_dump"));
        assert_eq!(refused(of("public", "t\t\n") + &of("public", "t\t\n") + &of("other", "")), None);
    }

    #[test]
    fn blobs_are_read_as_the_server_wrote_them() {
        let head = "COPY checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) FROM stdin;\n";
        let read = |blob: &str| -> Result<Vec<u8>> {
            let staged = stage(format!("{head}t\t\tc\tv\tmsgpack\t{blob}\n\\.\n").as_bytes(), &mut |_| {})?;
            let row = staged.blobs("t", "").unwrap().pop().unwrap();
            Ok(staged.blob(&row).unwrap().bytes)
        };
        assert_eq!(read(r"\\x91a568656c6c6f").unwrap(), b"\x91\xa5hello");
        assert_eq!(read(r"\\221\\245hello").unwrap(), b"\x91\xa5hello");
        assert_eq!(read(r"\N").unwrap(), b"");
        for wrong in [r"\\xzz", r"\\9", r"a\\"] {
            assert_eq!(read(wrong).unwrap_err().code(), "bad_dump", "{wrong}");
        }
    }
}
