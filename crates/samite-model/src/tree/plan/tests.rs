use super::*;
use crate::id::BlockId;
use crate::tree::Metadata;
use crate::tree::node::tests::file;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn path(text: &str) -> TreePath {
    TreePath::new(text).unwrap()
}

fn directory(name: &str) -> Entry {
    Entry {
        name: name.as_bytes().into(),
        metadata: Metadata { mode: 0o755, ..Metadata::default() },
        content: Content::Directory(BlockId([0; 32])),
    }
}

/// `a=1` is a file with content 1, `d/` a directory; parents are made.
fn listing(words: &str) -> Listing {
    let mut entries = BTreeMap::from([(TreePath::top(), directory(""))]);
    for word in words.split_whitespace() {
        let (name, byte) = word.split_once('=').unwrap_or((word.trim_end_matches('/'), ""));
        let at = path(name);
        let mut above = at.parent();
        while let Some(directory_path) = above {
            above = directory_path.parent();
            let made = directory(&String::from_utf8_lossy(directory_path.name()));
            entries.insert(directory_path, made);
        }
        let last = String::from_utf8_lossy(at.name()).into_owned();
        let entry = if word.ends_with('/') { directory(&last) } else { file(&last, byte.parse().unwrap()) };
        entries.insert(at, entry);
    }
    Listing::new(entries.into_iter().collect())
}

fn shown(plan: &Plan) -> (Vec<String>, Vec<String>) {
    let actions = plan.actions.iter().map(|action| match action {
        Action::Create { path, .. } => format!("create {path}"),
        Action::Replace { path, .. } => format!("replace {path}"),
        Action::SetMetadata { path, .. } => format!("set {path}"),
        Action::Remove { path, .. } => format!("remove {path}"),
    });
    (actions.collect(), plan.kept.iter().map(|kept| format!("{} {:?}", kept.path, kept.reason)).collect())
}

fn planned(current: &str, base: &str, target: &str, options: &PlanOptions<'_>) -> (Vec<String>, Vec<String>) {
    shown(&plan(&listing(current), &listing(base), &listing(target), options))
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn each_way_that_three_trees_can_meet() {
    type Case<'a> = (&'a str, &'a str, &'a str, &'a [&'a str], &'a [&'a str]);
    let default = PlanOptions::default();
    let cases: &[Case<'_>] = &[
        // current, base, target, actions, kept
        ("a=1", "a=1", "a=1", &[], &[]),
        ("a=1", "a=1", "a=2", &["replace a"], &[]),
        ("a=2", "a=1", "a=2", &[], &[]),
        ("a=3", "a=1", "a=2", &[], &["a Changed"]),
        ("a=3", "a=1", "a=1", &[], &["a Changed"]),
        ("a=1", "a=1", "", &["remove a"], &[]),
        ("a=3", "a=1", "", &[], &["a Changed"]),
        ("", "a=1", "", &[], &[]),
        ("", "a=1", "a=1", &[], &["a Removed"]),
        ("", "a=1", "a=2", &[], &["a Removed"]),
        ("", "", "a=1", &["create a"], &[]),
        ("a=3", "", "a=1", &[], &["a Unknown"]),
        ("a=3", "", "", &[], &["a Unknown"]),
        // Directories go only when they are empty.
        ("d/a=1 d/u=9", "d/a=1", "", &["remove d/a"], &["d NotEmpty", "d/u Unknown"]),
        ("d/a=1", "d/a=1", "", &["remove d/a", "remove d"], &[]),
        ("d/a=1", "d/a=1", "d=2", &["remove d/a", "replace d"], &[]),
        ("d/u=9 d/a=1", "d/a=1", "d=2", &["remove d/a"], &["d NotEmpty", "d/u Unknown"]),
        ("d=1", "d=1", "d/a=2", &["replace d", "create d/a"], &[]),
        ("d=3", "d=1", "d/a=2", &[], &["d Changed", "d/a Blocked"]),
    ];
    for (current, base, target, actions, kept) in cases {
        let expected = (strings(actions), strings(kept));
        assert_eq!(planned(current, base, target, &default), expected, "{current:?} {base:?} {target:?}");
    }
}

#[test]
fn force_overwrites_changes_and_still_removes_nothing_unknown() {
    let force = PlanOptions { force: true, ..PlanOptions::default() };
    assert_eq!(planned("a=3 u=9", "a=1", "a=2", &force), (strings(&["replace a"]), strings(&["u Unknown"])));
    assert_eq!(planned("a=3 u=9", "a=1", "", &force), (strings(&["remove a"]), strings(&["u Unknown"])));
    assert_eq!(planned("a=3", "", "a=2", &force), (strings(&["replace a"]), strings(&[])));
}

#[test]
fn excluded_paths_and_those_of_others_stay() {
    let by_rule = |path: &TreePath, _: bool| path.name().ends_with(b".log");
    let options = PlanOptions {
        excluded: vec![path("cache")],
        is_excluded: Some(&by_rule),
        others: vec![Other::new(path("theirs"), Whose::Session)],
        ..PlanOptions::default()
    };
    assert_eq!(
        planned("a.log=1 theirs=1 b=1", "a.log=1 theirs=1 b=1 cache/x=1", "b=2 cache/x=2", &options),
        (strings(&["replace b"]), strings(&["a.log Excluded", "cache Excluded", "cache/x Blocked", "theirs Others"]))
    );
    // What the rules of one of the trees exclude is made where nothing stands.
    let by_rule = PlanOptions { is_excluded: Some(&by_rule), ..PlanOptions::default() };
    assert_eq!(planned("", "", "a.log=1", &by_rule), (strings(&["create a.log"]), strings(&[])));
    assert_eq!(planned("", "a.log=1", "a.log=1", &by_rule), (strings(&[]), strings(&["a.log Removed"])));
    assert_eq!(planned("a.log=2", "", "a.log=1", &by_rule), (strings(&[]), strings(&["a.log Excluded"])));
    // What is excluded now and was not when it was taken in stays, and is listed once.
    let newly = PlanOptions { excluded: vec![path("cache")], ..PlanOptions::default() };
    let stays = |words: &[&str]| (strings(&[]), strings(words));
    assert_eq!(planned("", "cache/x=1 cache/y=1", "", &newly), stays(&["cache Excluded"]));
    assert_eq!(planned("", "", "", &newly), stays(&[]));
    let part = PlanOptions { within: vec![path("cache/x")], ..newly };
    assert_eq!(planned("", "cache/x=1 cache/y=1", "", &part), stays(&["cache/x Excluded"]));
    let forced = PlanOptions { excluded: vec![path("d/cache")], force: true, ..PlanOptions::default() };
    assert_eq!(planned("d/a=1", "d/a=1", "", &forced), (strings(&["remove d/a"]), strings(&["d NotEmpty"])));
}

#[test]
fn what_somebody_else_did_stays_and_is_said_to_be_theirs() {
    let mut yours = Other::new(path("a"), Whose::Person);
    let of = |other: &Other| PlanOptions { others: vec![other.clone()], ..PlanOptions::default() };
    // Edited, moved away, and made.
    assert_eq!(planned("a=2", "a=2", "a=1", &of(&yours)), (strings(&[]), strings(&["a Persons"])));
    assert_eq!(planned("b=1", "b=1", "a=1 b=1", &of(&yours)), (strings(&[]), strings(&["a Removed"])));
    assert_eq!(planned("a=2", "a=2", "", &of(&yours)), (strings(&[]), strings(&["a Persons"])));
    // What is in a directory is not whose the directory is.
    assert_eq!(planned("a/x=2", "a/x=2", "", &of(&yours)), (strings(&["remove a/x"]), strings(&["a Persons"])));
    assert_eq!(planned("", "", "a/x=2", &of(&yours)), (strings(&[]), strings(&["a Removed", "a/x Blocked"])));
    let force = PlanOptions { force: true, ..of(&yours) };
    assert_eq!(planned("b=1", "b=1", "a=1 b=1", &force), (strings(&["create a"]), strings(&[])));
    yours.then_steps = true;
    assert_eq!(planned("a=3", "a=3", "a=1", &of(&yours)), (strings(&[]), strings(&["a PersonsAndSteps"])));
    assert_eq!(planned("b=1", "b=1", "a=1 b=1", &of(&yours)), (strings(&[]), strings(&["a PersonsAndSteps"])));
    let theirs = Other { whose: Whose::Session, ..yours.clone() };
    assert_eq!(planned("a=3", "a=3", "a=1", &of(&theirs)), (strings(&[]), strings(&["a OthersAndSteps"])));
    let unsure = Other { whose: Whose::Unsure, ..yours };
    assert_eq!(planned("a=3", "a=3", "a=1", &of(&unsure)), (strings(&[]), strings(&["a PerhapsOthers"])));
}

#[test]
fn what_a_step_left_that_was_cut_off_goes_back_as_long_as_nobody_was_at_it() {
    let torn = |current: &str| {
        let torn = ["a", "b", "n"].map(|name| Torn::new(path(name), listing(current).get(&path(name))));
        PlanOptions { torn: torn.to_vec(), ..PlanOptions::default() }
    };
    let (left, before) = ("a=9 n=9", "a=1 b=1");
    assert_eq!(
        planned(left, before, before, &torn(left)),
        (strings(&["remove n", "replace a", "create b"]), strings(&[]))
    );
    assert_eq!(planned(left, before, "a=2", &torn(left)), (strings(&["remove n", "replace a"]), strings(&[])));
    assert_eq!(
        planned("a=3 b=3 n=9", before, before, &torn(left)),
        (strings(&["remove n"]), strings(&["a Changed", "b Changed"]))
    );
}

#[test]
fn within_touches_nothing_else_and_makes_the_way_there() {
    let options = PlanOptions { within: vec![path("d/e")], ..PlanOptions::default() };
    assert_eq!(
        planned("a=1", "a=1", "a=2 d/e/f=2 d/g=2", &options),
        (strings(&["create d", "create d/e", "create d/e/f"]), strings(&[]))
    );
}

#[test]
fn what_could_not_be_read_stays() {
    let mut unread = listing("a=1 d/");
    let entries = unread.iter().cloned().map(|(path, mut entry)| {
        if path.name() == b"d" {
            entry.content = Content::Unread(crate::tree::EntryType::Directory);
        }
        (path, entry)
    });
    unread = Listing::new(entries.collect());
    // Children of a directory that could not be read are not in the tree, and are not gone for that.
    let found = plan(&listing("a=1 d/x=1"), &listing("a=1 d/x=1"), &unread, &PlanOptions::default());
    assert!(shown(&found).1.contains(&"d Unread".to_owned()));
    assert!(!found.actions.iter().any(|action| action.path() == &path("d/x")), "{found:?}");
}

#[test]
fn a_change_of_mode_alone_is_set_and_anothers_is_kept() {
    let with_mode = |mode| {
        let listing = listing("a=1");
        Listing::new(
            listing
                .iter()
                .cloned()
                .map(|(path, mut entry)| {
                    if path.name() == b"a" {
                        entry.metadata.mode = mode;
                    }
                    (path, entry)
                })
                .collect(),
        )
    };
    let default = PlanOptions::default();
    assert_eq!(shown(&plan(&with_mode(0o644), &with_mode(0o644), &with_mode(0o600), &default)).0, ["set a"]);
    assert_eq!(shown(&plan(&with_mode(0o755), &with_mode(0o644), &with_mode(0o600), &default)).1, ["a Changed"]);
}

#[test]
fn the_time_of_a_directory_is_put_right_unless_something_in_it_is_kept() {
    let with_time = |words: &str, mtime| {
        let listing = listing(words);
        let entries = listing.iter().cloned().map(|(path, mut entry)| {
            if path.name() == b"d" {
                entry.metadata.mtime = mtime;
            }
            (path, entry)
        });
        Listing::new(entries.collect())
    };
    let default = PlanOptions::default();
    let base = with_time("d/a=1", 5);
    assert_eq!(shown(&plan(&with_time("d/a=1", 9), &base, &base, &default)).0, ["set d"]);
    assert_eq!(shown(&plan(&with_time("d/a=1 d/u=1", 9), &base, &base, &default)).0, Vec::<String>::new());
    assert_eq!(shown(&plan(&with_time("d/a=2", 9), &base, &base, &default)).0, Vec::<String>::new());
}

#[test]
fn a_git_repository_is_put_back_whole_or_kept_whole() {
    // A commit that samite did not write refers to a blob that it did.
    let base = "f=1 .git/HEAD=1 .git/index=2 .git/objects/aa/blob=1 .git/refs/heads/main=1";
    let now = "f=1 .git/HEAD=1 .git/index=2 .git/objects/aa/blob=1 .git/objects/bb/commit=1 .git/refs/heads/main=2";
    let before = ".git/HEAD=1 .git/index=1 .git/refs/heads/main=1";
    let default = PlanOptions::default();
    let kept = |reason| (strings(&["remove f"]), strings(&[reason]));
    assert_eq!(planned(now, base, before, &default), kept(".git Unknown"));
    let committed = "f=1 .git/HEAD=1 .git/index=2 .git/objects/aa/blob=1 .git/refs/heads/main=2";
    assert_eq!(planned(committed, base, before, &default), kept(".git Changed"));
    // What rules leave out in it stays, so that it cannot go: all of it stays.
    let log = PlanOptions { excluded: vec![path("d/.git/gc.log")], ..PlanOptions::default() };
    let inside = "d/.git/HEAD=1 d/.git/refs/main=1";
    assert_eq!(planned(inside, inside, "", &log), (strings(&[]), strings(&["d NotEmpty", "d/.git NotEmpty"])));
    let deeper = PlanOptions { excluded: vec![path("d/.git/refs/x.log")], ..PlanOptions::default() };
    assert_eq!(planned(inside, inside, "d/.git/HEAD=2", &deeper), (strings(&[]), strings(&["d/.git NotEmpty"])));
    assert_eq!(planned(inside, inside, &inside.replace("=1", "=2"), &deeper).1, strings(&[]));
    // A restore that died had made some of it, where somebody else had been at work before; not all has its time yet.
    let half = Listing::new(
        listing("d/.git/HEAD=1 d/.git/refs/")
            .iter()
            .map(|(path, entry)| {
                let mut entry = entry.clone();
                entry.metadata.mtime = 1;
                (path.clone(), entry)
            })
            .collect(),
    );
    let others = PlanOptions { others: vec![Other::new(path("d"), Whose::Session)], ..PlanOptions::default() };
    let done = shown(&plan(&half, &listing(""), &listing(inside), &others));
    assert_eq!(done.1, strings(&[]));
    assert!(done.0.contains(&"create d/.git/refs/main".to_owned()), "{done:?}");
    let of_others =
        PlanOptions { others: vec![Other::new(path(".git/index"), Whose::Session)], ..PlanOptions::default() };
    assert_eq!(planned(base, base, before, &of_others), kept(".git Others"));
    let (actions, kept) = planned(base, base, before, &default);
    assert_eq!(kept, Vec::<String>::new());
    assert!(actions.contains(&"remove .git/objects/aa/blob".to_owned()), "{actions:?}");
    // A bare one, at any depth; and a directory that goes only when the one in it does.
    let moved = |words: &str| words.replace(".git/", "d/r/");
    let found = planned(&moved(now), &moved(base), "", &default);
    assert_eq!(found, (strings(&["remove f"]), strings(&["d NotEmpty", "d/r Unknown"])));
    assert!(
        plan(&listing(&moved(now)), &listing(&moved(base)), &listing(""), &default).kept.iter().any(|k| k.repository)
    );
}

#[test]
fn a_part_of_a_git_repository_is_put_back_only_where_the_rest_is_right() {
    let options = PlanOptions { within: vec![path(".git/config")], ..PlanOptions::default() };
    let target = ".git/HEAD=1 .git/config=1";
    let now = ".git/HEAD=1 .git/config=2";
    assert_eq!(planned(now, now, target, &options), (strings(&["replace .git/config"]), strings(&[])));
    let now = ".git/HEAD=2 .git/config=2 f=1";
    assert_eq!(planned(now, now, target, &options), (strings(&[]), strings(&[".git Parted"])));
    let whole = PlanOptions { within: vec![path(".git")], ..PlanOptions::default() };
    let both = strings(&["replace .git/HEAD", "replace .git/config"]);
    assert_eq!(planned(now, now, target, &whole), (both, strings(&[])));
}

type Model = BTreeMap<TreePath, Entry>;

fn apply(model: &mut Model, action: &Action) {
    match action {
        Action::Create { path, entry } => assert!(model.insert(path.clone(), entry.clone()).is_none()),
        Action::Replace { path, entry, was } | Action::SetMetadata { path, entry, was } => {
            assert!(model.insert(path.clone(), entry.clone()).unwrap().content.is_same(&was.content));
            if removes_directory(action) {
                assert!(!model.keys().any(|other| other != path && other.is_within(path)), "{path} is not empty");
            }
        }
        Action::Remove { path, .. } => {
            assert!(model.remove(path).is_some());
            assert!(!model.keys().any(|other| other.is_within(path)), "{path} is not empty");
        }
    }
    if let Some(parent) = action.path().parent() {
        assert!(is_directory(model.get(&parent)), "{} has no directory", action.path());
    }
}

fn any_listing() -> impl Strategy<Value = Listing> {
    any_listing_of(vec!["a", "b", "d", "d/a", "d/b", "d/e", "d/e/f"])
}

fn any_listing_with_repositories() -> impl Strategy<Value = Listing> {
    any_listing_of(vec![
        "a",
        "d",
        "d/a",
        "d/.git",
        "d/.git/a",
        "d/.git/b",
        "d/.git/c/a",
        "r/HEAD",
        "r/objects/a",
        "r/objects/b",
        "r/refs/a",
        "r/.git/a",
    ])
}

fn any_listing_of(names: Vec<&'static str>) -> impl Strategy<Value = Listing> {
    let (most, words) = (names.len(), prop::collection::vec(prop::sample::select(names), 0..10));
    (words, prop::collection::vec(0_u8..3, most.max(10))).prop_map(|(names, bytes)| {
        let mut files: BTreeMap<&str, u8> = BTreeMap::new();
        for (name, byte) in names.into_iter().zip(bytes) {
            let clash =
                files.keys().any(|other| path(name).is_within(&path(other)) || path(other).is_within(&path(name)));
            if !clash {
                files.insert(name, byte);
            }
        }
        let words: Vec<String> = files.iter().map(|(name, byte)| format!("{name}={byte}")).collect();
        listing(&words.join(" "))
    })
}

fn model(listing: &Listing) -> Model {
    listing.iter().cloned().collect()
}

fn listed(model: &Model) -> Listing {
    Listing::new(model.clone().into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn nobodys_work_is_lost(current in any_listing(), base in any_listing(), target in any_listing(), force: bool) {
        let options = PlanOptions { force, ..PlanOptions::default() };
        let found = plan(&current, &base, &target, &options);
        let mut after = model(&current);
        found.actions.iter().for_each(|action| apply(&mut after, action));
        for (path, entry) in &current {
            if is_directory(Some(entry)) { continue }
            let known = [&base, &target].iter().any(|listing| listing.get(path).is_some_and(|e| e.content == entry.content));
            let named = [&base, &target].iter().any(|listing| listing.get(path).is_some());
            if !(known || force && named) {
                prop_assert_eq!(after.get(path), Some(entry), "{} was lost", path);
            }
        }
    }

    #[test]
    fn a_git_repository_is_never_split(
        current in any_listing_with_repositories(),
        base in any_listing_with_repositories(),
        target in any_listing_with_repositories(),
        others in prop::sample::subsequence(vec!["a", "d", "d/.git/b", "r/objects", "r/HEAD"], 0..3),
        within in prop::sample::subsequence(vec!["a", "d", "d/.git/b", "d/.git/c", "r", "r/objects"], 0..3),
        force: bool,
        done in 0_usize..12,
    ) {
        let paths = |names: Vec<&str>| names.into_iter().map(path).collect::<Vec<_>>();
        let others = paths(others).into_iter().map(|path| Other::new(path, Whose::Session)).collect();
        let options = PlanOptions { force, others, within: paths(within), ..PlanOptions::default() };
        let found = plan(&current, &base, &target, &options);
        let mut after = model(&current);
        found.actions.iter().for_each(|action| apply(&mut after, action));
        let all = [&current, &base, &target];
        let is_there = |name: &str| all.iter().any(|listing| is_directory(listing.get(&path(name))));
        let head = all.iter().any(|listing| listing.get(&path("r/HEAD")).is_some());
        let root = if head && is_there("r/objects") && is_there("r/refs") { "r" } else { "r/.git" };
        for unit in [path("d/.git"), path(root)] {
            if !all.iter().any(|listing| is_directory(listing.get(&unit))) { continue }
            let files = |model: &Model| -> Model {
                model.iter().filter(|(path, entry)| path.is_within(&unit) && !is_directory(Some(entry)))
                    .map(|(path, entry)| (path.clone(), entry.clone())).collect()
            };
            let (is, was, shall) = (files(&after), files(&model(&current)), files(&model(&target)));
            prop_assert!(is == was || is == shall, "{unit} is {is:?}, was {was:?}, and shall be {shall:?}");
            let listed: Vec<_> = found.kept.iter().filter(|kept| kept.path.is_within(&unit)).collect();
            prop_assert!(listed.len() <= 1, "{unit} is listed several times: {listed:?}");
            prop_assert!(listed.iter().all(|kept| kept.repository && kept.path == unit), "{listed:?}");
        }
        let mut half = model(&current);
        found.actions.iter().take(done).for_each(|action| apply(&mut half, action));
        let again = plan(&listed(&half), &base, &target, &options);
        again.actions.iter().for_each(|action| apply(&mut half, action));
        prop_assert_eq!(listed(&half), listed(&after));
    }

    #[test]
    fn a_directory_as_in_base_becomes_the_target(base in any_listing(), target in any_listing()) {
        let found = plan(&base, &base, &target, &PlanOptions::default());
        let mut after = model(&base);
        found.actions.iter().for_each(|action| apply(&mut after, action));
        prop_assert!(found.kept.is_empty());
        prop_assert_eq!(listed(&after), target);
    }

    #[test]
    fn a_restore_that_died_is_rolled_forward_by_planning_again(
        current in any_listing(), base in any_listing(), target in any_listing(), done in 0_usize..8,
    ) {
        let options = PlanOptions::default();
        let found = plan(&current, &base, &target, &options);
        let mut whole = model(&current);
        found.actions.iter().for_each(|action| apply(&mut whole, action));
        let mut half = model(&current);
        found.actions.iter().take(done).for_each(|action| apply(&mut half, action));
        let again = plan(&listed(&half), &base, &target, &options);
        again.actions.iter().for_each(|action| apply(&mut half, action));
        prop_assert_eq!(listed(&half), listed(&whole));
        prop_assert!(plan(&listed(&whole), &base, &target, &options).actions.is_empty());
    }
}
