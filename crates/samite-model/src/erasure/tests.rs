use super::*;
use crate::{Commitment, FamilyId, Position, Pseudonym};

const ADA: Pseudonym = Pseudonym([0xa; 16]);
const BO: Pseudonym = Pseudonym([0xb; 16]);
const TENANT: Pseudonym = Pseudonym([0; 16]);

fn id(number: u8) -> JournalId {
    JournalId([number; 16])
}

fn at(number: u8, seq: u64) -> Position {
    Position { journal: id(number), seq }
}

fn run(number: u8, first: u64, last: u64) -> Run {
    Run { journal: id(number), first, last }
}

fn journal(number: u8, family: u8, role: Role, owner: Pseudonym, parent: Option<Position>, head: u64) -> JournalFacts {
    let first = parent.map_or(1, |parent| parent.seq + 1);
    let runs = if owner == ADA { vec![run(number, first, head)] } else { Vec::new() };
    JournalFacts { id: id(number), family: FamilyId([family; 16]), role, owner, parent, head, runs }
}

/// Two sessions of Ada's and one of Bo's that was forked off the first; a merge of Ada's files into Bo's; artifacts.
fn facts() -> Facts {
    let mut tenant = journal(9, 9, Role::Tenant, TENANT, None, 5);
    tenant.runs = vec![run(9, 1, 1), run(9, 4, 4)];
    Facts {
        journals: vec![
            tenant,
            journal(1, 1, Role::Control, ADA, None, 3),
            journal(2, 1, Role::Branch, ADA, None, 10),
            journal(3, 1, Role::Branch, ADA, Some(at(2, 4)), 7),
            journal(4, 4, Role::Control, ADA, None, 2),
            journal(5, 4, Role::Branch, ADA, None, 2),
            journal(6, 6, Role::Control, BO, None, 2),
            journal(7, 6, Role::Branch, BO, Some(at(2, 8)), 12),
            journal(8, 8, Role::Artifacts, ADA, None, 2),
            journal(10, 10, Role::Workspace, ADA, None, 6),
        ],
        sessions: vec![
            SessionFacts { session: FamilyId([1; 16]), owner: ADA, parent: None, named: vec![at(9, 4)] },
            SessionFacts { session: FamilyId([4; 16]), owner: ADA, parent: Some(FamilyId([1; 16])), named: Vec::new() },
            SessionFacts { session: FamilyId([6; 16]), owner: BO, parent: None, named: Vec::new() },
        ],
        artifacts: vec![
            ArtifactFacts {
                artifact: ArtifactId([20; 16]),
                owner: ADA,
                entries: vec![at(8, 1), at(2, 9)],
                session: FamilyId([1; 16]),
                name: "report".to_owned(),
                sha256: "20".to_owned(),
                inputs: Vec::new(),
            },
            ArtifactFacts {
                artifact: ArtifactId([21; 16]),
                owner: BO,
                entries: vec![at(7, 10)],
                session: FamilyId([6; 16]),
                name: "report".to_owned(),
                sha256: "21".to_owned(),
                inputs: vec![ArtifactId([20; 16])],
            },
        ],
        merges: vec![MergeFacts { at: at(7, 11), theirs: at(5, 2) }],
        ..Facts::default()
    }
}

fn derived(kind: DerivedKind, number: u8, owner: Pseudonym, because: Because) -> Derived {
    Derived { kind, id: FamilyId([number; 16]), owner, because, taken: false }
}

#[test]
fn a_user_goes_with_everything_and_what_others_made_of_it_is_listed() {
    let plan = plan(&Scope::User, ADA, &facts(), &[]);
    assert_eq!(
        plan.runs,
        [
            run(1, 1, 3),
            run(2, 1, 10),
            run(3, 5, 7),
            run(4, 1, 2),
            run(5, 1, 2),
            run(8, 1, 2),
            run(9, 1, 1),
            run(9, 4, 4),
            run(10, 1, 6)
        ]
    );
    // The journals that somebody else, or a person who comes back, goes on with stay open.
    assert_eq!(plan.close, [id(1), id(2), id(3), id(4), id(5)]);
    assert_eq!(plan.artifacts, [ArtifactId([20; 16])]);
    assert_eq!(
        plan.derived,
        [
            derived(DerivedKind::Fork, 7, BO, Because::Forked),
            derived(DerivedKind::Merge, 7, BO, Because::Merged),
            derived(DerivedKind::Artifact, 21, BO, Because::MadeOf),
        ]
    );
}

#[test]
fn the_other_user_keeps_all_of_theirs() {
    let mut facts = facts();
    for journal in &mut facts.journals {
        let is_bos = journal.owner == BO;
        let first = journal.parent.map_or(1, |parent| parent.seq + 1);
        journal.runs = if is_bos { vec![Run { journal: journal.id, first, last: journal.head }] } else { Vec::new() };
    }
    let plan = plan(&Scope::User, BO, &facts, &[]);
    assert_eq!(plan.runs, [run(6, 1, 2), run(7, 9, 12)]);
    assert_eq!(plan.close, [id(6), id(7)]);
    assert_eq!(plan.derived, []);
}

#[test]
fn a_session_goes_with_its_branches_and_its_key_and_leaves_its_artifacts_to_be_decided() {
    let plan = plan(&Scope::Session { session: FamilyId([1; 16]) }, ADA, &facts(), &[]);
    assert_eq!(plan.runs, [run(1, 1, 3), run(2, 1, 10), run(3, 5, 7), run(9, 4, 4)]);
    assert_eq!(plan.close, [id(1), id(2), id(3)]);
    assert_eq!(
        plan.derived,
        [
            derived(DerivedKind::Fork, 7, BO, Because::Forked),
            derived(DerivedKind::Artifact, 20, ADA, Because::MadeThere),
            derived(DerivedKind::Session, 4, ADA, Because::WorksFor),
        ]
    );
}

#[test]
fn an_artifact_goes_wherever_it_was_published() {
    let scope = Scope::Artifact { artifact: ArtifactId([20; 16]) };
    let mut facts = facts();
    let first_plan = plan(&scope, ADA, &facts, &[]);
    assert_eq!(first_plan.runs, [run(2, 9, 9), run(8, 1, 1)]);
    assert_eq!(first_plan.close, []);
    assert_eq!(first_plan.derived, [derived(DerivedKind::Artifact, 21, BO, Because::MadeOf)]);
    // Its other versions have nearly the same bytes: they are listed, and taken when that is decided.
    let first = facts.artifacts.first().cloned().unwrap();
    let other = |number: u8, name: &str, session: u8| ArtifactFacts {
        artifact: ArtifactId([number; 16]),
        name: name.to_owned(),
        session: FamilyId([session; 16]),
        ..first.clone()
    };
    facts.artifacts.extend([other(22, "report", 1), other(23, "other", 1), other(24, "report", 4)]);
    let listed = plan(&scope, ADA, &facts, &[]);
    let version = derived(DerivedKind::Artifact, 22, ADA, Because::OtherVersion);
    assert_eq!(listed.derived, [derived(DerivedKind::Artifact, 21, BO, Because::MadeOf), version]);
    let taken = plan(&scope, ADA, &facts, &[FamilyId([22; 16])]);
    assert_eq!(taken.artifacts, [ArtifactId([20; 16]), ArtifactId([22; 16])]);
}

#[test]
fn entries_go_with_what_cannot_be_read_without_them() {
    let scope = Scope::Entries { session: FamilyId([1; 16]), branch: id(3), from: 3, to: 5 };
    let mut facts = facts();
    facts.named = vec![run(2, 1, 4), run(3, 5, 7)];
    facts.references = vec![
        // The end of a step that was started at 4, in the parent and in the fork; a compaction of the fork's.
        Reference { at: at(2, 6), to: run(2, 4, 4) },
        Reference { at: at(3, 6), to: run(2, 4, 4) },
        Reference { at: at(3, 7), to: run(3, 6, 6) },
        Reference { at: at(2, 10), to: run(2, 1, 2) },
    ];
    let plan = plan(&scope, ADA, &facts, &[]);
    assert_eq!(plan.runs, [run(2, 3, 4), run(2, 6, 6), run(3, 5, 7)]);
    assert_eq!(plan.close, []);
    // The fork inherits what was erased before its fork point, whoever has it.
    assert!(plan.derived.contains(&derived(DerivedKind::Fork, 7, BO, Because::Forked)));
}

#[test]
fn a_hold_stands_against_the_erasure_of_what_it_is_on() {
    let hold = |on| vec![Hold { on, reason: "court".to_owned(), since: 1 }];
    let session = FamilyId([1; 16]);
    let on_ada = hold(HoldOn::User { subject: ADA });
    let on_session = hold(HoldOn::Session { session, subject: ADA });
    let entries = Scope::Entries { session, branch: id(2), from: 1, to: 2 };
    let artifact = Scope::Artifact { artifact: ArtifactId([20; 16]) };
    let other = Scope::Session { session: FamilyId([4; 16]) };
    let table = [
        (&on_ada, Scope::User, ADA, None, true),
        (&on_ada, Scope::User, BO, None, false),
        (&on_ada, Scope::Session { session }, ADA, None, true),
        (&on_ada, entries, ADA, None, true),
        (&on_ada, artifact, ADA, None, true),
        (&on_session, Scope::User, ADA, None, true),
        (&on_session, Scope::User, BO, None, false),
        (&on_session, Scope::Session { session }, ADA, None, true),
        (&on_session, other, ADA, None, false),
        (&on_session, entries, ADA, None, true),
        (&on_session, artifact, ADA, Some(session), true),
        (&on_session, artifact, ADA, Some(FamilyId([4; 16])), false),
    ];
    for (holds, scope, subject, made_in, expected) in table {
        assert_eq!(held(holds, &scope, subject, made_in).is_some(), expected, "{scope:?} {subject}");
    }
}

#[test]
fn the_root_is_that_of_rfc_6962() {
    use ring::digest::{SHA256, digest};
    fn reference(leaves: &[Commitment]) -> Vec<u8> {
        match leaves {
            [] => digest(&SHA256, b"").as_ref().to_vec(),
            [one] => digest(&SHA256, &[&[0], one.as_bytes().as_slice()].concat()).as_ref().to_vec(),
            many => {
                let half = many.len().next_power_of_two() / 2;
                let (left, right) = many.split_at(half);
                digest(&SHA256, &[vec![1], reference(left), reference(right)].concat()).as_ref().to_vec()
            }
        }
    }
    let leaves: Vec<Commitment> = (0..40).map(|number| Commitment([number; 32])).collect();
    for count in 0..leaves.len() {
        let mut root = Root::default();
        leaves[..count].iter().for_each(|leaf| root.push(leaf));
        assert_eq!(root.finish().to_vec(), reference(&leaves[..count]), "{count}");
        assert_eq!(root.leaves(), count as u64);
    }
    let empty = data_encoding::HEXLOWER.encode(&Root::default().finish());
    assert_eq!(empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn scopes_are_stored_as_written_down() {
    let scope = Scope::Session { session: FamilyId([1; 16]) };
    let text = r#"{"of":"session","session":"01010101010101010101010101010101"}"#;
    assert_eq!(serde_json::to_string(&scope).unwrap(), text);
    assert_eq!(serde_json::from_str::<Scope>(text).unwrap(), scope);
    assert_eq!(serde_json::to_string(&Scope::User).unwrap(), r#"{"of":"user"}"#);
}
