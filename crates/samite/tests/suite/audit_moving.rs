//! Leaves of the audit log that leave while others look at it; where they may go; and what is proven and compared without them.

use crate::audit_archive::{DAY, Opened, acts, codes, first, open, open_beside, prepared, size, verified};
use crate::support::{assert_verifies, event, principal, run};
use samite::audit::tlog::export::verify_segment;
use samite::audit::tlog::log::PublishedHeads;
use samite::audit::tlog::merkle::verify_consistency;
use samite::audit::tlog::{Hash, VerifierKey};
use samite::audit::{AuditQuery, Receipt};
use samite::{Client, NewSession, WriterOptions};
use samite_ledger::{JournalFilter, Ledger};
use samite_model::{Observer, Position};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

fn none() -> Observer {
    Observer::default()
}

/// Moves what is due, in another process as it were: each bundle in a commit of its own.
fn move_all(root: PathBuf) {
    let moving = move || {
        run(async {
            let other = open_beside(&root, 300, "others-tlog");
            let client = other.store.client(principal("ada")).await.unwrap();
            let moved = client.audit().archive_by(200, &root.join("cold"), 1, &none()).await.unwrap();
            assert_eq!(moved.len(), 2);
        });
    };
    std::thread::spawn(moving).join().unwrap();
}

async fn look(name: &str, root: &Path, client: &Client) {
    let audit = client.audit();
    let cold = root.join("cold");
    match name {
        "verify" => {
            let report = verified(client, &[]).await;
            assert!(report.logs == 1 && report.unread <= 512);
        }
        "verify with the archive" => assert_eq!(verified(client, &[cold]).await.unread, 0),
        "log" => {
            let acts = audit.read(&AuditQuery::default()).await.unwrap();
            let first = acts[0].index;
            assert!(first == 0 || first == 512, "{first}");
            assert!((first..).zip(&acts).all(|(index, act)| act.index == index));
        }
        "export" => {
            let folder = root.join("exported");
            audit.export(None, false, &folder, &none()).await.unwrap();
            let key = audit.logs().await.unwrap()[0].key.clone();
            let found = verify_segment(&folder, &key, &[], 512..u64::MAX, &mut |_, _| Ok(())).unwrap();
            assert!(found.is_right(), "{:?}", found.findings);
        }
        "prove" => {
            for index in [3, 511, 512, 600] {
                let proven = audit.prove(None, index, false).await.unwrap();
                let receipt: Receipt = serde_json::from_slice(proven.proof.extra.as_deref().unwrap()).unwrap();
                receipt.check(&proven.leaf).unwrap();
            }
        }
        "prove entry" => {
            let leaf = audit.show(None, 3).await.unwrap().0.leaf;
            let at = Position { journal: leaf.journal, seq: leaf.seq };
            audit.prove_entry(None, at, false).await.unwrap();
        }
        "continue" => {
            let shown = audit.consistency(None, 300, None).await.unwrap();
            verify_consistency(shown.old, shown.new, &shown.hashes).unwrap();
        }
        other => unreachable!("{other}"),
    }
}

#[test]
fn who_looks_at_the_log_while_leaves_leave_it_sees_no_damage() {
    let template = tempfile::tempdir().unwrap();
    drop(run(prepared(template.path())));
    for name in ["verify", "verify with the archive", "log", "export", "prove", "prove entry", "continue"] {
        let mut nth = 1;
        loop {
            let place = tempfile::tempdir().unwrap();
            let root = place.path().join("store");
            assert!(Command::new("cp").arg("-a").arg(template.path()).arg(&root).status().unwrap().success());
            let came = run(async {
                let opened = open(&root, 300);
                let client = opened.store.client(principal("ada")).await.unwrap();
                // There are tiles already.
                client.audit().prove(None, 0, false).await.unwrap();
                let others = root.clone();
                opened.watched().before_leaves(nth, async move { move_all(others) });
                look(name, &root, &client).await;
                let came = !opened.watched().waits_for_leaves();
                if came {
                    assert_eq!(first(&opened), 512, "{name} {nth}");
                    // And afterwards, with tiles that are from before.
                    look(name, &root, &client).await;
                    verified(&client, &[root.join("cold")]).await;
                }
                came
            });
            if !came {
                break;
            }
            nth += 1;
        }
        assert!(nth > 1, "{name} reads no leaves");
    }
}

#[test]
fn a_folder_that_is_not_the_archive_gets_nothing() {
    let place = tempfile::tempdir().unwrap();
    run(async {
        let (opened, client, cold) = prepared(place.path()).await;
        let (audit, away) = (client.audit(), place.path().join("away"));
        let refused = async |code: &str, at: u64| {
            let before = size(&opened);
            assert_eq!(audit.apply_retention(&none()).await.unwrap_err().code(), code);
            assert_eq!((first(&opened), size(&opened)), (at, before));
        };
        // Its disk is not mounted: the folder is not there, or an empty one is in its place.
        std::fs::rename(&cold, &away).unwrap();
        refused("archive_missing", 0).await;
        assert!(!cold.exists(), "it is not made again");
        std::fs::create_dir(&cold).unwrap();
        refused("archive_missing", 0).await;
        assert_eq!(std::fs::read_dir(&cold).unwrap().count(), 0);
        std::fs::remove_dir(&cold).unwrap();
        std::fs::rename(&away, &cold).unwrap();
        assert_eq!(audit.apply_retention(&none()).await.unwrap().len(), 1);
        // Later it has its mark, and not what went there.
        acts(&client, 300).await;
        opened.clock.advance(300 * DAY);
        acts(&client, 1).await;
        std::fs::rename(cold.join("log-1"), &away).unwrap();
        refused("archive_missing", 512).await;
        std::fs::rename(&away, cold.join("log-1")).unwrap();
        assert_eq!(audit.apply_retention(&none()).await.unwrap().len(), 1);
        verified(&client, std::slice::from_ref(&cold)).await;
        // Where nothing is above it none is made, and another store's is not taken.
        let missing = place.path().join("mnt/cold");
        assert_eq!(client.set_audit_retention(200, &missing).await.unwrap_err().code(), "archive_missing");
        assert!(!place.path().join("mnt").exists());
        std::fs::write(cold.join("samite-archive"), "audit logs of samite.local/00\n").unwrap();
        assert_eq!(client.set_audit_retention(200, &cold).await.unwrap_err().code(), "other_archive");
        assert_eq!(client.audit_retention().await.unwrap().unwrap().archive, Some(cold));
    });
    assert_verifies(&open(place.path(), 600).store);
}

#[test]
fn what_only_old_leaves_say_of_a_journal_is_said_again_before_they_go() {
    let place = tempfile::tempdir().unwrap();
    run(async {
        let opened = open(place.path(), 0);
        let client = opened.store.client(principal("ada")).await.unwrap();
        let audit = client.audit();
        // One that is anchored, and one that has acts alone; nobody touches either again.
        let idle = client.create_session(NewSession::default()).await.unwrap().id;
        let writer = client.writer(idle, None, WriterOptions::default()).await.unwrap();
        for text in ["one", "two", "three"] {
            writer.append(event(text)).await.unwrap();
        }
        drop(writer);
        audit.anchor(&none()).await.unwrap();
        acts(&client, 599).await;
        opened.clock.advance(300 * DAY);
        acts(&client, 10).await;
        let cold = place.path().join("cold");
        client.set_audit_retention(200, &cold).await.unwrap();
        let moved = audit.apply_retention(&none()).await.unwrap();
        assert_eq!(moved.iter().map(|part| (part.from, part.to)).collect::<Vec<_>>(), [(0, 512)]);
        std::fs::rename(&cold, place.path().join("away")).unwrap();

        let journal = client.current_branch(idle).await.unwrap();
        let mut states = opened.watched().journals(JournalFilter::default()).await.unwrap();
        states.retain(|state| state.head > 0);
        let head = states.iter().find(|state| state.id == journal).unwrap().head;
        for seq in 1..=head {
            let proven = audit.prove_entry(None, Position { journal, seq }, false).await.unwrap();
            assert!(proven.index >= 512 && proven.has_entry, "{seq}: {}", proven.index);
        }
        // Each journal but the log's own, which is not anchored, has a receipt, and is compared with the log.
        let heads: Vec<_> = states.iter().map(|state| (state.id, state.head)).collect();
        let folder = place.path().join("receipts");
        let before = opened.watched().registers_since();
        let written = audit.receipts(&heads, &folder).await.unwrap();
        assert_eq!(written, states.len() as u64);
        assert!(before > 0 && opened.watched().registers_since() < 10, "registers are not read for each receipt");
        assert_eq!(verified(&client, &[]).await.journals, states.len() as u64);
    });
}

#[test]
fn what_lies_far_before_the_leaves_that_stayed_is_proven_by_the_archive() {
    let place = tempfile::tempdir().unwrap();
    run(async {
        let opened = open(place.path(), 0);
        let client = opened.store.client(principal("ada")).await.unwrap();
        let audit = client.audit();
        let session = client.create_session(NewSession::default()).await.unwrap().id;
        let journal = client.current_branch(session).await.unwrap();
        let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.append(event("the first")).await.unwrap();
        audit.anchor(&none()).await.unwrap();
        acts(&client, 256).await;
        for number in 0..4_400 {
            writer.append(event(&number.to_string())).await.unwrap();
        }
        drop(writer);
        opened.clock.advance(300 * DAY);
        acts(&client, 1).await;
        let cold = place.path().join("cold");
        client.set_audit_retention(200, &cold).await.unwrap();
        assert_eq!(audit.apply_retention(&none()).await.unwrap()[0].to, 256);
        let at = Position { journal, seq: 1 };
        let proven = audit.prove_entry(None, at, true).await.unwrap();
        assert!(proven.has_entry && proven.index < 256, "{}", proven.index);
        std::fs::rename(&cold, place.path().join("away")).unwrap();
        let refused = audit.prove_entry(None, at, true).await.unwrap_err();
        assert_eq!(refused.code(), "receipt_too_long");
        assert!(refused.hints()[0].contains(cold.to_str().unwrap()), "{:?}", refused.hints());
        let alone = audit.prove_entry(None, at, false).await.unwrap();
        assert!(!alone.has_entry && alone.index >= 256, "{}", alone.index);
    });
}

/// Two archives, one after the other.
async fn in_two(root: &Path) -> (Opened, Client, PathBuf, PathBuf) {
    let (opened, client, one) = prepared(root).await;
    client.audit().apply_retention(&none()).await.unwrap();
    acts(&client, 300).await;
    opened.clock.advance(300 * DAY);
    acts(&client, 1).await;
    let two = root.join("two");
    client.set_audit_retention(200, &two).await.unwrap();
    let moved = client.audit().apply_retention(&none()).await.unwrap();
    assert_eq!((moved[0].from, moved[0].archive.as_str()), (512, two.join("log-1").to_str().unwrap()));
    (opened, client, one, two)
}

#[test]
fn a_part_is_looked_for_in_each_archive_and_is_damaged_in_none_that_never_had_it() {
    let place = tempfile::tempdir().unwrap();
    run(async {
        let (opened, client, one, two) = in_two(place.path()).await;
        for archives in [[one.clone(), two.clone()], [two.clone(), one.clone()]] {
            let report = verified(&client, &archives).await;
            assert_eq!((report.unread, report.leaves), (0, size(&opened)));
        }
        let code =
            async |archives: &[PathBuf]| client.audit().verify_with(&[], archives, &none()).await.unwrap_err().code();
        assert_eq!(code(std::slice::from_ref(&two)).await, "archive_missing");
        assert_eq!(code(&[one.clone(), two.clone(), place.path().join("nowhere")]).await, "archive_missing");
        // Wrong bytes are a finding, also where another has nothing of them.
        std::fs::write(one.join("log-1/tile/entries/001"), "x").unwrap();
        assert_eq!(codes(&client, &[two.clone(), one.clone()]).await, ["damaged_archive"]);
        std::fs::remove_file(one.join("log-1/tile/entries/001")).unwrap();
        assert_eq!(codes(&client, &[two.clone(), one.clone()]).await, ["damaged_archive"]);
        // An archive that ends before what went there.
        std::fs::remove_dir_all(two.join("log-1")).unwrap();
        std::fs::rename(one.join("log-1"), two.join("log-1")).unwrap();
        assert_eq!(code(&[two]).await, "archive_missing");
    });
}

/// A witness that saw a size before, and answers once; the bodies that it was sent.
fn witness(size: u64) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = bodies.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let body = loop {
                let mut buffer = [0; 4096];
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.to_lowercase().lines().find_map(|line| {
                    line.strip_prefix("content-length: ").and_then(|length| length.parse::<usize>().ok())
                });
                if body.len() >= length.unwrap_or(0) {
                    break body.to_owned();
                }
            };
            if body.is_empty() {
                // Whether anybody is there.
                write!(stream, "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
                continue;
            }
            let is_first = seen.lock().unwrap().is_empty();
            seen.lock().unwrap().push(body);
            let (status, answer) =
                if is_first { ("409 Conflict", format!("{size}\n")) } else { ("500 No", String::new()) };
            let kind = "Content-Type: text/x.tlog.size\r\nConnection: close";
            let length = answer.len();
            write!(stream, "HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{answer}").unwrap();
        }
    });
    (url, bodies)
}

#[test]
fn a_witness_that_saw_what_was_moved_gets_its_proof_from_the_archive() {
    let place = tempfile::tempdir().unwrap();
    run(async {
        let (opened, client, cold) = prepared(place.path()).await;
        client.audit().apply_retention(&none()).await.unwrap();
        acts(&client, 1).await;
        let key =
            "witness.example/w+cb1393dc+BIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU".parse::<VerifierKey>().unwrap();
        let (url, bodies) = witness(300);
        let said = client.audit().witness(&[(url, key.clone())], &none()).await.unwrap();
        assert_eq!(said.answers[0].as_ref().unwrap_err().code(), "witness_answer");
        let bodies = bodies.lock().unwrap().clone();
        let lines: Vec<&str> = bodies[1].lines().collect();
        assert_eq!(lines[0], "old 300");
        let hashes: Vec<Hash> = lines[1..]
            .iter()
            .take_while(|line| !line.is_empty())
            .map(|line| Hash::from_base64(line).unwrap())
            .collect();
        let old = client.audit().consistency(None, 300, None).await.unwrap().old;
        verify_consistency(old, (said.head.size, said.head.root), &hashes).unwrap();
        // Without the archive it is told where the leaves are, and another time is as good.
        std::fs::rename(&cold, place.path().join("away")).unwrap();
        let (url, _) = witness(300);
        let said = client.audit().witness(&[(url, key)], &none()).await.unwrap();
        let refused = said.answers[0].as_ref().unwrap_err();
        assert_eq!(refused.code(), "leaf_archived");
        assert!(refused.message().contains(cold.to_str().unwrap()), "{refused}");
        drop(opened);
    });
}

#[test]
fn a_beginning_that_was_moved_names_the_one_head_that_was_lost() {
    let place = tempfile::tempdir().unwrap();
    let (ledger, copy) = (place.path().join("ledger.db"), place.path().join("copy"));
    run(async {
        let opened = open(place.path(), 0);
        let client = opened.store.client(principal("ada")).await.unwrap();
        acts(&client, 299).await;
        rusqlite::Connection::open(&ledger).unwrap().execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        std::fs::copy(ledger.with_extension("high"), copy.with_extension("high")).unwrap();
        acts(&client, 5).await;
        client.audit().prove(None, 301, false).await.unwrap();
    });
    for ending in ["-wal", "-shm"] {
        std::fs::remove_file(place.path().join(format!("ledger.db{ending}"))).ok();
    }
    std::fs::rename(&copy, &ledger).unwrap();
    std::fs::rename(copy.with_extension("high"), ledger.with_extension("high")).unwrap();
    run(async {
        let opened = open(place.path(), 1);
        let client = opened.store.client(principal("ada")).await.unwrap();
        acts(&client, 300).await;
        opened.clock.advance(300 * DAY);
        acts(&client, 1).await;
        client.set_audit_retention(200, &place.path().join("cold")).await.unwrap();
        let moved = client.audit().apply_retention(&none()).await.unwrap();
        let previous = moved[0].previous.as_ref().unwrap();
        assert_eq!((moved[0].log, moved[0].from, previous.size), (2, 0, 305));
        assert_eq!(client.audit().archived().await.unwrap()[0].previous.as_ref(), Some(previous));
        verified(&client, &[]).await;
        // Another head of the first log was published, which no later log names, whatever its beginning says.
        let (master, name) = (&opened.master, &opened.keystore);
        let note = master.load_note(name, PublishedHeads::NOTE).unwrap().unwrap();
        let mut heads: serde_json::Value = serde_json::from_slice(&note).unwrap();
        let first = heads["heads"].as_array_mut().unwrap().iter_mut().find(|head| head["log"] == 1).unwrap();
        first["size"] = serde_json::json!(100);
        assert!(master.store_note(name, PublishedHeads::NOTE, &serde_json::to_vec(&heads).unwrap()).unwrap());
        assert_eq!(codes(&client, &[]).await, ["published_head_differs"]);
    });
}
