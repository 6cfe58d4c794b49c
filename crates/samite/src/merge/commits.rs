//! Which commits one side of a git repository has and the other has not. Pure: it reads refs and loose objects through
//! [`Files`], and runs no git.
//!
//! What is in a pack is not read. That costs nothing as long as both sides have the same packs, as they have unless one of
//! them was repacked or fetched much; else the count is a lower bound, and says so.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use std::collections::{BTreeMap, BTreeSet};

/// A longer object is not read: 1 MiB.
const OBJECT_LIMIT: usize = 1 << 20;
/// So many commits are looked at.
const COMMITS: usize = 10_000;
/// So much of a commit's first line is kept, in characters.
const SUBJECT: usize = 100;

/// The files of a repository, by their paths in it.
pub(super) trait Files {
    /// What a file holds; none where there is none that could be read.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    /// Whether there is one.
    fn has(&self, path: &str) -> bool;
    /// The paths of all files in a directory, at any depth.
    fn within(&self, directory: &str) -> Vec<String>;
}

/// What one side of a repository has that the other has not.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct RepositorySide {
    /// The branch that is checked out, such as `main`; none where that is a commit.
    pub branch: Option<String>,
    /// The commit that is checked out, in hexadecimal; none where that could not be read.
    pub tip: Option<String>,
    /// The first line of what that commit says; none where it is in a pack.
    pub subject: Option<String>,
    /// How many commits its branches, tags and stash lead to that the other side has not.
    pub commits: u64,
    /// Whether these are all: where something was packed on one side alone, there may be more.
    pub exact: bool,
}

/// An object that was read.
struct Object {
    is_tag: bool,
    /// What a commit's parents are, and what a tag names.
    next: Vec<String>,
    subject: String,
}

/// What `one` has that `other` has not; both come from `base`.
pub(super) fn only_in(one: &dyn Files, other: &dyn Files, base: &dyn Files) -> RepositorySide {
    let refs = refs(one);
    let head = one.read("HEAD").and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let named = head.trim().strip_prefix("ref:").map(|name| name.trim().to_owned());
    let tip = match &named {
        Some(name) => refs.get(name).cloned(),
        None => object_id(head.trim()),
    };
    let mut side = RepositorySide {
        branch: named.map(|name| name.strip_prefix("refs/heads/").map(str::to_owned).unwrap_or(name)),
        subject: tip.as_ref().and_then(|tip| object(one, tip)).map(|found| found.subject),
        tip,
        commits: 0,
        exact: true,
    };
    // What follows a remote is there.
    let own = refs.iter().filter(|(name, _)| !name.starts_with("refs/remotes/")).map(|(_, id)| id.clone());
    let mut next: Vec<String> = own.chain(side.tip.clone()).collect();
    if next.is_empty() && side.branch.is_none() {
        side.exact = false;
    }
    let (packs, other_packs, base_packs) = (packs(one), packs(other), packs(base));
    // What a ref of the other side names it has, wherever that lies.
    let known: BTreeSet<String> = [base, other].into_iter().flat_map(|files| self::refs(files).into_values()).collect();
    // Whatever is packed here the other side has in the same pack; and the other has packed nothing of ours.
    let same_packs = packs.is_subset(&other_packs) || packs.is_subset(&base_packs);
    let repacked = !(other_packs.is_subset(&packs) || other_packs.is_subset(&base_packs));
    let mut seen: BTreeSet<String> = BTreeSet::new();
    while let Some(id) = next.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let Some(loose) = loose(&id) else { continue };
        if other.has(&loose) || base.has(&loose) || known.contains(&id) {
            continue;
        }
        if seen.len() > COMMITS {
            side.exact = false;
            break;
        }
        match object(one, &id) {
            Some(found) => {
                side.commits += u64::from(!found.is_tag);
                side.exact &= !repacked;
                next.extend(found.next);
            }
            None => side.exact &= same_packs && !one.has(&loose),
        }
    }
    side
}

/// A name of an object as git writes it.
fn object_id(text: &str) -> Option<String> {
    let is_one = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| text.to_ascii_lowercase())
}

/// Where an object lies by itself.
fn loose(id: &str) -> Option<String> {
    let (directory, name) = id.split_at_checked(2)?;
    Some(format!("objects/{directory}/{name}"))
}

/// What each ref names, those that name another ref left out.
fn refs(files: &dyn Files) -> BTreeMap<String, String> {
    let packed = files.read("packed-refs").unwrap_or_default();
    let packed = String::from_utf8_lossy(&packed);
    let of_line = |line: &str| {
        let (id, name) = line.split_once(' ')?;
        Some((name.trim().to_owned(), object_id(id)?))
    };
    let mut refs: BTreeMap<String, String> = packed.lines().filter_map(of_line).collect();
    for path in files.within("refs") {
        let text = files.read(&path).unwrap_or_default();
        if let Some(id) = std::str::from_utf8(&text).ok().and_then(|text| object_id(text.trim())) {
            refs.insert(path, id);
        }
    }
    refs
}

fn packs(files: &dyn Files) -> BTreeSet<String> {
    files.within("objects/pack").into_iter().filter(|path| path.strip_suffix(".pack").is_some()).collect()
}

/// An object that lies by itself and is a commit or a tag.
fn object(files: &dyn Files, id: &str) -> Option<Object> {
    let bytes = decompress_to_vec_zlib_with_limit(&files.read(&loose(id)?)?, OBJECT_LIMIT).ok()?;
    let nul = bytes.iter().position(|byte| *byte == 0)?;
    let (head, body) = (bytes.get(..nul)?, bytes.get(nul + 1..)?);
    let is_tag = head.starts_with(b"tag ");
    if !is_tag && !head.starts_with(b"commit ") {
        return None;
    }
    let body = String::from_utf8_lossy(body);
    let (headers, message) = body.split_once("\n\n").unwrap_or((&body, ""));
    let word = if is_tag { "object " } else { "parent " };
    let next = headers.lines().filter_map(|line| object_id(line.strip_prefix(word)?)).collect();
    let subject = message.lines().next().unwrap_or_default().chars().take(SUBJECT).collect();
    Some(Object { is_tag, next, subject })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Default)]
    struct Repository(BTreeMap<String, Vec<u8>>);

    impl Files for Repository {
        fn read(&self, path: &str) -> Option<Vec<u8>> {
            self.0.get(path).cloned()
        }

        fn has(&self, path: &str) -> bool {
            self.0.contains_key(path)
        }

        fn within(&self, directory: &str) -> Vec<String> {
            self.0.keys().filter(|path| path.starts_with(&format!("{directory}/"))).cloned().collect()
        }
    }

    fn id(name: &str) -> String {
        name.repeat(40)
    }

    impl Repository {
        fn put(mut self, path: &str, text: &str) -> Self {
            self.0.insert(path.to_owned(), text.as_bytes().to_vec());
            self
        }

        fn object(mut self, name: &str, kind: &str, headers: &str) -> Self {
            let body = format!("{headers}\nauthor x\n\nsays {name}\nand more\n");
            let bytes = format!("{kind} {}\0{body}", body.len());
            let stored = miniz_oxide::deflate::compress_to_vec_zlib(bytes.as_bytes(), 1);
            self.0.insert(loose(&id(name)).unwrap(), stored);
            self
        }

        fn commit(self, name: &str, parents: &[&str]) -> Self {
            let parents: Vec<String> = parents.iter().map(|name| format!("parent {}", id(name))).collect();
            self.object(name, "commit", &format!("tree {}\n{}", id("0"), parents.join("\n")))
                .put("refs/heads/main", &format!("{}\n", id(name)))
        }
    }

    /// Two commits on main.
    fn base() -> Repository {
        Repository::default().put("HEAD", "ref: refs/heads/main\n").commit("1", &[]).commit("2", &["1"])
    }

    fn counted(one: &Repository, other: &Repository) -> (u64, bool) {
        let side = only_in(one, other, &base());
        (side.commits, side.exact)
    }

    #[test]
    fn what_one_side_committed_is_counted_on_that_side_alone() {
        let ours = base().commit("a", &["2"]).commit("b", &["a"]);
        let theirs = base().commit("c", &["2"]);
        let side = only_in(&ours, &theirs, &base());
        assert_eq!((side.commits, side.exact), (2, true));
        assert_eq!((side.branch.as_deref(), side.tip), (Some("main"), Some(id("b"))));
        assert_eq!(side.subject.as_deref(), Some("says b"));
        assert_eq!(counted(&theirs, &ours), (1, true));
        assert_eq!(counted(&base(), &ours), (0, true));
        // Once one side merged the other, nothing of that one leaves.
        let both = ours.clone().commit("c", &["2"]).commit("d", &["b", "c"]);
        assert_eq!(counted(&theirs, &both), (0, true));
        assert_eq!(counted(&both, &theirs), (3, true));
    }

    #[test]
    fn every_branch_tag_and_stash_counts_and_what_follows_a_remote_does_not() {
        let elsewhere = |name: &str| base().commit("a", &["2"]).put("refs/heads/main", &id("2")).put(name, &id("a"));
        for (name, right) in [
            ("refs/heads/deep/er", 1),
            ("refs/tags/v1", 1),
            ("refs/stash", 1),
            ("refs/remotes/origin/main", 0),
            ("HEAD", 1),
        ] {
            assert_eq!(counted(&elsewhere(name), &base()), (right, true), "{name}");
        }
        let fetched = base().put("refs/remotes/fork/main", &id("a")).put("objects/pack/q.pack", "");
        assert_eq!(counted(&base().commit("a", &["2"]), &fetched), (0, true), "the other side fetched it in a pack");
        let packed = elsewhere("packed-refs")
            .put("packed-refs", &format!("# pack-refs\n{} refs/tags/x\n^{}\n", id("a"), id("2")));
        assert_eq!(counted(&packed, &base()), (1, true));
        let tag =
            elsewhere("refs/tags/x").object("e", "tag", &format!("object {}", id("a"))).put("refs/tags/x", &id("e"));
        assert_eq!(counted(&tag, &base()), (1, true), "an annotated tag is no commit");
        let side = only_in(&elsewhere("HEAD"), &base(), &base());
        assert_eq!((side.branch, side.tip), (None, Some(id("a"))));
    }

    #[test]
    fn what_is_packed_on_one_side_alone_makes_the_count_a_lower_bound() {
        let ours = base().commit("a", &["2"]);
        let packed = |mut from: Repository, names: &[&str]| {
            for name in names {
                from.0.remove(&loose(&id(name)).unwrap());
            }
            from.put("objects/pack/p.pack", "")
        };
        // Packed and committed on top of.
        assert_eq!(counted(&packed(ours.clone(), &["1", "2", "a"]).commit("b", &["a"]), &base()), (1, false));
        // Packed without a commit: the tip is where it was.
        assert_eq!(counted(&packed(base(), &["1", "2"]), &ours), (0, true));
        // The other side may have it in its pack.
        assert_eq!(counted(&ours, &packed(base(), &["1", "2"])), (1, false));
        // Both have the pack.
        assert_eq!(
            counted(&packed(ours, &["1", "2"]).put("refs/heads/old", &id("f")), &packed(base(), &["1", "2"])),
            (1, true)
        );
    }

    #[test]
    fn a_broken_repository_is_no_commit_and_no_panic() {
        for broken in [
            Repository::default(),
            base().put("HEAD", ""),
            base().put("HEAD", "ref: refs/heads/none"),
            base().put("refs/heads/main", "é"),
            base().put("refs/heads/main", &id("f")).put(&loose(&id("f")).unwrap(), "no zlib"),
            base().object("f", "blob", "").put("refs/heads/main", &id("f")),
            base().commit("a", &["a"]).commit("2", &["a"]),
        ] {
            let side = only_in(&broken, &base(), &base());
            assert!(side.commits <= 1, "{side:?}");
        }
        let unread = base().put("refs/heads/main", &id("f")).put(&loose(&id("f")).unwrap(), "no zlib");
        assert!(!only_in(&unread, &base(), &base()).exact);
        assert!(!only_in(&Repository::default(), &base(), &base()).exact);
    }
}
