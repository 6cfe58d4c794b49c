//! `samite audit`.

mod anchor;
mod archive;
mod consistency;
mod export;
mod key;
mod log;
mod prove;
mod show;
mod verify;
mod verify_proof;
mod witness;

use crate::surface::Surface;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// Who did what: the log that outsiders can verify with a public key alone
///
/// Every act on the store (a session that is made, a fork, a checkpoint, a grant, an erasure) has a leaf in an append-only
/// log, written in the commit of the act. A leaf has no words of anybody: it names the act's entry and commits to it. The
/// log is signed after every act; `export` writes it as C2SP tiles, which other programs verify.
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    Log(log::Log),
    Show(show::Show),
    Verify(verify::Verify),
    Key(key::Key),
    Prove(prove::Prove),
    VerifyProof(verify_proof::VerifyProof),
    Consistency(consistency::Consistency),
    Export(export::Export),
    Witness(witness::Witness),
    Anchor(anchor::Anchor),
    Archive(archive::Archive),
}

impl Audit {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Log(command) => command.run(surface).await,
            Self::Show(command) => command.run(surface).await,
            Self::Verify(command) => command.run(surface).await,
            Self::Key(command) => command.run(surface).await,
            Self::Prove(command) => command.run(surface).await,
            Self::VerifyProof(command) => command.run(surface).await,
            Self::Consistency(command) => command.run(surface).await,
            Self::Export(command) => command.run(surface).await,
            Self::Witness(command) => command.run(surface).await,
            Self::Anchor(command) => command.run(surface).await,
            Self::Archive(command) => command.run(surface).await,
        }
    }
}
