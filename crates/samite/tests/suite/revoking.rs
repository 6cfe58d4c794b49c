//! Revoking a source: what it said goes wherever it is, and what others said stays.

use crate::place::Place;
use crate::support::{World, assert_verifies, run};
use samite::memory::{
    Adoption, Memory, MemoryFilter, MemorySettings, Namespace, NewRecord, RecordKind, RevokedSource, Standing, Trust,
    Verdict,
};
use samite::{Client, NewSession, Writer, WriterOptions};
use samite_model::{BranchId, RecordId, SessionId};

fn space() -> Namespace {
    Namespace::new(["notes"]).unwrap()
}

fn notes(client: &Client) -> Memory {
    client.memory(space())
}

fn said(text: &str, session: (SessionId, BranchId), inputs: &[RecordId]) -> NewRecord {
    NewRecord {
        from: Some((session.0, session.1, None)),
        inputs: inputs.to_vec(),
        ..NewRecord::new(RecordKind::Semantic, text, Trust::Model)
    }
}

async fn now(memory: &Memory) -> Vec<String> {
    memory.records(&MemoryFilter::default()).await.unwrap().into_iter().map(|one| one.record.text.clone()).collect()
}

async fn session(client: &Client) -> (SessionId, BranchId) {
    let session = client.create_session(NewSession::default()).await.unwrap();
    (session.id, session.current)
}

async fn writer(client: &Client, session: (SessionId, BranchId)) -> Writer {
    client.writer(session.0, None, WriterOptions::default()).await.unwrap()
}

fn of(session: (SessionId, BranchId)) -> RevokedSource {
    RevokedSource { session: Some(session.0), ..RevokedSource::default() }
}

fn ids(all: &[Standing]) -> Vec<RecordId> {
    all.iter().map(|one| one.record.record).collect()
}

#[test]
fn what_two_sessions_said_stays_until_both_are_revoked() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let (one, two, three) =
            (session(&world.client).await, session(&world.client).await, session(&world.client).await);
        let port = memory.assert(&said("the port is 8080", one, &[])).await.unwrap();
        let alone = memory.assert(&said("the password is blank", one, &[])).await.unwrap().record;
        let again = memory.assert(&said("the port is 8080", two, &[])).await.unwrap();
        assert_eq!((again.record, again.duplicate), (port.record, true));
        // Who says it once more is a duplicate, of which nothing is kept.
        let head = memory.position().await.unwrap();
        for session in [one, two] {
            assert!(memory.assert(&said("the port is 8080", session, &[])).await.unwrap().duplicate);
        }
        assert_eq!(memory.position().await.unwrap(), head);
        let made = memory.assert(&said("use 8080", three, &[port.record])).await.unwrap().record;
        let bad = memory.assert(&said("log in without one", three, &[alone])).await.unwrap().record;
        let standing = memory.record_of(port.record, None).await.unwrap();
        assert_eq!((standing.record.provenance.session, standing.again.len()), (Some(one.0), 1));
        let plan = memory.plan_revocation(&of(one)).await.unwrap();
        assert_eq!(
            (ids(&plan.direct), ids(&plan.derived), ids(&plan.stay)),
            (vec![alone], vec![bad], vec![port.record])
        );
        memory.revoke(&of(one), "misled").await.unwrap();
        assert_eq!(now(&memory).await, ["the port is 8080", "use 8080"]);
        let standing = memory.record_of(port.record, None).await.unwrap();
        assert_eq!((standing.record.provenance.session, standing.again.len()), (Some(two.0), 0));
        // The first is revoked already, and has nothing more to lose.
        let plan = memory.plan_revocation(&of(one)).await.unwrap();
        assert_eq!((plan.direct.len(), plan.derived.len(), plan.stay.len()), (0, 0, 0));
        let plan = memory.revoke(&of(two), "misled too").await.unwrap();
        assert_eq!((ids(&plan.direct), ids(&plan.derived)), (vec![port.record], vec![made]));
        assert_eq!(now(&memory).await, [""; 0]);
        // Somebody else may say it anew.
        assert!(!memory.assert(&said("the port is 8080", three, &[])).await.unwrap().duplicate);
        assert_eq!(now(&memory).await, ["the port is 8080"]);
        assert_verifies(&world.store);
    });
}

#[test]
fn what_a_branch_said_too_is_kept_when_it_is_taken_over() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let (one, two) = (session(&world.client).await, session(&world.client).await);
        let branch = writer(&world.client, two).await;
        branch.memory(space()).assert(&said("tea", two, &[])).await.unwrap();
        let tea = memory.assert(&said("tea", one, &[])).await.unwrap().record;
        // Said on the branch after the namespace had it.
        let cake = memory.assert(&said("cake", one, &[])).await.unwrap().record;
        let again = branch.memory(space()).assert(&said("cake", two, &[])).await.unwrap();
        assert_eq!((again.record, again.duplicate), (cake, true));
        let promotion = branch.memory(space()).promote().await.unwrap();
        assert_eq!((promotion.records.len(), promotion.there, promotion.beside.len()), (0, 2, 0));
        assert_eq!(ids(&memory.revoke(&of(one), "misled").await.unwrap().stay), [tea, cake]);
        assert_eq!(now(&memory).await, ["tea", "cake"]);
        assert_eq!(ids(&memory.revoke(&of(two), "misled").await.unwrap().direct), [tea, cake]);
        assert_eq!(now(&memory).await, [""; 0]);
        assert_verifies(&world.store);
    });
}

#[test]
fn what_a_revoked_source_said_on_a_branch_stays_there_and_is_not_seen() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let (one, two) = (session(&world.client).await, session(&world.client).await);
        let kept = memory.assert(&said("tea", one, &[])).await.unwrap().record;
        let branch = writer(&world.client, two).await;
        let space = branch.memory(space());
        let bad = space.supersede(kept, &said("poison", two, &[])).await.unwrap().record;
        let made = space.assert(&said("made of poison", two, &[bad])).await.unwrap().record;
        assert_eq!(now(&space.seen().await.unwrap()).await, ["poison", "made of poison"]);
        // Nothing of it is in the namespace yet.
        let plan = memory.revoke(&of(two), "misled").await.unwrap();
        assert_eq!((plan.direct.len(), plan.derived.len()), (0, 0));
        assert_eq!(now(&space.seen().await.unwrap()).await, ["tea"]);
        let promotion = space.promote().await.unwrap();
        assert_eq!((promotion.records, promotion.forgotten), (vec![], vec![bad, made]));
        assert_eq!(now(&memory).await, ["tea"]);
        // What it says from now on counts: only what was said until then was revoked.
        let later = space.assert(&said("coffee", two, &[])).await.unwrap().record;
        assert_eq!(space.promote().await.unwrap().records, [later]);
        assert_eq!(now(&memory).await, ["tea", "coffee"]);
        assert_verifies(&world.store);
    });
}

#[test]
fn a_source_with_a_secret_in_it_is_found_as_it_was_given() {
    let place = Place::new();
    let store = place.open();
    run(async {
        let memory = notes(&store.client().await.unwrap());
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let address = format!("https://example.org/a?token={secret}");
        let new = NewRecord { source: Some(address.clone()), ..NewRecord::new(RecordKind::Semantic, "x", Trust::Tool) };
        let record = memory.assert(&new).await.unwrap().record;
        let stored = memory.record_of(record, None).await.unwrap().record.provenance.source.clone().unwrap();
        assert!(!stored.contains(&secret), "{stored}");
        for source in [stored, address] {
            let plan =
                memory.plan_revocation(&RevokedSource { source: Some(source), ..RevokedSource::default() }).await;
            assert_eq!(ids(&plan.unwrap().direct), [record]);
        }
    });
}

#[test]
fn what_was_said_anew_meanwhile_does_not_stand_twice() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let (one, two) = (session(&world.client).await, session(&world.client).await);
        let tea = memory.assert(&said("tea", one, &[])).await.unwrap().record;
        memory.supersede(tea, &said("coffee", two, &[])).await.unwrap();
        let anew = memory.assert(&said("tea", one, &[])).await.unwrap();
        assert!(!anew.duplicate && anew.record != tea);
        let plan = memory.revoke(&of(two), "misled").await.unwrap();
        assert_eq!((plan.direct.len(), plan.back.len()), (1, 0));
        assert_eq!(now(&memory).await, ["tea"]);
        // When that goes too, the first is what is left of it.
        let only = RevokedSource { records: vec![anew.record], ..RevokedSource::default() };
        assert_eq!(ids(&memory.revoke(&only, "a mistake").await.unwrap().back), [tea]);
        assert_eq!(ids(&memory.records(&MemoryFilter::default()).await.unwrap()), [tea]);
    });
}

#[test]
fn a_branchs_own_record_is_decided_of_once_it_is_taken_over() {
    let world = World::new();
    run(async {
        let one = session(&world.client).await;
        let branch = writer(&world.client, one).await;
        let web = NewRecord::new(RecordKind::Semantic, "from the web", Trust::Web);
        let record = branch.memory(space()).assert(&web).await.unwrap().record;
        let seen = branch.memory(space()).seen().await.unwrap();
        assert_eq!(ids(&seen.quarantined().await.unwrap()), [record]);
        let error = seen.decide(&[record], Verdict::Approved, None).await.unwrap_err();
        assert_eq!(error.code(), "no_record");
        branch.memory(space()).promote().await.unwrap();
        notes(&world.client).decide(&[record], Verdict::Approved, None).await.unwrap();
        assert_eq!(now(&notes(&world.client)).await, ["from the web"]);
    });
}

#[test]
fn a_turns_end_says_what_it_could_not_take_over() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let settings = MemorySettings { adoption: Adoption::AtTurnEnd, ..MemorySettings::default() };
        memory.set_settings(&settings).await.unwrap();
        let one = session(&world.client).await;
        let branch = writer(&world.client, one).await;
        branch.memory(space()).assert(&said("tea", one, &[])).await.unwrap();
        assert_eq!(branch.end_turn(None).await.unwrap().not_adopted.len(), 0);
        assert_eq!(now(&memory).await, ["tea"]);
    });
}
