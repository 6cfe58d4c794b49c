//! `samite read`.

use crate::reference::{Found, Reference};
use crate::shape::{EntryShape, Keys};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::{Client, ReadOptions, Reader};
use samite_model::{EntryKind, Result, SessionId};
use std::process::ExitCode;

/// Read a branch's entries, in the order of their positions
///
/// A branch reads what it inherits from its parents as its own. With --json each entry is one line: its payload is the
/// JSON value that was stored, or a string when `encoding` says text or base64. For a person, samite's own entries are
/// a line each; --full shows all that they hold.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite read 3f2a
  samite read 3f2a@40 --from 30 --kind message --kind model_response
  samite read 3f2a --backward --limit 5
  samite read 3f2a --follow --json | jq -r .kind
  samite read 3f2a --context")]
pub(crate) struct Read {
    /// The session: SESSION, SESSION:BRANCH, and @SEQ for the last entry to read
    session: Reference,
    /// The first seq
    #[arg(long, value_name = "SEQ", default_value_t = 1)]
    from: u64,
    /// Only entries of this kind; may be repeated
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Vec<EntryKind>,
    /// Newest first
    #[arg(long)]
    backward: bool,
    /// At most so many entries
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
    /// Go on with what is appended from now on, until interrupted
    #[arg(long, conflicts_with_all = ["backward", "context"])]
    follow: bool,
    /// Only what the model had before it: after a compaction, its summary and what follows
    #[arg(long, conflicts_with_all = ["backward", "kind"])]
    context: bool,
    /// Without payloads
    #[arg(long, conflicts_with = "context")]
    headers: bool,
    /// Whole payloads, however long (JSON always has them whole)
    #[arg(long)]
    full: bool,
}

fn kind(name: &str) -> Result<EntryKind, String> {
    EntryKind::from_name(name).ok_or_else(|| {
        let known: Vec<String> = EntryKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("the kinds are {}", known.join(", "))
    })
}

/// How long one wait for new entries takes at most; it ends at once when some come.
const WAIT_MILLISECONDS: u64 = 1000;

impl Read {
    fn options(&self, from: u64, to: Option<u64>) -> ReadOptions {
        ReadOptions { from, to, kinds: self.kind.clone(), backward: self.backward, headers_only: self.headers }
    }

    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        let found = self.session.find(&client).await?;
        if self.context {
            return self.read_context(surface, &client, found).await;
        }
        let branch = found.branch_or_current(&client).await?;
        if let Some(seq) = found.seq {
            client.position(found.session, branch, seq).await?;
        }
        let mut keys = Keys::default();
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut next = self.from;
        let mut to = found.seq;
        loop {
            let head = client.head(found.session, branch).await?.seq;
            let last = to.unwrap_or(head);
            if last >= next || !self.follow {
                let mut reader = client.read(found.session, Some(branch), self.options(next, Some(last))).await?;
                self.print(surface, found.session, &mut reader, &mut keys, &mut left).await?;
                next = next.max(last.saturating_add(1));
            }
            if !self.follow || left == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            to = None;
            client.wait(found.session, branch, next.saturating_sub(1), WAIT_MILLISECONDS).await?;
        }
    }

    async fn print(
        &self,
        surface: &Surface,
        session: SessionId,
        reader: &mut Reader,
        keys: &mut Keys,
        left: &mut u64,
    ) -> Result<()> {
        while *left > 0 {
            let page = reader.next().await?;
            if page.is_empty() {
                break;
            }
            for entry in &page {
                if *left == 0 {
                    break;
                }
                *left -= 1;
                surface.printer.part(&EntryShape::new(session, entry, keys, (self.full, !self.headers))?)?;
            }
        }
        Ok(())
    }

    async fn read_context(&self, surface: &Surface, client: &Client, found: Found) -> Result<ExitCode> {
        let entries = client.context(found.session, found.branch, found.seq).await?;
        let wanted = entries.iter().filter(|entry| entry.position.seq >= self.from);
        let limit = usize::try_from(self.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let mut keys = Keys::default();
        for entry in wanted.take(limit) {
            surface.printer.part(&EntryShape::new(found.session, entry, &mut keys, (self.full, true))?)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
