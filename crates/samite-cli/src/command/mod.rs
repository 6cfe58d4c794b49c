//! The commands: one file each, whose arguments carry its help.

mod append;
mod artifact;
mod audit;
mod backup;
mod branch;
mod capture;
mod checkpoint;
mod completions;
mod consent;
mod diff;
mod diverge;
mod erase;
mod export;
mod fork;
mod gc;
mod guarantees;
mod hold;
mod hook;
mod identity;
mod import;
mod init;
mod key;
mod log;
mod memory;
mod merge;
mod policy;
mod processor;
mod read;
mod records;
mod recover;
mod redact;
mod region;
mod retain;
mod rewind;
mod secrets;
mod session;
mod share;
mod status;
mod step;
mod subject;
mod turn;
mod verify;
mod whose;
mod workspace;

use crate::surface::Surface;
use crate::tour::Tour;
use crate::tour::agent::Agent;
use clap::Subcommand;
use samite_model::Result;
use std::process::ExitCode;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Session(session::Session),
    Append(append::Append),
    Read(read::Read),
    Log(log::Log),
    #[command(subcommand)]
    Step(step::Step),
    #[command(subcommand)]
    Turn(turn::Turn),
    Recover(recover::Recover),
    Checkpoint(checkpoint::Checkpoint),
    Fork(fork::Fork),
    Rewind(rewind::Rewind),
    Merge(merge::Merge),
    Diverge(diverge::Diverge),
    Diff(diff::Diff),
    #[command(subcommand)]
    Workspace(workspace::Workspace),
    #[command(subcommand)]
    Branch(branch::Branch),
    #[command(subcommand)]
    Artifact(artifact::Artifact),
    #[command(subcommand)]
    Memory(memory::Memory),
    #[command(subcommand)]
    Audit(audit::Audit),
    Share(share::Share),
    Unshare(share::Unshare),
    Grants(share::Grants),
    Identity(identity::Identity),
    Gc(gc::Gc),
    Erase(erase::Erase),
    #[command(subcommand)]
    Hold(hold::Hold),
    #[command(subcommand)]
    Subject(subject::Subject),
    #[command(subcommand)]
    Consent(consent::Consent),
    #[command(subcommand)]
    Processor(processor::Processor),
    #[command(subcommand)]
    Region(region::Region),
    Records(records::Records),
    #[command(subcommand)]
    Capture(capture::Capture),
    Export(export::Export),
    #[command(subcommand)]
    Retain(retain::Retain),
    Guarantees(guarantees::Guarantees),
    Status(status::Status),
    Verify(verify::Verify),
    Backup(backup::Backup),
    #[command(subcommand)]
    Key(key::Key),
    #[command(subcommand)]
    Import(import::Import),
    Redact(redact::Redact),
    #[command(subcommand)]
    Policy(policy::Policy),
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    Init(init::Init),
    Hook(hook::Hook),
    Tour(Tour),
    Completions(completions::Completions),
    #[command(name = "__agent", hide = true)]
    Agent(Agent),
}

/// The one command that is called at every event of an agent.
#[derive(Debug, Subcommand)]
pub(crate) enum HookAlone {
    Hook(hook::Hook),
}

impl Command {
    /// Does it, and answers with the exit status.
    pub(crate) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self {
            Self::Session(command) => command.run(surface).await,
            Self::Append(command) => command.run(surface).await,
            Self::Read(command) => command.run(surface).await,
            Self::Log(command) => command.run(surface).await,
            Self::Step(command) => command.run(surface).await,
            Self::Turn(command) => command.run(surface).await,
            Self::Recover(command) => command.run(surface).await,
            Self::Checkpoint(command) => command.run(surface).await,
            Self::Fork(command) => command.run(surface).await,
            Self::Rewind(command) => command.run(surface).await,
            Self::Merge(command) => command.run(surface).await,
            Self::Diverge(command) => command.run(surface).await,
            Self::Diff(command) => command.run(surface).await,
            Self::Workspace(command) => command.run(surface).await,
            Self::Branch(command) => command.run(surface).await,
            Self::Artifact(command) => command.run(surface).await,
            Self::Memory(command) => command.run(surface).await,
            Self::Audit(command) => command.run(surface).await,
            Self::Share(command) => command.run(surface).await,
            Self::Unshare(command) => command.run(surface).await,
            Self::Grants(command) => command.run(surface).await,
            Self::Identity(command) => command.run(surface),
            Self::Gc(command) => command.run(surface).await,
            Self::Erase(command) => command.run(surface).await,
            Self::Hold(command) => command.run(surface).await,
            Self::Subject(command) => command.run(surface).await,
            Self::Consent(command) => command.run(surface).await,
            Self::Processor(command) => command.run(surface).await,
            Self::Region(command) => command.run(surface).await,
            Self::Records(command) => command.run(surface).await,
            Self::Capture(command) => command.run(surface).await,
            Self::Export(command) => command.run(surface).await,
            Self::Retain(command) => command.run(surface).await,
            Self::Guarantees(command) => command.run(surface).await,
            Self::Status(command) => command.run(surface).await,
            Self::Verify(command) => command.run(surface).await,
            Self::Backup(command) => command.run(surface).await,
            Self::Key(command) => command.run(surface).await,
            Self::Import(command) => command.run(surface).await,
            Self::Redact(command) => command.run(surface).await,
            Self::Policy(command) => command.run(surface).await,
            Self::Secrets(command) => command.run(surface).await,
            Self::Init(command) => command.run(surface).await,
            Self::Hook(command) => command.run(surface).await,
            Self::Tour(command) => command.run(surface),
            Self::Completions(command) => command.run(surface),
            Self::Agent(command) => command.run(surface),
        }
    }
}
