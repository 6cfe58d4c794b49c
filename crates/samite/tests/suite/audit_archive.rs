//! The audit log past its retention: moved to an archive where it verifies, and out of the store, which goes on without it.

use crate::support::{assert_verifies, principal};
use crate::watched::Watched;
use rusqlite::Connection;
use samite::audit::tlog::export::verify_segment;
use samite::audit::tlog::log::{LogFinisher, PublishedHeads};
use samite::audit::{ArchivedPart, AuditQuery, AuditReport, DueLeaves};
use samite::{Backends, Client, NewSession, Store};
use samite_blocks::FilePackStore;
use samite_host::{Clock, SystemClock, SystemRandomness, SystemSleep, TestClock};
use samite_keys::{FileMaster, Keyring, KeyringOptions, KeystoreName, Master};
use samite_ledger::{OpenOptions, SqliteLedger, Threads};
use samite_model::policy::retention::Retained;
use samite_model::{Observer, Tenant};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

pub(crate) const DAY: i64 = 24 * 3600 * 1_000_000_000;
const ROOT: &str = "SAMITE_TEST_ARCHIVE";

/// A store on disk with an audit log and a clock of its own, opened again as often as wanted.
pub(crate) struct Opened {
    pub(crate) store: Store,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) master: Arc<dyn Master>,
    pub(crate) keystore: KeystoreName,
    ledger: Arc<Watched>,
}

impl Opened {
    pub(crate) fn watched(&self) -> &Watched {
        &self.ledger
    }
}

/// Opens the store under a directory, so many days after it was first opened.
pub(crate) fn open(root: &Path, days: i64) -> Opened {
    open_beside(root, days, "tlog")
}

/// The same in a process of its own, as it were, with tiles of its own.
pub(crate) fn open_beside(root: &Path, days: i64, tiles: &str) -> Opened {
    let random = Arc::new(SystemRandomness::new());
    let master: Arc<dyn Master> = Arc::new(FileMaster::new(root.join("master.key"), random.clone()));
    let keys = Keyring::open(KeyringOptions {
        directory: root.join("keys"),
        tenant: Tenant::new("local").unwrap(),
        master: master.clone(),
        random: random.clone(),
        create: true,
    })
    .unwrap();
    keys.ensure_audit_key().unwrap();
    let published = master.load_note(&keys.name(), PublishedHeads::NOTE).unwrap();
    let published = published.as_deref().map(PublishedHeads::decode).transpose().unwrap();
    let sqlite = Arc::new(
        SqliteLedger::open(OpenOptions {
            path: root.join("ledger.db"),
            create: true,
            read_only: false,
            accept_behind: false,
            threads: Threads::Caller,
            sleep: Arc::new(SystemSleep),
            finisher: Some(Arc::new(LogFinisher::new(
                keys.clone(),
                published.and_then(|heads| heads.newest().cloned()),
            ))),
        })
        .unwrap(),
    );
    let ledger = Arc::new(Watched::new(sqlite.clone()));
    std::fs::create_dir_all(root.join("packs")).unwrap();
    // Years ago, so that nothing is ahead of other clocks.
    let clock = Arc::new(TestClock::new(SystemClock.now() - 4000 * DAY + days * DAY));
    let store = Store::new(Backends {
        ledger: ledger.clone(),
        blocks: sqlite,
        packs: Arc::new(FilePackStore::open(&root.join("packs")).unwrap()),
        keys: keys.clone(),
        directory: None,
        logged: true,
        tiles: Some(root.join(tiles)),
        caches: None,
        memory: None,
        clock: clock.clone(),
        random,
    });
    Opened { store, clock, master, keystore: keys.name(), ledger }
}

pub(crate) async fn acts(client: &Client, count: usize) {
    for _ in 0..count {
        client.create_session(NewSession::default()).await.unwrap();
    }
}

pub(crate) async fn verified(client: &Client, archives: &[PathBuf]) -> AuditReport {
    let report = client.audit().verify_with(&[], archives, &Observer::default()).await.unwrap();
    assert_eq!(report.findings, []);
    report
}

pub(crate) async fn codes(client: &Client, archives: &[PathBuf]) -> Vec<&'static str> {
    let report = client.audit().verify_with(&[], archives, &Observer::default()).await.unwrap();
    report.findings.iter().map(|found| found.code).collect()
}

/// A log of 600 old leaves and some young ones, kept for 200 days.
pub(crate) async fn prepared(root: &Path) -> (Opened, Client, PathBuf) {
    let opened = open(root, 0);
    let client = opened.store.client(principal("ada")).await.unwrap();
    acts(&client, 599).await;
    opened.clock.advance(300 * DAY);
    acts(&client, 10).await;
    let cold = root.join("cold");
    client.set_audit_retention(200, &cold).await.unwrap();
    (opened, client, cold)
}

pub(crate) fn size(opened: &Opened) -> u64 {
    futures_lite::future::block_on(samite_ledger::Ledger::audit_log(&*opened.ledger, None)).unwrap().unwrap().size
}

pub(crate) fn first(opened: &Opened) -> u64 {
    let read =
        |from| futures_lite::future::block_on(samite_ledger::Ledger::leaves(&*opened.ledger, 1, from, 1)).unwrap();
    (0..size(opened)).find(|index| !read(*index).is_empty()).unwrap()
}

#[test]
fn what_is_past_its_retention_is_moved_and_the_log_goes_on() {
    let place = tempfile::tempdir().unwrap();
    crate::support::run(async {
        let (opened, client, cold) = prepared(place.path()).await;
        let audit = client.audit();
        let folder = cold.join("log-1");
        // The other folder of an auditor has all of it.
        let auditor = place.path().join("auditor");
        audit.export(None, false, &auditor, &Observer::default()).await.unwrap();
        assert_eq!(audit.retention_due(None).await.unwrap(), [DueLeaves { log: 1, from: 0, to: 512 }]);
        let before = size(&opened);
        let moved = audit.apply_retention(&Observer::default()).await.unwrap();
        let [ArchivedPart { log: 1, from: 0, to: 512, archive, bundles, .. }] = moved.as_slice() else {
            panic!("{moved:?}");
        };
        assert_eq!((archive.as_str(), bundles.len()), (folder.to_str().unwrap(), 2));
        // Leaves and the entry that says so are one commit.
        assert_eq!((first(&opened), size(&opened)), (512, before + 1));
        assert_eq!(audit.read(&AuditQuery::default()).await.unwrap()[0].index, 512);
        assert_eq!(
            audit.read(&AuditQuery { last: Some(1), ..AuditQuery::default() }).await.unwrap()[0].leaf.act.as_str(),
            "audit_archived"
        );

        // Hot alone says what it did not read; with the archive all of it is read and compared.
        let hot = verified(&client, &[]).await;
        assert_eq!((hot.archived, hot.unread, hot.leaves), (512, 512, size(&opened) - 512));
        let both = verified(&client, std::slice::from_ref(&cold)).await;
        assert_eq!((both.archived, both.unread, both.leaves), (512, 0, size(&opened)));
        assert!(both.places > hot.places, "{} {}", both.places, hot.places);
        let key = audit.logs().await.unwrap()[0].key.clone();
        let alone = verify_segment(&folder, &key, &[], 0..512, &mut |_, _| Ok(())).unwrap();
        assert!(alone.is_right() && alone.entries >= 512, "{:?}", alone.findings);

        // What is kept proves, exports, grows and continues.
        for index in [512, 600] {
            let proven = audit.prove(None, index, false).await.unwrap();
            assert_eq!(proven.index, index);
        }
        // What was moved does too while the archive is there, and only then.
        let away = place.path().join("away");
        std::fs::rename(&cold, &away).unwrap();
        assert_eq!(audit.prove(None, 511, false).await.unwrap_err().code(), "leaf_archived");
        assert_eq!(audit.show(None, 3).await.unwrap_err().code(), "leaf_archived");
        assert_eq!(audit.consistency(None, 300, None).await.unwrap_err().code(), "leaf_archived");
        std::fs::rename(&away, &cold).unwrap();
        assert_eq!(audit.prove(None, 511, false).await.unwrap().index, 511);
        assert_eq!(audit.show(None, 3).await.unwrap().0.index, 3);
        for old in [3, 256, 300, 512, 550] {
            let shown = audit.consistency(None, old, None).await.unwrap();
            samite::audit::tlog::merkle::verify_consistency(shown.old, shown.new, &shown.hashes).unwrap();
        }
        acts(&client, 5).await;
        audit.anchor(&Observer::default()).await.unwrap();
        let (_, exported) = audit.export(None, false, &auditor, &Observer::default()).await.unwrap();
        assert!(exported.before > 600 && exported.after > exported.before);
        let whole = verify_segment(&auditor, &key, &[], 0..u64::MAX, &mut |_, _| Ok(())).unwrap();
        assert!(whole.is_right(), "{:?}", whole.findings);
        let fresh = place.path().join("fresh");
        audit.export(None, false, &fresh, &Observer::default()).await.unwrap();
        let rest = verify_segment(&fresh, &key, &[], 512..u64::MAX, &mut |_, _| Ok(())).unwrap();
        assert!(rest.is_right(), "{:?}", rest.findings);
        assert!(!verify_segment(&fresh, &key, &[], 0..u64::MAX, &mut |_, _| Ok(())).unwrap().is_right());

        // A second part goes into the same archive, also when the tiles were lost meanwhile; nothing more is due then.
        std::fs::remove_dir_all(place.path().join("tlog")).unwrap();
        acts(&client, 300).await;
        opened.clock.advance(300 * DAY);
        acts(&client, 1).await;
        let moved = audit.apply_retention(&Observer::default()).await.unwrap();
        assert_eq!((moved.len(), moved[0].from), (1, 512));
        assert!(moved[0].to >= 768, "{moved:?}");
        assert_eq!(audit.apply_retention(&Observer::default()).await.unwrap(), []);
        let both = verified(&client, std::slice::from_ref(&cold)).await;
        assert_eq!((both.unread, both.archived, both.leaves), (0, moved[0].to, size(&opened)));
        assert_eq!(audit.archived().await.unwrap().len(), 2);
        // Opened again it is no older copy of itself.
        drop((opened, client));
        let again = open(place.path(), 700);
        let client = again.store.client(principal("ada")).await.unwrap();
        acts(&client, 1).await;
        let report = verified(&client, &[cold]).await;
        assert_eq!((report.logs, report.unread), (1, 0));
    });
    assert_verifies(&open(place.path(), 700).store);
}

#[test]
fn the_floor_holds_and_without_an_archive_nothing_moves() {
    let place = tempfile::tempdir().unwrap();
    crate::support::run(async {
        let (opened, client, cold) = prepared(place.path()).await;
        let audit = client.audit();
        assert_eq!(client.set_audit_retention(182, &cold).await.unwrap_err().code(), "below_floor");
        assert_eq!(client.set_audit_retention(200, Path::new("cold")).await.unwrap_err().code(), "bad_archive");
        assert_eq!(audit.archive(182, &cold, &Observer::default()).await.unwrap_err().code(), "below_floor");
        client.set_retention(Retained::Audit, Some(200)).await.unwrap();
        assert_eq!(audit.retention_due(None).await.unwrap().len(), 1);
        assert_eq!(audit.apply_retention(&Observer::default()).await.unwrap(), []);
        client.set_audit_retention(400, &cold).await.unwrap();
        assert_eq!(audit.retention_due(None).await.unwrap(), []);
        assert_eq!(first(&opened), 0);
        // An archive that has another log is refused, and nothing goes.
        client.set_audit_retention(200, &cold).await.unwrap();
        std::fs::create_dir_all(cold.join("log-1")).unwrap();
        std::fs::write(cold.join("log-1/checkpoint"), "example.com/other\n1\nAAAA\n\n\u{2014} x y\n").unwrap();
        audit.apply_retention(&Observer::default()).await.unwrap_err();
        assert_eq!(first(&opened), 0);
        verified(&client, &[]).await;
        // Who may not operate the tenant moves nothing.
        let agent = client.sub_agent("helper", samite_model::access::Rights::USUAL).await.unwrap();
        assert_eq!(agent.audit().apply_retention(&Observer::default()).await.unwrap_err().code(), "scope_missing");
    });
}

#[test]
fn what_is_changed_after_it_was_moved_is_found() {
    let place = tempfile::tempdir().unwrap();
    crate::support::run(async {
        let (opened, client, cold) = prepared(place.path()).await;
        client.audit().apply_retention(&Observer::default()).await.unwrap();
        let path = place.path().join("ledger.db");
        let leaf = |index: i64| (1_i64 << 40) | index;
        let change = |sql: &str, index: i64| Connection::open(&path).unwrap().execute(sql, [leaf(index)]).unwrap();
        drop(opened);
        // A leaf that is there, one that is cut beyond what was recorded, and the archive.
        assert_eq!(
            change(
                "UPDATE leaf SET bytes = CAST(replace(CAST(bytes AS TEXT), '\"act\"', '\"acT\"') AS BLOB) WHERE id = ?1",
                520
            ),
            1
        );
        assert!(codes(&client, &[]).await.contains(&"other_root"));
        assert_eq!(
            change(
                "UPDATE leaf SET bytes = CAST(replace(CAST(bytes AS TEXT), '\"acT\"', '\"act\"') AS BLOB) WHERE id = ?1",
                520
            ),
            1
        );
        verified(&client, &[]).await;
        let bundle = cold.join("log-1/tile/entries/001");
        let mut bytes = std::fs::read(&bundle).unwrap();
        bytes[100] ^= 1;
        std::fs::write(&bundle, &bytes).unwrap();
        assert_eq!(codes(&client, std::slice::from_ref(&cold)).await, ["damaged_archive"]);
        std::fs::remove_file(&bundle).unwrap();
        assert_eq!(codes(&client, &[cold]).await, ["damaged_archive"]);
        assert_eq!(change("DELETE FROM leaf WHERE id < ?1", 600), 88);
        assert_eq!(codes(&client, &[]).await[0], "missing_leaf");
    });
}

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn child_applies_the_retention() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    crate::support::run(async {
        let opened = open(&root, 300);
        let client = opened.store.client(principal("ada")).await.unwrap();
        // Each bundle in a commit of its own.
        client.audit().archive_by(200, &root.join("cold"), 1, &Observer::default()).await.unwrap();
    });
}

#[test]
fn a_kill_anywhere_leaves_each_leaf_in_the_store_or_in_the_archive() {
    for (point, moved) in [
        ("audit.prune.anchored", 0),
        ("audit.export.synced", 0),
        ("audit.archive.synced", 0),
        ("audit.prune.archived", 0),
        ("audit.prune.recorded", 256),
        ("audit.prune.recorded:2", 512),
        ("audit.prune.removed", 512),
    ] {
        let place = tempfile::tempdir().unwrap();
        crate::support::run(async {
            let (opened, client, cold) = prepared(place.path()).await;
            drop((opened, client));
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "audit_archive::child_applies_the_retention", "--include-ignored", "--quiet"])
                .env(ROOT, place.path())
                .env("SAMITE_KILL_POINT", point)
                .output()
                .unwrap();
            assert_eq!(status.status.signal(), Some(9), "{point}: {status:?}");
            let opened = open(place.path(), 301);
            let client = opened.store.client(principal("ada")).await.unwrap();
            assert_eq!(first(&opened), moved, "{point}");
            let archives = if moved > 0 { vec![cold.clone()] } else { Vec::new() };
            let report = verified(&client, &archives).await;
            assert_eq!((report.unread, report.leaves), (0, size(&opened)), "{point}");
            // It goes on, once.
            client.audit().apply_retention(&Observer::default()).await.unwrap();
            assert_eq!(first(&opened), 512, "{point}");
            let parts = client.audit().archived().await.unwrap();
            assert_eq!(parts.len(), if moved == 0 { 1 } else { 2 }, "{point}");
            let report = verified(&client, &[cold]).await;
            assert_eq!((report.unread, report.leaves), (0, size(&opened)), "{point}");
            client.audit().prove(None, 513, false).await.unwrap();
            let tiles = place.path().join("tlog/log-1/tile/entries/000");
            assert!(!tiles.exists(), "{point}: tiles of what was moved are gone");
        });
    }
}

#[test]
fn a_cosigned_head_of_what_was_moved_is_given_to_nobody() {
    let place = tempfile::tempdir().unwrap();
    crate::support::run(async {
        let opened = open(place.path(), 0);
        let client = opened.store.client(principal("ada")).await.unwrap();
        let (audit, tlog) = (client.audit(), place.path().join("tlog"));
        acts(&client, 299).await;
        audit.prove(None, 0, false).await.unwrap();
        // As if a witness had cosigned what was shown.
        std::fs::create_dir(tlog.join("cosigned-1")).unwrap();
        std::fs::copy(tlog.join("log-1/checkpoint"), tlog.join("cosigned-1/300")).unwrap();
        let (head, _) = audit.export(None, true, &place.path().join("a"), &Observer::default()).await.unwrap();
        assert_eq!(head.size, 300);
        acts(&client, 300).await;
        opened.clock.advance(300 * DAY);
        acts(&client, 10).await;
        client.set_audit_retention(200, &place.path().join("cold")).await.unwrap();
        let moved = audit.apply_retention(&Observer::default()).await.unwrap();
        assert_eq!((moved.len(), moved[0].to), (1, 512));
        let fresh = place.path().join("b");
        let refused = audit.export(None, true, &fresh, &Observer::default()).await.unwrap_err();
        assert_eq!(refused.code(), "not_cosigned");
        let (head, _) = audit.export(None, false, &fresh, &Observer::default()).await.unwrap();
        assert!(head.size > 600, "{head:?}");
        assert_eq!(audit.prove(None, 513, false).await.unwrap().index, 513);
        // One that is whole bundles is still shown, as an older size; and exported by nobody, since its leaves are not there.
        let of_512 = audit.consistency(None, 256, Some(512)).await.unwrap();
        assert_eq!((of_512.old.0, of_512.new.0, of_512.proof.is_none()), (256, 512, true));
        std::fs::remove_dir_all(place.path().join("cold/log-1/tile/entries")).unwrap();
        assert_eq!(audit.consistency(None, 256, Some(300)).await.unwrap_err().code(), "leaf_archived");
    });
}

#[test]
fn an_older_copy_moves_what_it_has_alone() {
    let place = tempfile::tempdir().unwrap();
    let (ledger, copy) = (place.path().join("ledger.db"), place.path().join("copy"));
    crate::support::run(async {
        let opened = open(place.path(), 0);
        let client = opened.store.client(principal("ada")).await.unwrap();
        acts(&client, 299).await;
        Connection::open(&ledger).unwrap().execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        std::fs::copy(ledger.with_extension("high"), copy.with_extension("high")).unwrap();
        acts(&client, 5).await;
        client.audit().prove(None, 301, false).await.unwrap();
    });
    for ending in ["-wal", "-shm"] {
        std::fs::remove_file(place.path().join(format!("ledger.db{ending}"))).ok();
    }
    std::fs::rename(&copy, &ledger).unwrap();
    std::fs::rename(copy.with_extension("high"), ledger.with_extension("high")).unwrap();
    crate::support::run(async {
        let opened = open(place.path(), 1);
        let client = opened.store.client(principal("ada")).await.unwrap();
        acts(&client, 600).await;
        opened.clock.advance(300 * DAY);
        acts(&client, 1).await;
        let cold = place.path().join("cold");
        client.set_audit_retention(200, &cold).await.unwrap();
        assert_eq!(verified(&client, &[]).await.logs, 2);
        // Of log 1 another history was published: nobody gets these leaves as that log.
        assert_eq!(client.audit().retention_due(None).await.unwrap(), [DueLeaves { log: 2, from: 0, to: 512 }]);
        let moved = client.audit().apply_retention(&Observer::default()).await.unwrap();
        assert_eq!((moved.len(), moved[0].log, moved[0].to), (1, 2, 512));
        // Log 2 names the head of log 1 that was lost in its first leaf, which is in the archive.
        let hot = verified(&client, &[]).await;
        assert_eq!((hot.logs, hot.archived, hot.unread), (2, 512, 512));
        assert_eq!(verified(&client, std::slice::from_ref(&cold)).await.unread, 0);
    });
}
