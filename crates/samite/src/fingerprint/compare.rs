//! How two environments differ.

use super::{Fingerprint, Toolchain};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The distribution.
    System,
    /// The kernel.
    Kernel,
    /// The processor's architecture.
    Architecture,
    /// A toolchain.
    Toolchain,
    /// A package manifest or lock file.
    Manifest,
    /// A running service.
    Service,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "system",
            Self::Kernel => "kernel",
            Self::Architecture => "architecture",
            Self::Toolchain => "toolchain",
            Self::Manifest => "manifest",
            Self::Service => "service",
        })
    }
}

/// One difference between two environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs.
    pub subject: Subject,
    /// Its name; empty when there is only one of it.
    pub name: String,
    /// How it was: a version, a hash; none when it was not there.
    pub before: Option<String>,
    /// How it is; none when it is not there.
    pub now: Option<String>,
}

impl Difference {
    /// The difference in a few words, without the long values of hashes.
    pub fn words(&self) -> String {
        let what = format!("{} {}", self.subject, self.name);
        let what = what.trim_end();
        match (&self.before, &self.now) {
            (Some(_), Some(_)) if self.subject == Subject::Manifest => format!("{what} has changed"),
            (Some(before), Some(now)) if now == CANNOT_TELL => {
                format!("{what} was {before}; it has changed, and cannot tell its version")
            }
            (Some(before), Some(now)) if before == CANNOT_TELL => format!("{what} has changed, and is {now}"),
            (Some(before), Some(now)) => format!("{what} was {before}, is {now}"),
            (Some(_), None) if self.subject == Subject::Service => format!("{what} is no longer running"),
            (Some(_), None) => format!("{what} is gone"),
            (None, Some(_)) if self.subject == Subject::Service => format!("{what} is running now"),
            (None, Some(now)) if self.subject == Subject::Toolchain => format!("{what} is new: {now}"),
            (None, _) => format!("{what} is new"),
        }
    }
}

/// Stands for a version that could not be told.
const CANNOT_TELL: &str = "cannot tell";

/// How an environment differs from an earlier one: the system first, then toolchains, manifests and services by name. A
/// toolchain is compared when it was looked for both times. One that is another file now differs although its version
/// cannot be told.
pub fn compare(before: &Fingerprint, now: &Fingerprint) -> Vec<Difference> {
    let mut found = Vec::new();
    for (subject, before, now) in [
        (Subject::System, &before.system, &now.system),
        (Subject::Kernel, &before.kernel, &now.kernel),
        (Subject::Architecture, &before.architecture, &now.architecture),
    ] {
        if before != now {
            found.push(difference(subject, "", Some(before), Some(now)));
        }
    }
    for name in names(before.toolchains.keys(), now.toolchains.keys()) {
        let told = |toolchain: &Toolchain| toolchain.version.clone().unwrap_or_else(|| CANNOT_TELL.to_owned());
        let (was, is) = (before.toolchains.get(name), now.toolchains.get(name));
        let differs = match (was, is) {
            (Some(was), Some(is)) => match (&was.version, &is.version) {
                (Some(was), Some(is)) => was != is,
                (None, None) => false,
                _ => !was.is_file_of(is),
            },
            (Some(_), None) => now.missing.contains(name),
            (None, _) => before.missing.contains(name),
        };
        if differs {
            found.push(difference(Subject::Toolchain, name, was.map(told).as_ref(), is.map(told).as_ref()));
        }
    }
    for name in names(before.manifests.keys(), now.manifests.keys()) {
        let (before, now) = (before.manifests.get(name), now.manifests.get(name));
        if before != now {
            found.push(difference(Subject::Manifest, name, before, now));
        }
    }
    for name in before.services.symmetric_difference(&now.services) {
        let running = |services: &BTreeSet<String>| services.get(name).map(|_| "running".to_owned());
        let (before, now) = (running(&before.services), running(&now.services));
        found.push(difference(Subject::Service, name, before.as_ref(), now.as_ref()));
    }
    found
}

fn names<'a>(before: impl Iterator<Item = &'a String>, now: impl Iterator<Item = &'a String>) -> BTreeSet<&'a String> {
    before.chain(now).collect()
}

fn difference(subject: Subject, name: &str, before: Option<&String>, now: Option<&String>) -> Difference {
    Difference { subject, name: name.to_owned(), before: before.cloned(), now: now.cloned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolchain(version: Option<&str>) -> Toolchain {
        Toolchain {
            path: "/bin/x".to_owned(),
            file: "/bin/x".to_owned(),
            version: version.map(str::to_owned),
            modified: 1,
            size: 2,
            inode: 3,
        }
    }

    #[test]
    fn a_toolchain_is_compared_when_it_was_looked_for_both_times() {
        let with = |toolchains: &[(&str, Toolchain)], missing: &[&str]| Fingerprint {
            toolchains: toolchains.iter().map(|(name, toolchain)| ((*name).to_owned(), toolchain.clone())).collect(),
            missing: missing.iter().map(|name| (*name).to_owned()).collect(),
            ..Fingerprint::default()
        };
        let (known, unknown) = (toolchain(Some("1.2")), toolchain(None));
        let (known_other, unknown_other) =
            (Toolchain { size: 9, ..known.clone() }, Toolchain { inode: 9, ..unknown.clone() });
        let words = |before: &Fingerprint, now: &Fingerprint| -> Vec<String> {
            compare(before, now).iter().map(Difference::words).collect()
        };
        let nothing = Vec::<String>::new();
        let was = with(&[("go", known.clone())], &[]);
        assert_eq!(words(&was, &with(&[], &[])), nothing, "no longer called for is not gone");
        assert_eq!(words(&with(&[], &[]), &was), nothing, "newly called for is not new");
        assert_eq!(words(&was, &with(&[], &["go"])), ["toolchain go is gone"]);
        assert_eq!(words(&with(&[], &["go"]), &was), ["toolchain go is new: 1.2"]);
        assert_eq!(words(&with(&[], &["go"]), &with(&[], &["go"])), nothing);
        assert_eq!(words(&was, &with(&[("go", known_other.clone())], &[])), nothing, "the same version again");
        assert_eq!(words(&was, &with(&[("go", unknown.clone())], &[])), nothing, "it only was too slow to tell");
        assert_eq!(
            words(&was, &with(&[("go", unknown_other)], &[])),
            ["toolchain go was 1.2; it has changed, and cannot tell its version"]
        );
        assert_eq!(
            words(&with(&[("go", unknown)], &[]), &with(&[("go", known_other)], &[])),
            ["toolchain go has changed, and is 1.2"]
        );
    }

    #[test]
    fn every_kind_of_difference_has_its_words() {
        let mut before =
            Fingerprint { system: "Debian 12".to_owned(), kernel: "Linux 6".to_owned(), ..Fingerprint::default() };
        let mut now =
            Fingerprint { system: "Debian 13".to_owned(), kernel: "Linux 6".to_owned(), ..Fingerprint::default() };
        for (fingerprint, tools) in [
            (&mut before, [("cc", Some("cc 1")), ("go", Some("go 1")), ("node", Some("v1")), ("slow", None)]),
            (&mut now, [("cc", Some("cc 1")), ("go", Some("go 2")), ("rust", Some("1.9")), ("slow", Some("3"))]),
        ] {
            for (name, version) in tools {
                fingerprint.toolchains.insert(name.to_owned(), toolchain(version));
            }
        }
        for (fingerprint, manifests) in
            [(&mut before, [("a", "1"), ("b", "1"), ("c", "1")]), (&mut now, [("a", "1"), ("b", "2"), ("d", "1")])]
        {
            fingerprint.manifests.extend(manifests.map(|(name, hash)| (name.to_owned(), hash.to_owned())));
        }
        before.missing.insert("rust".to_owned());
        now.missing.insert("node".to_owned());
        before.services.extend(["postgres".to_owned(), "sshd".to_owned()]);
        now.services.extend(["redis".to_owned(), "sshd".to_owned()]);
        let words: Vec<String> = compare(&before, &now).iter().map(Difference::words).collect();
        assert_eq!(
            words,
            [
                "system was Debian 12, is Debian 13",
                "toolchain go was go 1, is go 2",
                "toolchain node is gone",
                "toolchain rust is new: 1.9",
                "manifest b has changed",
                "manifest c is gone",
                "manifest d is new",
                "service postgres is no longer running",
                "service redis is running now",
            ]
        );
        assert_eq!(compare(&before, &before), []);
        let json = serde_json::to_value(&compare(&before, &now)[0]).unwrap();
        let right = serde_json::json!({"subject": "system", "name": "", "before": "Debian 12", "now": "Debian 13"});
        assert_eq!(json, right);
    }
}
