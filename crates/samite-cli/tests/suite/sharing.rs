//! `samite share`, `unshare`, `grants` and `identity`, with another user of the same store, as a server would open it.

use crate::support::{Place, text};
use samite::embedded::{Embedded, EmbeddedOptions, FileMaster};
use samite::{Client, NewEvent, ReadOptions, WriterOptions};
use samite_host::SystemRandomness;
use samite_model::{EntryKind, Principal, SessionId, Tenant};
use std::fs;
use std::sync::Arc;

/// The store as another user's agent has it.
pub(crate) async fn client_of(place: &Place, user: &str) -> (Embedded, Client) {
    let tenant = Tenant::new("local").unwrap();
    let master = FileMaster::new(place.path().join("master.key"), Arc::new(SystemRandomness::new()));
    let options = EmbeddedOptions {
        directory: place.store(),
        tenant: tenant.clone(),
        master: Arc::new(master),
        create: false,
        read_only: false,
        accept_behind: false,
    };
    let store = Embedded::open(options).unwrap();
    let (user, agent, workload) = (user.to_owned(), "editor".to_owned(), "test".to_owned());
    let principal = Principal { tenant, user, agent, workload, scopes: Vec::new(), parents: Vec::new() };
    let client = store.store().client(principal).await.unwrap();
    (store, client)
}

/// Another user reads a session that is shared.
pub(crate) fn read_by(place: &Place, user: &str, session: &str) {
    futures_lite::future::block_on(async {
        let (store, client) = client_of(place, user).await;
        let session: SessionId = session.parse().unwrap();
        let there = client.enter(session).await.unwrap();
        let entries = there.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
        assert!(!entries.is_empty());
        store.close().await;
    });
}

#[test]
fn what_is_shared_is_read_and_added_to_by_another_and_that_is_seen() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "hers");
    let session: SessionId = id.parse().unwrap();
    let enters = || {
        futures_lite::future::block_on(async {
            let (store, client) = client_of(&place, "bob").await;
            let entered = client.enter(session).await.map(|_| ());
            store.close().await;
            entered.map_err(|error| error.code())
        })
    };
    assert_eq!(enters(), Err("no_session"));
    let said = place.run(&["share", &id, "--with", "user:bob", "--append", "--days", "7"]).ok();
    assert!(said.contains("is shared with user:bob until 20") && said.contains("read, append"), "{said}");
    assert_eq!(enters(), Ok(()));
    futures_lite::future::block_on(async {
        let (store, client) = client_of(&place, "bob").await;
        let there = client.enter(session).await.unwrap();
        let writer = there.writer(session, None, WriterOptions::default()).await.unwrap();
        let kind = EntryKind::MESSAGE;
        let event = NewEvent { kind, body: b"his".to_vec(), attributes: None, dedupe: None, expected_head: None };
        writer.append(event).await.unwrap();
        writer.release().await.unwrap();
        store.close().await;
    });
    read_by(&place, "bob", &id);
    assert!(place.run(&["read", &id]).ok().contains("his"));
    // What the owner said has no leaf of its own; what another did there has.
    let logged = place.json(&["audit", "log", "--act", "message"]).json();
    let logged = logged["acts"].as_array().unwrap();
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert_eq!((text(&logged[0], "/user"), text(&logged[0], "/owner")), ("user:bob".into(), "user:local".into()));
    assert_eq!((text(&logged[0], "/session"), logged[0]["seq"].as_u64()), (id.clone(), Some(2)));
    let page = place.run(&["audit", "log", "--session", &id]).ok();
    assert!(page.lines().any(|line| line.contains("message") && line.contains("user:bob by editor")), "{page}");
    let listed = place.json(&["grants", &id]).json();
    assert_eq!(listed["grants"][0]["user"], "bob");
    assert_eq!(listed["grants"][0]["by"]["user"], "local");
    let reads = listed["reads"].as_array().unwrap();
    assert!(reads.iter().any(|read| read["reader"]["user"] == "bob" && read["last"] == 2), "{reads:?}");
    let page = place.run(&["grants", &id]).ok();
    assert!(page.contains("user:bob") && page.contains("READ BY") && page.contains("bob (editor)"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    place.run(&["unshare", &id, "--with", "user:bob"]).ok();
    assert_eq!(enters(), Err("no_session"));
    assert_eq!(place.json(&["unshare", &id, "--all"]).error(3)["code"], "no_grant");
    assert!(place.run(&["grants", &id]).ok().contains("is shared with nobody"));
    for (arguments, status, code) in [
        (vec!["share", &id, "--with", "group:bob", "--read"], 2, "bad_grantee"),
        (vec!["share", &id, "--with", "user:local", "--read"], 2, "shared_with_owner"),
        (vec!["share", &id, "--with", "user:bob"], 2, "usage"),
        (vec!["share", &id, "--read"], 2, "usage"),
        (vec!["share", "--with", "user:bob", "--read"], 2, "usage"),
        (vec!["share", &id, "--with", "user:bob", "--read", "--until", "soon"], 2, "usage"),
        (vec!["share", &id, "--with", "user:bob", "--read", "--until", "2020-01-01"], 2, "bad_until"),
        (vec!["share", "ffff", "--with", "user:bob", "--read"], 3, "no_session"),
        (vec!["share", "--artifact", "ffff", "--with", "user:bob", "--read"], 3, "no_artifact"),
    ] {
        assert_eq!(place.json(&arguments).error(status)["code"], code, "{arguments:?}");
    }
    assert!(place.json(&["verify"]).json()["stale_views"].as_array().unwrap().is_empty());
}

#[test]
fn an_artifact_is_shared_by_itself() {
    let place = Place::new();
    let id = place.session();
    fs::write(place.path().join("out"), "bytes").unwrap();
    let artifact = text(&place.json(&["artifact", "put", &id, "out"]).json(), "/id");
    let shared = place.json(&["share", "--artifact", &artifact, "--with", "user:bob", "--read"]).json();
    assert_eq!((shared["kind"].as_str(), shared["id"].as_str()), (Some("artifact"), Some(artifact.as_str())));
    futures_lite::future::block_on(async {
        let (store, client) = client_of(&place, "bob").await;
        let there = client.enter_artifact(artifact.parse().unwrap_or_else(|_| panic!())).await.unwrap();
        let mut bytes = Vec::new();
        there.artifact_bytes(artifact.parse().unwrap_or_else(|_| panic!()), None, &mut bytes).await.unwrap();
        assert_eq!(bytes, b"bytes");
        store.close().await;
    });
    assert_eq!(place.json(&["grants", "--artifact", &artifact]).json()["grants"][0]["rights"][0], "read");
    place.run(&["unshare", "--artifact", &artifact, "--all"]).ok();
}

/// They tell who may do what, and change nothing by it: no point at which a kill could leave half of something is passed.
#[test]
#[cfg(feature = "kill-points")]
fn what_shows_who_calls_and_what_is_shared_writes_nothing() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "hers");
    place.run(&["share", &id, "--with", "user:bob", "--append"]).ok();
    let trace = place.path().join("trace");
    let log = || place.json(&["audit", "log", "--all"]).json()["acts"].as_array().unwrap().len();
    let passed = |arguments: &[&str]| {
        fs::remove_file(&trace).ok();
        let output = place.command(arguments).env("SAMITE_KILL_TRACE", &trace).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        fs::read_to_string(&trace).unwrap_or_default()
    };
    // That the trace tells, another command shows.
    assert!(!passed(&["share", &id, "--with", "user:eve", "--read"]).is_empty());
    let before = log();
    for arguments in [&["identity"][..], &["grants", &id], &["records"]] {
        assert_eq!(passed(arguments), "", "{arguments:?}");
    }
    assert_eq!(log(), before);
}

#[test]
fn identity_shows_who_calls_and_whom_a_token_stands_for() {
    let place = Place::new();
    let shown = place.json(&["identity"]).json();
    assert_eq!(shown["principal"]["user"], "local");
    assert_eq!(shown["owner"], "user:local");
    assert!(!place.store().exists(), "it needs no store");
    let config = "[[development]]\ntoken = \"development-only-1\"\ntenant = \"acme\"\nuser = \"ada\"\nagent = \"helper\"\nworkload = \"laptop\"\nscopes = [\"samite:read\"]\nparents = [\"planner\"]\n";
    fs::write(place.path().join("identity.toml"), config).unwrap();
    let check = ["--json", "identity", "check", "--config", "identity.toml"];
    let with = |more: &[&str], token: &str| place.run_with_input(&[&check[..], more].concat(), token.as_bytes());
    let right = with(&["--dev"], "development-only-1\n").json();
    assert_eq!((right["principal"]["user"].as_str(), right["rights"][0].as_str()), (Some("ada"), Some("read")));
    assert_eq!(right["principal"]["parents"][0], "planner");
    assert_eq!(right["rights"].as_array().unwrap().len(), 1);
    for (more, token, code) in [
        (&[][..], "development-only-1", "development_token"),
        (&["--dev"][..], "development-only-2", "malformed_token"),
        (&["--dev"][..], "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.", "wrong_algorithm"),
    ] {
        let did = with(more, token);
        assert!(!did.err.contains(token), "{}", did.err);
        assert_eq!(did.error(6)["code"], code, "{token}");
    }
    fs::write(place.path().join("token"), "development-only-1").unwrap();
    let page = place.run(&["identity", "check", "--config", "identity.toml", "--token-file", "token", "--dev"]).ok();
    assert!(page.contains("planner") && page.contains("ada"), "{page}");
    fs::write(place.path().join("identity.toml"), "[[issuer]]\nname = \"i\"\n").unwrap();
    assert_eq!(with(&[], "x").error(2)["code"], "bad_identity_config");
    // No option takes a token.
    let help = place.run(&["identity", "check", "--help"]).ok();
    assert!(!help.contains("--token <"), "{help}");
}
