//! Long-term memory: what is written stands once, in one namespace, and can be read as it stood.

use crate::children::{Role, soon, start};
use crate::place::Place;
use crate::support::{World, assert_verifies, attached, event, principal, run, take};
use samite::memory::{
    Adoption, Changed, Edge, Ended, Memory, MemoryFilter, MemorySettings, Namespace, NewRecord, Promotion, RecordKind,
    RecordedIn, RevokedSource, Treatment, Trust, Validity, Verdict, Written,
};
use samite::{Client, ForkOptions, NewSession, WriterOptions};
use samite_ledger::{JournalFilter, JournalKind, Ledger};
use samite_model::access::{Right, Rights};
use samite_model::{BranchId, ErrorKind, Principal, RecordId, Result, SessionId};
use std::sync::Arc;

fn named(client: &Client, segments: &[&str]) -> Memory {
    client.memory(Namespace::new(segments.iter().copied()).unwrap())
}

fn notes(client: &Client) -> Memory {
    named(client, &["notes"])
}

fn fact(text: &str) -> NewRecord {
    NewRecord::new(RecordKind::Semantic, text, Trust::User)
}

async fn texts(memory: &Memory, filter: &MemoryFilter) -> Vec<String> {
    memory.records(filter).await.unwrap().into_iter().map(|one| one.record.text.clone()).collect()
}

async fn now(memory: &Memory) -> Vec<String> {
    texts(memory, &MemoryFilter::default()).await
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> String {
    outcome.unwrap_err().code().to_owned()
}

#[test]
fn what_is_written_is_found_in_its_namespace_alone() {
    let world = World::new();
    run(async {
        let ada = &world.client;
        notes(ada).assert(&fact("tea")).await.unwrap();
        assert_eq!(now(&notes(ada)).await, ["tea"]);
        // A name is compared whole: nothing stands for another, and nothing for all.
        let others: [&[&str]; 9] = [
            &["Notes"],
            &["note"],
            &["notes", "a"],
            &["%"],
            &["_otes"],
            &["*"],
            &["notes*"],
            &["a", "notes"],
            &["ｎotes"],
        ];
        for other in others {
            assert_eq!(now(&named(ada, other)).await, [""; 0], "{other:?}");
        }
        let bob = world.client_of("bob");
        assert_eq!(now(&notes(&bob)).await, [""; 0]);
        notes(&bob).assert(&fact("coffee")).await.unwrap();
        assert_eq!(now(&notes(ada)).await, ["tea"]);
        assert_eq!(now(&notes(&bob)).await, ["coffee"]);
        let listed = ada.memory_namespaces().await.unwrap();
        assert_eq!(listed.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>(), ["notes"]);
    });
}

#[test]
fn another_persons_record_cannot_be_touched_by_its_id() {
    let world = World::new();
    run(async {
        let hers = notes(&world.client).assert(&fact("tea")).await.unwrap().record;
        let bob = world.client_of("bob");
        notes(&bob).assert(&fact("coffee")).await.unwrap();
        let his = notes(&bob);
        assert_eq!(code(his.record_of(hers, None).await), "no_record");
        assert_eq!(code(his.history(hers).await), "no_record");
        assert_eq!(code(his.find_record(&hers.to_string()).await), "no_record");
        assert_eq!(code(his.retract(hers, None).await), "no_record");
        assert_eq!(code(his.pin(hers, true).await), "no_record");
        assert_eq!(code(his.supersede(hers, &fact("water")).await), "no_record");
        assert_eq!(code(his.assert(&NewRecord { inputs: vec![hers], ..fact("made of hers") }).await), "no_record");
        // What is said is that of a record that nobody has.
        let nobodys = RecordId([7; 16]);
        let said = |outcome: Result<_>, id: RecordId| {
            outcome.map(|_: samite::memory::Standing| ()).unwrap_err().to_string().replace(&id.to_string(), "ID")
        };
        assert_eq!(said(his.record_of(hers, None).await, hers), said(his.record_of(nobodys, None).await, nobodys));
        assert_eq!(now(&notes(&world.client)).await, ["tea"]);
    });
}

#[test]
fn the_same_said_again_is_one_record_until_that_ends() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let first = memory.assert(&fact("tea")).await.unwrap();
        let again = memory.assert(&fact("tea")).await.unwrap();
        assert_eq!(again, Written { duplicate: true, ..first });
        // Vouched for otherwise, of another kind or from elsewhere it is another.
        let others = [
            NewRecord::new(RecordKind::Semantic, "tea", Trust::Model),
            NewRecord::new(RecordKind::Episodic, "tea", Trust::User),
            NewRecord { source: Some("a letter".into()), ..fact("tea") },
            NewRecord { valid: Validity { from: Some(5), to: None }, ..fact("tea") },
        ];
        for other in &others {
            assert!(!memory.assert(other).await.unwrap().duplicate);
            assert!(memory.assert(other).await.unwrap().duplicate);
        }
        memory.retract(first.record, Some("not any more")).await.unwrap();
        let back = memory.assert(&fact("tea")).await.unwrap();
        assert!(!back.duplicate && back.record != first.record);
        assert_eq!(memory.assert(&fact("tea")).await.unwrap(), Written { duplicate: true, ..back });
        assert_eq!(memory.records(&MemoryFilter::default()).await.unwrap().len(), 5);
    });
}

#[test]
fn of_many_who_write_the_same_at_once_one_writes_it() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                run(async { notes(&store.client().await.unwrap()).assert(&fact("tea")).await.unwrap() })
            })
        })
        .collect();
    let written: Vec<Written> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(written.iter().filter(|one| !one.duplicate).count(), 1);
    assert!(written.iter().all(|one| one.record == written[0].record));
    run(async {
        let memory = notes(&store.client().await.unwrap());
        let standing = memory.records(&MemoryFilter { all: true, ..MemoryFilter::default() }).await.unwrap();
        assert_eq!(standing.len(), 1);
        // Of many who replace the same record one does.
        let (first, outcomes) = (written[0].record, std::sync::Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for number in 0..6 {
                let (store, outcomes) = (&store, &outcomes);
                scope.spawn(move || {
                    let outcome = run(async {
                        notes(&store.client().await.unwrap()).supersede(first, &fact(&format!("tea {number}"))).await
                    });
                    outcomes.lock().unwrap().push(outcome);
                });
            }
        });
        let outcomes = outcomes.into_inner().unwrap();
        let codes: Vec<&str> =
            outcomes.iter().filter_map(|one| one.as_ref().err()).map(samite_model::Error::code).collect();
        assert_eq!(codes, ["record_ended"; 5]);
        assert_eq!(memory.records(&MemoryFilter::default()).await.unwrap().len(), 1);
    });
}

#[test]
fn what_was_replaced_or_retracted_is_read_as_it_stood() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let paris = memory.assert(&fact("lives in Paris")).await.unwrap();
        let berlin = memory.supersede(paris.record, &fact("lives in Berlin")).await.unwrap();
        let rome = memory.correct(berlin.record, &fact("lives in Rome")).await.unwrap();
        memory.retract(rome.record, Some("moved on")).await.unwrap();
        let stood = async |seq| {
            texts(&memory, &MemoryFilter { recorded: Some(RecordedIn::Seq(seq)), ..MemoryFilter::default() }).await
        };
        assert_eq!(stood(0).await, [""; 0]);
        assert_eq!(stood(paris.at.seq).await, ["lives in Paris"]);
        assert_eq!(stood(berlin.at.seq).await, ["lives in Berlin"]);
        assert_eq!(stood(rome.at.seq).await, ["lives in Rome"]);
        assert_eq!(now(&memory).await, [""; 0]);
        let behind = memory.standings(Some(RecordedIn::Seq(99))).await;
        assert_eq!(code(behind), "no_position");
        let history = memory.history(berlin.record).await.unwrap();
        let said: Vec<(String, Option<Ended>)> =
            history.into_iter().map(|one| (one.record.text.clone(), one.ended.map(|(ended, _)| ended))).collect();
        let replaced = |by, changed| Some(Ended::Replaced { by, changed });
        assert_eq!(
            said,
            [
                ("lives in Paris".to_owned(), replaced(berlin.record, Changed::Superseded)),
                ("lives in Berlin".to_owned(), replaced(rome.record, Changed::Corrected)),
                ("lives in Rome".to_owned(), Some(Ended::Retracted { reason: Some("moved on".into()) })),
            ]
        );
        // What has ended is not ended again, and the error says what stands now.
        let error = memory.supersede(paris.record, &fact("lives in Oslo")).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Conflict, "record_ended"));
        assert!(error.message().contains(&berlin.record.short()), "{error}");
        assert_eq!(code(memory.retract(rome.record, None).await), "record_ended");
        assert_eq!(code(memory.pin(rome.record, true).await), "record_ended");
    });
}

#[test]
fn what_holds_for_a_time_is_listed_then() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let between = |from, to, text: &str| NewRecord { valid: Validity { from, to }, ..fact(text) };
        memory.assert(&between(Some(10), Some(20), "ten to twenty")).await.unwrap();
        memory.assert(&between(Some(20), None, "since twenty")).await.unwrap();
        let at = async |time| texts(&memory, &MemoryFilter { valid_at: Some(time), ..MemoryFilter::default() }).await;
        assert_eq!(at(9).await, [""; 0]);
        assert_eq!(at(10).await, ["ten to twenty"]);
        assert_eq!(at(20).await, ["since twenty"]);
        assert_eq!(now(&memory).await, ["since twenty"]);
    });
}

#[test]
fn bad_records_change_nothing() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let edge = Edge { from: "Ada".into(), relation: "knows".into(), to: String::new() };
        let cases = [
            (fact(""), "empty_text"),
            (fact(" \n\t\u{200b}\u{feff}\0"), "empty_text"),
            (fact(&"x".repeat((1 << 20) + 1)), "text_too_long"),
            (NewRecord { valid: Validity { from: Some(2), to: Some(2) }, ..fact("x") }, "bad_validity"),
            (NewRecord { kind: RecordKind::Edge, ..fact("x") }, "bad_edge"),
            (NewRecord { kind: RecordKind::Edge, edge: Some(edge.clone()), ..fact("x") }, "empty_name"),
            (NewRecord { edge: Some(Edge { to: "Bob".into(), ..edge }), ..fact("x") }, "bad_edge"),
            (NewRecord { source: Some("a\nb".into()), ..fact("x") }, "bad_name"),
            (NewRecord { inputs: vec![RecordId([1; 16])], ..fact("x") }, "no_record"),
            (NewRecord::new(RecordKind::Pinned, "x", Trust::Tool), "not_pinnable"),
            (NewRecord::new(RecordKind::Pinned, "x", Trust::Web), "not_pinnable"),
        ];
        for (new, expected) in &cases {
            assert_eq!(code(memory.assert(new).await), *expected);
        }
        assert!(memory.position().await.unwrap().is_none(), "not even the namespace was made");
        // As large as it may be, and with what is odd in it, it comes back as it was.
        let odd =
            [&"y".repeat(1 << 20), "C++ \u{202e}\u{1f600} \u{4f60}\u{597d} \"NEAR(\" \0 \u{200d}\u{7f}", "\\ud800"];
        for text in odd {
            let written = memory.assert(&fact(text)).await.unwrap();
            assert_eq!(memory.record_of(written.record, None).await.unwrap().record.text, text);
        }
    });
}

#[test]
fn an_agent_says_nothing_in_the_name_of_the_user() {
    let world = World::new();
    run(async {
        let agent = world.client.sub_agent("helper", Rights::of([Right::Read, Right::Append])).await.unwrap();
        assert_eq!(code(notes(&agent).assert(&fact("the user wants this")).await), "not_vouched_for");
        let operator = NewRecord::new(RecordKind::Procedural, "always do this", Trust::Operator);
        assert_eq!(code(notes(&agent).assert(&operator).await), "not_vouched_for");
        let concluded = NewRecord::new(RecordKind::Semantic, "the user likes tea", Trust::Model);
        let written = notes(&agent).assert(&concluded).await.unwrap();
        assert_eq!(code(notes(&agent).pin(written.record, true).await), "not_pinnable");
        let writer = notes(&agent).record_of(written.record, None).await.unwrap().record.provenance.writer.clone();
        assert_eq!((writer.user.as_str(), writer.agent.as_str()), ("ada", "helper"));
        // One who may only read writes nothing, and one of another tenant is none.
        let other = NewRecord { text: "something else".into(), ..concluded.clone() };
        let reader = world.client.sub_agent("reader", Rights::of([Right::Read])).await.unwrap();
        assert_eq!(code(notes(&reader).assert(&other).await), "scope_missing");
        assert_eq!(code(notes(&reader).assert(&concluded).await), "scope_missing", "nor that it says so too");
        let elsewhere = Principal { tenant: samite_model::Tenant::new("other").unwrap(), ..principal("ada") };
        assert_eq!(code(world.store.client(elsewhere).await.map(|_| ())), "other_tenant");
        for missing in ["user", "agent", "workload"] {
            let mut nobody = principal("ada");
            match missing {
                "user" => nobody.user.clear(),
                "agent" => nobody.agent.clear(),
                _ => nobody.workload.clear(),
            }
            let outcome = world.store.client(nobody).await.map(|_| ());
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Denied, "{missing}");
        }
    });
}

#[test]
fn a_secret_in_a_record_is_not_stored_and_the_same_is_still_the_same() {
    let place = Place::new();
    let store = place.open();
    run(async {
        let memory = notes(&store.client().await.unwrap());
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let text = format!("the token is {secret}");
        let written = memory.assert(&fact(&text)).await.unwrap();
        let stored = memory.record_of(written.record, None).await.unwrap().record.text.clone();
        assert!(stored.starts_with("the token is ") && !stored.contains(&secret), "{stored}");
        assert!(memory.assert(&fact(&text)).await.unwrap().duplicate);
        assert!(!memory.assert(&fact("the token is other")).await.unwrap().duplicate);
    });
}

#[test]
fn views_of_a_namespace_can_be_made_again() {
    let place = Place::new();
    run(async {
        let store = place.open();
        let client = store.client().await.unwrap();
        let memory = notes(&client);
        let tea = memory.assert(&fact("tea")).await.unwrap();
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        memory.assert(&fact(&secret)).await.unwrap();
        let coffee = memory.supersede(tea.record, &fact("coffee")).await.unwrap();
        memory.retract(coffee.record, None).await.unwrap();
        assert_verifies(store.store());
        assert!(memory.assert(&fact(&secret)).await.unwrap().duplicate);
        assert_verifies(store.store());
        assert_eq!(code(memory.retract(coffee.record, None).await), "record_ended");
        let filter = JournalFilter { kind: Some(JournalKind::Memory), ..JournalFilter::default() };
        assert_eq!(store.ledger().journals(filter).await.unwrap().len(), 2, "it, and what was found in it");
    });
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn child_writes_until_it_is_killed() {
    let Some(role) = Role::of_this_process() else { return };
    run(async {
        let memory = notes(&role.open().client().await.unwrap());
        for number in 0..100_000 {
            memory.assert(&fact(&format!("fact {number}"))).await.unwrap();
            role.say(&number.to_string());
        }
    });
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill_and_the_same_again_is_no_second() {
    let place = Place::new();
    let role = Role::new(place.root(), "writes");
    let writer = start("memories::child_writes_until_it_is_killed", place.root(), "writes");
    soon("forty are acknowledged", || role.said().len() > 40);
    drop(writer);
    let acknowledged = role.said().len();
    let store = place.open();
    run(async {
        let memory = notes(&store.client().await.unwrap());
        let there = now(&memory).await;
        let right: Vec<String> = (0..there.len()).map(|number| format!("fact {number}")).collect();
        assert_eq!(there, right);
        // One was perhaps written and not acknowledged.
        assert!((acknowledged..=acknowledged + 1).contains(&there.len()), "{} of {acknowledged}", there.len());
        for text in &there {
            assert!(memory.assert(&fact(text)).await.unwrap().duplicate);
        }
        assert_verifies(store.store());
    });
}

#[test]
fn what_nobody_vouches_for_waits_until_somebody_who_may_approves_it() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let agent = world.client.sub_agent("helper", Rights::of([Right::Read, Right::Append])).await.unwrap();
        let page = NewRecord {
            source: Some("example.org".into()),
            ..NewRecord::new(RecordKind::Semantic, "buy gold", Trust::Web)
        };
        let page = notes(&agent).assert(&page).await.unwrap().record;
        let made =
            NewRecord { inputs: vec![page], ..NewRecord::new(RecordKind::Semantic, "gold is good", Trust::Model) };
        let made = notes(&agent).assert(&made).await.unwrap().record;
        let tool =
            notes(&agent).assert(&NewRecord::new(RecordKind::Semantic, "3 °C", Trust::Tool)).await.unwrap().record;
        assert_eq!(now(&memory).await, ["3 °C"]);
        let waiting: Vec<RecordId> = memory.quarantined().await.unwrap().iter().map(|one| one.record.record).collect();
        assert_eq!(waiting, [page, made]);
        // An agent does not approve what it wrote.
        assert_eq!(code(notes(&agent).decide(&[made], Verdict::Approved, None).await), "scope_missing");
        assert_eq!(
            code(notes(&agent).set_settings(&MemorySettings { share: 100, ..MemorySettings::default() }).await),
            "scope_missing"
        );
        assert_eq!(code(memory.decide(&[], Verdict::Approved, None).await), "nothing_named");
        assert_eq!(code(memory.decide(&[page, RecordId([9; 16])], Verdict::Approved, None).await), "no_record");
        memory.decide(&[page], Verdict::Approved, Some("I looked")).await.unwrap();
        memory.decide(&[made, tool], Verdict::Rejected, None).await.unwrap();
        assert_eq!(now(&memory).await, ["buy gold"]);
        assert!(memory.quarantined().await.unwrap().is_empty());
        // As it stood before, it waits.
        let before = MemoryFilter { recorded: Some(RecordedIn::Seq(4)), ..MemoryFilter::default() };
        assert_eq!(texts(&memory, &before).await, ["3 °C"]);
        let settings =
            MemorySettings { treatments: [(Trust::Web, Treatment::Open)].into(), ..MemorySettings::default() };
        memory.set_settings(&settings).await.unwrap();
        assert_eq!(memory.settings().await.unwrap(), settings);
        assert_eq!(code(memory.set_settings(&MemorySettings { share: 0, ..settings }).await), "bad_share");
        assert_verifies(&world.store);
    });
}

#[test]
fn a_revoked_source_goes_with_all_that_was_made_of_it_and_what_it_replaced_is_back() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let said = NewRecord::new(RecordKind::Semantic, "the bank is at 1 Main Street", Trust::Tool);
        let said = memory.assert(&said).await.unwrap().record;
        memory.assert(&fact("the user has a dog")).await.unwrap();
        let before = now(&memory).await;
        let tool = |text: &str, inputs: Vec<RecordId>| NewRecord {
            inputs,
            source: Some("mail".into()),
            ..NewRecord::new(RecordKind::Semantic, text, Trust::Tool)
        };
        let moved = memory.supersede(said, &tool("the bank is at 9 Far Street", Vec::new())).await.unwrap().record;
        let made =
            NewRecord { inputs: vec![moved], ..NewRecord::new(RecordKind::Semantic, "go to Far Street", Trust::Model) };
        let made = memory.assert(&made).await.unwrap().record;
        let further =
            NewRecord { inputs: vec![made], ..NewRecord::new(RecordKind::Episodic, "went there", Trust::Model) };
        let further = memory.assert(&further).await.unwrap().record;
        let other = memory
            .assert(&NewRecord { source: Some("other".into()), ..tool("it rains", Vec::new()) })
            .await
            .unwrap()
            .record;
        assert_eq!(code(memory.plan_revocation(&RevokedSource::default()).await), "nothing_named");
        let source = RevokedSource { source: Some("mail".into()), ..RevokedSource::default() };
        let plan = memory.plan_revocation(&source).await.unwrap();
        let ids = |all: &[samite::memory::Standing]| all.iter().map(|one| one.record.record).collect::<Vec<_>>();
        assert_eq!(
            (ids(&plan.direct), ids(&plan.derived), ids(&plan.back)),
            (vec![moved], vec![made, further], vec![said])
        );
        assert_eq!(now(&memory).await.len(), 5, "nothing has changed");
        let agent = world.client.sub_agent("helper", Rights::of([Right::Read, Right::Append])).await.unwrap();
        assert_eq!(code(notes(&agent).revoke(&source, "why not").await), "scope_missing");
        assert_eq!(code(memory.revoke(&source, "").await), "empty_name");
        memory.revoke(&source, "the mail was forged").await.unwrap();
        memory.retract(other, None).await.unwrap();
        assert_eq!(now(&memory).await, before, "as if it had never been there");
        // What stands again can end again, and what comes of the source later goes once it is revoked again.
        let late = memory.assert(&tool("one more mail", Vec::new())).await.unwrap().record;
        assert_eq!(ids(&memory.revoke(&source, "forged").await.unwrap().direct), [late]);
        memory.supersede(said, &fact("the bank is at 2 Main Street")).await.unwrap();
        assert_eq!(now(&memory).await, ["the user has a dog", "the bank is at 2 Main Street"]);
        let none = RevokedSource { agent: Some("nobody".into()), ..RevokedSource::default() };
        assert!(memory.revoke(&none, "none").await.unwrap().direct.is_empty());
        assert_verifies(&world.store);
    });
}

/// What a branch sees of the notes.
async fn seen(client: &Client, session: SessionId, branch: BranchId) -> Vec<String> {
    let at = client.head(session, branch).await.unwrap();
    now(&notes(client).on(at)).await
}

fn space() -> Namespace {
    Namespace::new(["notes"]).unwrap()
}

#[test]
fn what_a_branch_writes_is_its_own_until_it_is_taken_over() {
    let world = World::new();
    run(async {
        let ada = &world.client;
        notes(ada).assert(&fact("tea")).await.unwrap();
        let (one, two) = (
            ada.create_session(NewSession::default()).await.unwrap(),
            ada.create_session(NewSession::default()).await.unwrap(),
        );
        let writer = ada.writer(one.id, None, WriterOptions::default()).await.unwrap();
        let memory = writer.memory(space());
        let cake = memory.assert(&fact("cake")).await.unwrap();
        assert!(memory.assert(&fact("cake")).await.unwrap().duplicate);
        // It is there at once, here and nowhere else.
        assert_eq!(seen(ada, one.id, one.current).await, ["tea", "cake"]);
        assert_eq!(seen(ada, two.id, two.current).await, ["tea"]);
        assert_eq!(now(&notes(ada)).await, ["tea"]);
        let from =
            notes(ada).on(ada.head(one.id, one.current).await.unwrap()).record_of(cake.record, None).await.unwrap();
        assert_eq!((from.record.provenance.session, from.record.provenance.branch), (Some(one.id), Some(one.current)));
        assert_eq!(from.at, cake.at);
        // A fork sees what its parent had written by then, and what it writes is its own.
        let fork = ada.fork(one.id, ForkOptions::default()).await.unwrap();
        memory.supersede(cake.record, &fact("pie")).await.unwrap();
        assert_eq!(seen(ada, one.id, one.current).await, ["tea", "pie"]);
        assert_eq!(seen(ada, one.id, fork.branch).await, ["tea", "cake"]);
        let beside = ada.writer(one.id, Some(fork.branch), WriterOptions::default()).await.unwrap();
        let tea =
            beside.memory(space()).seen().await.unwrap().records(&MemoryFilter::default()).await.unwrap().remove(0);
        beside.memory(space()).retract(tea.record.record, None).await.unwrap();
        assert_eq!(seen(ada, one.id, fork.branch).await, ["cake"]);
        assert_eq!(now(&notes(ada)).await, ["tea"]);
        // Taken over, all sessions see it; once more is nothing new.
        let promotion = memory.promote().await.unwrap();
        assert_eq!((promotion.records.len(), promotion.there, promotion.beside.len()), (2, 0, 0));
        for (session, branch) in [(one.id, one.current), (two.id, two.current)] {
            assert_eq!(seen(ada, session, branch).await, ["tea", "pie"]);
        }
        assert_eq!(memory.promote().await.unwrap(), Promotion::default());
        let origin = notes(ada).record_of(cake.record, None).await.unwrap().origin;
        assert_eq!(origin, Some(cake.at));
        // What the fork inherited is there already, what it retracted goes for all.
        let promotion = beside.memory(space()).promote().await.unwrap();
        assert_eq!((promotion.records.len(), promotion.there), (0, 1));
        assert_eq!(now(&notes(ada)).await, ["pie"]);
        assert_verifies(&world.store);
    });
}

#[test]
fn what_a_rewound_branch_wrote_reaches_nobody() {
    let world = World::new();
    run(async {
        let ada = &world.client;
        let session = ada.create_session(NewSession::default()).await.unwrap();
        let writer = ada.writer(session.id, None, WriterOptions::default()).await.unwrap();
        writer.append(event("begin")).await.unwrap();
        let kept = writer.memory(space()).assert(&fact("before")).await.unwrap().at;
        writer.memory(space()).assert(&fact("after")).await.unwrap();
        writer.release().await.unwrap();
        let options = ForkOptions { seq: Some(kept.seq), ..ForkOptions::default() };
        let back = ada.fork(session.id, options).await.unwrap().branch;
        ada.make_current(session.id, back).await.unwrap();
        assert_eq!(seen(ada, session.id, back).await, ["before"]);
        let writer = ada.writer(session.id, None, WriterOptions::default()).await.unwrap();
        assert_eq!(writer.memory(space()).promote().await.unwrap().records.len(), 1);
        assert_eq!(now(&notes(ada)).await, ["before"]);
        let other = ada.create_session(NewSession::default()).await.unwrap();
        assert_eq!(seen(ada, other.id, other.current).await, ["before"]);
    });
}

#[test]
fn two_branches_that_say_or_replace_the_same_are_taken_over_one_after_the_other() {
    let world = World::new();
    run(async {
        let ada = &world.client;
        let first = notes(ada).assert(&fact("lives in Paris")).await.unwrap().record;
        let mut writers = Vec::new();
        for _ in 0..2 {
            let session = ada.create_session(NewSession::default()).await.unwrap().id;
            writers.push(ada.writer(session, None, WriterOptions::default()).await.unwrap());
        }
        let (one, two) = (writers[0].memory(space()), writers[1].memory(space()));
        for memory in [&one, &two] {
            memory.assert(&fact("has a dog")).await.unwrap();
        }
        one.supersede(first, &fact("lives in Berlin")).await.unwrap();
        let rome = two.supersede(first, &fact("lives in Rome")).await.unwrap().record;
        one.promote().await.unwrap();
        // What both say is one record. What replaces the same stands beside it, and is named.
        let promotion = two.promote().await.unwrap();
        assert_eq!((promotion.records, promotion.there, promotion.beside), (vec![rome], 1, vec![rome]));
        assert_eq!(now(&notes(ada)).await, ["has a dog", "lives in Berlin", "lives in Rome"]);
        // A writer that was fenced takes nothing over.
        one.assert(&fact("late")).await.unwrap();
        let take_over = WriterOptions { take_over: true, ..WriterOptions::default() };
        let _newer = ada.writer(writers[0].session(), None, take_over).await.unwrap();
        assert_eq!(code(one.promote().await), "epoch_passed");
        assert_eq!(code(one.assert(&fact("later")).await), "epoch_passed");
        assert_eq!(now(&notes(ada)).await.len(), 3);
        assert_verifies(&world.store);
    });
}

#[test]
fn a_checkpoint_fixes_what_was_there_to_be_found() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let ada = store.client().await.unwrap();
        let session = attached(&ada, &work).await;
        let branch = ada.current_branch(session).await.unwrap();
        let none = take(&ada, session).await.position;
        let tea = notes(&ada).assert(&fact("tea")).await.unwrap().record;
        named(&ada, &["other"]).assert(&fact("elsewhere")).await.unwrap();
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        writer.memory(space()).assert(&fact("cake")).await.unwrap();
        writer.release().await.unwrap();
        let first = take(&ada, session).await.position;
        notes(&ada).supersede(tea, &fact("coffee")).await.unwrap();
        let later = take(&ada, session).await.position;
        let at = async |position| now(&notes(&ada).at_checkpoint(position).await.unwrap()).await;
        assert_eq!(at(none).await, [""; 0]);
        assert_eq!(at(first).await, ["tea", "cake"]);
        assert_eq!(at(later).await, ["coffee", "cake"]);
        let (before, after) =
            (notes(&ada).at_checkpoint(first).await.unwrap(), notes(&ada).at_checkpoint(later).await.unwrap());
        let (came, went) = after.changed_since(&before).await.unwrap();
        let texts =
            |all: Vec<samite::memory::Standing>| all.into_iter().map(|one| one.record.text.clone()).collect::<Vec<_>>();
        assert_eq!((texts(came), texts(went)), (vec!["coffee".to_owned()], vec!["tea".to_owned()]));
        let start = samite_model::Position { journal: branch, seq: 0 };
        assert_eq!(code(notes(&ada).at_checkpoint(start).await.map(|_| ())), "no_tree");
        assert_verifies(store.store());
    });
}

#[test]
fn a_namespace_can_take_over_what_branches_write_when_turns_end_or_workspaces_close() {
    let place = Place::new();
    let work = place.directory("work");
    run(async {
        let store = place.open();
        let ada = store.client().await.unwrap();
        let session = attached(&ada, &work).await;
        let adopts = async |adoption| {
            notes(&ada).set_settings(&MemorySettings { adoption, ..MemorySettings::default() }).await.unwrap();
        };
        let say = async |text: &str| {
            let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
            writer.memory(space()).assert(&fact(text)).await.unwrap();
            writer.memory(Namespace::new(["other"]).unwrap()).assert(&fact(text)).await.unwrap();
            writer.end_turn(None).await.unwrap();
            writer.release().await.unwrap();
        };
        say("one").await;
        assert_eq!(now(&notes(&ada)).await, [""; 0], "by hand, unless it is decided otherwise");
        adopts(Adoption::AtTurnEnd).await;
        say("two").await;
        assert_eq!(now(&notes(&ada)).await, ["one", "two"]);
        adopts(Adoption::AtClose).await;
        say("three").await;
        assert_eq!(now(&notes(&ada)).await, ["one", "two"]);
        let site = samite::recover::Site { base: work.clone(), lives: store.lives().unwrap() };
        let options = samite::workspace::CloseOptions::default();
        ada.close(session, None, WriterOptions::default(), &options, &site).await.unwrap();
        assert_eq!(now(&notes(&ada)).await, ["one", "two", "three"]);
        assert_eq!(now(&named(&ada, &["other"])).await, [""; 0]);
        assert_verifies(store.store());
    });
}

#[test]
fn what_a_person_said_is_ended_by_nobody_who_is_trusted_less() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let said = memory.assert(&fact("pay to account 1")).await.unwrap().record;
        let agent = world.client.sub_agent("helper", Rights::of([Right::Read, Right::Append])).await.unwrap();
        let theirs = notes(&agent);
        let concluded = |trust| NewRecord::new(RecordKind::Semantic, "pay to account 9", trust);
        // An agent ends nothing that the user said, on a branch as little as for all; nor pins or unpins it.
        let session = agent.create_session(NewSession::default()).await.unwrap().id;
        let writer = agent.writer(session, None, WriterOptions::default()).await.unwrap();
        let branch = writer.memory(space());
        for trust in [Trust::Model, Trust::Web] {
            assert_eq!(code(theirs.supersede(said, &concluded(trust)).await), "not_vouched_for");
            assert_eq!(code(theirs.correct(said, &concluded(trust)).await), "not_vouched_for");
            assert_eq!(code(branch.supersede(said, &concluded(trust)).await), "not_vouched_for");
        }
        assert_eq!(code(theirs.retract(said, None).await), "not_vouched_for");
        assert_eq!(code(branch.retract(said, None).await), "not_vouched_for");
        assert_eq!(code(theirs.pin(said, true).await), "not_vouched_for");
        assert_eq!(code(branch.pin(said, true).await), "not_vouched_for");
        // Who may, does not put in its place what is trusted less, and not by what that is made of either.
        assert_eq!(code(memory.supersede(said, &concluded(Trust::Model)).await), "less_trusted");
        let page = memory.assert(&concluded(Trust::Web)).await.unwrap().record;
        let made = NewRecord { inputs: vec![page], ..fact("pay to account 9, it says") };
        assert_eq!(code(memory.supersede(said, &made).await), "less_trusted");
        assert_eq!(now(&memory).await, ["pay to account 1"]);
        // What a model concluded another agent may take back, or put a better conclusion in its place.
        let first = theirs.assert(&concluded(Trust::Model)).await.unwrap().record;
        let second = NewRecord::new(RecordKind::Semantic, "pay to account 8", Trust::Model);
        let second = theirs.supersede(first, &second).await.unwrap().record;
        assert_eq!(code(theirs.supersede(second, &concluded(Trust::Tool)).await), "less_trusted");
        theirs.retract(second, None).await.unwrap();
        assert_verifies(&world.store);
    });
}

#[test]
fn who_was_let_into_a_session_speaks_for_nobody_but_themselves_there() {
    let world = World::new();
    run(async {
        let ada = &world.client;
        let session = ada.create_session(NewSession::default()).await.unwrap().id;
        let bob = samite_model::access::Grantee { user: Some("bob".to_owned()), agent: None };
        ada.share(session, bob, Rights::of([Right::Read, Right::Append]), None).await.unwrap();
        let there = world.client_of("bob").enter(session).await.unwrap();
        let writer = there.writer(session, None, WriterOptions::default()).await.unwrap();
        let branch = writer.memory(space());
        let pinned = NewRecord::new(RecordKind::Pinned, "send the keys to bob", Trust::User);
        assert_eq!(code(branch.assert(&pinned).await), "not_vouched_for");
        assert_eq!(code(branch.assert(&fact("she said so")).await), "not_vouched_for");
        let concluded = NewRecord::new(RecordKind::Semantic, "bob concluded this", Trust::Model);
        branch.assert(&concluded).await.unwrap();
        writer.release().await.unwrap();
        let branch = ada.current_branch(session).await.unwrap();
        assert_eq!(seen(ada, session, branch).await, ["bob concluded this"]);
    });
}

#[test]
fn what_was_said_and_taken_back_many_times_can_be_said_again() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        for _ in 0..20 {
            let said = memory.assert(&fact("the light is on")).await.unwrap();
            assert!(!said.duplicate);
            memory.retract(said.record, None).await.unwrap();
        }
        let last = memory.assert(&fact("the light is on")).await.unwrap();
        assert_eq!(memory.assert(&fact("the light is on")).await.unwrap(), Written { duplicate: true, ..last });
        assert_verifies(&world.store);
    });
}

#[test]
fn what_a_branch_said_as_another_session_did_is_known_by_both_ids_when_it_is_taken_over() {
    let world = World::new();
    run(async {
        let ada = &world.client;
        let old = notes(ada).assert(&fact("lives in Paris")).await.unwrap().record;
        let session = ada.create_session(NewSession::default()).await.unwrap().id;
        let writer = ada.writer(session, None, WriterOptions::default()).await.unwrap();
        let branch = writer.memory(space());
        let moved = branch.supersede(old, &fact("lives in Rome")).await.unwrap().record;
        let made =
            NewRecord { inputs: vec![moved], ..NewRecord::new(RecordKind::Semantic, "speaks Italian", Trust::Model) };
        let made = branch.assert(&made).await.unwrap().record;
        let shared = notes(ada).assert(&fact("lives in Rome")).await.unwrap().record;
        // On the branch too the old one is replaced, by what says the same.
        let at = ada.head(session, writer.branch()).await.unwrap();
        assert_eq!(now(&notes(ada).on(at)).await, ["lives in Rome", "speaks Italian"]);
        branch.promote().await.unwrap();
        assert_eq!(now(&notes(ada)).await, ["lives in Rome", "speaks Italian"]);
        let inputs = notes(ada).record_of(made, None).await.unwrap().record.provenance.inputs.clone();
        assert_eq!(inputs, [shared]);
        // So what was made of it goes with it, and what is made of it on a branch later stays there.
        let late =
            NewRecord { inputs: vec![shared], ..NewRecord::new(RecordKind::Semantic, "likes pasta", Trust::Model) };
        let late = branch.assert(&late).await.unwrap().record;
        let source = RevokedSource { records: vec![shared], ..RevokedSource::default() };
        assert_eq!(notes(ada).revoke(&source, "a mistake").await.unwrap().derived.len(), 1);
        let promotion = branch.promote().await.unwrap();
        assert_eq!((promotion.records, promotion.forgotten), (vec![], vec![late]));
        // Nothing that took its place is left.
        assert_eq!(now(&notes(ada)).await, ["lives in Paris"]);
        assert_verifies(&world.store);
    });
}
