use super::*;
use crate::{Bits, Standings};
use samite_model::memory::{
    Asserted, MemorySettings, Operation, Provenance, Record, RecordKind, Treatment, Trust, Validity, WriterName,
};
use samite_model::{EntryId, Fingerprint, JournalId, Position, RecordId, SpaceId};
use serde_json::json;
use std::collections::HashSet;

const SPACE: SpaceId = SpaceId([1; 16]);

fn id(number: u8) -> RecordId {
    RecordId([number; 16])
}

fn provenance(trust: Trust, source: Option<&str>) -> Provenance {
    Provenance {
        session: None,
        branch: None,
        entries: Vec::new(),
        step: None,
        inputs: Vec::new(),
        source: source.map(str::to_owned),
        extractor: None,
        writer: WriterName { user: "ada".into(), agent: "test".into(), workload: "suite".into() },
        trust,
    }
}

fn record(number: u8, speaker: &str, text: &str, date: &str, previous: Option<u8>) -> Record {
    let metadata = json!({ "speaker": speaker, "date": date });
    Record {
        record: id(number),
        kind: RecordKind::Episodic,
        text: text.into(),
        metadata: metadata.as_object().unwrap().clone(),
        edge: None,
        valid: Validity::default(),
        previous: previous.map(id),
        provenance: provenance(Trust::User, None),
    }
}

fn standings(records: Vec<Record>) -> Standings {
    let mut standings = Standings::default();
    for (seq, record) in (1..).zip(records) {
        let at = Position { journal: JournalId([9; 16]), seq };
        let content = Fingerprint(record.record.0);
        let asserted = Asserted { namespace: None, record, replaces: None, content, origin: None };
        standings.apply(at, 0, Operation::Asserted(Box::new(asserted)));
    }
    standings
}

/// Two conversations of five turns in all.
fn bicycles() -> Vec<Record> {
    vec![
        record(0, "Ann", "I bought a red bicycle in Berlin.", "2023-05-08", None),
        record(1, "Bob", "Nice! Does it have gears?", "2023-05-08", Some(0)),
        record(2, "Ann", "Seven gears, and a bell.", "2023-05-08", Some(1)),
        record(3, "Bob", "My bicycle was stolen last year.", "2023-07-02", None),
        record(4, "Ann", "Sorry to hear that.", "2023-07-02", Some(3)),
    ]
}

fn indexed(records: Vec<Record>, rows: &[[f32; 2]]) -> Index {
    let mut index = Index::default();
    index.catch_up(&standings(records)).unwrap();
    for (document, row) in (0..).zip(rows) {
        index.put_vector(SPACE, document, row).unwrap();
    }
    index
}

const ROWS: [[f32; 2]; 5] = [[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [0.0, 1.0], [-0.6, 0.8]];

fn ranked(index: &Index, visible: &Bits, text: &str, vector: Option<&[f32]>) -> Vec<Scored> {
    let vectors: Vec<(SpaceId, &[f32])> = vector.map(|vector| (SPACE, vector)).into_iter().collect();
    score(index, visible, &Wanted { text, vectors: &vectors }).unwrap()
}

/// A question, its vector, and of each record the score and the dot.
type Case = (&'static str, [f32; 2], [f32; 5], [f32; 5]);

#[test]
fn the_score_is_that_of_the_formula() {
    let index = indexed(bicycles(), &ROWS);
    // Worked out apart: score and, where there is a vector, dot.
    let cases: [Case; 3] = [
        (
            "How many gears does Ann's bicycle have?",
            [0.8, 0.6],
            [0.335_657, 0.256_763, 0.395_654, 0.023_566, -0.022_719],
            [0.2144, 0.412, 0.3856, -0.2736, -0.6864],
        ),
        (
            "What was stolen in July 2023?",
            [0.0, 1.0],
            [-0.0776, 0.046, 0.0976, 0.433_885, 0.357_399],
            [-0.592, 0.02, -0.008, 0.408, 0.232],
        ),
        (
            "bicycle unicycle",
            [0.0, 1.0],
            [-0.047_509, 0.047_108, 0.075_552, 0.255_57, 0.174_477],
            [-0.592, 0.02, -0.008, 0.408, 0.232],
        ),
    ];
    for (text, vector, scores, dots) in cases {
        for one in ranked(&index, &Bits::all(5), text, Some(&vector)) {
            let place = one.document as usize;
            // Rows have 16 bits a component; the first eight of them are scanned.
            assert!((one.score - scores[place]).abs() < 0.004, "{text} {place}: {} {}", one.score, scores[place]);
            assert!((one.dot.unwrap() - dots[place]).abs() < 0.02, "{text} {place}: {:?} {}", one.dot, dots[place]);
        }
    }
    let order =
        |text, vector| ranked(&index, &Bits::all(5), text, vector).iter().map(|one| one.document).collect::<Vec<_>>();
    assert_eq!(order("How many gears does Ann's bicycle have?", Some(&[0.8, 0.6][..])), [2, 0, 1, 3, 4]);
    assert_eq!(order("What was stolen in July 2023?", Some(&[0.0, 1.0][..])), [3, 4, 2, 1, 0]);
    // By words alone only what has one of them, or a neighbour that does.
    assert_eq!(order("How many gears does Ann's bicycle have?", None), [2, 0, 4, 1, 3]);
    assert_eq!(order("unicycle", None), [0_u32; 0]);
    assert_eq!(order("", None), [4, 3, 2, 1, 0]);
}

#[test]
fn what_is_not_visible_has_no_influence_at_all() {
    let all = indexed(bicycles(), &ROWS);
    let mut visible = Bits::all(5);
    visible.remove(1);
    visible.remove(4);
    let mut fewer = bicycles();
    fewer.remove(4);
    fewer.remove(1);
    let few = indexed(fewer, &[ROWS[0], ROWS[2], ROWS[3]]);
    for text in ["How many gears does Ann's bicycle have?", "What was stolen in July 2023?", "gears bell", "sorry"] {
        for vector in [None, Some(&[0.8, 0.6][..])] {
            let of = |index: &Index, visible: &Bits| {
                let ranked = ranked(index, visible, text, vector);
                ranked.iter().map(|one| (index.record(one.document).unwrap(), one.score.to_bits())).collect::<Vec<_>>()
            };
            assert_eq!(of(&all, &visible), of(&few, &Bits::all(3)), "{text}");
        }
    }
}

#[test]
fn a_record_without_a_vector_is_found_by_its_words() {
    let index = indexed(bicycles(), &ROWS[..3]);
    assert_eq!(index.without_vector(SPACE).collect::<Vec<_>>(), [3, 4]);
    let found = ranked(&index, &Bits::all(5), "stolen", Some(&[1.0, 0.0]));
    let stolen = found.iter().find(|one| one.document == 3).unwrap();
    assert!(stolen.coverage > 0.5);
    // A vector of another space, or of nothing, is an error and no ranking.
    let bad = |vector: &[f32]| {
        score(&index, &Bits::all(5), &Wanted { text: "x", vectors: &[(SPACE, vector)] }).unwrap_err().code().to_owned()
    };
    assert_eq!(bad(&[1.0]), "vector_dimensions");
    assert_eq!(bad(&[f32::NAN, 0.0]), "vector_not_finite");
    assert_eq!(bad(&[0.0, 0.0]), "vector_zero");
}

#[test]
fn while_a_model_is_changed_each_record_is_judged_by_the_spaces_that_have_it() {
    const NEXT: SpaceId = SpaceId([2; 16]);
    // No neighbours, so that a dot is that of a record alone.
    let alone: Vec<Record> = bicycles().into_iter().map(|one| Record { previous: None, ..one }).collect();
    let mut index = indexed(alone, &ROWS);
    let question = [1.0, 0.0];
    let dots = |index: &Index, vectors: &[(SpaceId, &[f32])]| -> Vec<f32> {
        let mut found = score(index, &Bits::all(5), &Wanted { text: "gears", vectors }).unwrap();
        found.sort_by_key(|one| one.document);
        found.iter().map(|one| one.dot.unwrap()).collect()
    };
    let near = |left: &[f32], right: &[f32]| {
        assert!(left.iter().zip(right).all(|(one, other)| (one - other).abs() < 0.02), "{left:?} {right:?}");
    };
    // The first space alone: 1, .6, .8, 0, -.6 less their mean of .36.
    let first = [0.64, 0.24, 0.44, -0.36, -0.96];
    near(&dots(&index, &[(SPACE, &question)]), &first);
    // Nobody has a vector in the next one yet.
    near(&dots(&index, &[(SPACE, &question), (NEXT, &question)]), &first);
    // Two of five have one there: .6 and .8, that is -.1 and .1, of a standard deviation of .1; that of the first is .585.
    index.put_vector(NEXT, 0, &[0.6, 0.8]).unwrap();
    index.put_vector(NEXT, 4, &[0.8, 0.6]).unwrap();
    let mixed = |first: f32, next: f32| (first + 0.4 * next) / 1.4;
    let two = [mixed(0.64, -0.585), 0.24, 0.44, -0.36, mixed(-0.96, 0.585)];
    near(&dots(&index, &[(SPACE, &question), (NEXT, &question)]), &two);
    // In the next one alone, what has no vector there is neither near nor far.
    near(&dots(&index, &[(NEXT, &question)]), &[-0.1, 0.0, 0.0, 0.0, 0.1]);
}

#[test]
fn no_source_that_nobody_vouches_for_fills_a_list() {
    let mut all: Vec<Provenance> = (0..200).map(|_| provenance(Trust::Web, Some("evil.example"))).collect();
    all.extend((0..5).map(|_| provenance(Trust::User, Some("talk"))));
    all.extend((0..5).map(|_| provenance(Trust::Tool, Some("weather"))));
    let ranked: Vec<Scored> = (0..210)
        .map(|document| Scored {
            document,
            score: 1.0,
            coverage: 1.0,
            dot: None,
            speaker: false,
            date: 0.0,
            asks: false,
        })
        .collect();
    let of = |document: u32| Some((id(u8::try_from(document).unwrap_or(255)), &all[document as usize]));
    let listed = |settings: &MemorySettings, page| {
        let treated = |treatment| -> Vec<Scored> {
            let is = |one: &&Scored| settings.treatment(all[one.document as usize].trust) == treatment;
            ranked.iter().filter(is).copied().collect()
        };
        let found = lists(&treated(Treatment::Open), &treated(Treatment::Apart), settings, page, of);
        let trusts = |list: &[(RecordId, Scored)]| {
            list.iter().map(|(_, one)| all[one.document as usize].trust).collect::<Vec<_>>()
        };
        (trusts(&found.open), trusts(&found.apart))
    };
    // As it is decided when nobody decides: what comes from the web is not even apart.
    let mut settings = MemorySettings::default();
    assert_eq!(listed(&settings, (0, 10)), (vec![Trust::User; 5], vec![Trust::Tool; 2]));
    settings.treatments.insert(Trust::Web, Treatment::Open);
    assert_eq!(listed(&settings, (0, 10)).0, [vec![Trust::Web; 2], vec![Trust::User; 5]].concat());
    settings.treatments.insert(Trust::Tool, Treatment::Open);
    assert_eq!(listed(&settings, (0, 10)).0.len(), 9);
    settings.treatments.insert(Trust::Web, Treatment::Apart);
    assert_eq!(
        listed(&settings, (0, 10)),
        ([vec![Trust::User; 5], vec![Trust::Tool; 2]].concat(), vec![Trust::Web; 2])
    );
    settings.share = 100;
    assert_eq!(listed(&settings, (0, 10)).1, [Trust::Web; 10]);
    // The next page is what comes after that one.
    settings.treatments.insert(Trust::Web, Treatment::Open);
    assert_eq!(listed(&settings, (0, 4)).0, [Trust::Web; 4]);
    assert_eq!(listed(&settings, (196, 4)).0, [Trust::Web; 4]);
    assert_eq!(listed(&settings, (200, 4)).0, [Trust::User; 4]);
    // Who begins within a page gets the rest of it.
    assert_eq!(listed(&settings, (198, 4)).0, [Trust::Web; 2]);
    assert_eq!(listed(&settings, (300, 4)).0, []);
}

fn scored(document: u32) -> Scored {
    Scored { document, score: 1.0, coverage: 1.0, dot: None, speaker: false, date: 0.0, asks: false }
}

/// The documents of all pages of so many places.
fn pages(all: &[Provenance], limit: usize) -> Vec<Vec<u32>> {
    let ranked: Vec<Scored> = (0..u32::try_from(all.len()).unwrap()).map(scored).collect();
    let of = |document: u32| Some((id(u8::try_from(document).unwrap()), &all[document as usize]));
    let (mut pages, mut skip) = (Vec::new(), 0);
    loop {
        let found = lists(&ranked, &[], &MemorySettings::default(), (skip, limit), of);
        skip += found.open.len();
        pages.push(found.open.iter().map(|(_, one)| one.document).collect());
        if !found.more {
            return pages;
        }
    }
}

#[test]
fn every_record_is_on_one_page() {
    // One source alone gets its share of each page, where it is a tool's.
    let tool: Vec<Provenance> = (0..5).map(|_| provenance(Trust::Tool, Some("weather"))).collect();
    assert_eq!(pages(&tool, 10), [vec![0, 1], vec![2, 3], vec![4]]);
    // What models concluded fills what is free, after what others say.
    let mut models: Vec<Provenance> = (0..5).map(|_| provenance(Trust::Model, None)).collect();
    assert_eq!(pages(&models, 10), [[0, 1, 2, 3, 4]]);
    models.push(provenance(Trust::User, None));
    models.push(provenance(Trust::Tool, Some("weather")));
    assert_eq!(pages(&models, 10), [[0, 1, 5, 6, 2, 3, 4]]);
    assert_eq!(pages(&models, 5), [vec![0, 5, 6, 1, 2], vec![3, 4]]);
    let many: Vec<Provenance> = (0..9)
        .map(|number| match number % 3 {
            0 => provenance(Trust::User, None),
            1 => provenance(Trust::Tool, Some("a")),
            _ => provenance(Trust::Tool, Some("b")),
        })
        .collect();
    assert_eq!(pages(&many, 5), [vec![0, 1, 2, 3, 6], vec![4, 5], vec![7, 8]]);
}

#[test]
fn one_host_is_one_source_and_one_step_too() {
    let from = |trust, source: &str, step: Option<u8>| Provenance {
        step: step.map(|number| EntryId([number; 16])),
        ..provenance(trust, Some(source))
    };
    let hosts = ["https://evil.example/a", "HTTP://Evil.Example/b?x=https://good.example", "https://me@evil.example#c"];
    let web: Vec<Provenance> = hosts.iter().map(|source| from(Trust::Web, source, None)).collect();
    assert_eq!(web.iter().map(Source::of).collect::<HashSet<_>>().len(), 1);
    assert_eq!(pages(&web, 10), [vec![0, 1], vec![2]]);
    // A step that says of each record that it is from somewhere else has the share of one source.
    let step: Vec<Provenance> = (0..4).map(|n| from(Trust::Tool, &format!("https://{n}.example"), Some(1))).collect();
    assert_eq!(pages(&step, 10), [[0, 1], [2, 3]]);
    let steps: Vec<Provenance> = (0..4).map(|n| from(Trust::Tool, &format!("https://{n}.example"), Some(n))).collect();
    assert_eq!(pages(&steps, 10), [[0, 1, 2, 3]]);
    for whole in ["weather", "file:///etc/x", "://x"] {
        assert_eq!(Source::of(&from(Trust::Tool, whole, None)), [Source::Named(whole.to_owned())]);
    }
}
