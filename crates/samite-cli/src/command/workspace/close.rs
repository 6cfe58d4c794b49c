//! `samite workspace close`.

use crate::reference::Reference;
use crate::shape::ClosedShape;
use crate::surface::{Access, Surface, here, master_file, site};
use clap::Args;
use samite::syntax::parse_seconds;
use samite::workspace::CloseOptions;
use samite_model::Result;
use std::process::ExitCode;

/// Save everything in a branch's workspace, and say whether its directory is safe to delete
///
/// What the session delivers is published first, then the last tree is taken, and the directory is looked at again until
/// it is as in that tree. Then a receipt is recorded and printed: everything but what is listed with it is durable. While
/// anything is not, or may not be, each such thing is named, nothing says "safe to delete", and the exit status is 1:
/// steps without an outcome and processes of theirs, whoever's they are; files that keep changing, or were torn or
/// unreadable; sockets; deliverables that could not be published. What .samiteignore leaves out is listed and lost with
/// the directory. Closing again goes on; a step or checkpoint after the receipt opens the workspace again.
///
/// What is written there after this moment is not in the tree, and would go with the directory: stop first whatever still
/// writes there, or call again before you delete it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite workspace close 3f2a
  samite workspace close 3f2a --deadline 20s
  samite workspace close 3f2a --json | jq '.refusals[] | {code, path, bytes}'
  samite workspace close 3f2a && rm -r ~/scratch/project")]
pub(crate) struct Close {
    /// The session: SESSION or SESSION:BRANCH
    session: Reference,
    /// Stop after so long (20s, 2m), and say what was not saved
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    deadline: Option<u64>,
}

impl Close {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let store = surface.open(Access::Write)?;
        let client = store.client().await?;
        let found = self.session.find_branch(&client).await?;
        let progress = surface.printer.progress("closing the workspace");
        let options = CloseOptions {
            deadline: self.deadline.map(|seconds| seconds.saturating_mul(1_000_000_000)),
            master: master_file()?,
            observer: progress.observer(),
        };
        let site = site(&store, &here()?)?;
        let closed = client.close(found.session, found.branch, surface.writer_options()?, &options, &site).await?;
        drop(progress);
        surface.printer.answer(&ClosedShape::new(&closed))?;
        Ok(ExitCode::from(u8::from(!closed.is_safe())))
    }
}
