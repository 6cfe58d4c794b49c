//! The pass over a text, and what each place that it stops at is looked at for.

use super::assign::{name_around, value_beside};
use super::checksum::has_crc;
use super::formats::FORMATS;
use super::prefilter::{LEAST, Prefilter};
use super::{account, block, command, header, pair, prose, structure, url};
use crate::alphabet::{ALPHA, before, byte, slice};
use crate::finding::{Hit, Rank};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::ops::Range;
use std::sync::OnceLock;

/// What looks for a token around a place, and says what it is called.
type Find = fn(&[u8], usize) -> Option<(Range<usize>, &'static str)>;

/// What to look at where the pass stops.
#[derive(Clone, Copy)]
enum Look {
    /// A form of tokens, by its place in the list.
    Format(usize),
    /// A word that names secrets.
    Name,
    Address,
    PrivateKey,
    WebToken,
    Bearer,
    Basic,
    Cookies,
    UserOption,
    ClientOption,
    Structure(Find),
    /// The same, where a text is not an id by its name.
    Beside(fn(&[u8], &Range<usize>) -> Option<Range<usize>>),
}

/// Words that name secrets; `name` decides which of them do.
const NAMES: &[&str] = &[
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "_pass",
    "dbpass",
    "pass=",
    "pass:",
    "psk=",
    "psk:",
    "psk\"",
    "pass\"",
    "_pw",
    "pw=",
    "contrasena",
    "motdepasse",
    "senha",
    "kennwort",
    "wachtwoord",
    "passord",
    "adgangskode",
    "salasana",
    "secret",
    "key",
    "token",
    "credential",
    "cred=",
    "creds",
    "jwt",
    "pepper",
    "auth",
    "session",
    "sid=",
    "_sid",
    "cookie",
    "sig=",
    "_pat",
    "pat=",
    "mnemonic",
];

/// Marks that are looked at for one thing each.
const MARKS: &[(&str, Look)] = &[
    ("://", Look::Address),
    ("-----begin ", Look::PrivateKey),
    ("eyj", Look::WebToken),
    ("bearer", Look::Bearer),
    ("basic ", Look::Basic),
    ("cookie:", Look::Cookies),
    ("-u ", Look::UserOption),
    ("--user ", Look::UserOption),
    ("--user=", Look::UserOption),
    ("sshpass", Look::ClientOption),
    ("mysql", Look::ClientOption),
    ("x-amz-signature=", Look::Structure(structure::aws_signature)),
    ("sig=", Look::Structure(structure::azure_signature)),
    (":aa", Look::Structure(structure::telegram)),
    ("q~", Look::Structure(structure::azure)),
    ("-us", Look::Structure(structure::mailchimp)),
    ("_mmk", Look::Structure(structure::maxmind)),
    (".atlasv1.", Look::Structure(structure::terraform)),
    ("t3blbkfj", Look::Structure(structure::openai)),
    ("ibaakc", Look::Structure(block::bare_key)),
    ("ibaakb", Look::Structure(block::bare_key)),
    ("ibadanbgkqhkig9w0baqefaasc", Look::Structure(block::bare_key)),
    ("ageambmgbyqgsm49ageg", Look::Structure(block::bare_key)),
    ("ageambagbyqgsm49ageg", Look::Structure(block::bare_key)),
    ("mhccaqeei", Look::Structure(block::bare_key)),
    ("migkagebbd", Look::Structure(block::bare_key)),
    ("mihcagebbe", Look::Structure(block::bare_key)),
    ("mc4caqawbqydk2v", Look::Structure(block::bare_key)),
    ("mfecaqewbqydk2v", Look::Structure(block::bare_key)),
    ("b3blbnnzac1rzxktdje", Look::Structure(block::bare_key)),
    (":5432:", Look::Beside(account::pgpass)),
    (":5433:", Look::Beside(account::pgpass)),
    (":5439:", Look::Beside(account::pgpass)),
    (":6432:", Look::Beside(account::pgpass)),
    (":26257:", Look::Beside(account::pgpass)),
    (":*:", Look::Beside(account::pgpass)),
    ("identified by", Look::Beside(command::identified)),
    ("_password by", Look::Beside(command::identified)),
    ("sudo -s", Look::Beside(command::piped)),
    ("chpasswd", Look::Beside(command::changed)),
];

struct Engine {
    prefilter: Prefilter,
    /// What to look at, by pattern; and how far before the pattern's beginning that begins.
    looks: Vec<Vec<(Look, usize)>>,
}

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut patterns: Vec<Vec<u8>> = Vec::new();
        let mut looks: Vec<Vec<(Look, usize)>> = Vec::new();
        let mut add = |text: Vec<u8>, look: Look, skipped: usize| {
            if let Some(looks) = patterns.iter().position(|other| *other == text).and_then(|at| looks.get_mut(at)) {
                looks.push((look, skipped));
            } else {
                patterns.push(text);
                looks.push(vec![(look, skipped)]);
            }
        };
        for (at, format) in FORMATS.iter().enumerate() {
            let prefix = format.prefix.to_ascii_lowercase();
            if prefix.len() >= LEAST {
                add(prefix, Look::Format(at), 0);
            } else {
                // A short prefix is followed by digits.
                for digit in b'0'..=b'9' {
                    add([prefix.as_slice(), &[digit]].concat(), Look::Format(at), 0);
                }
            }
        }
        for name in NAMES {
            add(name.as_bytes().to_vec(), Look::Name, 0);
        }
        for client in command::clients() {
            add(client.as_bytes().to_vec(), Look::Beside(command::option), 0);
        }
        for word in prose::PHRASES {
            add(word.as_bytes().to_vec(), Look::Beside(prose::phrase), 0);
        }
        for word in prose::words() {
            add(word.as_bytes().to_vec(), Look::Beside(prose::secret), 0);
        }
        for (mark, look) in MARKS {
            if mark.len() >= LEAST {
                add(mark.as_bytes().to_vec(), *look, 0);
            } else {
                for digit in b'0'..=b'9' {
                    add([&[digit], mark.as_bytes()].concat(), *look, 1);
                }
            }
        }
        Engine { prefilter: Prefilter::new(patterns), looks }
    })
}

/// Whether a name may be that of a secret; `name` decides.
pub(crate) fn names_secret(name: &[u8]) -> bool {
    static AUTOMATON: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = || {
        let words = [
            "pass",
            "pwd",
            "pw",
            "contrasena",
            "motdepasse",
            "senha",
            "kennwort",
            "wachtwoord",
            "adgangskode",
            "salasana",
            "secret",
            "key",
            "token",
            "cred",
            "jwt",
            "pepper",
            "auth",
            "session",
            "sid",
            "cookie",
            "sig",
            "pat",
            "psk",
            "mnemonic",
        ];
        AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(words).ok()
    };
    prose::is_word(name)
        || name.len() <= 80 && AUTOMATON.get_or_init(words).as_ref().is_some_and(|automaton| automaton.is_match(name))
}

/// How much is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All of it.
    All,
    /// Forms of tokens alone: the text is an id, a time or a digest by its name.
    Forms,
}

/// Adds the secrets of a text.
pub(crate) fn scan(text: &[u8], depth: Depth, hits: &mut Vec<Hit>) {
    let engine = engine();
    let mut scanner = Scanner { text, depth, named: 0, valued: 0, within: 0, token_end: 0, key_end: 0, hits };
    engine.prefilter.each(text, |pattern, start, end| {
        for (look, skipped) in engine.looks.get(pattern).map(Vec::as_slice).unwrap_or_default() {
            scanner.look(*look, &(start + skipped..end));
        }
    });
}

struct Scanner<'a> {
    text: &'a [u8],
    depth: Depth,
    /// Where the last name that was looked at ends: one name may hold several of the words.
    named: usize,
    /// Where the last value that was judged ends, and how many names within it were looked at: a value may be a setting
    /// itself, and a hostile one is nothing but settings.
    valued: usize,
    within: usize,
    /// Where the last token that has a form ends.
    token_end: usize,
    /// Where the last private key without marks around it ends.
    key_end: usize,
    hits: &'a mut Vec<Hit>,
}

impl Scanner<'_> {
    fn look(&mut self, look: Look, place: &Range<usize>) {
        let text = self.text;
        match look {
            Look::Format(at) => self.format(at, place.start),
            Look::WebToken => {
                if byte(text, place.start) == b'e' && byte(text, place.start + 2) == b'J' {
                    self.add(block::web_token(text, place.start), "jwt", Rank::Form);
                }
            }
            Look::PrivateKey => self.add(block::private_key(text, place.start), "private-key", Rank::Block),
            // What stands in a key is a part of it, and a key is looked at once.
            Look::Structure(_) if place.start < self.key_end => {}
            Look::Structure(find) => {
                if let Some((range, kind)) = find(text, place.start) {
                    if kind == "private-key" {
                        self.key_end = range.end;
                    }
                    self.hits.push(Hit::secret(range, kind, Rank::Form));
                }
            }
            _ if self.depth == Depth::Forms => {}
            Look::Name => self.name(place),
            Look::Beside(find) => self.add(find(text, place), "credential", Rank::Name),
            Look::Address => {
                if let Some((range, kind)) = url::secret(text, place.start) {
                    self.hits.push(Hit::secret(range, kind, Rank::Address));
                }
            }
            Look::Bearer => self.add(header::bearer(text, place.end), "credential", Rank::Name),
            Look::Basic => self.add(header::basic(text, place.end - 1), "credential", Rank::Address),
            Look::Cookies => {
                for range in header::cookies(text, place.end) {
                    self.hits.push(Hit::secret(range, "credential", Rank::Name));
                }
            }
            Look::ClientOption => self.add(url::client_password(text, place.end), "credential", Rank::Name),
            Look::UserOption => {
                if matches!(before(text, place.start), b' ' | b'\t' | 0 | b'\n' | b'"' | b'\'') {
                    self.add(url::user_option(text, place.end - 1), "credential", Rank::Name);
                }
            }
        }
    }

    fn add(&mut self, range: Option<Range<usize>>, kind: &'static str, rank: Rank) {
        if let Some(range) = range {
            self.hits.push(Hit::secret(range, kind, rank));
        }
    }

    fn format(&mut self, at: usize, start: usize) {
        let Some(format) = FORMATS.get(at) else { return };
        let after_another = self.token_end > 0 && start == self.token_end;
        let end = self.checked(format.prefix, start).or_else(|| format.end(self.text, start, after_another));
        let Some(end) = end else { return };
        self.token_end = end;
        self.hits.push(Hit::secret(start..end, format.kind, Rank::Form));
        if format.kind == "aws-access-key"
            && let Some((range, kind)) = structure::aws_secret(self.text, end)
        {
            self.hits.push(Hit::secret(range, kind, Rank::Form));
        }
    }

    /// The end of a token whose checksum is right: it is one however it looks, and whatever is beside it.
    fn checked(&self, prefix: &[u8], start: usize) -> Option<usize> {
        let end = start + prefix.len() + 36;
        let token = slice(self.text, start, end);
        (prefix.ends_with(b"_") && token.starts_with(prefix) && has_crc(token)).then_some(end)
    }

    fn name(&mut self, place: &Range<usize>) {
        if place.end <= self.named {
            return;
        }
        // Most words are in prose. A name is followed by a sign, a quote or a blank; what is none of these ends it.
        let name = name_around(self.text, place);
        self.named = name.end;
        let next = byte(self.text, name.end);
        if matches!(next, b'\n' | b'\r' | b'"' | b'\'' | b'\\' | 0)
            && let Some(range) = pair::value(self.text, &name)
        {
            self.add(Some(range), "credential", Rank::Name);
            return;
        }
        if ALPHA.has(next) || next == 0 || next == b'\n' || next >= 0x80 {
            return;
        }
        let identifier = slice(self.text, name.start, name.end);
        if identifier.eq_ignore_ascii_case(b"authorization")
            || identifier.to_ascii_lowercase().ends_with(b"-authorization")
        {
            self.authorization(name.end);
            return;
        }
        if name.start >= self.valued {
            self.within = 0;
        }
        self.within += 1;
        if self.within <= 8
            && let Some(beside) = value_beside(self.text, &name)
        {
            self.valued = self.valued.max(beside.range.end);
            self.add(beside.is_secret.then_some(beside.range), "credential", Rank::Name);
        }
    }

    /// The value of a header, which has a scheme before it mostly.
    fn authorization(&mut self, at: usize) {
        let text = self.text;
        let skip = crate::alphabet::Alphabet::of(b"\"'\\ \t:=,(");
        let start = at + skip.run(text, at, 12);
        if start == at {
            return;
        }
        let scheme = start + ALPHA.run(text, start, 12);
        let word = slice(text, start, scheme).to_ascii_lowercase();
        if byte(text, scheme) == b' ' {
            match word.as_slice() {
                // The first two are marks of their own; the others hold no secret as it is.
                b"bearer" | b"basic" | b"digest" | b"negotiate" | b"aws" => {}
                _ => self.add(header::bearer(text, scheme), "credential", Rank::Name),
            }
        } else {
            self.add(header::authorization(text, &(start..start)), "credential", Rank::Name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::checksum::with_crc;
    use super::*;

    fn find(text: &str) -> Vec<(String, String)> {
        let mut hits = Vec::new();
        scan(text.as_bytes(), Depth::All, &mut hits);
        hits.into_iter().map(|hit| (text[hit.range].to_owned(), hit.kind.to_string())).collect()
    }

    #[test]
    fn a_right_checksum_is_enough() {
        let token = with_crc("ghp_", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        assert_eq!(find(&token), [(token.clone(), "github-token".to_owned())]);
        assert_eq!(find("ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), []);
        // Also where it is a part of a word.
        let token = with_crc("ghp_", "16C7e42F292c6912E7710c838347Ae");
        for text in [format!("x{token}y"), format!("{token}{token}"), format!("{token}_{token}")] {
            assert!(find(&text).iter().all(|(found, _)| *found == token), "{text}: {:?}", find(&text));
            assert_eq!(find(&text).len(), text.matches("ghp_").count(), "{text}");
        }
    }

    #[test]
    fn tokens_without_a_gap_are_found_each() {
        let github = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let aws = "AKIAQ3EGRKZ5JH7XWN4T";
        let docean = format!("dop_v1_{}", "9f86d081884c7d659a2feaa0c55ad015".repeat(2));
        let stripe = "sk_live_kR9wPq2LmXv7TzBn4YcD8sHf";
        let all = [github, aws, &docean, stripe];
        for first in all {
            for second in all {
                let whole = format!("{first}{second}");
                let found: Vec<String> = find(&whole).into_iter().map(|one| one.0).collect();
                // What may be of many lengths may take in the next.
                let taken_in = found.first() == Some(&whole) && [github, stripe].contains(&first);
                assert!(taken_in || found == [first, second], "{found:?}");
            }
        }
        assert_eq!(find(&[aws; 5].concat()).len(), 5);
        // A prefix that stands in a word by no chance; a short one may.
        assert_eq!(find(&format!("x{docean}")), [(docean.clone(), "digitalocean-token".to_owned())]);
        for text in [format!("x{github}"), format!("SLOV{aws}"), format!("{aws}QRST"), format!("{docean}0")] {
            assert_eq!(find(&text), [], "{text}");
        }
    }

    #[test]
    fn headers_are_read() {
        let token = "kR9wPq2LmXv7TzBn4YcD8sHf";
        for text in [
            format!("Authorization: Bearer {token}"),
            format!("-H 'authorization: token {token}'"),
            format!("\"Authorization\": \"Bearer {token}\""),
            format!("Authorization: {token}"),
            format!("X-Api-Key: {token}"),
            format!("Proxy-Authorization: Bearer {token}"),
        ] {
            let found = find(&text);
            assert!(found.iter().any(|(secret, _)| secret == token), "{text}: {found:?}");
        }
    }
}
