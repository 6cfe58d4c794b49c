//! No path leads to another tenant's data, nor to another person's: whatever is asked with ids that are theirs is answered
//! as with ids that nobody has. A public method that is new must be listed here.

use crate::place::Place;
use crate::support::{attached, event, options, principal, run, take};
use samite::artifact::{ArtifactFilter, PutArtifact, UsageBy};
use samite::embedded::{Embedded, EmbeddedOptions};
use samite::erasure::{EraseOptions, EraseWhat};
use samite::memory::{FileCommand, GraphCall, MemoryFilter, Namespace, NewRecord, RecordKind, ToolWriter, Trust};
use samite::merge::MergeRequest;
use samite::recover::{RecoverOptions, Site};
use samite::run::RunStep;
use samite::workspace::{CheckpointOptions, CloseOptions, RestoreRequest, ThinningPlan};
use samite::{Client, ForkOptions, NewEvent, NewSession, NewStep, ReadOptions, WriterOptions};
use samite_ledger::BlockIndex;
use samite_model::access::{Grantee, Right, Rights};
use samite_model::thinning::Rule;
use samite_model::{ArtifactId, BranchId, JournalId, Observer, Position, RecordId, Result, SessionId, Tenant};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

/// What somebody may know or guess of another's.
#[derive(Clone)]
struct Ids {
    session: SessionId,
    branch: BranchId,
    seq: u64,
    artifact: ArtifactId,
    record: RecordId,
}

const NAME: &str = "plans for the move";
const KEY: &str = "harness session 7";
const WORDS: &str = "the words that nobody else may read";

impl Ids {
    fn missing() -> Self {
        let (branch, artifact, record) = (JournalId([0xd2; 16]), ArtifactId([0xd3; 16]), RecordId([0xd4; 16]));
        Self { session: id(0xd1), branch, seq: 3, artifact, record }
    }

    fn at(&self) -> Position {
        Position { journal: self.branch, seq: self.seq }
    }

    /// An answer without these ids, in every form in which it has them.
    fn hidden(&self, answer: &str) -> String {
        let mut answer = answer.to_owned();
        for (whole, name) in [
            (self.session.to_string(), "SESSION"),
            (self.branch.to_string(), "BRANCH"),
            (self.artifact.to_string(), "ARTIFACT"),
            (self.record.to_string(), "RECORD"),
        ] {
            for digits in [32, 12, 8] {
                answer = answer.replace(&whole[..digits], name);
            }
        }
        answer
    }
}

fn id(byte: u8) -> SessionId {
    SessionId::from_slice(&[byte; 16]).unwrap()
}

/// An answer in words: what it is, or how it is refused.
fn said<T: Debug>(answer: Result<T>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(error) => format!("{} {}: {error} {:?}", error.kind(), error.code(), error.hints()),
    }
}

macro_rules! asked {
    ($($name:literal => $call:expr;)*) => { vec![$(($name, said($call))),*] };
}

/// What a client answers about ids, method by method.
#[expect(clippy::too_many_lines, reason = "it is a table")]
async fn answers(client: &Client, ids: &Ids, scratch: &Path) -> Vec<(&'static str, String)> {
    let Ids { session, branch, artifact, seq, record } = ids.clone();
    let memory = || client.memory(namespace());
    let (on, at) = (Some(branch), ids.at());
    let site = || Site { base: scratch.to_owned(), lives: scratch.to_owned() };
    let writer = WriterOptions::default;
    let with = || Grantee::parse(&["user:eve"]).unwrap();
    let read = || Rights::only(Right::Read);
    let rule = Rule { all_for: 0, hourly_for: 0 };
    let all = ReadOptions::default;
    let mut out = Vec::new();
    let new = scratch.join("new");
    let mut answers = asked! {
        "enter" => client.enter(session).await.map(|_| ());
        "enter_artifact" => client.enter_artifact(artifact).await.map(|_| ());
        "shared_sessions" => client.shared_sessions().await.map(|all| all.len());
        "rights" => client.rights(session).await;
        "share" => client.share(session, with(), read(), None).await;
        "share_artifact" => client.share_artifact(artifact, with(), read(), None).await;
        "unshare" => client.unshare(session, None).await;
        "unshare_artifact" => client.unshare_artifact(artifact, None).await;
        "grants" => client.grants(session).await;
        "session_to_consent" => client.session_to_consent(session).await.map(|_| ());
        "consent_of" => client.consent_of(session).await;
        "artifact_grants" => client.artifact_grants(artifact).await;
        "reads_by_others" => client.reads_by_others().await;
        "publish_deliverables" => client.publish_deliverables(session, on, writer(), &Observer::default()).await.map(|_| ());
        "find_artifact" => client.find_artifact(&artifact.to_string()).await;
        "find_artifact" => client.find_artifact(&artifact.to_string()[..8]).await;
        "artifacts" => client.artifacts(&ArtifactFilter::default()).await.map(|all| all.len());
        "artifacts" => client.artifacts(&ArtifactFilter { session: Some(session), ..ArtifactFilter::default() }).await.map(|all| all.len());
        "artifacts" => client.artifacts(&ArtifactFilter { at: Some(at), ..ArtifactFilter::default() }).await.map(|all| all.len());
        "artifact" => client.artifact(artifact).await.map(|_| ());
        "artifact_bytes" => client.artifact_bytes(artifact, None, &mut out).await;
        "checkpoints_of_artifacts" => client.checkpoints_of_artifacts(session).await;
        "reproduce" => client.reproduce(artifact, &new).await.map(|_| ());
        "keep_artifact" => client.keep_artifact(artifact, None).await;
        "keep_artifact_by_policy" => client.keep_artifact_by_policy(artifact).await;
        "artifact_policies" => client.artifact_policies().await;
        "has_artifact_policy" => client.has_artifact_policy("file").await;
        "artifact_usage" => client.artifact_usage(UsageBy::Session).await.map(|all| all.len());
        "artifacts_status" => client.artifacts_status().await.map(|_| ());
        "memory_namespaces" => client.memory_namespaces().await.map(|all| all.len());
        "memory" => memory().records(&MemoryFilter { all: true, ..MemoryFilter::default() }).await.map(|all| all.len());
        "memory" => memory().position().await.map(|_| ());
        "memory" => memory().find_record(&record.to_string()).await;
        "memory" => memory().find_record(&record.to_string()[..8]).await;
        "memory" => memory().record_of(record, None).await;
        "memory" => memory().history(record).await;
        "memory" => memory().retract(record, None).await;
        "memory" => memory().pin(record, true).await;
        "memory" => memory().supersede(record, &fact("x")).await;
        "memory" => memory().correct(record, &fact("x")).await;
        "memory" => memory().file_command(&FileCommand::Delete { path: "/memories/a".to_owned() }, &ToolWriter::default()).await;
        "memory" => memory().graph_call(&GraphCall::DeleteEntities { entity_names: vec!["Ada".to_owned()] }, &ToolWriter::default()).await;
        "memory" => memory().ingester().documents().await.map(|all| all.len());
        "memory" => memory().assert(&NewRecord { inputs: vec![record], ..fact("x") }).await;
        "fork" => client.fork(session, ForkOptions::default()).await.map(|_| ());
        "fork" => client.fork(session, ForkOptions { branch: on, seq: Some(1), ..ForkOptions::default() }).await.map(|_| ());
        "edited" => client.edited(at, b"x".to_vec()).await.map(|_| ());
        "fork_edited" => client.fork_edited(session, ForkOptions::default(), event("x")).await.map(|_| ());
        "branch_by_key" => client.branch_by_key(session, KEY).await;
        "make_current" => client.make_current(session, branch).await;
        "set_lifetime" => client.set_lifetime(session, branch, None).await;
        "delete_branch" => client.delete_branch(session, branch).await.map(|_| ());
        "plan_deletion" => client.plan_deletion(session, branch).await.map(|_| ());
        "branches" => client.branches(session).await;
        "position" => client.position(session, branch, seq).await;
        "find_session" => client.find_session(&session.to_string()).await;
        "find_session" => client.find_session(&session.to_string()[..8]).await;
        "find_branch" => client.find_branch(session, &branch.to_string()).await;
        "find_branch" => client.find_branch(session, &branch.to_string()[..8]).await;
        "context" => client.context(session, on, None).await;
        "diverge" => client.diverge(session, branch, branch).await.map(|_| ());
        "merge" => client.merge(session, branch, None, writer(), &MergeRequest::default()).await.map(|_| ());
        "continue_merge" => client.continue_merge(session, on, writer(), &MergeRequest::default()).await.map(|_| ());
        "abort_merge" => client.abort_merge(session, on, writer()).await.map(|_| ());
        "plan_merge" => client.plan_merge(session, branch, None, &MergeRequest::default()).await.map(|_| ());
        "left_in_doubt" => client.left_in_doubt(session, branch).await;
        "recover" => client.recover(session, RecoverOptions::default(), &site()).await.map(|_| ());
        "run_step" => client.run_step(session, on, writer(), step(scratch), &site()).await.map(|_| ());
        "session" => client.session(session).await;
        "session_to_hold" => client.session_to_hold(session).await;
        "current_branch" => client.current_branch(session).await;
        "head" => client.head(session, branch).await;
        "settings" => client.settings(session).await;
        "change_settings" => client.change_settings(session, |all| all.deliver.push("x".to_owned())).await;
        "steps" => client.steps(session, on).await;
        "step_start" => client.step_start(session, "key").await;
        "before_step" => client.before_step(session, branch, seq).await;
        "resumption" => client.resumption(session, branch, None).await.map(|_| ());
        "end_turn" => client.end_turn(session, on, writer(), None).await.map(|_| ());
        "turns" => client.turns(session, on, None, 5).await.map(|_| ());
        "attach" => client.attach(session, on, scratch).await;
        "workspace_of_branch" => client.workspace_of_branch(session, branch).await;
        "workspaces" => client.workspaces(session).await;
        "checkpoint" => client.checkpoint(session, on, writer(), CheckpointOptions::default()).await.map(|_| ());
        "tree_at" => client.tree_at(at).await;
        "close" => client.close(session, on, writer(), &CloseOptions::default(), &site()).await.map(|_| ());
        "receipt" => client.receipt(session, branch).await.map(|_| ());
        "checkpoints" => client.checkpoints(session, on).await.map(|all| all.len());
        "session_checkpoints" => client.session_checkpoints(session).await.map(|_| ());
        "workspace_status" => client.workspace_status(session, on).await.map(|_| ());
        "diff" => client.diff(at, at).await;
        "checkpoint_at" => client.checkpoint_at(at).await;
        "path_log" => client.path_log(at, "a.txt").await.map(|_| ());
        "cat" => client.cat(at, "a.txt", &mut out).await;
        "refuse_place" => client.refuse_place(session, on, &new, false).await;
        "refuse_place" => client.refuse_place(session, on, &new, true).await;
        "plan_restore" => client.plan_restore(session, on, at, &RestoreRequest::default()).await.map(|_| ());
        "restore" => client.restore(session, on, at, writer(), &RestoreRequest::default()).await.map(|_| ());
        "materialise" => client.materialise(session, branch, &new).await.map(|_| ());
        "rewind" => client.rewind(session, ForkOptions::default(), writer(), &RestoreRequest::default()).await.map(|_| ());
        "plan_rewind" => client.plan_rewind(session, &ForkOptions::default(), &RestoreRequest::default()).await.map(|_| ());
        "files_stay" => client.files_stay(session, branch, at).await.map(|_| ());
        "plan_thinning" => client.plan_thinning(session, on, &rule).await.map(|plan| plan.count());
        "thin" => client.thin(session, &rule, &ThinningPlan::default()).await.map(|plan| plan.count());
        "thinned" => client.thinned(session).await.map(|_| ());
        "writer" => client.writer(session, on, writer()).await.map(|_| ());
        "read" => client.read(session, on, all()).await.map(|_| ());
        "wait" => client.wait(session, branch, 0, 0).await;
    };
    assert!(out.is_empty() && !new.exists(), "nothing came of it");
    // What takes a position at most one of whose parts is known.
    let current = client.read(session, None, ReadOptions { to: Some(seq), ..all() }).await;
    answers.push(("read", said(current.map(|_| ()))));
    answers
}

/// Methods that take nothing of another's, and why they show nothing of it.
const OTHERS: [(&str, &str); 55] = [
    ("principal", "who asks"),
    ("sub_agent", "a client, which is tried by itself"),
    ("record_reads", "writes what this principal read"),
    ("run_again", "takes what `reproduce` gave"),
    ("set_artifact_policy", "is about the asking user's own"),
    ("create_session", "tried below: the same name and key in both"),
    ("session_by_key", "tried below"),
    ("sessions", "tried below"),
    ("session_here", "tried below"),
    ("neighbours", "tried below"),
    ("plan_collection", "asks for the right to operate; tells bytes of the tenant alone"),
    ("collect", "asks for the right to operate; has the tenant's ledger alone"),
    ("collect_with", "as collect"),
    ("hook", "finds a session by the asking user's own key"),
    ("hook_unrecorded", "as hook"),
    ("audit", "the log of the tenant; its methods are for who may operate that"),
    ("redaction_policy", "the tenant's own"),
    ("change_redaction", "asks for the right to operate"),
    ("register_secret", "asks for the right to operate"),
    ("forget_secret", "asks for the right to operate"),
    ("registered_secrets", "the names of the tenant's own"),
    ("redactor_with", "of a policy that the caller gives and the tenant's secrets, which it does not show"),
    ("found_in", "as `read`"),
    ("holding_files", "as `read`, and a tree of the asking user's own"),
    ("holding_artifacts", "as `artifacts`, and trees of the asking user's own"),
    ("holds", "asks for the right to operate"),
    ("set_hold", "asks for the right to operate"),
    ("lift_hold", "asks for the right to operate"),
    ("erasures", "asks for the right to operate"),
    ("erasure", "asks for the right to operate"),
    ("consents", "asks for the right to operate"),
    ("consent_history", "asks for the right to operate"),
    ("set_consent", "asks for the right to operate"),
    ("processors", "asks for the right to operate"),
    ("register_processor", "asks for the right to operate"),
    ("remove_processor", "asks for the right to operate"),
    ("region", "asks for the right to operate"),
    ("decide_transfer", "asks for the right to operate"),
    ("transfers", "asks for the right to operate"),
    ("refusals", "asks for the right to operate"),
    ("processing_records", "asks for the right to operate"),
    ("retentions", "asks for the right to operate"),
    ("set_retention", "asks for the right to operate"),
    ("audit_retention", "asks for the right to operate"),
    ("set_audit_retention", "asks for the right to operate"),
    ("retention_due", "asks for the right to operate; lists the asking user's own"),
    ("organisation_policies", "asks for the right to operate"),
    ("organisation_history", "asks for the right to operate"),
    ("set_organisation_policies", "asks for the right to operate"),
    ("capture", "the tenant's own"),
    ("set_capture", "asks for the right to operate"),
    ("may_train", "asks for the right to operate"),
    ("known_user", "asks for the right to operate"),
    ("name_of", "asks for the right to operate"),
    ("pseudonym_of_user", "is worked out of a name, whether or not there is anything of it"),
];

fn step(directory: &Path) -> RunStep {
    RunStep {
        step: NewStep::new("key", "tool", json!({})),
        argv: vec!["true".into()],
        directory: directory.to_owned(),
        program: "/bin/false".into(),
        echo: false,
        retry: false,
        anyway: false,
        on_start: None,
        on_checkpoint: None,
    }
}

fn namespace() -> Namespace {
    Namespace::new(["notes"]).unwrap()
}

fn fact(text: &str) -> NewRecord {
    NewRecord::new(RecordKind::Semantic, text, Trust::User)
}

/// A session with everything: the same in each tenant.
async fn fill(client: &Client, work: &Path) -> Ids {
    let new = NewSession { name: Some(NAME.to_owned()), key: Some(KEY.to_owned()), ..NewSession::default() };
    let session = client.create_session(new).await.unwrap().id;
    client.attach(session, None, work).await.unwrap();
    let writer = client.writer(session, None, WriterOptions::default()).await.unwrap();
    let said = writer.append(NewEvent { dedupe: Some("once".to_owned()), ..event(WORDS) }).await.unwrap();
    assert!(!said.duplicate, "another's is no duplicate");
    let put = PutArtifact { dedupe: Some("once for the file".to_owned()), ..PutArtifact::file(work.join("a.txt")) };
    let made = writer.put_artifact(&put).await.unwrap();
    assert!(!made.duplicate, "another's is no duplicate");
    writer.release().await.unwrap();
    let at = take(client, session).await.position;
    let said = client.memory(namespace()).assert(&fact(WORDS)).await.unwrap();
    assert!(!said.duplicate, "another's is no duplicate");
    Ids { session, branch: at.journal, seq: at.seq, artifact: made.record.artifact, record: said.record }
}

/// Compares what is said of another's with what is said of nobody's.
async fn compare(client: &Client, theirs: &Ids, scratch: &Path) {
    let missing = Ids::missing();
    let of_theirs = Box::pin(answers(client, theirs, scratch)).await;
    let of_nobodys = Box::pin(answers(client, &missing, scratch)).await;
    for ((name, theirs_said), (_, nobodys)) in of_theirs.iter().zip(&of_nobodys) {
        assert_eq!(theirs.hidden(theirs_said), missing.hidden(nobodys), "{name} tells them apart");
        assert!(!theirs_said.contains(WORDS) && !theirs_said.contains(NAME), "{name}: {theirs_said}");
    }
    let list = of_theirs.iter().filter(|(_, said)| said.starts_with("not_found")).count();
    assert!(list > 60, "only {list} were refused: {of_theirs:#?}");
}

/// What somebody is told who would erase what is remembered of others: the same as of what nobody has.
async fn cannot_forget(store: &Embedded, client: &Client, theirs: &Ids) {
    let missing = Ids::missing();
    let forget = async |ids: &Ids| {
        let what = EraseWhat::Records { namespace: namespace(), records: vec![ids.record] };
        let reason = "asked for".to_owned();
        let options = EraseOptions { what, reason, also: Vec::new(), observer: Observer::default() };
        let planned = said(store.plan_erasure(client, &options).await.map(|_| ()));
        let erased = said(store.erase(client, &options).await.map(|_| ()));
        assert_eq!(planned, erased);
        ids.hidden(&erased)
    };
    let of_theirs = forget(theirs).await;
    assert!(of_theirs.starts_with("not_found"), "{of_theirs}");
    assert_eq!(of_theirs, forget(&missing).await);
}

fn open(place: &Place, tenant: &str) -> Embedded {
    let tenant = Tenant::new(tenant).unwrap();
    Embedded::open(EmbeddedOptions { tenant, ..options(&place.path("store"), &place.path("master.key")) }).unwrap()
}

#[test]
fn nothing_of_another_tenant_is_found_by_any_path() {
    let place = Place::new();
    let (acme, other) = (open(&place, "acme"), open(&place, "other"));
    let works = [place.directory("work-a"), place.directory("work-b")];
    let scratch = place.directory("scratch");
    for work in &works {
        fs::write(work.join("a.txt"), WORDS.repeat(100)).unwrap();
    }
    run(async {
        let (ours, theirs) = (acme.client().await.unwrap(), other.client().await.unwrap());
        let their_ids = fill(&theirs, &works[1]).await;
        compare(&ours, &their_ids, &scratch).await;
        cannot_forget(&acme, &ours, &their_ids).await;
        // Names, keys and directories that they have stand for nothing here, and may be used as if nobody had them.
        assert_eq!(ours.session_by_key(KEY).await.unwrap(), None);
        assert!(ours.sessions().await.unwrap().is_empty());
        assert!(said(ours.find_session(NAME).await).starts_with("not_found no_session"));
        assert!(said(ours.session_here(&works[1]).await).starts_with("not_found no_session_here"));
        assert!(ours.neighbours(&works[1]).await.unwrap().is_empty());
        let our_ids = fill(&ours, &works[0]).await;
        assert_ne!(our_ids.session, their_ids.session);
        // With everything alike of one's own it is the same.
        compare(&ours, &their_ids, &scratch).await;
        compare(&theirs, &our_ids, &scratch).await;
        cannot_forget(&acme, &ours, &their_ids).await;
        cannot_forget(&other, &theirs, &our_ids).await;
        let mine: Vec<SessionId> = ours.sessions().await.unwrap().into_iter().map(|info| info.unwrap().id).collect();
        assert_eq!(mine, [our_ids.session]);
        assert_eq!(ours.find_session(NAME).await.unwrap(), our_ids.session);

        // The same bytes are stored in each, under other ids: nothing tells whether somebody else has them.
        let blocks = async |store: &Embedded| -> BTreeSet<_> {
            store.ledger().blocks(None, 10_000).await.unwrap().into_iter().map(|row| row.id).collect()
        };
        let (own, foreign) = (blocks(&acme).await, blocks(&other).await);
        assert_eq!(own.len(), foreign.len());
        assert!(own.len() >= 4 && own.is_disjoint(&foreign), "{own:?}");
        let found = acme.ledger().find_blocks(foreign.into_iter().collect()).await.unwrap();
        assert!(found.iter().all(Option::is_none));

        // A principal of the other tenant gets no client here, whatever its scopes say.
        let stranger = theirs.principal().clone();
        assert!(said(acme.store().client(stranger.clone()).await.map(|_| ())).starts_with("denied other_tenant"));
        assert!(said(acme.store().reader(stranger).map(|_| ())).starts_with("denied other_tenant"));
    });
    drop((acme, other));
    // Nor do its keys open anything: one tenant's keystore in another's place opens nothing.
    let keystore = |tenant: &str| -> PathBuf { place.path("store").join("tenants").join(tenant).join("keys/keystore") };
    let bytes = fs::read(keystore("other")).unwrap();
    let own = fs::read(keystore("acme")).unwrap();
    fs::write(keystore("acme"), bytes).unwrap();
    let tenant = Tenant::new("acme").unwrap();
    let opened = Embedded::open(EmbeddedOptions { tenant, ..options(&place.path("store"), &place.path("master.key")) });
    assert!(opened.is_err(), "another's keystore was taken for its own");
    fs::write(keystore("acme"), own).unwrap();
    open(&place, "acme");
}

#[test]
fn nothing_of_another_person_is_found_by_any_path() {
    let place = Place::new();
    let store = place.open();
    let (work, scratch) = (place.directory("work"), place.directory("scratch"));
    fs::write(work.join("a.txt"), WORDS.repeat(100)).unwrap();
    run(async {
        let ada = store.store().client(principal("ada")).await.unwrap();
        let bob = store.store().client(principal("bob")).await.unwrap();
        let hers = fill(&ada, &work).await;
        compare(&bob, &hers, &scratch).await;
        cannot_forget(&store, &bob, &hers).await;
        assert_eq!(bob.session_by_key(KEY).await.unwrap(), None);
        assert!(said(bob.find_session(NAME).await).starts_with("not_found no_session"));
        assert!(said(bob.session_here(&work).await).starts_with("not_found no_session_here"));
        assert!(bob.neighbours(&work).await.unwrap().is_empty());
        assert!(bob.plan_collection().await.unwrap().branches.is_empty());
        // What was entered and then revoked is not there either.
        let with = Grantee::parse(&["user:bob"]).unwrap();
        ada.share(hers.session, with, Rights::GRANTABLE, None).await.unwrap();
        let there = bob.enter(hers.session).await.unwrap();
        assert!(said(there.cat(hers.at(), "a.txt", &mut Vec::new()).await).starts_with(char::is_numeric));
        ada.unshare(hers.session, None).await.unwrap();
        compare(&bob, &hers, &scratch).await;
        // A directory where somebody else works is said to be taken, and nothing else of it.
        let own = attached(&bob, &scratch).await;
        let taken = bob.attach(own, None, &work).await;
        assert_eq!(taken.as_ref().unwrap_err().code(), "workspace_in_use", "it has one");
        let fresh = bob.create_session(NewSession::default()).await.unwrap().id;
        let taken = said(bob.attach(fresh, None, &work).await);
        assert!(taken.starts_with("denied other_owner") && !taken.contains("ada"), "{taken}");
        assert_eq!(hers.hidden(&taken), taken);
    });
}

/// The public methods of clients, as they stand in the sources.
fn methods() -> BTreeSet<String> {
    fn below(directory: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let mut is_client = false;
            for line in text.lines() {
                match line {
                    "impl Client {" => is_client = true,
                    "}" => is_client = false,
                    line => {
                        let line = line.trim_start();
                        let rest = line.strip_prefix("pub async fn ").or_else(|| line.strip_prefix("pub fn "));
                        if let (true, Some(rest)) = (is_client, rest) {
                            let name: String =
                                rest.chars().take_while(|char| char.is_ascii_alphanumeric() || *char == '_').collect();
                            found.insert(name);
                        }
                    }
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found
}

#[test]
fn every_public_method_is_tried_or_said_why_not() {
    let place = Place::new();
    let store = place.open();
    let scratch = place.directory("scratch");
    let client = run(store.client()).unwrap();
    let tried: BTreeSet<String> =
        run(answers(&client, &Ids::missing(), &scratch)).into_iter().map(|(name, _)| name.to_owned()).collect();
    let others: BTreeSet<String> = OTHERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(tried.is_disjoint(&others), "{:?}", tried.intersection(&others));
    let listed: BTreeSet<String> = tried.union(&others).cloned().collect();
    let all = methods();
    assert!(all.len() > 95, "{}", all.len());
    let missing: Vec<&String> = all.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&all).collect();
    assert!(missing.is_empty(), "a method that is new says here what it answers about another's: {missing:?}");
    assert!(gone.is_empty(), "no longer a method: {gone:?}");
}

#[test]
fn who_sees_the_whole_tenant_is_written_down() {
    // Everything else has the ledger of its principal. What is added here shows nothing of anybody's, or asks for the right
    // to operate the tenant first.
    let allowed = [
        (
            "access/enter.rs",
            11,
            "the definitions, erasures and exports of a person by who may, and forgetting of the tenant's secrets",
        ),
        ("audit/mod.rs", 1, "the audit log, for who may operate the tenant; what is written of it shows nothing"),
        ("backup.rs", 1, "a copy, for who may operate the tenant"),
        ("erasure/hold.rs", 4, "holds, for who may operate the tenant"),
        ("erasure/records.rs", 2, "erasures, for who may operate the tenant"),
        ("erasure/start.rs", 1, "deciding over what is another's, for who may operate the tenant"),
        ("gc.rs", 3, "collections, for who may operate the tenant; sums for who thins out"),
        ("handed_out.rs", 1, "the master key, for who may operate the tenant"),
        ("organisation/mod.rs", 1, "for who may operate the tenant"),
        ("policy/capture.rs", 1, "for who may operate the tenant"),
        ("policy/consent.rs", 4, "for who may operate the tenant"),
        ("policy/export.rs", 1, "for who may operate the tenant"),
        ("policy/processor.rs", 3, "for who may operate the tenant"),
        ("policy/records.rs", 1, "for who may operate the tenant"),
        ("policy/refusal.rs", 1, "for who may operate the tenant"),
        ("policy/region.rs", 4, "for who may operate the tenant"),
        ("policy/retention.rs", 5, "for who may operate the tenant"),
        ("redaction/mod.rs", 2, "the tenant's policy and secrets, for who may operate the tenant"),
        ("subject_export.rs", 1, "all artifacts of a person, for who may have them"),
        ("workspace/attach.rs", 1, "whether a directory is somebody else's"),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let count = ["tenant_wide()", ".operator()", "fn tenant_wide(", "fn operator("];
            let count: usize = count.iter().map(|word| text.matches(word).count()).sum();
            let in_access = path.starts_with(root.join("access"));
            let reaches = text.matches("authority.whole").count();
            assert!(in_access || reaches == 0, "{} reaches past the guard", path.display());
            if count > 0 {
                found.push((path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), count));
            }
        }
    }
    found.sort();
    let expected: Vec<(String, usize)> = allowed.iter().map(|(path, count, _)| ((*path).to_owned(), *count)).collect();
    assert_eq!(found, expected);
}
