//! `samite verify`.

use crate::printer::words::count;
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::{Error, ErrorKind, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Check every journal: hash chains, payloads against their commitments, views against entries
///
/// Each changed, missing, reordered or cut entry is named with its journal and seq; what is intact stays readable. What
/// cannot be read at all is named too, and the rest is checked all the same. The
/// exit status is 8 when something is damaged or lost.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite verify
  samite verify --rebuild
  samite verify --json | jq '.findings[] | {journal, first, last, what}'")]
pub(crate) struct Verify {
    /// Make views again that are not what their entries say
    #[arg(long)]
    rebuild: bool,
    /// Accept that acknowledged entries are lost, and go on with what is there
    #[arg(long)]
    accept_loss: bool,
}

#[derive(Serialize)]
struct Verified {
    ok: bool,
    journals: usize,
    entries: u64,
    findings: Vec<Finding>,
    packs: Vec<String>,
    unreadable: Vec<String>,
    lost: Vec<String>,
    loss_accepted: bool,
    stale_views: Vec<String>,
    rebuilt: Vec<String>,
}

#[derive(Serialize)]
struct Finding {
    journal: String,
    first: u64,
    last: u64,
    what: &'static str,
    message: String,
}

impl Answer for Verified {
    fn show(&self, page: &mut Page) {
        for finding in &self.findings {
            page.styled(Style::Bad, &finding.message);
        }
        for pack in &self.packs {
            page.styled(Style::Bad, pack);
        }
        for unreadable in &self.unreadable {
            page.styled(Style::Bad, unreadable);
        }
        for lost in &self.lost {
            let note = if self.loss_accepted { " (accepted)" } else { "" };
            page.styled(Style::Bad, format!("lost: {lost}{note}"));
        }
        if !self.lost.is_empty() && !self.loss_accepted {
            page.line("restore a backup, or go on with what is there: `samite verify --accept-loss`");
        }
        let stale = self.stale_views.len() - self.rebuilt.len();
        if stale > 0 {
            let many = count(stale as u64, "journal");
            page.styled(
                Style::Care,
                format!("{many} with views that disagree with the entries; --rebuild makes them again"),
            );
        }
        if !self.rebuilt.is_empty() {
            page.line(format!("made the views of {} again", count(self.rebuilt.len() as u64, "journal")));
        }
        let seen = format!("{}, {}", count(self.journals as u64, "journal"), count(self.entries, "entry"));
        if self.ok {
            page.spans(&[(Style::Good, "intact: "), (Style::Plain, &seen)]);
        } else {
            page.spans(&[(Style::Bad, "damaged: "), (Style::Plain, &seen)]);
        }
    }
}

impl Verify {
    /// Nothing can be looked at: that is what verifying found.
    fn cannot_open(surface: &Surface, error: &Error) -> Result<ExitCode> {
        surface.printer.answer(&Verified {
            ok: false,
            journals: 0,
            entries: 0,
            findings: Vec::new(),
            packs: Vec::new(),
            unreadable: vec![error.message().to_owned()],
            lost: Vec::new(),
            loss_accepted: false,
            stale_views: Vec::new(),
            rebuilt: Vec::new(),
        })?;
        for hint in error.hints().iter().filter(|hint| !hint.contains("run verify")) {
            surface.printer.note(hint);
        }
        Ok(ExitCode::from(ErrorKind::Corrupt.exit_status()))
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let access = match (self.accept_loss, self.rebuild) {
            (true, _) => Access::AcceptLoss,
            (false, true) => Access::Write,
            (false, false) => Access::ReadDamaged,
        };
        // What was lost is told by an error of its own, with the way to go on.
        let is_damaged = |error: &Error| error.kind() == ErrorKind::Corrupt && error.code() != "ledger_behind";
        let (store, rebuild) = match surface.open(access) {
            Err(error) if is_damaged(&error) => match surface.open(Access::ReadDamaged) {
                // Too damaged to be written to: what is left of it is looked at.
                Ok(store) => (store, false),
                Err(_) => return Self::cannot_open(surface, &error),
            },
            store => (store?, self.rebuild),
        };
        let lost = if self.accept_loss { store.ledger().accept_loss().await? } else { store.ledger().lost() };
        let progress = surface.printer.progress("verifying");
        let verified = store.store().verify(rebuild, Some(&progress.observer())).await?;
        drop(progress);
        let ok = verified.findings.is_empty()
            && verified.packs.is_empty()
            && verified.unreadable.is_empty()
            && (lost.is_empty() || self.accept_loss)
            && verified.stale_views.len() == verified.rebuilt.len();
        surface.printer.answer(&Verified {
            ok,
            journals: verified.journals,
            entries: verified.entries,
            findings: verified
                .findings
                .into_iter()
                .map(|finding| Finding {
                    journal: finding.journal.to_string(),
                    first: finding.first,
                    last: finding.last,
                    what: finding.what.name(),
                    message: finding.message,
                })
                .collect(),
            packs: verified.packs,
            unreadable: verified.unreadable,
            lost: lost.iter().map(ToString::to_string).collect(),
            loss_accepted: self.accept_loss,
            stale_views: verified.stale_views.iter().map(ToString::to_string).collect(),
            rebuilt: verified.rebuilt.iter().map(ToString::to_string).collect(),
        })?;
        Ok(ExitCode::from(if ok { 0 } else { ErrorKind::Corrupt.exit_status() }))
    }
}
