//! Whatever happens to a transcript, every line is accounted for, and a plan only ever grows.

use super::*;
use proptest::prelude::*;

fn transcript(seeds: &[(u8, u8, u8)]) -> Vec<String> {
    seeds
        .iter()
        .enumerate()
        .map(|(at, (kind, parent, more))| {
            let (id, parent) = (format!("r{at}"), format!("r{}", usize::from(*parent) % (seeds.len() + 2)));
            let parent = if *more % 7 == 0 { "-".to_owned() } else { parent };
            let tool = format!("t{}", more % 5);
            match kind % 8 {
                0 => user(&id, &parent),
                1 => assistant(&id, &parent, &format!("m{}", more % 3)),
                2 => call(&id, &parent, &format!("m{}", more % 3), &tool),
                3 => result(&id, &parent, &tool, *more > 100),
                4 => progress(&id, &parent),
                5 => record("user", &id, &parent, ",\"isSidechain\":true,\"message\":{\"content\":\"x\"}"),
                6 => record(
                    "system",
                    &id,
                    "-",
                    &format!(",\"subtype\":\"compact_boundary\",\"logicalParentUuid\":\"{parent}\""),
                ),
                _ => "{\"type\":\"file-history-snapshot\"}\n".to_owned(),
            }
        })
        .collect()
}

fn seeds() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..24)
}

/// Asserts what holds for any plan: branches exist before they are used, and every fork point is on its branch.
fn assert_sound(plan: &Plan) {
    let mut branches = std::collections::HashMap::new();
    let mut place = std::collections::HashMap::new();
    for item in &plan.items {
        match item {
            Item::Begin(begin) => {
                assert_eq!(begin.session.0, branches.len());
                branches.insert(begin.session, 1);
            }
            Item::Fork(fork) => {
                let count = branches.get_mut(&fork.session).unwrap();
                assert_eq!(fork.branch.0, *count);
                *count += 1;
                assert_eq!(place.get(&fork.at_line), Some(&(fork.session, fork.from)));
            }
            Item::Append(append) => {
                assert!(append.branch.0 < branches[&append.session]);
                place.insert(append.line, (append.session, append.branch));
                if let Some(range) = append.summarises {
                    assert!(range.first <= range.last && range.last < append.line, "{range:?} {}", append.line);
                }
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn a_plan_only_grows(seeds in seeds(), cut in any::<prop::sample::Index>()) {
        let lines = transcript(&seeds);
        let whole = plan(lines.concat());
        assert_sound(&whole);
        let head = plan(lines[..cut.index(lines.len() + 1)].concat());
        prop_assert_eq!(&whole.items[..head.items.len()], &head.items[..]);
    }

    #[test]
    fn shuffled_and_repeated_lines_are_accounted_for(
        lines in seeds().prop_map(|seeds| transcript(&seeds)).prop_shuffle(),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut lines = lines;
        for index in again {
            let line = lines[index.index(lines.len())].clone();
            lines.push(line);
        }
        let text = lines.concat();
        let plan = plan(&text);
        plan.assert_accounted(text.as_bytes());
        assert_sound(&plan);
    }

    #[test]
    fn a_transcript_twice_over_adds_no_record(seeds in seeds()) {
        let text = transcript(&seeds).concat();
        let (once, twice) = (plan(&text), plan(text.clone() + &text));
        twice.assert_accounted((text.clone() + &text).as_bytes());
        let named = |plan: &Plan| plan.appends().iter().filter(|one| one.dedupe.as_str().starts_with("uuid:")).count();
        prop_assert_eq!(named(&once), named(&twice));
        prop_assert_eq!(once.forks(), twice.forks());
    }

    #[test]
    fn corrupted_bytes_are_accounted_for(
        seeds in seeds(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = transcript(&seeds).concat().into_bytes();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let plan = plan(&bytes);
        plan.assert_accounted(&bytes);
        assert_sound(&plan);
    }

    #[test]
    fn any_bytes_are_accounted_for(bytes in prop::collection::vec(
        prop_oneof![Just(b'\n'), Just(b'{'), Just(b'}'), Just(b'"'), Just(0), any::<u8>()], 0..200)) {
        plan(&bytes).assert_accounted(&bytes);
    }
}
