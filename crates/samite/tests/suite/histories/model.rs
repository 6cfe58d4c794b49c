//! A simple model of trees: a plain map of paths, and in words of one line each what a restore and a merge make of three
//! of them. It knows nothing of how samite does either.

use std::collections::{BTreeMap, BTreeSet};

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A file: what it holds and its permissions.
    File { bytes: Vec<u8>, mode: u32 },
    /// A symbolic link, and where it leads.
    Link(Vec<u8>),
    /// A directory and its permissions.
    Directory { mode: u32 },
}

/// The content of a directory: relative paths with what stands there. Whatever is in a directory comes after it.
pub(super) type Tree = BTreeMap<String, Node>;

/// The file that says what is left out.
pub(super) const RULES: &str = ".samiteignore";
/// The one rule of these histories.
pub(super) const RULE: &str = "*.log\n";

impl Node {
    pub(super) const fn is_directory(&self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    const fn mode(&self) -> u32 {
        match self {
            Self::File { mode, .. } | Self::Directory { mode } => *mode,
            Self::Link(_) => 0o777,
        }
    }

    /// Whether it holds the same, whatever its permissions.
    pub(super) fn holds_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { bytes: a, .. }, Self::File { bytes: b, .. }) | (Self::Link(a), Self::Link(b)) => a == b,
            (Self::Directory { .. }, Self::Directory { .. }) => true,
            _ => false,
        }
    }
}

/// Whether a path is another, or in it.
pub(super) fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The directory that a path is in, unless that is the top.
pub(super) fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(above, _)| above)
}

/// The directories that a path is in, innermost first, without the top.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |path| parent(path))
}

/// Whether the rules of a tree leave a path out.
fn excludes(tree: &Tree, path: &str) -> bool {
    let has_rule = matches!(tree.get(RULES), Some(Node::File { bytes, .. }) if bytes == RULE.as_bytes());
    has_rule && path.split('/').any(|name| name.strip_suffix(".log").is_some())
}

/// What a snapshot takes of a tree: all of it that its own rules do not leave out.
pub(super) fn recorded(tree: &Tree) -> Tree {
    tree.iter().filter(|(path, _)| !excludes(tree, path)).map(|(path, node)| (path.clone(), node.clone())).collect()
}

/// The paths of several trees.
pub(super) fn paths<'a>(trees: &[&'a Tree]) -> BTreeSet<&'a str> {
    trees.iter().flat_map(|tree| tree.keys().map(String::as_str)).collect()
}

/// What shall be put back, and what is known of the place.
pub(super) struct Request<'a> {
    /// What the directory holds.
    pub(super) now: &'a Tree,
    /// What the session last knew it to hold.
    pub(super) base: &'a Tree,
    /// What it shall hold.
    pub(super) target: &'a Tree,
    /// What was changed while another session worked there.
    pub(super) others: &'a BTreeSet<String>,
    /// Whether changes since the base, and what is of others, are overwritten.
    pub(super) force: bool,
    /// The only paths that are asked for; all where there are none.
    pub(super) within: &'a [String],
}

/// What a path becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Becomes {
    /// What the target has there.
    AsTarget,
    /// What it is: nothing was to be done.
    AsIs,
    /// What it is, although the target has it otherwise: it is listed.
    Kept,
}

/// Whether what stands there is known: what it holds and its permissions are each as in the base or as in the target.
fn is_known(now: &Node, base: Option<&Node>, target: Option<&Node>) -> bool {
    let known = |same: &dyn Fn(&Node) -> bool| base.is_some_and(same) || target.is_some_and(same);
    known(&|node| node.holds_as(now)) && known(&|node| node.mode() == now.mode())
}

fn becomes(request: &Request<'_>, path: &str) -> Becomes {
    let Request { now, base, target, others, force, within } = request;
    let (is, was, shall) = (now.get(path), base.get(path), target.get(path));
    if !within.is_empty() && !within.iter().any(|within| is_within(path, within)) {
        // The way to what is asked for is made.
        let leads = within.iter().any(|within| is_within(within, path));
        let makes_way = leads && is.is_none() && shall.is_some_and(Node::is_directory);
        if !makes_way {
            return Becomes::AsIs;
        }
    }
    if is == shall {
        return Becomes::AsIs;
    }
    let Some(is) = is else {
        // A directory that is left out was not looked into: nothing is made in it.
        if above(path).any(|directory| now.contains_key(directory) && excludes(now, directory)) {
            return if shall.is_some() { Becomes::Kept } else { Becomes::AsIs };
        }
        // What somebody removed stays removed; what nobody knew is made.
        return match (was, shall) {
            (Some(_), Some(_)) if !force => Becomes::Kept,
            (None, Some(_)) if !force && others.contains(path) => Becomes::Kept,
            (_, Some(_)) => Becomes::AsTarget,
            (_, None) => Becomes::AsIs,
        };
    };
    let excluded = [now, base, target].into_iter().any(|tree| excludes(tree, path));
    let unknown = was.is_none() && shall.is_none();
    if excluded && unknown {
        // Nobody asked about it.
        return Becomes::AsIs;
    }
    let changed = !is_known(is, was, shall);
    let of_others = others.contains(path);
    if excluded || unknown || !force && (changed || of_others) { Becomes::Kept } else { Becomes::AsTarget }
}

/// The git repositories in any of several trees: a `.git`, or what holds `HEAD`, `objects` and `refs`.
pub(super) fn repositories(trees: &[&Tree]) -> BTreeSet<String> {
    let is_directory = |path: &str| trees.iter().any(|tree| tree.get(path).is_some_and(Node::is_directory));
    let holds = |top: &str| ["objects", "refs"].iter().all(|name| is_directory(&format!("{top}/{name}")));
    let mut found = BTreeSet::new();
    for (path, node) in trees.iter().flat_map(|tree| tree.iter()) {
        match (path.rsplit_once('/').unwrap_or(("", path)), node.is_directory()) {
            ((_, ".git"), true) => {
                found.insert(path.clone());
            }
            ((top, "HEAD"), false) if !top.is_empty() && holds(top) => {
                found.insert(top.to_owned());
            }
            _ => {}
        }
    }
    found
}

/// A directory goes only when nothing in it stays.
fn keep_above<'a>(all: &BTreeSet<&'a str>, request: &Request<'_>, verdicts: &mut BTreeMap<&'a str, Becomes>) {
    let Request { now, target, .. } = request;
    let staying: Vec<&str> = all
        .iter()
        .filter(|path| verdicts[*path] != Becomes::AsTarget && now.contains_key(**path))
        .flat_map(|path| above(path))
        .collect();
    for directory in staying {
        if !target.get(directory).is_some_and(Node::is_directory) && verdicts[directory] == Becomes::AsTarget {
            verdicts.insert(directory, Becomes::Kept);
        }
    }
}

/// Whether a repository stays as it is: something in it must, or something in it that was not asked for would have to change.
fn stays_whole(inside: &[&str], request: &Request<'_>, verdicts: &BTreeMap<&str, Becomes>) -> bool {
    let Request { now, base, target, within, .. } = request;
    // What is left out was not looked at: it may be as it was, or not.
    let is_unseen = |path: &str| {
        now.contains_key(path) && excludes(now, path) && (base.contains_key(path) || target.contains_key(path))
    };
    let is_asked = |path: &str| within.is_empty() || within.iter().any(|within| is_within(path, within));
    let same = |path: &str| match (now.get(path), target.get(path)) {
        (None, None) => true,
        (Some(now), Some(target)) => now.holds_as(target),
        _ => false,
    };
    let changes = inside.iter().any(|path| verdicts[path] == Becomes::AsTarget);
    inside.iter().any(|path| verdicts[path] == Becomes::Kept || is_asked(path) && is_unseen(path))
        || changes && inside.iter().any(|path| !is_asked(path) && !same(path))
}

/// What a restore makes of a directory, and what it lists as kept.
pub(super) fn restored(request: &Request<'_>) -> (Tree, BTreeSet<String>) {
    let Request { now, base, target, .. } = request;
    let all = paths(&[now, base, target]);
    let mut verdicts: BTreeMap<&str, Becomes> = all.iter().map(|path| (*path, becomes(request, path))).collect();
    keep_above(&all, request, &mut verdicts);
    let mut kept = BTreeSet::new();
    for whole in repositories(&[now, base, target]) {
        let inside: Vec<&str> = all.iter().copied().filter(|path| is_within(path, &whole)).collect();
        if stays_whole(&inside, request, &verdicts) {
            verdicts.extend(inside.into_iter().map(|path| (path, Becomes::AsIs)));
            kept.insert(whole);
        }
    }
    keep_above(&all, request, &mut verdicts);
    let mut after = Tree::new();
    for path in all {
        let node = if verdicts[path] == Becomes::AsTarget { target.get(path) } else { now.get(path) };
        // Nothing is made in what is kept as something other than a directory.
        let has_place = parent(path).is_none_or(|above| after.get(above).is_some_and(Node::is_directory));
        if verdicts[path] == Becomes::Kept || node.is_some() && !has_place {
            kept.insert(path.to_owned());
        }
        if let Some(node) = node.filter(|_| has_place) {
            after.insert(path.to_owned(), node.clone());
        }
    }
    (after, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(words: &str) -> Tree {
        let mut tree = Tree::new();
        for word in words.split_whitespace() {
            let (path, bytes) = word.split_once('=').unwrap();
            for directory in above(path) {
                tree.insert(directory.to_owned(), Node::Directory { mode: 0o755 });
            }
            tree.insert(path.to_owned(), Node::File { bytes: bytes.into(), mode: 0o644 });
        }
        tree
    }

    fn shown(now: &str, base: &str, target: &str) -> (Tree, String) {
        let (now, base, target, others) = (tree(now), tree(base), tree(target), BTreeSet::new());
        let request = Request { now: &now, base: &base, target: &target, others: &others, force: false, within: &[] };
        let (after, kept) = restored(&request);
        (after, kept.into_iter().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_model_of_a_restore_says_what_the_words_say() {
        // What is there, what was known, what shall be; what becomes of it, and what is listed.
        let cases = [
            ("a=1", "a=1", "a=2", "a=2", ""),
            ("a=3", "a=1", "a=2", "a=3", "a"),
            ("a=1 m=9", "a=1", "", "m=9", "m"),
            ("", "a=1", "a=2", "", "a"),
            ("", "", "a=2", "a=2", ""),
            ("d/a=1 d/m=9", "d/a=1", "", "d/m=9", "d d/m"),
            ("d/a=1 d/m=9", "d/a=1", "d=2", "d/m=9", "d d/m"),
            ("d=3", "d=1", "d/a=2", "d=3", "d d/a"),
            ("d=1", "d=1", "d/a=2", "d/a=2", ""),
        ];
        for (now, base, target, after, kept) in cases {
            assert_eq!(shown(now, base, target), (tree(after), kept.to_owned()), "{now:?} {base:?} {target:?}");
        }
    }

    #[test]
    fn the_model_keeps_a_repository_whole_or_puts_it_back_whole() {
        let cases = [
            ("r/.git/a=1 r/.git/b=1", "r/.git/a=1 r/.git/b=1", "r/.git/a=2 r/.git/b=2", "r/.git/a=2 r/.git/b=2", ""),
            (
                "r/.git/a=3 r/.git/b=1",
                "r/.git/a=1 r/.git/b=1",
                "r/.git/a=2 r/.git/b=2",
                "r/.git/a=3 r/.git/b=1",
                "r/.git",
            ),
            ("r/.git/a=1 r/.git/m=9", "r/.git/a=1", "", "r/.git/a=1 r/.git/m=9", "r r/.git"),
            (
                "r/HEAD=3 r/objects/1=1 r/refs/m=1",
                "r/HEAD=1 r/objects/1=1 r/refs/m=1",
                "",
                "r/HEAD=3 r/objects/1=1 r/refs/m=1",
                "r",
            ),
        ];
        for (now, base, target, after, kept) in cases {
            assert_eq!(shown(now, base, target), (tree(after), kept.to_owned()), "{now:?} {base:?} {target:?}");
        }
    }

    #[test]
    fn the_model_leaves_out_what_the_rules_say_and_never_removes_it() {
        let with_rule = |words: &str| {
            let mut tree = tree(words);
            tree.insert(RULES.to_owned(), Node::File { bytes: RULE.into(), mode: 0o644 });
            tree
        };
        assert_eq!(
            recorded(&with_rule("a=1 d/x.log=2")),
            with_rule("a=1 d/y=2").into_iter().filter(|(path, _)| path != "d/y").collect()
        );
        let (now, base, target) = (with_rule("a=1 x.log=9"), with_rule("a=1"), tree("a=2 x.log=1"));
        let others = BTreeSet::new();
        let request = Request { now: &now, base: &base, target: &target, others: &others, force: true, within: &[] };
        assert_eq!(restored(&request).0, tree("a=2 x.log=9"));
    }
}
