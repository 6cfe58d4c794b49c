use super::*;
use crate::id::BlockId;
use crate::tree::LinkGroup;
use crate::tree::node::tests::file;
use proptest::prelude::*;

fn path(text: &str) -> TreePath {
    TreePath::new(text).unwrap()
}

fn entry(name: &str, content: Content) -> Entry {
    let mode = if matches!(content, Content::Directory(_)) { 0o755 } else { 0o644 };
    Entry { name: name.as_bytes().into(), metadata: Metadata { mode, ..Metadata::default() }, content }
}

fn directory(name: &str) -> Entry {
    entry(name, Content::Directory(BlockId([0; 32])))
}

/// `a=1` is a file with content 1, `a=1!` an executable one, `a=1@` one of the hard links to content 1, `a>b` a symbolic link, `d/`
/// a directory, `d/?` one that could not be read; parents are made.
fn listing(words: &str) -> Listing {
    let mut entries = BTreeMap::from([(TreePath::top(), directory(""))]);
    for word in words.split_whitespace() {
        let name = word.split(['=', '>']).next().unwrap().trim_end_matches('?').trim_end_matches('/');
        let at = path(name);
        let mut above = at.parent();
        while let Some(parent) = above {
            above = parent.parent();
            entries.entry(parent.clone()).or_insert_with(|| directory(&String::from_utf8_lossy(parent.name())));
        }
        let last = String::from_utf8_lossy(at.name()).into_owned();
        let made = if word.ends_with("/?") {
            entry(&last, Content::Unread(crate::tree::EntryType::Directory))
        } else if word.ends_with('/') {
            directory(&last)
        } else if let Some((_, target)) = word.split_once('>') {
            entry(&last, Content::Symlink(target.as_bytes().into()))
        } else {
            let digits = word.split_once('=').unwrap().1;
            let mut made = file(&last, digits.trim_end_matches(['!', '@']).parse().unwrap());
            made.metadata.mode = if digits.ends_with('!') { 0o755 } else { 0o644 };
            made.metadata.link = digits.ends_with('@').then_some(LinkGroup([7; 16]));
            made
        };
        entries.insert(at, made);
    }
    Listing::new(entries.into_iter().collect())
}

fn changed(listing: &Listing, change: impl Fn(&TreePath, &mut Entry)) -> Listing {
    let mut entries: Vec<(TreePath, Entry)> = listing.iter().cloned().collect();
    for (path, entry) in &mut entries {
        change(path, entry);
    }
    Listing::new(entries)
}

fn shown(listing: &Listing) -> String {
    let word = |(path, entry): &(TreePath, Entry)| match &entry.content {
        Content::Directory(_) => format!("{path}/"),
        Content::Unread(_) => format!("{path}/?"),
        Content::Symlink(target) => format!("{path}>{}", String::from_utf8_lossy(target)),
        _ => {
            let number = (0..=255_u8).find(|byte| file("x", *byte).content == entry.content).unwrap();
            let mode = if entry.metadata.mode == 0o755 { "!" } else { "" };
            format!("{path}={number}{mode}{}", if entry.metadata.link.is_some() { "@" } else { "" })
        }
    };
    listing.iter().filter(|(path, _)| !path.is_top()).map(word).collect::<Vec<_>>().join(" ")
}

/// What is merged, with ours for each conflict, and the conflicts.
fn merged(base: &str, ours: &str, theirs: &str) -> (String, Vec<String>) {
    let sides = [base, ours, theirs].map(listing);
    let [base, ours, theirs] = &sides;
    let merge = merge(base, ours, theirs, &MergeOptions::default());
    let conflicts = merge.conflicts.iter().map(|conflict| {
        let proposed = if conflict.proposed.is_some() { " proposed" } else { "" };
        format!("{} {:?}{proposed}", conflict.path, conflict.kind)
    });
    let tree = merge.complete([base, ours, theirs], |_| Taken::Side(Side::Ours)).unwrap();
    (shown(&tree), conflicts.collect())
}

#[test]
fn each_way_that_three_entries_can_meet() {
    let table: &[(&str, &str, &str, &str, &[&str])] = &[
        // One side alone, and both alike.
        ("a=1 b=1", "a=2 b=1", "a=1 b=2", "a=2 b=2", &[]),
        ("a=1", "a=2", "a=2", "a=2", &[]),
        ("", "a=1", "b=1", "a=1 b=1", &[]),
        ("", "a=1", "a=1", "a=1", &[]),
        ("a=1 b=1", "b=1", "a=1", "", &[]),
        ("a=1", "a=1!", "a=2", "a=2!", &[]),
        ("d/", "", "d/", "", &[]),
        ("d/a=1", "", "d/a=1 d/b=2", "d/ d/b=2", &[]),
        ("a=1", "a>x", "a=1", "a>x", &[]),
        ("d/a=1", "d=2", "d/a=1", "d=2", &[]),
        ("a=1", "a/x=2", "a=1", "a/ a/x=2", &[]),
        // Conflicts.
        ("a=1", "a=2", "a=3", "a=2", &["a Edited"]),
        ("", "a=2", "a=3", "a=2", &["a Added"]),
        ("", "a=2", "a=2!", "a=2", &["a Metadata"]),
        ("a=1", "", "a=2", "", &["a DeleteEdit"]),
        ("a=1", "a=2", "", "a=2", &["a DeleteEdit"]),
        ("a=1", "", "a=1!", "", &["a DeleteEdit"]),
        ("a>x", "a>y", "a>z", "a>y", &["a Symlink"]),
        ("a=1", "a>y", "a=2", "a>y", &["a Type"]),
        ("d/a=1", "d=2", "d/a=3", "d=2", &["d Directory"]),
        ("d/a=1", "d=2", "d/a=1 d/b=1", "d=2", &["d Directory"]),
        ("", "a=1", "a/x=1", "a=1", &["a Directory"]),
        ("", "a/x=1", "a>y", "a/ a/x=1", &["a Directory"]),
        ("a=1", "a/x=2 b=1", "a=3 b=1", "a/ a/x=2 b=1", &["a Directory"]),
        // Files that were moved.
        ("a=1", "b=1", "a=1", "b=1", &[]),
        ("a=1", "b=1", "b=1", "b=1", &[]),
        ("a=1", "b=1", "a=2", "b=1", &["b Rename proposed"]),
        ("a=1", "a=2", "b=1", "a=2", &["b Rename proposed"]),
        ("a=1", "b=1", "a=1!", "b=1", &["b Rename proposed"]),
        ("a=1", "b=1", "a/x=2", "a/ a/x=2 b=1", &["b Rename"]),
        ("a=1", "b=1", "a>x", "b=1", &["b Rename"]),
        ("a=1", "b=1", "c=1", "b=1", &["a Rename"]),
        ("a=1", "b=1", "", "b=1", &["b Rename"]),
        ("a=1", "b=1", "a=2 b=3", "b=1", &["b Rename"]),
        ("d/a=1 d/b=2", "e/a=1 e/b=2", "d/a=3 d/b=2", "e/ e/a=1 e/b=2", &["e/a Rename proposed"]),
        // Of two with one content it is plain only by their names.
        ("d/a=1 d/b=1", "e/a=1 e/b=1", "d/a=2 d/b=1", "e/ e/a=1 e/b=1", &["e/a Rename proposed"]),
        ("a=1 b=1", "c=1", "a=2 b=1", "c=1", &["a DeleteEdit"]),
        // Repositories.
        (".git/a=1 .git/b=1", ".git/a=2 .git/b=1", ".git/a=1 .git/b=1", ".git/ .git/a=2 .git/b=1", &[]),
        (
            ".git/a=1 .git/b=1",
            ".git/a=2 .git/b=1",
            ".git/a=1 .git/b=2",
            ".git/ .git/a=2 .git/b=1",
            &[".git Repository"],
        ),
        (".git/a=1 x=1", "x=1", ".git/a=2 x=2", "x=2", &[".git Repository"]),
        (".git/a=1", ".git/a=2 .git/c=3", ".git/a=2 .git/c=3", ".git/ .git/a=2 .git/c=3", &[]),
        ("d/.git/a=1", "d=1", "d/.git/a=2", "d=1", &["d Directory"]),
        // Hard links.
        ("a=1@ b=1@", "a=1@ b=1@", "a=1@ b=1@ c=2", "a=1@ b=1@ c=2", &[]),
        ("a=1@ b=1@", "a=1@ b=1@", "a=2@ b=2@", "a=2@ b=2@", &[]),
        ("a=1@ b=1@ c=1@", "a=1@ b=2 c=1@", "a=1@ b=1@ c=1@", "a=1@ b=2 c=1@", &[]),
        ("a=1 b=1", "a=1 b=1", "a=1@ b=1@", "a=1@ b=1@", &[]),
        ("a=1@ b=1@", "a=1 b=1", "a=1@ b=1@", "a=1 b=1", &[]),
        ("a=1@ b=1@", "a=1@ b=1@", "a=1", "a=1", &[]),
        // What could not be read is not removed.
        ("d/a=1 d/b=1", "d/?", "d/a=1 d/b=1 c=1", "c=1 d/?", &[]),
        ("d/a=1 x=1", "d/a=1 x=2", "d/? x=1", "d/ d/a=1 x=2", &[]),
    ];
    for (base, ours, theirs, right, conflicts) in table {
        let found = merged(base, ours, theirs);
        assert_eq!(
            (found.0.as_str(), found.1.as_slice()),
            (*right, conflicts.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().as_slice()),
            "{base} | {ours} | {theirs}"
        );
    }
}

#[test]
fn each_choice_is_carried_out_whole() {
    let take = |words: [&str; 3], taken: Taken| {
        let sides = words.map(listing);
        let [base, ours, theirs] = &sides;
        let merge = merge(base, ours, theirs, &MergeOptions::default());
        assert_eq!(merge.conflicts.len(), 1, "{:?}", merge.conflicts);
        let proposed = merge.conflicts[0].proposed.clone();
        let taken = if taken == Taken::Entries(Vec::new()) { Taken::Entries(proposed.unwrap()) } else { taken };
        shown(&merge.complete([base, ours, theirs], |_| taken.clone()).unwrap())
    };
    let moved = ["a=1 x=1", "b=1 x=1", "a=2 x=1"];
    assert_eq!(take(moved, Taken::Side(Side::Base)), "a=1 x=1");
    assert_eq!(take(moved, Taken::Side(Side::Ours)), "b=1 x=1");
    assert_eq!(take(moved, Taken::Side(Side::Theirs)), "a=2 x=1");
    assert_eq!(take(moved, Taken::Removed), "x=1");
    assert_eq!(take(moved, Taken::Entries(Vec::new())), "b=2 x=1");
    let repository = [".git/a=1 x=1", ".git/a=2 x=2", ".git/a=3 .git/b=1 x=1"];
    assert_eq!(take(repository, Taken::Side(Side::Theirs)), ".git/ .git/a=3 .git/b=1 x=2");
    assert_eq!(take(repository, Taken::Removed), "x=2");
    let directory = ["d/a=1", "d=2", "d/a=3 d/b=1"];
    assert_eq!(take(directory, Taken::Side(Side::Theirs)), "d/ d/a=3 d/b=1");
    assert_eq!(take(directory, Taken::Side(Side::Base)), "d/ d/a=1");
    // The directory that both removed comes back for what is kept of it.
    assert_eq!(take(["d/a=1", "", "d/a=2"], Taken::Side(Side::Theirs)), "d/ d/a=2");
}

#[test]
fn a_decision_that_makes_no_tree_is_refused() {
    let sides = ["a=1", "a/a=1", "a=2"].map(listing);
    let [base, ours, theirs] = &sides;
    let merge = merge(base, ours, theirs, &MergeOptions::default());
    let kinds: Vec<ConflictKind> = merge.conflicts.iter().map(|conflict| conflict.kind).collect();
    assert_eq!(kinds, [ConflictKind::Directory]);
    let file = vec![(path("a/a/x"), file("x", 3))];
    let error = merge.complete([base, ours, theirs], |_| Taken::Entries(file.clone())).unwrap_err();
    assert_eq!(error.code(), "merge_shape");
}

#[test]
fn many_files_of_one_content_that_moved_are_told_apart_by_their_names_at_once() {
    // Looking all of them through for each would take a minute.
    const FILES: usize = 20_000;
    let named = |directory: &str, except: &str| {
        let mut words: Vec<String> = (0..FILES).map(|number| format!("{directory}/f{number}=1")).collect();
        words[7] = format!("{directory}/f7={except}");
        listing(&words.join(" "))
    };
    let (base, ours, theirs) = (named("old", "1"), named("new", "1"), named("old", "2"));
    let merge = merge(&base, &ours, &theirs, &MergeOptions::default());
    let [conflict] = merge.conflicts.as_slice() else { panic!("{} conflicts", merge.conflicts.len()) };
    assert_eq!((conflict.kind, conflict.path.to_string().as_str()), (ConflictKind::Rename, "new/f7"));
    assert_eq!(conflict.from.as_ref().unwrap().to_string(), "old/f7");
    let [(path, entry)] = conflict.proposed.as_ref().unwrap().as_slice() else { panic!("{:?}", conflict.proposed) };
    assert_eq!((path, &entry.content), (&conflict.path, &file("f7", 2).content));
}

#[test]
fn what_rules_leave_out_is_not_removed() {
    let (base, ours, theirs) = (listing("a.log=1 x=1"), listing("a.log=1 x=2"), listing("x=1 y=1"));
    let excluded: &IsExcluded<'_> = &|path, _| path.as_bytes().ends_with(b".log");
    let options = MergeOptions { excluded_from_theirs: Some(excluded), ..MergeOptions::default() };
    let merge_of = merge(&base, &ours, &theirs, &options);
    assert_eq!(shown(&merge_of.complete([&base, &ours, &theirs], |_| Taken::Removed).unwrap()), "a.log=1 x=2 y=1");
    // And what ours leaves out stays out of the tree, since nothing is known of it.
    let options = MergeOptions { excluded_from_ours: Some(excluded), ..MergeOptions::default() };
    let merge_of = merge(&base, &theirs, &ours, &options);
    assert_eq!(shown(&merge_of.complete([&base, &theirs, &ours], |_| Taken::Removed).unwrap()), "x=2 y=1");
}

#[test]
fn times_alone_are_neither_a_change_nor_a_conflict() {
    let with_time = |words: &str, time: i64| changed(&listing(words), |_, entry| entry.metadata.mtime = time);
    let (base, ours, theirs) = (with_time("a=1 b=1", 1), with_time("a=2 b=1", 5), with_time("a=1 b=1", 9));
    let merge = merge(&base, &ours, &theirs, &MergeOptions::default());
    assert!(merge.conflicts.is_empty());
    let time = |name: &str| merge.taken[&path(name)].metadata.mtime;
    assert_eq!((time("a"), time("b")), (5, 9), "a change has its own time, and of two times the later counts");
}

#[test]
fn a_conflict_is_known_by_its_sides_without_their_times() {
    let conflict = |words: [&str; 3], time: i64| {
        let [base, ours, theirs] = words.map(listing);
        let ours = changed(&ours, |_, entry| entry.metadata.mtime = time);
        merge(&base, &ours, &theirs, &MergeOptions::default()).conflicts[0].identity()
    };
    let one = conflict(["a=1", "a=2", "a=3"], 1);
    assert_eq!(one, conflict(["a=1", "a=2", "a=3"], 2));
    for other in [["a=0", "a=2", "a=3"], ["a=1", "a=4", "a=3"], ["a=1", "a=2", "a=4"], ["b=1", "b=2", "b=3"]] {
        assert_ne!(one, conflict(other, 1), "{other:?}");
    }
}

fn tree() -> impl Strategy<Value = Listing> {
    // Few names and contents, so that everything meets everything.
    let name =
        prop_oneof![Just("a"), Just("b"), Just("d/a"), Just("d/b"), Just("d/e/a"), Just(".git/a"), Just(".git/b")];
    let what = prop_oneof![
        8 => (1..4_u8).prop_map(|byte| format!("={byte}")),
        1 => (1..3_u8).prop_map(|byte| format!("={byte}!")),
        1 => Just("=9@".to_owned()),
        1 => Just(">x".to_owned()),
        1 => Just("/".to_owned()),
    ];
    prop::collection::vec((name, what, 0..4_i64), 0..7).prop_map(|words| {
        let mut chosen: Vec<(String, i64)> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for (name, what, time) in &words {
            // Nothing lies in what is no directory.
            if names.iter().all(|known| !path(name).is_within(&path(known)) && !path(known).is_within(&path(name))) {
                names.push(name);
                chosen.push((format!("{name}{what}"), *time));
            }
        }
        let text: Vec<&str> = chosen.iter().map(|(word, _)| word.as_str()).collect();
        let made = listing(&text.join(" "));
        let linked: Vec<&(TreePath, Entry)> = made.iter().filter(|(_, entry)| entry.metadata.link.is_some()).collect();
        let group = linked.first().filter(|_| linked.len() > 1).map(|(first, _)| LinkGroup::of(first));
        changed(&made, |path, entry| {
            if entry.metadata.link.is_some() {
                entry.metadata.link = group;
            } else if let Some((_, time)) = chosen.iter().find(|(word, _)| word.starts_with(&path.to_string())) {
                entry.metadata.mtime = *time;
            }
        })
    })
}

fn undecided(_: &Conflict) -> Taken {
    panic!("there is nothing to decide")
}

fn swapped(taken: &Conflict) -> Vec<(TreePath, ConflictKind)> {
    vec![(taken.path.clone(), taken.kind)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn one_side_alone_is_taken_as_it_is(base in tree(), side in tree()) {
        let options = MergeOptions::default();
        for (ours, theirs) in [(&side, &base), (&base, &side), (&side, &side)] {
            let merge = merge(&base, ours, theirs, &options);
            prop_assert_eq!(&merge.complete([&base, ours, theirs], undecided).unwrap(), &side);
        }
    }

    #[test]
    fn a_merge_does_not_depend_on_whose_side_is_whose(base in tree(), ours in tree(), theirs in tree()) {
        let options = MergeOptions::default();
        let one = merge(&base, &ours, &theirs, &options);
        let other = merge(&base, &theirs, &ours, &options);
        let listed = |merge: &Merge| merge.conflicts.iter().flat_map(swapped).collect::<Vec<_>>();
        prop_assert_eq!(listed(&one), listed(&other));
        let left = one.complete([&base, &ours, &theirs], |_| Taken::Side(Side::Ours));
        let right = other.complete([&base, &theirs, &ours], |_| Taken::Side(Side::Theirs));
        // Which directory of two is taken for what is kept in it is the only thing that sides decide.
        match (left, right) {
            (Ok(left), Ok(right)) => prop_assert_eq!(shown(&left), shown(&right)),
            (left, right) => prop_assert_eq!(left.is_err(), right.is_err()),
        }
    }

    #[test]
    fn no_path_is_lost_without_a_word(base in tree(), ours in tree(), theirs in tree()) {
        let merge = merge(&base, &ours, &theirs, &MergeOptions::default());
        let covered = |path: &TreePath| merge.conflicts.iter().any(|conflict| match &conflict.scope {
            Scope::Paths(paths) => paths.contains(path),
            Scope::Within(whole) => path.is_within(whole),
        });
        for (side, other) in [(&ours, &theirs), (&theirs, &ours)] {
            for (path, entry) in side {
                let before = base.get(path);
                let unchanged = before.is_some_and(|before| decide::is_alike(before, entry));
                // What a side made or changed is in the result, or is asked about; what it left alone may be gone only
                // where the other side removed or replaced it.
                let taken = merge.taken.get(path);
                // Where a side changed permissions alone, the other's content is taken.
                let held = before.is_some_and(|before| before.content.is_same(&entry.content));
                let kept = taken.is_some_and(|taken| held || taken.content.is_same(&entry.content));
                let by_other = other.get(path).is_none_or(|other| before.is_none_or(|before| !decide::is_alike(before, other)));
                prop_assert!(kept || covered(path) || (unchanged && by_other) || path.is_top()
                    // A directory's permissions are no content.
                    || matches!(entry.content, Content::Directory(_)) && taken.is_some(), "{}: {} | {} | {}", path, shown(&base), shown(&ours), shown(&theirs));
            }
        }
        // And nothing comes from nowhere.
        for (path, entry) in &merge.taken {
            prop_assert!([&base, &ours, &theirs].iter().any(|side| side.get(path).is_some_and(|found| found.content.is_same(&entry.content))));
        }
    }
}
