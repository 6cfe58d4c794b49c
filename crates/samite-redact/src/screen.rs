//! Looks at the bytes of a file, which stay as they are: cheaper than redaction, since files come by the ten thousand.

use crate::alphabet::slice;
use crate::finding::{Found, Hit, Part, settle};
use crate::pii;
use crate::placeholder;
use crate::policy::Mode;
use crate::redactor::{Finding, Redactor};
use crate::secret::{self, Depth};

/// How many bytes of a file are looked at to tell whether it is text.
const HEAD: usize = 8000;

/// Whether bytes are looked at as text: there is no zero byte among the first 8,000, which is git's rule too. Text in UTF-16 is
/// none by it.
pub fn is_text(bytes: &[u8]) -> bool {
    memchr::memchr(0, slice(bytes, 0, bytes.len().min(HEAD))).is_none()
}

impl Redactor {
    /// What is in the bytes of a file, where it stands: nothing is replaced and no encoding undone, registered secrets aside, which
    /// are found in all of theirs. In bytes that are no text ([`is_text`]) nothing is looked for. A class that the policy has switched
    /// off is not looked for, and personal data only where the policy asks for it in files.
    pub fn screen(&self, bytes: &[u8]) -> Vec<Finding> {
        if bytes.len() < 8 || !is_text(bytes) {
            return Vec::new();
        }
        let policy = self.policy();
        let mut hits: Vec<Hit> = Vec::new();
        let mut found: Vec<Found> = Vec::new();
        if policy.secrets != Mode::Off {
            secret::scan(bytes, Depth::All, &mut hits);
            self.registered_in(bytes, &mut found);
        }
        if policy.files_pii && policy.pii != Mode::Off {
            pii::scan(bytes, b"", &mut hits);
        }
        if policy.pattern_mode != Mode::Off {
            self.patterns_in(bytes, &mut hits);
        }
        if hits.is_empty() && found.is_empty() {
            return Vec::new();
        }
        found.extend(hits.into_iter().map(|hit| {
            let part = slice(bytes, hit.range.start, hit.range.end).to_vec();
            Found {
                places: vec![hit.range],
                mode: Mode::Report,
                rank: hit.rank,
                parts: vec![Part { class: hit.class, kind: hit.kind, bytes: part }],
                depth: 0,
            }
        }));
        // What a placeholder holds was found once, and is gone.
        let placeholders = placeholder::all(bytes);
        found.retain(|one| placeholders.iter().all(|other| one.end() <= other.start || other.end <= one.start()));
        for one in &mut found {
            one.mode = Mode::Report;
        }
        self.findings(&settle(found), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Pattern, Policy, Registered};
    use std::sync::Arc;

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn found(policy: &Policy, text: &[u8]) -> Vec<(Class, String, String)> {
        let mine = [Registered { name: "mine".to_owned(), secret: b"quite my own words".to_vec() }];
        let redactor = Redactor::new(policy, &mine, Arc::new(|_: &[u8]| [7; 4])).unwrap();
        let place = |one: &Finding| {
            let place = one.place.clone().unwrap();
            String::from_utf8_lossy(&text[place]).into_owned()
        };
        redactor.screen(text).iter().map(|one| (one.class, one.kind.to_string(), place(one))).collect()
    }

    #[test]
    fn secrets_are_found_where_they_stand_and_personal_data_where_it_is_asked_for() {
        let text =
            format!("# config\nGITHUB={TOKEN}\nPASSWORD=aB3x!Qz9kLm\nmail ada@lovelace.example\nquite my own words\n");
        let usual = Policy::default();
        let secrets = found(&usual, text.as_bytes());
        let kinds: Vec<&str> = secrets.iter().map(|one| one.1.as_str()).collect();
        assert_eq!(kinds, ["github-token", "credential", "mine"]);
        assert_eq!(secrets[0].2, TOKEN);
        assert_eq!(secrets[1].2, "aB3x!Qz9kLm");
        let with = Policy { files_pii: true, ..Policy::default() };
        assert!(found(&with, text.as_bytes()).iter().any(|one| one.0 == Class::Pii && one.2 == "ada@lovelace.example"));
        let off = Policy { secrets: Mode::Off, ..with.clone() };
        assert!(found(&off, text.as_bytes()).iter().all(|one| one.0 == Class::Pii));
        let off = Policy { pii: Mode::Off, ..with };
        assert!(found(&off, text.as_bytes()).iter().all(|one| one.0 == Class::Secret));
        let own = Policy {
            patterns: vec![Pattern { name: "own".to_owned(), expression: "# [a-z]+".to_owned() }],
            ..Policy::default()
        };
        assert_eq!(found(&own, text.as_bytes())[0], (Class::Pattern, "own".to_owned(), "# config".to_owned()));
    }

    #[test]
    fn what_is_no_text_and_what_a_placeholder_holds_is_passed_over() {
        let usual = Policy::default();
        let text = format!("token={TOKEN}");
        assert_eq!(found(&usual, text.as_bytes()).len(), 1);
        assert!(found(&usual, &[b"\0", text.as_bytes()].concat()).is_empty());
        assert!(is_text(text.as_bytes()) && !is_text(b"a\0b"));
        // A zero byte further on makes it no other thing.
        let long = [text.as_bytes(), &[b' '; HEAD], b"\0"].concat();
        assert_eq!(found(&usual, &long).len(), 1);
        assert!(found(&usual, b"password=[secret:credential:3f9a2c1b:8]").is_empty());
        assert!(found(&usual, b"").is_empty());
    }

    #[test]
    fn what_was_stored_of_a_policy_before_files_were_looked_at_is_read_as_the_default() {
        let stored = r#"{"secrets":"redact","pii":"report","pattern_mode":"redact","patterns":[]}"#;
        let policy: Policy = serde_json::from_str(stored).unwrap();
        assert_eq!(policy, Policy::default());
        assert_eq!(serde_json::to_string(&policy).unwrap(), stored);
        let set = Policy { files: crate::Files::Separate, files_pii: true, files_separated: true, ..Policy::default() };
        let stored = serde_json::to_string(&set).unwrap();
        assert!(
            stored.ends_with(r#""patterns":[],"files":"separate","files_pii":true,"files_separated":true}"#),
            "{stored}"
        );
        assert_eq!(serde_json::from_str::<Policy>(&stored).unwrap(), set);
    }
}
