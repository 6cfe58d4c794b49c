//! What older versions recorded otherwise.

use super::*;
use crate::embedded::{Embedded, EmbeddedOptions};
use crate::erasure::{EraseOptions, EraseWhat};
use futures_lite::future::block_on;
use samite_host::SystemRandomness;
use samite_keys::FileMaster;
use samite_model::{Observer, Tenant};

const SECRET: &[u8] = b"sesame-one-opens";

/// The entry that a register of a secret stands on, with whose it is.
async fn registered(core: &Core) -> (Position, Pseudonym) {
    let (_, registers) = core.tenant_registers().await.unwrap();
    let found = registers.iter().find(|one| one.kind == register::REGISTERED_SECRET).unwrap();
    let at = Position { journal: core.tenant_control(), seq: found.seq };
    (at, core.entry_at(at).await.unwrap().header.owner)
}

#[test]
fn a_secret_that_stands_in_a_persons_name_is_said_in_the_tenants_before_they_are_erased() {
    let place = tempfile::tempdir().unwrap();
    let options = || EmbeddedOptions {
        directory: place.path().join("store"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(place.path().join("master.key"), Arc::new(SystemRandomness::new()))),
        create: true,
        read_only: false,
        accept_behind: false,
    };
    block_on(async {
        let store = Embedded::open(options()).unwrap();
        let client = store.client().await.unwrap();
        let core = store.store().core.clone();
        let tenant = core.0.keys.tenant_pseudonym();
        // As versions did that knew of no secrets of the tenant.
        let old = SecretRegistered { name: "door".to_owned(), secret: Some(BASE64.encode(SECRET)) };
        client.append_to_tenant(core.secret_draft(&old).unwrap(), Vec::new()).await.unwrap();
        let (before, whose) = registered(&core).await;
        assert_eq!(whose, client.subject.pseudonym);
        assert_ne!(whose, tenant);

        let what = EraseWhat::User("local".to_owned());
        let erasing =
            EraseOptions { what, reason: "asked for".to_owned(), also: Vec::new(), observer: Observer::default() };
        store.erase(&client, &erasing).await.unwrap();
        let (after, whose) = registered(&core).await;
        assert_eq!(whose, tenant);
        assert_ne!(after, before);
        assert!(core.entry_at(before).await.unwrap().payload.is_none(), "what was hers went");
        drop(client);
        store.close().await;

        // It is looked for as ever, by a process that knew nothing of it.
        let store = Embedded::open(options()).unwrap();
        let core = &store.store().core;
        let (_, registers) = core.tenant_registers().await.unwrap();
        let secrets = core.secrets_in(&registers).await.unwrap();
        let known: Vec<(&str, &[u8])> = secrets
            .iter()
            .filter_map(|(_, known)| known.as_ref())
            .map(|known| (known.name.as_str(), known.secret.as_slice()))
            .collect();
        assert_eq!(known, [("door", SECRET)]);
        let verified = store.store().verify(true, None).await.unwrap();
        assert!(verified.findings.is_empty() && verified.stale_views.is_empty(), "{verified:?}");
    });
}
