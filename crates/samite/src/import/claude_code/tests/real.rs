//! Real sessions. The expected numbers were counted with a script of its own before this importer was written.

use super::*;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// The folder of real data beside the repository.
fn data() -> Option<PathBuf> {
    let root = std::env::var_os("SAMITE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let data = root.join("data");
    if !data.join("claude-code").is_dir() {
        eprintln!("SKIPPED: no real transcripts at {}", data.display());
        return None;
    }
    Some(data)
}

#[expect(clippy::disallowed_methods, reason = "the test reads real files")]
fn read(path: &PathBuf) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test reads real files")]
fn identity(path: &PathBuf) -> Identity {
    identify(path, BufReader::new(File::open(path).unwrap())).unwrap()
}

/// What a transcript holds: lines; entries by kind: messages, responses, events, compactions; calls; results, failed
/// results; the range of the compaction; sub-agents named.
type Expected = (&'static str, u64, [usize; 4], usize, (usize, usize), Option<(u64, u64, u64)>, usize);

const ONE: &str = "4d5611e5-241a-462a-8d15-5122611a9569";
const TWO: &str = "8463c716-a2ea-4c14-9efa-87158ebd9f20";
const THREE: &str = "fa812bfe-b295-4cca-9c2f-fdf01028cb46";

#[rustfmt::skip]
const SESSIONS: [Expected; 10] = [
    (ONE, 1512, [153, 254, 1104, 1], 150, (150, 5), Some((755, 7, 753)), 1),
    ("agent-a2898e3", 144, [34, 40, 70, 0], 33, (33, 8), None, 0),
    ("agent-acompact-e1f845", 5, [4, 1, 0, 0], 0, (0, 0), None, 0),
    (TWO, 1593, [179, 278, 1135, 1], 177, (177, 13), Some((715, 6, 713)), 1),
    ("agent-a7be2f0", 131, [20, 32, 79, 0], 19, (19, 2), None, 0),
    ("agent-acompact-f46190", 7, [6, 1, 0, 0], 0, (0, 0), None, 0),
    (THREE, 1881, [200, 314, 1366, 1], 197, (197, 8), Some((1585, 7, 1583)), 2),
    ("agent-a93ccab", 116, [26, 36, 54, 0], 25, (25, 0), None, 0),
    ("agent-aa84377", 98, [22, 30, 46, 0], 21, (21, 0), None, 0),
    ("agent-acompact-70d8e7", 15, [14, 1, 0, 0], 0, (0, 0), None, 0),
];

#[test]
fn real_sessions_are_imported_whole() {
    let Some(data) = data() else { return };
    let folder = data.join("claude-code");
    let mut files = Vec::new();
    for session in [ONE, TWO, THREE] {
        files.push(folder.join(format!("{session}.jsonl")));
        let agents = std::fs::read_dir(folder.join(session).join("subagents")).unwrap();
        files.extend(agents.map(|entry| entry.unwrap().path()));
    }
    let arranged = arrange(files);
    let mut known = KnownRecords::default();
    let mut links = std::collections::HashMap::new();
    for (file, (name, lines, kinds, calls, ended, compaction, agents)) in arranged.iter().zip(SESSIONS) {
        assert_eq!(file.path.file_stem().unwrap().to_str().unwrap(), name);
        let bytes = read(&file.path);
        let mut identity = identity(&file.path);
        if let Some(agent) = &mut identity.agent {
            agent.tool_use = links.get(&agent.id).cloned();
            assert_eq!(agent.tool_use.is_some(), !agent.id.starts_with("acompact"), "{name}");
        }
        assert_eq!(identity.version.as_deref(), Some("2.1.39"));
        let mut planner = Planner::new(identity);
        if file.parent.is_some() {
            planner = planner.below(known.clone());
        }
        let plan = plan_with(planner, &bytes);
        plan.assert_accounted(&bytes);
        assert_eq!(plan.codes(), [], "{name}");
        assert_eq!(
            plan.finished.report.accounting,
            Accounting { imported: lines, duplicates: 0, reported: 0 },
            "{name}"
        );
        let counted = [EntryKind::MESSAGE, EntryKind::MODEL_RESPONSE, EntryKind::EVENT, EntryKind::COMPACTION]
            .map(|kind| plan.count(kind));
        assert_eq!(counted, kinds, "{name}");
        assert_eq!((plan.calls(), plan.ended()), (calls, ended), "{name}");
        assert_eq!(plan.forks(), [], "{name}");
        assert_eq!(plan.finished.in_doubt, [], "{name}");
        let ranges = plan.appends().iter().find(|one| one.kind == EntryKind::COMPACTION).map(|one| {
            let range = one.summarises.unwrap();
            (one.line, range.first, range.last)
        });
        assert_eq!(ranges, compaction, "{name}");
        if let Some((line, ..)) = compaction {
            assert_eq!(plan.context(0).first(), Some(&line), "{name}");
        } else {
            assert_eq!(plan.context(0).len(), kinds[0] + kinds[1], "{name}");
        }
        let mut found = 0;
        for item in &plan.items {
            if let Item::AgentLinked { agent, tool_use, .. } = item {
                links.insert(agent.clone(), tool_use.clone());
                found += 1;
            }
        }
        assert_eq!(found, agents, "{name}");
        if !file.is_agent {
            known = plan.finished.known;
        }
    }
}

#[test]
fn odd_transcripts_are_imported_whole() {
    let Some(data) = data() else { return };
    let import = |name: &str| {
        let path = data.join("claude-code-edge").join(name);
        let bytes = read(&path);
        let plan = plan_with(Planner::new(identity(&path)), &bytes);
        plan.assert_accounted(&bytes);
        plan
    };
    let kinds = |plan: &Plan| {
        [EntryKind::MESSAGE, EntryKind::MODEL_RESPONSE, EntryKind::EVENT, EntryKind::COMPACTION]
            .map(|kind| plan.count(kind))
    };
    let key = |plan: &Plan| match &plan.items[0] {
        Item::Begin(begin) => begin.key.clone(),
        other => panic!("{other:?}"),
    };

    let edge = import("edge_cases.jsonl");
    assert_eq!((kinds(&edge), edge.calls(), edge.ended()), ([9, 4, 6, 0], 3, (1, 1)));
    assert_eq!(
        edge.codes(),
        [
            (9, "in_doubt"),
            (11, "no_message"),
            (12, "same_id_other_bytes"),
            (13, "not_a_record"),
            (15, "not_a_record"),
            (16, "not_a_record"),
            (17, "parent_missing"),
            (17, "in_doubt"),
            (18, "same_id_other_bytes"),
        ]
    );
    assert_eq!(edge.finished.report.accounting, Accounting { imported: 12, duplicates: 0, reported: 7 });

    let representative = import("representative_messages.jsonl");
    assert_eq!((kinds(&representative), representative.ended()), ([6, 5, 1, 0], (2, 0)));
    assert_eq!((key(&representative).as_str(), representative.codes()), ("claude-code:test_session", vec![]));
    assert_eq!(representative.forks(), []);

    let rewind = import("rewind_then_compact.jsonl");
    assert_eq!((kinds(&rewind), rewind.codes()), ([5, 5, 1, 1], vec![]));
    assert_eq!((key(&rewind).as_str(), rewind.forks()), ("claude-code:s1", vec![(0, 1, 2, 5)]));
    assert_eq!(rewind.finished.current, [BranchRef(1)]);
    let attributes = rewind.attributes.iter().map(|(line, value)| (*line, value.to_string())).collect::<Vec<_>>();
    let boundary = "{\"context\":\"boundary\",\"lines\":[1,8]}".to_owned();
    assert_eq!(attributes, [(9, boundary), (10, "{\"lines\":[1,8]}".to_owned())]);
    assert_eq!(rewind.context(1), [10, 11, 12]);
    assert_eq!(rewind.context(0), [1, 2, 3, 4]);
    let summary = rewind.appends()[9];
    assert_eq!((summary.kind, summary.summarises), (EntryKind::COMPACTION, Some(LineRange { first: 1, last: 8 })));

    let session = import("session_b.jsonl");
    assert_eq!((kinds(&session), session.codes(), session.forks()), ([2, 1, 0, 0], vec![], vec![]));

    let todo = import("todowrite_examples.jsonl");
    assert_eq!((kinds(&todo), todo.calls(), todo.ended()), ([5, 6, 1, 0], 3, (3, 0)));
    assert_eq!((todo.codes(), todo.forks()), (vec![], vec![]));
}
