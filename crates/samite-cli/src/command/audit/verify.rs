//! `samite audit verify`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::audit::AuditReport;
use samite::audit::tlog::VerifierKey;
use samite::audit::tlog::export;
use samite_model::{Error, ErrorKind, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check the log against its key, and every journal against the log
///
/// Every leaf is hashed up to the signed root; the last head that was exported or cosigned must be in it; and each journal
/// must have the links that the log has of it: one that was changed or cut is found although its own chain was made again.
/// What entries say is not opened: that it is what they commit to, `samite verify` checks. With --folder an exported log is checked instead, without any store. The exit status is 8 when something is wrong.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit verify
  samite audit verify --key \"$(cat auditor/key)\"
  samite audit verify --archive /mnt/cold
  samite audit verify --folder /media/auditor --key \"$(cat auditor/key)\"")]
pub(crate) struct Verify {
    /// The log's verifier key, from somewhere that this machine cannot change; for several logs several times [default: the store's own]
    #[arg(long, value_name = "KEY")]
    key: Vec<VerifierKey>,
    /// The key of a witness that must have cosigned the head of the folder; may be given several times
    #[arg(long, value_name = "KEY", requires = "folder")]
    witness: Vec<VerifierKey>,
    /// An exported log
    #[arg(long, value_name = "DIR", requires = "key")]
    folder: Option<PathBuf>,
    /// An archive that the beginning of the log was moved to: it is read as well; may be given several times
    #[arg(long, value_name = "DIR", conflicts_with = "folder")]
    archive: Vec<PathBuf>,
    /// The folder has the leaves from this index on only: what was before is archived
    #[arg(long, value_name = "INDEX", requires = "folder")]
    from: Option<u64>,
    /// The folder is an archive of the leaves before this index
    #[arg(long, value_name = "INDEX", requires = "folder")]
    to: Option<u64>,
}

#[derive(Serialize)]
struct Verified {
    ok: bool,
    logs: u64,
    leaves: u64,
    archived: u64,
    unread: u64,
    journals: u64,
    places: u64,
    /// What was checked: words.
    checked: Vec<&'static str>,
    origin: Option<String>,
    size: Option<u64>,
    root: Option<String>,
    cosigned_by: Vec<String>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    code: &'static str,
    log: Option<u64>,
    index: Option<u64>,
    journal: Option<String>,
    seq: Option<u64>,
    file: Option<String>,
    message: String,
}

impl Answer for Verified {
    fn show(&self, page: &mut Page) {
        for finding in &self.findings {
            page.styled(Style::Bad, &finding.message);
        }
        for witness in &self.cosigned_by {
            page.line(format!("cosigned by {witness}"));
        }
        let mut seen = count(self.leaves, "leaf");
        if self.journals > 0 {
            seen = format!("{seen}, {} at {}", count(self.journals, "journal"), count(self.places, "place"));
        }
        if self.ok {
            page.spans(&[(Style::Good, "verified: "), (Style::Plain, &seen)]);
            if self.journals > 0 {
                page.styled(Style::Dim, "checked: heads, leaves, and the links and headers of journals");
                page.styled(Style::Dim, "not checked: what entries say; `samite verify` does that");
            }
        } else {
            page.spans(&[(Style::Bad, "not as the log says: "), (Style::Plain, &seen)]);
        }
        if self.unread > 0 {
            let unread = count(self.unread, "leaf");
            page.line(format!("not read: {unread} that were moved to an archive (--archive DIR reads them too);"));
            page.line("the signed head vouches for them, and no journal was compared with what they say");
        }
    }
}

impl Verified {
    fn of_store(report: &AuditReport) -> Self {
        let findings = report.findings.iter().map(|found| Finding {
            code: found.code,
            log: Some(found.log),
            index: found.index,
            journal: found.journal.map(|journal| journal.to_string()),
            seq: found.seq,
            file: None,
            message: found.message.clone(),
        });
        let head = report.head.as_ref();
        Self {
            ok: report.findings.is_empty(),
            logs: report.logs,
            leaves: report.leaves,
            archived: report.archived,
            unread: report.unread,
            journals: report.journals,
            places: report.places,
            checked: vec!["heads", "leaves", "links"],
            origin: head.map(|head| head.origin.clone()),
            size: head.map(|head| head.size),
            root: head.map(|head| head.root.to_string()),
            cosigned_by: Vec::new(),
            findings: findings.collect(),
        }
    }

    fn of_folder(found: &export::Verification, witnesses: &[VerifierKey]) -> Self {
        let plain =
            |code, index, file, message| Finding { code, log: None, index, journal: None, seq: None, file, message };
        let mut findings: Vec<Finding> = found
            .findings
            .iter()
            .map(|one| plain("damaged_folder", one.index, Some(one.file.clone()), format!("{} {}", one.file, one.what)))
            .collect();
        let opened = found.opened.as_ref();
        let cosigned_by: Vec<String> = opened
            .map(|opened| opened.cosigners.iter().map(|one| one.key.name().to_owned()).collect())
            .unwrap_or_default();
        for witness in witnesses.iter().filter(|witness| !cosigned_by.iter().any(|name| name == witness.name())) {
            let message = format!("the witness {} did not cosign the head", witness.name());
            findings.push(plain("not_cosigned", None, None, message));
        }
        Self {
            ok: findings.is_empty() && found.wrong == 0,
            logs: 1,
            leaves: found.entries,
            archived: 0,
            unread: 0,
            journals: 0,
            places: 0,
            checked: vec!["heads", "leaves"],
            origin: opened.map(|opened| opened.head.origin.clone()),
            size: opened.map(|opened| opened.head.size),
            root: opened.map(|opened| opened.head.root.to_string()),
            cosigned_by,
            findings,
        }
    }
}

impl Verify {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let progress = surface.printer.progress("verifying the audit log");
        let verified = if let (Some(folder), Some(key)) = (&self.folder, self.key.first()) {
            let mut tell = |index: u64, _: &[u8]| {
                if index.is_multiple_of(4096) {
                    progress.set(index, None);
                }
                Ok(())
            };
            if !samite_host::files::exists(folder)? {
                return Err(Error::not_found("no_file", format!("{} is not there", folder.display()))
                    .hint("name the folder that the log was exported to"));
            }
            let leaves = self.from.unwrap_or(0)..self.to.unwrap_or(u64::MAX);
            let found = export::verify_segment(folder, key, &self.witness, leaves, &mut tell)?;
            Verified::of_folder(&found, &self.witness)
        } else {
            let client = surface.open(Access::Read)?.client().await?;
            Verified::of_store(&client.audit().verify_with(&self.key, &self.archive, &progress.observer()).await?)
        };
        drop(progress);
        let ok = verified.ok;
        surface.printer.answer(&verified)?;
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(ErrorKind::Corrupt.exit_status()) })
    }
}
