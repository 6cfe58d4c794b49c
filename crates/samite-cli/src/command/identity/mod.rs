//! `samite identity`.

mod check;

use crate::printer::{Answer, Page};
use crate::shape::PrincipalShape;
use crate::surface::{Surface, TENANT};
use clap::{Args, Subcommand};
use samite_model::access::Rights;
use samite_model::{Principal, Result, Tenant};
use serde::Serialize;
use std::process::ExitCode;

/// Show who calls, or whom a token stands for
///
/// On the command line that is one local principal, who has every right: whoever can open the store with its master key has
/// it anyway. Elsewhere it is what a token says that somebody else issued.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite identity
  samite identity check --config identity.toml --token-file token")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Identity {
    #[command(subcommand)]
    command: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    Check(check::Check),
}

/// A principal with what it may do at most.
#[derive(Serialize)]
struct Shown {
    principal: PrincipalShape,
    owner: String,
    scopes: Vec<String>,
    rights: Vec<String>,
}

impl Shown {
    fn new(who: &Principal) -> Result<Self> {
        Ok(Self {
            principal: PrincipalShape::new(who),
            owner: who.owner()?.to_string(),
            scopes: who.scopes.clone(),
            rights: Rights::of_scopes(&who.scopes).names(),
        })
    }
}

impl Answer for Shown {
    fn show(&self, page: &mut Page) {
        let mut facts = self.principal.facts().to_vec();
        facts.extend([
            ("owns as", self.owner.clone()),
            ("scopes", self.scopes.join(" ")),
            ("may at most", if self.rights.is_empty() { "nothing".to_owned() } else { self.rights.join(", ") }),
        ]);
        page.facts(&facts);
    }
}

impl Identity {
    pub(super) fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self.command {
            Some(What::Check(command)) => command.run(surface),
            None => {
                let who = samite::embedded::local_principal(Tenant::new(TENANT)?);
                surface.printer.answer(&Shown::new(&who)?)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}
