//! Erasing with sharing: what a person wrote in what others own, what others wrote in theirs, and what names them.

use crate::place::Place;
use crate::support::{attached, event, principal, run, take};
use samite::artifact::PutArtifact;
use samite::embedded::Embedded;
use samite::erasure::{Because, DerivedKind, EraseOptions, EraseWhat, ErasurePlan, HoldOn, SweepOptions};
use samite::payload::{Counted, ParentSession};
use samite::{Begin, Client, ForkOptions, NewSession, NewStep, Observer, ReadOptions, WriterOptions};
use samite_model::access::{Grantee, Right, Rights};
use samite_model::{FamilyId, SessionId};
use serde_json::json;
use std::fs;

/// The person who goes. Long enough to be looked for.
const ADA: &str = "ada.lovelace";

fn erasing(what: EraseWhat, also: Vec<FamilyId>) -> EraseOptions {
    EraseOptions { what, reason: "asked for".to_owned(), also, observer: Observer::default() }
}

fn ada_goes() -> EraseOptions {
    erasing(EraseWhat::User(ADA.to_owned()), Vec::new())
}

pub(crate) async fn client(store: &Embedded, name: &str) -> Client {
    store.store().client(principal(name)).await.unwrap()
}

pub(crate) fn with(user: &str) -> Grantee {
    Grantee::parse(&[format!("user:{user}")]).unwrap()
}

pub(crate) const ALL: [Right; 5] = [Right::Read, Right::Append, Right::Fork, Right::Publish, Right::Manage];

pub(crate) async fn share(client: &Client, session: SessionId, user: &str, rights: &[Right]) {
    client.share(session, with(user), Rights::of(rights.iter().copied()), None).await.unwrap();
}

pub(crate) async fn session(client: &Client) -> SessionId {
    client.create_session(NewSession::default()).await.unwrap().id
}

async fn tell(client: &Client, session: SessionId, text: &str) {
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    writer.append(event(text)).await.unwrap();
    writer.release().await.unwrap();
}

/// The bodies of a session's events; none for one that was erased.
async fn bodies(client: &Client, session: SessionId) -> Vec<Option<String>> {
    let entries = client.read(session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
    let body = |entry: &samite::Entry| {
        entry.payload.as_ref().map(|_| String::from_utf8_lossy(entry.event().unwrap().body).into_owned())
    };
    entries.iter().filter(|entry| entry.is_event()).map(body).collect()
}

/// What a plan or a proof counts of one kind.
fn counted(all: &[Counted], store: &str) -> (u64, u64, u64) {
    let one = all.iter().find(|one| one.store == store);
    one.map_or((0, 0, 0), |one| (one.found, one.deleted, one.retained))
}

fn derived(plan: &ErasurePlan) -> Vec<(DerivedKind, FamilyId, Because, bool)> {
    plan.derived.iter().map(|one| (one.kind, one.id, one.because, one.taken)).collect()
}

async fn is_whole(store: &Embedded) {
    for rebuild in [false, true] {
        let verified = store.store().verify(rebuild, None).await.unwrap();
        assert_eq!(verified.findings, [], "{verified:?}");
        assert_eq!((&verified.stale_views, &verified.rebuilt), (&Vec::new(), &Vec::new()), "{verified:?}");
        assert!(verified.unreadable.is_empty() && verified.packs.is_empty(), "{verified:?}");
    }
}

/// Which of these texts a sweep finds.
async fn found(store: &Embedded, texts: &[&str]) -> Vec<usize> {
    let canaries = texts.iter().map(|text| (*text).to_owned()).collect();
    store.sweep(&SweepOptions { canaries, ..SweepOptions::default() }).await.unwrap().found()
}

/// Bo's session in which Ada wrote, Ada's in which Bo did, and what was granted.
struct World {
    of_bo: SessionId,
    of_ada: SessionId,
}

const OF_ADA: [&str; 6] = [
    "ada writes in her own",
    "ada writes in bo's",
    "ada asks a tool",
    "the tool answers her",
    ADA,
    "bo writes in ada's",
];
const OF_BO: [&str; 3] = ["bo begins his own", "bo goes on in his", "bo reads her words"];

async fn world(ada: &Client, bo: &Client, cleo: &Client, dan: &Client) -> World {
    let (of_bo, of_ada) = (session(bo).await, session(ada).await);
    tell(bo, of_bo, OF_BO[0]).await;
    tell(ada, of_ada, OF_ADA[0]).await;
    share(bo, of_bo, ADA, &ALL).await;
    share(ada, of_ada, "bo", &[Right::Append, Right::Fork]).await;

    let there = ada.enter(of_bo).await.unwrap();
    tell(&there, of_bo, OF_ADA[1]).await;
    let writer = there.writer(of_bo, None, WriterOptions::default()).await.unwrap();
    let step = NewStep::new("k", "tool", json!({ "say": OF_ADA[2] }));
    let Begin::Run(handle) = writer.begin(&step).await.unwrap() else { panic!("it is new") };
    writer.complete(&handle, json!(OF_ADA[3])).await.unwrap();
    writer.release().await.unwrap();
    // As who may manage it, she lets another in.
    share(ada, of_bo, "cleo", &[Right::Read]).await;
    assert_eq!(bodies(&cleo.enter(of_bo).await.unwrap(), of_bo).await.len(), 2);
    assert_eq!(bodies(&there, of_bo).await.len(), 2);
    // In the place of what Bo had granted him, and he lets one more in.
    share(bo, of_bo, "dan", &[Right::Read]).await;
    share(ada, of_bo, "dan", &[Right::Manage]).await;
    share(dan, of_bo, "eve", &[Right::Read]).await;
    tell(bo, of_bo, OF_BO[1]).await;
    tell(bo, of_bo, OF_BO[2]).await;

    let there = bo.enter(of_ada).await.unwrap();
    tell(&there, of_ada, OF_ADA[5]).await;
    for client in [ada, bo, cleo] {
        client.record_reads().await.unwrap();
    }
    World { of_bo, of_ada }
}

#[test]
fn her_words_go_from_what_others_own_and_theirs_stay() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo, cleo) = (client(&store, ADA).await, client(&store, "bo").await, client(&store, "cleo").await);
        let World { of_bo, of_ada } = world(&ada, &bo, &cleo, &client(&store, "dan").await).await;
        assert_eq!(found(&store, &OF_ADA).await, [0, 1, 2, 3, 4, 5]);

        // What was read a moment ago may be recorded while the plan is made.
        let (reads, plan) = loop {
            let reads = bo.reads_by_others().await.unwrap();
            let plan = store.plan_erasure(&bo, &ada_goes()).await.unwrap();
            if !reads.is_empty() && bo.reads_by_others().await.unwrap() == reads {
                break (reads, plan);
            }
        };
        let hers: Vec<_> = reads.iter().filter(|read| read.recorded.reader.user == ADA).collect();
        assert!(!hers.is_empty(), "{reads:?}");
        // Her message, her step's two entries, and Bo's grant to her.
        assert_eq!(counted(&plan.found, "words_elsewhere"), (4, 4, 0), "{plan:?}");
        // Her grants to Cleo and to Dan, and each record that she read.
        let names = 2 + hers.len() as u64;
        assert_eq!(counted(&plan.found, "names_elsewhere"), (names, names, 0), "{plan:?}");
        assert_eq!(counted(&plan.found, "words_of_others"), (1, 1, 0), "{plan:?}");
        assert_eq!(derived(&plan), [], "nothing of her work stays");

        let record = store.erase(&bo, &ada_goes()).await.unwrap();
        let (_, proof) = record.proof.unwrap();
        assert_eq!(proof.entries, plan.entries);
        assert_eq!(counted(&proof.stores, "words_elsewhere"), (4, 4, 0));
        is_whole(&store).await;
        assert_eq!(found(&store, &OF_ADA).await, [] as [usize; 0]);
        assert_eq!(found(&store, &OF_BO).await, [0, 1, 2]);
        assert_eq!(
            bodies(&bo, of_bo).await,
            [Some(OF_BO[0].to_owned()), None, Some(OF_BO[1].to_owned()), Some(OF_BO[2].to_owned())]
        );
        // Bo goes on knowing what was read, by a pseudonym.
        let after = bo.reads_by_others().await.unwrap();
        assert!(after.len() >= reads.len());
        let erased: Vec<_> = after.iter().filter(|read| read.recorded.reader.user.starts_with("erased ")).collect();
        let read = |all: &[&samite::access::RecordedRead]| -> Vec<_> {
            all.iter().map(|one| (one.recorded.from, one.recorded.until, one.recorded.read.clone())).collect()
        };
        let erased = read(&erased);
        assert!(read(&hers).iter().all(|one| erased.contains(one)), "{erased:?}");
        // Whom she let in is in no more, nor whom they did; nor is who comes back by her name.
        for user in ["cleo", "dan", "eve"] {
            assert_eq!(client(&store, user).await.enter(of_bo).await.err().unwrap().code(), "no_session", "{user}");
        }
        assert_eq!(bo.grants(of_bo).await.unwrap(), []);
        let again = client(&store, ADA).await;
        assert_eq!(again.enter(of_bo).await.err().unwrap().code(), "no_session");
        assert_eq!(bo.enter(of_ada).await.err().unwrap().code(), "no_session");
        store.close().await;
        is_whole(&place.open()).await;
    });
}

#[test]
fn who_was_erased_neither_writes_nor_reads_late_in_what_others_own() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, ADA).await, client(&store, "bo").await);
        let of_bo = session(&bo).await;
        tell(&bo, of_bo, "bo begins").await;
        share(&bo, of_bo, ADA, &ALL).await;
        let there = ada.enter(of_bo).await.unwrap();
        let late = there.writer(of_bo, None, WriterOptions::default()).await.unwrap();
        late.append(event("in time")).await.unwrap();
        // She has read, and that is not recorded yet.
        assert_eq!(bodies(&there, of_bo).await.len(), 2);
        store.erase(&bo, &ada_goes()).await.unwrap();
        // Bo shares it with her again, whoever that now is.
        share(&bo, of_bo, ADA, &ALL).await;
        for outcome in [
            late.append(event("too late")).await.map(|_| ()),
            there.fork(of_bo, ForkOptions::default()).await.map(|_| ()),
            ada.share(of_bo, with("cleo"), Rights::only(Right::Read), None).await.map(|_| ()),
        ] {
            let error = outcome.unwrap_err();
            assert!(matches!(error.code(), "key_destroyed" | "epoch_passed"), "{error:?}");
        }
        let error = there.read(of_bo, None, ReadOptions::default()).await.unwrap().all().await.unwrap_err();
        assert_eq!(error.code(), "key_destroyed", "{error:?}");
        drop((late, there, ada));
        assert_eq!(bodies(&bo, of_bo).await, [Some("bo begins".to_owned()), None]);
        // What she read in time is recorded, whenever that was written; not by her name.
        let reads = bo.reads_by_others().await.unwrap();
        assert!(!reads.is_empty());
        assert!(reads.iter().all(|read| read.recorded.reader.user.starts_with("erased ")), "{reads:?}");
        // Whoever comes back is let in by Bo's new grant.
        let again = client(&store, ADA).await;
        let there = again.enter(of_bo).await.unwrap();
        let options = WriterOptions { take_over: true, ..WriterOptions::default() };
        let writer = there.writer(of_bo, None, options).await.unwrap();
        writer.append(event("somebody new")).await.unwrap();
        writer.release().await.unwrap();
        assert_eq!(bodies(&bo, of_bo).await, [Some("bo begins".to_owned()), None, Some("somebody new".to_owned())]);
        is_whole(&store).await;
    });
}

#[test]
fn files_and_forks_that_she_made_in_what_others_own_are_theirs_to_decide() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, ADA).await, client(&store, "bo").await);
        let work = place.directory("work");
        fs::write(work.join("file"), "bo's file ".repeat(200)).unwrap();
        let of_bo = attached(&bo, &work).await;
        take(&bo, of_bo).await;
        share(&bo, of_bo, ADA, &ALL).await;
        let there = ada.enter(of_bo).await.unwrap();
        tell(&there, of_bo, "ada's words").await;
        fs::write(work.join("hers"), "a file that ada made ".repeat(200)).unwrap();
        take(&there, of_bo).await;
        // A session of Bo's that works for one of hers.
        let of_ada = session(&ada).await;
        let parent = Some(ParentSession { session: of_ada, step: None });
        let child = bo.create_session(NewSession { parent, ..NewSession::default() }).await.unwrap().id;
        tell(&bo, child, "worked out for ada").await;

        let plan = store.plan_erasure(&bo, &ada_goes()).await.unwrap();
        let mut expected = vec![
            (DerivedKind::Session, child, Because::WorksFor, false),
            (DerivedKind::Session, of_bo, Because::WorkedThere, false),
        ];
        expected.sort_by_key(|one| one.1);
        assert_eq!(derived(&plan), expected);
        let wrong = erasing(EraseWhat::User(ADA.to_owned()), vec![of_ada]);
        assert_eq!(store.plan_erasure(&bo, &wrong).await.unwrap_err().code(), "not_derived");
        assert_eq!(store.erase(&bo, &wrong).await.unwrap_err().code(), "not_derived");

        // One is decided to go with her; of the other nothing was decided.
        let options = erasing(EraseWhat::User(ADA.to_owned()), vec![child]);
        let record = store.erase(&bo, &options).await.unwrap();
        let (_, proof) = record.proof.unwrap();
        let decided: Vec<_> = proof.derived.iter().map(|one| (one.id, one.taken)).collect();
        let mut expected = vec![(child, true), (of_bo, false)];
        expected.sort_by_key(|one| one.0);
        assert_eq!(decided, expected);
        is_whole(&store).await;
        assert_eq!(found(&store, &["ada's words", "worked out for ada"]).await, [] as [usize; 0]);
        assert_eq!(found(&store, &["bo's file", "a file that ada made"]).await, [0, 1]);
        assert_eq!(bo.session(child).await.unwrap_err().code(), "no_session");
        assert_eq!(bodies(&bo, of_bo).await, [None]);
        // The workspace is as it was, and goes on.
        fs::write(work.join("more"), "more").unwrap();
        take(&bo, of_bo).await;
        is_whole(&store).await;
    });
}

#[test]
fn what_was_made_of_an_artifact_by_another_goes_only_when_that_is_decided() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, ADA).await, client(&store, "bo").await);
        let publish = async |client: &Client, name: &str, inputs: Vec<std::path::PathBuf>| {
            let at = session(client).await;
            fs::write(place.path(name), format!("the bytes of {name}")).unwrap();
            let writer = client.writer(at, None, WriterOptions::default()).await.unwrap();
            let put = PutArtifact { inputs, ..PutArtifact::file(place.path(name)) };
            let made = writer.put_artifact(&put).await.unwrap().record.artifact;
            writer.release().await.unwrap();
            made
        };
        let first = publish(&ada, "her chart", Vec::new()).await;
        let second = publish(&bo, "his report", vec![place.path("her chart")]).await;
        let third = publish(&bo, "his summary", vec![place.path("his report")]).await;
        let what = || EraseWhat::Artifact(first);
        let id = |artifact: samite_model::ArtifactId| FamilyId(artifact.0);
        let made_of = |artifact, taken| (DerivedKind::Artifact, id(artifact), Because::MadeOf, taken);
        let plan = store.plan_erasure(&ada, &erasing(what(), Vec::new())).await.unwrap();
        assert_eq!(derived(&plan), [made_of(second, false)]);
        // What is made of what goes too is listed in turn.
        let plan = store.plan_erasure(&bo, &ada_goes()).await.unwrap();
        assert_eq!(derived(&plan), [made_of(second, false)]);
        let with = |also| erasing(EraseWhat::User(ADA.to_owned()), also);
        let plan = store.plan_erasure(&bo, &with(vec![id(second)])).await.unwrap();
        let mut expected = vec![made_of(second, true), made_of(third, false)];
        expected.sort_by_key(|one| one.1);
        assert_eq!(derived(&plan), expected);
        // Nobody but who looks after the tenant decides over what is another's.
        let mut alone = principal(ADA);
        alone.scopes = vec!["samite:read".to_owned(), "samite:erase".to_owned()];
        let alone = store.store().client(alone).await.unwrap();
        let error = store.plan_erasure(&alone, &with(vec![id(second)])).await.unwrap_err();
        assert_eq!(error.code(), "scope_missing");

        // A hold on Bo keeps his, and with it what was to go by decision.
        let on = HoldOn::User { subject: bo.pseudonym_of_user("bo").unwrap() };
        bo.set_hold(on, "case 7").await.unwrap();
        let error = store.erase(&bo, &with(vec![id(second)])).await.unwrap_err();
        assert_eq!(error.code(), "legal_hold");
        bo.lift_hold(on, "closed").await.unwrap();
        store.erase(&bo, &with(vec![id(second), id(third)])).await.unwrap();
        assert_eq!(found(&store, &["the bytes of"]).await, [] as [usize; 0]);
        is_whole(&store).await;
    });
}

#[test]
fn a_hold_on_what_others_own_keeps_what_she_wrote_there() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo, cleo) = (client(&store, ADA).await, client(&store, "bo").await, client(&store, "cleo").await);
        let World { of_bo, .. } = world(&ada, &bo, &cleo, &client(&store, "dan").await).await;
        let on = bo.session_to_hold(of_bo).await.unwrap();
        bo.set_hold(on, "case 9").await.unwrap();
        let plan = store.plan_erasure(&bo, &ada_goes()).await.unwrap();
        assert_eq!(plan.held, None, "hers alone is not held");
        assert_eq!(counted(&plan.found, "words_elsewhere"), (4, 0, 4), "{plan:?}");
        store.erase(&bo, &ada_goes()).await.unwrap();
        is_whole(&store).await;
        assert_eq!(bodies(&bo, of_bo).await.iter().flatten().count(), 4, "nothing of it went");
        assert_eq!(found(&store, &[OF_ADA[0], OF_ADA[1]]).await, [1]);
        // With the hold lifted it is erased with the session, if Bo decides so.
        bo.lift_hold(on, "closed").await.unwrap();
        store.erase(&bo, &erasing(EraseWhat::Session(of_bo), Vec::new())).await.unwrap();
        assert_eq!(found(&store, &[OF_ADA[1], OF_BO[0]]).await, [] as [usize; 0]);
        is_whole(&store).await;
    });
}

#[test]
fn an_older_copy_forgets_what_she_wrote_elsewhere_before_it_serves() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo, cleo) = (client(&store, ADA).await, client(&store, "bo").await, client(&store, "cleo").await);
        let World { of_bo, .. } = world(&ada, &bo, &cleo, &client(&store, "dan").await).await;
        store.backup(&place.path("copy")).await.unwrap();
        // What she wrote after the copy was made is in none.
        let there = ada.enter(of_bo).await.unwrap();
        tell(&there, of_bo, "after the copy").await;
        store.erase(&bo, &ada_goes()).await.unwrap();
        assert_eq!(found(&store, &OF_ADA).await, [] as [usize; 0]);
        drop((ada, bo, cleo, there));
        store.close().await;
        let copy = place.open_at(&place.path("copy"));
        assert_eq!(copy.erased_at_open().len(), 1);
        assert_eq!(found(&copy, &OF_ADA).await, [] as [usize; 0]);
        assert_eq!(found(&copy, &OF_BO).await, [0, 1, 2]);
        let bo = client(&copy, "bo").await;
        assert_eq!(
            bodies(&bo, of_bo).await,
            [Some(OF_BO[0].to_owned()), None, Some(OF_BO[1].to_owned()), Some(OF_BO[2].to_owned())]
        );
        assert!(bo.reads_by_others().await.unwrap().iter().all(|read| read.recorded.reader.user != ADA));
        is_whole(&copy).await;
    });
}

#[test]
fn a_fork_of_hers_by_another_is_hers_and_goes_with_her() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, ADA).await, client(&store, "bo").await);
        let of_ada = session(&ada).await;
        tell(&ada, of_ada, "before the fork").await;
        share(&ada, of_ada, "bo", &[Right::Append, Right::Fork]).await;
        let there = bo.enter(of_ada).await.unwrap();
        let fork = there.fork(of_ada, ForkOptions::default()).await.unwrap().branch;
        let writer = there.writer(of_ada, Some(fork), WriterOptions::default()).await.unwrap();
        writer.append(event("bo on the fork")).await.unwrap();
        let plan = store.plan_erasure(&bo, &ada_goes()).await.unwrap();
        assert_eq!(derived(&plan), []);
        assert_eq!(counted(&plan.found, "words_of_others").0, 2, "the fork in the control journal, and what he said");
        store.erase(&bo, &ada_goes()).await.unwrap();
        let error = writer.append(event("late on the fork")).await.unwrap_err();
        assert_eq!(error.code(), "key_destroyed", "{error:?}");
        assert_eq!(there.read(of_ada, Some(fork), ReadOptions::default()).await.err().unwrap().code(), "no_branch");
        assert_eq!(found(&store, &["before the fork", "bo on the fork", "late on the fork"]).await, [] as [usize; 0]);
        is_whole(&store).await;
    });
}

#[test]
fn a_hold_stands_against_every_scope() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = client(&store, ADA).await;
        let at = session(&ada).await;
        tell(&ada, at, "held words").await;
        fs::write(place.path("file"), "held bytes").unwrap();
        let writer = ada.writer(at, None, WriterOptions::default()).await.unwrap();
        let artifact = writer.put_artifact(&PutArtifact::file(place.path("file"))).await.unwrap().record.artifact;
        writer.release().await.unwrap();
        let branch = ada.current_branch(at).await.unwrap();
        let scopes = || {
            [
                EraseWhat::User(ADA.to_owned()),
                EraseWhat::Session(at),
                EraseWhat::Artifact(artifact),
                EraseWhat::Entries { session: at, branch, from: 1, to: 1 },
            ]
        };
        let user = HoldOn::User { subject: ada.pseudonym_of_user(ADA).unwrap() };
        for on in [user, ada.session_to_hold(at).await.unwrap()] {
            ada.set_hold(on, "case 1").await.unwrap();
            for what in scopes() {
                let plan = store.plan_erasure(&ada, &erasing(what.clone(), Vec::new())).await.unwrap();
                assert_eq!(plan.held.as_ref().map(|held| held.on), Some(on), "{what:?}");
                let error = store.erase(&ada, &erasing(what.clone(), Vec::new())).await.unwrap_err();
                assert_eq!(error.code(), "legal_hold", "{what:?}");
            }
            ada.lift_hold(on, "closed").await.unwrap();
        }
        assert_eq!(found(&store, &["held words", "held bytes"]).await, [0, 1]);
        assert!(ada.erasures().await.unwrap().is_empty());
        for what in scopes().into_iter().rev() {
            store.erase(&ada, &erasing(what, Vec::new())).await.unwrap();
            is_whole(&store).await;
        }
        assert_eq!(found(&store, &["held words", "held bytes"]).await, [] as [usize; 0]);
    });
}

#[test]
fn a_secret_that_is_forgotten_or_replaced_is_destroyed() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let (ada, bo) = (client(&store, ADA).await, client(&store, "bo").await);
        store.register_secret(&ada, "door", b"sesame-one-opens").await.unwrap();
        store.register_secret(&bo, "gate", b"swordfish-222").await.unwrap();
        // They are stored sealed, in base64; a sweep finds them, and this process can read them.
        let texts = ["sesame-one-opens", "sesame-two-opens", "swordfish-222"];
        assert_eq!(found(&store, &texts).await, [0, 2]);
        store.backup(&place.path("copy")).await.unwrap();

        let replaced = store.register_secret(&ada, "door", b"sesame-two-opens").await.unwrap().unwrap();
        let (_, proof) = replaced.proof.unwrap();
        assert_eq!((proof.scope.name(), proof.entries, proof.keys.len()), ("secret", 1, 0));
        assert_eq!(found(&store, &texts).await, [1, 2]);
        is_whole(&store).await;
        let names = async || -> Vec<String> {
            ada.registered_secrets().await.unwrap().into_iter().map(|one| one.name).collect()
        };
        assert_eq!(names().await, ["door", "gate"]);
        let of_bo = session(&bo).await;
        tell(&bo, of_bo, "it is sesame-two-opens, not sesame-one-opens").await;
        let said = bodies(&bo, of_bo).await;
        let said = said[0].as_deref().unwrap();
        assert!(said.contains("door") && !said.contains("sesame-two") && said.contains("sesame-one-opens"), "{said}");

        store.forget_secret(&bo, "door").await.unwrap();
        assert_eq!(names().await, ["gate"]);
        assert_eq!(found(&store, &texts[1..]).await, [1]);
        assert_eq!(store.forget_secret(&bo, "door").await.unwrap_err().code(), "no_secret");
        assert_eq!(store.forget_secret(&bo, "never").await.unwrap_err().code(), "no_secret");
        let mut agent = principal("bo");
        agent.scopes = vec!["samite:read".to_owned(), "samite:append".to_owned()];
        let agent = store.store().client(agent).await.unwrap();
        assert_eq!(store.forget_secret(&agent, "gate").await.unwrap_err().code(), "scope_missing");
        is_whole(&store).await;
        drop((ada, bo, agent));
        store.close().await;
        // In an older copy it is destroyed before that serves.
        let copy = place.open_at(&place.path("copy"));
        assert_eq!(copy.erased_at_open().len(), 2);
        assert_eq!(found(&copy, &texts).await, [2]);
        is_whole(&copy).await;
    });
}
