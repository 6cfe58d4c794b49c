//! What only the inside can make: entries of the log's own journal that are larger than a ledger holds.

use crate::embedded::{Embedded, EmbeddedOptions};
use crate::payload::AuditArchived;
use crate::views;
use data_encoding::BASE64;
use futures_lite::future::block_on;
use samite_host::SystemRandomness;
use samite_keys::FileMaster;
use samite_ledger::{Append, Commit};
use samite_model::{EntryKind, Observer, Tenant};
use std::sync::Arc;

#[test]
fn roots_that_were_kept_in_blocks_outlive_collections() {
    let place = tempfile::tempdir().unwrap();
    let random = Arc::new(SystemRandomness::new());
    let store = Embedded::open(EmbeddedOptions {
        directory: place.path().join("store"),
        tenant: Tenant::new("local").unwrap(),
        master: Arc::new(FileMaster::new(place.path().join("master.key"), random)),
        create: true,
        read_only: false,
        accept_behind: false,
    })
    .unwrap();
    block_on(async {
        let client = store.client().await.unwrap();
        let audit = client.audit();
        audit.anchor(&Observer::default()).await.unwrap();
        // As a version before would have moved all at once.
        let bundles = 25_000;
        let part = AuditArchived {
            log: 1,
            from: 0,
            to: bundles * 256,
            archive: "/cold/log-1".to_owned(),
            bundles: BASE64.encode(&vec![7; 32 * usize::try_from(bundles).unwrap()]),
            previous: None,
        };
        let scribe = audit.scribe().unwrap();
        let (core, own) = (&scribe.core, audit.journal());
        let draft = core.draft(EntryKind::AUDIT_ARCHIVED, &part, views::audit_archived(&part)).unwrap();
        assert!(draft.is_large());
        let mut commit = Commit::default();
        let entry = core.seal_into(own, &scribe.author(0), draft, &mut commit).unwrap();
        commit.appends.push(Append { journal: own, entries: vec![entry] });
        core.0.ledger.commit(commit).await.unwrap();
        for _ in 0..3 {
            client.collect().await.unwrap();
        }
        let parts = audit.archived().await.unwrap();
        assert_eq!((parts.len(), parts[0].bundles.len()), (1, 25_000));
    });
}
