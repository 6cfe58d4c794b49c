//! `samite artifact get`.

use crate::printer::words::bytes;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface, here};
use clap::Args;
use data_encoding::BASE64;
use samite::Client;
use samite::artifact::ByteRange;
use samite_model::{ArtifactId, Error, Result};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print an artifact's bytes, or write them to a file
///
/// A file is whole or not there: it gets its name when all bytes are written and synced. On a terminal text is printed with
/// its control characters escaped, and anything else is refused. With --json, without a file, the bytes are a string in
/// one document, as text, or, where they are none, in base64.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite artifact get 8c1e report.pdf
  samite artifact get 8c1e --range 0-99 | xxd
  samite artifact get 8c1e report.pdf --force")]
pub(crate) struct Get {
    /// The artifact
    artifact: String,
    /// The file to write [default: standard output]
    file: Option<PathBuf>,
    /// Only these bytes: 0-99, 100- or -100 (the last hundred)
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true)]
    range: Option<ByteRange>,
    /// Write over a file that is there
    #[arg(long, requires = "file")]
    force: bool,
}

#[derive(Serialize)]
struct Got {
    id: String,
    bytes: u64,
    file: Option<String>,
    /// `text` or `base64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl Answer for Got {
    fn show(&self, page: &mut Page) {
        // Without a file the bytes themselves are the answer.
        if let Some(file) = &self.file {
            page.line(format!("{} in {file}", bytes(self.bytes)));
        } else if let Some(content) = &self.content {
            page.block(0, content, None);
        }
    }
}

impl Get {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let artifact = client.find_artifact(&self.artifact).await?;
        let id = artifact.to_string();
        if let Some(file) = &self.file {
            let path = here()?.join(file);
            let bytes = self.write(&client, artifact, &path).await?;
            let file = Some(path.to_string_lossy().into_owned());
            surface.printer.answer(&Got { id, bytes, file, encoding: None, content: None })?;
            return Ok(ExitCode::SUCCESS);
        }
        let terminal = surface.printer.is_terminal();
        if !surface.printer.is_json() && !terminal {
            surface.printer.pieces(async |out| client.artifact_bytes(artifact, self.range, out).await).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut held = Vec::new();
        let bytes = client.artifact_bytes(artifact, self.range, &mut held).await?;
        let (encoding, content) = match String::from_utf8(held) {
            Ok(text) => ("text", text),
            Err(_) if terminal && !surface.printer.is_json() => {
                return Err(Error::invalid("binary_output", format!("artifact {} is no text", artifact.short()))
                    .hint("name a file to write it to, or pipe it into a program"));
            }
            Err(error) => ("base64", BASE64.encode(error.as_bytes())),
        };
        surface.printer.answer(&Got { id, bytes, file: None, encoding: Some(encoding), content: Some(content) })?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes a file that is whole or not there.
    async fn write(&self, client: &Client, artifact: ArtifactId, path: &Path) -> Result<u64> {
        use std::os::unix::fs::PermissionsExt;
        let failed = |error: std::io::Error| samite_host::files::io_error("write", path, error);
        let directory = path.parent().unwrap_or(Path::new("/"));
        // As for any new file; the user's mask takes away what it takes away.
        let mode = std::fs::Permissions::from_mode(0o666);
        let temporary = tempfile::Builder::new().permissions(mode).prefix(".samite-").tempfile_in(directory);
        let mut temporary = temporary.map_err(failed)?;
        let bytes = client.artifact_bytes(artifact, self.range, &mut temporary).await?;
        temporary.flush().map_err(failed)?;
        temporary.as_file().sync_all().map_err(failed)?;
        samite_host::kill_point("artifact.get_written");
        let kept = if self.force { temporary.persist(path) } else { temporary.persist_noclobber(path) };
        kept.map_err(|error| {
            let error = failed(error.error);
            if error.code() == "file_exists" && !self.force {
                error.hint("name another file, or write over it with --force")
            } else {
                error
            }
        })?;
        samite_host::files::sync_dir(directory)?;
        Ok(bytes)
    }
}
