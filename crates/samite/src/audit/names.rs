//! Who is behind the pseudonyms of leaves, for whoever holds the keys.

use super::Audit;
use crate::log::{ReadOptions, Reader};
use samite_audit::leaf::Actor;
use samite_model::{EntryKind, Position, Principal, Pseudonym, Result};
use std::collections::HashMap;

/// An actor by names. What was erased, or is not known here, is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The person, such as `user:ada`; `tenant` for what nobody in particular did.
    pub user: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The workload.
    pub workload: Option<String>,
}

/// Who it is that does what nobody in particular did, and whose data it is that is nobody's.
const TENANT: &str = "tenant";

/// The names behind pseudonyms.
#[derive(Default)]
pub(super) struct Names(HashMap<Pseudonym, String>);

impl Names {
    pub(super) fn of(&self, actor: &Actor) -> Named {
        let name = |pseudonym: Option<Pseudonym>| pseudonym.and_then(|pseudonym| self.name(pseudonym));
        Named { user: self.name(actor.user), agent: name(actor.agent), workload: name(actor.workload) }
    }

    pub(super) fn name(&self, pseudonym: Pseudonym) -> Option<String> {
        self.0.get(&pseudonym).cloned()
    }
}

impl Audit {
    /// The names of everybody whose keys live, and of the agents and workloads of principals that were seen.
    pub(super) async fn names(&self) -> Result<Names> {
        let (core, mut names) = (&self.client.core, HashMap::new());
        let keys = &core.0.keys;
        for subject in keys.subjects()? {
            if let Some(owner) = keys.owner_name(subject.pseudonym)? {
                names.insert(keys.audit_person(subject)?, owner.as_str().to_owned());
            }
        }
        names.insert(keys.audit_person(keys.tenant_pseudonym())?, TENANT.to_owned());
        let control = self.client.tenant_control();
        if let Some(state) = core.0.ledger.journal(control).await? {
            let options = ReadOptions { kinds: vec![EntryKind::PRINCIPAL_SEEN], ..ReadOptions::default() };
            let at = Position { journal: control, seq: state.head };
            let mut reader = Reader::new(core.clone(), at, options).await?;
            loop {
                let page = reader.next().await?;
                if page.is_empty() {
                    break;
                }
                for entry in page.iter().filter(|entry| entry.payload.is_some()) {
                    let seen: Principal = entry.json()?;
                    names.insert(keys.audit_name("agent", &seen.agent), seen.agent);
                    names.insert(keys.audit_name("workload", &seen.workload), seen.workload);
                }
            }
        }
        Ok(Names(names))
    }
}
