//! Finds what a policy names in a text and everything that is encoded within it, and writes the text without.

use crate::alphabet::slice;
use crate::finding::{Found, Hit, Part, Rank, settle};
use crate::pattern;
use crate::pii;
use crate::placeholder::{self, Fingerprint};
use crate::policy::{Class, Mode, Policy};
use crate::registered::{self, Registered};
use crate::secret::{self, Depth};
use crate::shape::{is_time, is_uuid};
use crate::view::lines::{self, Lines};
use crate::view::{ansi, encoded, events, json, msgpack};
use samite_model::Result;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How many encodings are undone within each other.
const DEPTH: usize = 12;
/// How often what was written is looked at again: a placeholder may show a border that hid something.
const ROUNDS: usize = 16;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub class: Class,
    /// Of which kind, as in its placeholder.
    pub kind: Cow<'static, str>,
    /// The first four bytes of its keyed hash.
    pub fingerprint: [u8; 4],
    /// Its length without encodings, in bytes.
    pub length: usize,
    /// Whether a placeholder took its place; it stays where the policy only reports.
    pub redacted: bool,
    /// The bytes of the input that hold it. None for what showed only after another placeholder was written, and
    /// in `MessagePack`.
    pub place: Option<Range<usize>>,
}

/// What came of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The text with placeholders; none when nothing was replaced.
    pub bytes: Option<Vec<u8>>,
    /// What was found, in order.
    pub findings: Vec<Finding>,
}

/// A policy, ready to be used. It holds no state: the same text always comes out the same.
#[derive(Clone)]
pub struct Redactor {
    policy: Policy,
    patterns: Arc<pattern::Finder>,
    registered: Arc<Option<registered::Finder>>,
    fingerprint: Arc<dyn Fingerprint + Send + Sync>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// What decoding may still add up to, in bytes.
struct Budget(usize);

impl Budget {
    fn of(text: &[u8]) -> Self {
        Self(text.len().saturating_mul(8).saturating_add(1 << 20))
    }

    fn takes(&mut self, length: usize) -> bool {
        let fits = length <= self.0;
        self.0 = self.0.saturating_sub(length);
        fits
    }
}

impl Redactor {
    /// Makes a policy ready.
    ///
    /// # Errors
    /// `invalid` for a name, a pattern or a registered secret that cannot be used (`bad_redaction_name`,
    /// `bad_expression`, `too_many_patterns`, `secret_too_short`, `secret_too_long`, `too_many_secrets`).
    pub fn new(
        policy: &Policy,
        registered: &[Registered],
        fingerprint: Arc<dyn Fingerprint + Send + Sync>,
    ) -> Result<Self> {
        Ok(Self {
            policy: policy.clone(),
            patterns: Arc::new(pattern::Finder::new(&policy.patterns)?),
            registered: Arc::new(registered::Finder::new(registered)?),
            fingerprint,
        })
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Redacts a text: JSON in its string leaves, so that it stays the JSON that it was, `MessagePack` likewise, anything else as
    /// it stands.
    /// What comes out is not changed by redacting it again.
    pub fn redact(&self, text: &[u8]) -> Redacted {
        self.redact_field(b"", text)
    }

    /// The same for the value of a field: a name such as `password` says what its value is.
    pub fn redact_field(&self, name: &[u8], text: &[u8]) -> Redacted {
        let mut redacted = Redacted::default();
        let mut replaced = false;
        let whole = msgpack::rewritten(text, &mut |name, leaf| {
            let inside = self.redact_text(name, leaf);
            redacted.findings.extend(inside.findings.into_iter().map(|one| Finding { place: None, ..one }));
            replaced |= inside.bytes.is_some();
            inside.bytes
        });
        match whole {
            Some(whole) => Redacted { bytes: replaced.then_some(whole), ..redacted },
            None => self.redact_text(name, text),
        }
    }

    fn redact_text(&self, name: &[u8], text: &[u8]) -> Redacted {
        self.rounds(text, |current| {
            let mut budget = Budget::of(current);
            self.walk(current, name, 0, &mut budget)
        })
    }

    /// Redacts only the strings below fields of these names, in JSON; a text that is none is redacted as a whole.
    pub fn redact_only(&self, names: &[String], text: &[u8]) -> Redacted {
        self.rounds(text, |current| {
            let mut budget = Budget::of(current);
            let mut found = Vec::new();
            let is_json = json::each(current, names, &mut |leaf| {
                if leaf.inside {
                    let key = slice(current, leaf.key.start, leaf.key.end);
                    self.leaf(current, &leaf.range, key, 0, &mut budget, &mut found);
                }
            });
            if is_json { in_order(found) } else { self.walk(current, b"", 0, &mut budget) }
        })
    }

    /// Whether lines end within a registered secret.
    pub(crate) fn is_open(&self, lines: &[u8]) -> bool {
        self.registered.as_ref().as_ref().is_some_and(|registered| registered.is_open(lines))
    }

    fn rounds(&self, text: &[u8], search: impl Fn(&[u8]) -> Vec<Found>) -> Redacted {
        let mut redacted = Redacted::default();
        for round in 0..ROUNDS {
            let current = redacted.bytes.as_deref().unwrap_or(text);
            let found = search(current);
            let replaces = found.iter().any(|one| one.mode == Mode::Redact);
            if round == 0 || replaces {
                redacted.findings.extend(self.findings(&found, round == 0));
            }
            if !replaces {
                break;
            }
            redacted.bytes = Some(self.written(current, &found));
        }
        redacted
    }

    /// Adds the registered secrets of a text.
    pub(crate) fn registered_in(&self, text: &[u8], found: &mut Vec<Found>) {
        if let Some(registered) = self.registered.as_ref() {
            let mut known = Vec::new();
            registered.find(text, &mut known);
            found.extend(known.into_iter().map(|(hit, bytes)| self.found(hit, bytes, 0)));
        }
    }

    /// Adds what the user's own patterns match.
    pub(crate) fn patterns_in(&self, text: &[u8], hits: &mut Vec<Hit>) {
        self.patterns.find(text, hits);
    }

    /// What a text holds; `name` is what a field around it is called.
    fn walk(&self, text: &[u8], name: &[u8], depth: usize, budget: &mut Budget) -> Vec<Found> {
        if depth < DEPTH {
            let mut found = Vec::new();
            let mut lines = Lines::default();
            let mut listed = Vec::new();
            let is_json = json::each(text, &[], &mut |leaf| {
                let called = if leaf.called.is_empty() { &leaf.key } else { &leaf.called };
                // A document that is one string has the name that is around it.
                let called = if called.is_empty() { name } else { slice(text, called.start, called.end) };
                self.leaf(text, &leaf.range, called, depth, budget, &mut found);
                listed.extend(lines.take(text, &leaf));
            });
            if is_json {
                listed.extend(lines.end());
                for lines in listed {
                    self.key_in(text, &lines, depth, budget, &mut found);
                }
                return in_order(found);
            }
        }
        self.flat(text, name, depth, budget)
    }

    fn leaf(
        &self,
        text: &[u8],
        range: &Range<usize>,
        name: &[u8],
        depth: usize,
        budget: &mut Budget,
        found: &mut Vec<Found>,
    ) {
        if range.len() < 5 {
            return;
        }
        match json::unescape(text, range) {
            None => {
                let inside = self.walk(slice(text, range.start, range.end), name, depth + 1, budget);
                found.extend(inside.into_iter().map(|one| one.moved(range.start)));
            }
            Some(view) if budget.takes(view.text.len()) => {
                for mut one in self.walk(&view.text, name, depth + 1, budget) {
                    one.places = one.places.iter().flat_map(|place| view.places(place)).collect();
                    if !one.places.is_empty() {
                        found.push(one);
                    }
                }
            }
            // Where decoding has come to its bound, the text is looked at as it stands.
            Some(_) => {
                let inside = self.flat(slice(text, range.start, range.end), name, DEPTH, budget);
                found.extend(inside.into_iter().map(|one| one.moved(range.start)));
            }
        }
    }

    /// Adds the private key whose lines stand in a list one by one.
    fn key_in(&self, text: &[u8], lines: &[Range<usize>], depth: usize, budget: &mut Budget, found: &mut Vec<Found>) {
        let view = lines::joined(text, lines);
        if self.policy.secrets == Mode::Off || !budget.takes(view.text.len()) {
            return;
        }
        let mut hits = Vec::new();
        secret::scan(&view.text, Depth::Forms, &mut hits);
        for hit in hits.into_iter().filter(|hit| hit.rank == Rank::Block) {
            let bytes = slice(&view.text, hit.range.start, hit.range.end).to_vec();
            let places = view.places(&hit.range);
            if !places.is_empty() {
                found.push(Found { places, ..self.found(hit, bytes, depth) });
            }
        }
    }

    /// What a text holds that is no JSON.
    fn flat(&self, text: &[u8], name: &[u8], depth: usize, budget: &mut Budget) -> Vec<Found> {
        if depth < DEPTH
            && let Some(view) = ansi::stripped(text)
            && budget.takes(view.text.len())
        {
            let mut found = self.flat(&view.text, name, depth + 1, budget);
            for one in &mut found {
                one.places = one.places.iter().filter_map(|place| view.place(place)).collect();
            }
            found.retain(|one| !one.places.is_empty());
            for inside in ansi::within(text) {
                // Without the escape that ends it.
                let ending = if slice(text, inside.start, inside.end).ends_with(b"\x1b\\") { 2 } else { 1 };
                let end = inside.end - ending;
                found.extend(
                    self.flat(slice(text, inside.start, end), b"", DEPTH - 1, budget)
                        .into_iter()
                        .map(|one| one.moved(inside.start)),
                );
            }
            return settle(found);
        }
        let identity = is_identity(name) && (is_time_field(name) || is_one_word(text));
        let unmoved = is_uuid(text) || is_time(text);
        let mut found = Vec::new();
        let mut hits = Vec::new();
        if self.policy.secrets != Mode::Off {
            if text.len() >= 8 && !unmoved {
                secret::scan(text, if identity { Depth::Forms } else { Depth::All }, &mut hits);
            }
            if !identity && secret::names_secret(name) && secret::secret_field(name, text) {
                hits.push(Hit::secret(0..text.len(), "credential", Rank::Name));
            }
            // What a role of Vault is entered with looks like an id, and is called one.
            if secret::names_secret_id(name) && is_uuid(text) {
                hits.push(Hit::secret(0..text.len(), "credential", Rank::Name));
            }
            if let Some(password) = secret::option_value(name, text) {
                hits.push(Hit::secret(password, "credential", Rank::Name));
            }
            if let Some(registered) = self.registered.as_ref() {
                let mut known = Vec::new();
                registered.find(text, &mut known);
                // A part of an id or a time stays; all of one that is registered goes.
                known.retain(|(hit, _)| !unmoved || hit.range == (0..text.len()));
                found.extend(known.into_iter().map(|(hit, bytes)| self.found(hit, bytes, depth)));
            }
        }
        if self.policy.pii != Mode::Off && !identity && !unmoved {
            pii::scan(text, name, &mut hits);
        }
        if self.policy.pattern_mode != Mode::Off {
            self.patterns.find(text, &mut hits);
        }
        if !identity && !unmoved && depth < DEPTH {
            self.encoded(text, depth, budget, &mut hits, &mut found);
        }
        if hits.is_empty() && found.is_empty() {
            return found;
        }
        found.extend(hits.into_iter().map(|hit| {
            let bytes = slice(text, hit.range.start, hit.range.end).to_vec();
            self.found(hit, bytes, depth)
        }));
        let placeholders = placeholder::all(text);
        if !placeholders.is_empty() {
            found = found.into_iter().filter_map(|one| beside(one, &placeholders)).collect();
        }
        settle(found)
    }

    fn found(&self, hit: Hit, bytes: Vec<u8>, depth: usize) -> Found {
        Found {
            places: vec![hit.range],
            mode: self.policy.mode(hit.class),
            rank: hit.rank,
            parts: vec![Part { class: hit.class, kind: hit.kind, bytes }],
            depth,
        }
    }

    /// What is hidden in runs of base64, hexadecimal or percent-encoding, or spread over the events of a stream.
    fn encoded(&self, text: &[u8], depth: usize, budget: &mut Budget, hits: &mut Vec<Hit>, found: &mut Vec<Found>) {
        // Up to where lines of one run were looked at together, and up to where they were decoded together.
        let (mut joined, mut decoded) = (0, 0);
        for run in encoded::runs(text) {
            if self.policy.secrets != Mode::Off
                && let Some((range, kind)) = secret::in_run(text, &run)
            {
                hits.push(Hit::secret(range, kind, Rank::Structure));
            }
            if run.start >= joined {
                let lines = encoded::lines(text, &run);
                joined = lines.last().map_or(run.end, |last| last.end);
                if lines.len() > 1
                    && let Some(inner) = encoded::decoded_lines(text, &lines)
                    && budget.takes(inner.len())
                {
                    decoded = joined;
                    found.extend(whole(self.walk(&inner, b"", depth + 1, budget), run.start..joined));
                }
            }
            if run.start >= decoded
                && let Some(inner) = encoded::decoded(text, &run)
                && budget.takes(inner.len())
            {
                found.extend(whole(self.walk(&inner, b"", depth + 1, budget), run));
            }
        }
        for view in encoded::percent(text) {
            if !budget.takes(view.text.len()) {
                continue;
            }
            for mut one in self.walk(&view.text, b"", depth + 1, budget) {
                one.places = one.places.iter().filter_map(|place| view.place(place)).collect();
                if !one.places.is_empty() {
                    found.push(one);
                }
            }
        }
        for view in events::joined(text) {
            if !budget.takes(view.text.len()) {
                continue;
            }
            for mut one in self.walk(&view.text, b"", depth + 1, budget) {
                one.places = one.places.iter().flat_map(|place| view.places(place)).collect();
                // A piece that holds all of it is found as it stands, too.
                if !one.places.is_empty() {
                    found.push(one);
                }
            }
        }
    }

    pub(crate) fn findings(&self, found: &[Found], placed: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        for one in found {
            for part in &one.parts {
                findings.push(Finding {
                    class: part.class,
                    kind: part.kind.clone(),
                    fingerprint: self.fingerprint.fingerprint(&part.bytes),
                    length: part.bytes.len(),
                    redacted: one.mode == Mode::Redact,
                    place: placed.then(|| one.start()..one.end()),
                });
            }
        }
        findings
    }

    /// The text with placeholders.
    fn written(&self, text: &[u8], found: &[Found]) -> Vec<u8> {
        let mut cuts: Vec<(Range<usize>, String)> = Vec::new();
        for one in found.iter().filter(|one| one.mode == Mode::Redact) {
            let mut words = String::new();
            for part in &one.parts {
                let fingerprint = self.fingerprint.fingerprint(&part.bytes);
                placeholder::write(&mut words, part.class, &part.kind, fingerprint, part.bytes.len());
            }
            for place in &one.places {
                cuts.push((place.clone(), std::mem::take(&mut words)));
            }
        }
        cuts.sort_by_key(|(place, _)| place.start);
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        for (place, words) in cuts {
            // Pieces of two findings may cross; what is cut already is cut.
            if place.end <= at {
                continue;
            }
            out.extend_from_slice(slice(text, at, place.start));
            out.extend_from_slice(words.as_bytes());
            at = place.end;
        }
        out.extend_from_slice(slice(text, at, text.len()));
        out
    }
}

/// Findings of the leaves of a document, in its order: what waited for its name came late.
fn in_order(mut found: Vec<Found>) -> Vec<Found> {
    let crosses = |pair: &[Found]| matches!(pair, [one, other] if other.start() < one.end());
    if found.windows(2).any(crosses) {
        found = settle(found);
    }
    found
}

/// One finding for a run of an encoding that goes as a whole.
fn whole(inner: Vec<Found>, run: Range<usize>) -> Option<Found> {
    let redacts = inner.iter().any(|one| one.mode == Mode::Redact);
    let mut parts = Vec::new();
    let mut rank = Rank::Person;
    let mut depth = 0;
    let mut mode = None;
    for one in inner {
        if redacts && one.mode != Mode::Redact {
            continue;
        }
        rank = rank.max(one.rank);
        depth = depth.max(one.depth);
        mode = Some(one.mode);
        parts.extend(one.parts);
    }
    parts.truncate(16);
    Some(Found { places: vec![run], parts, mode: mode?, rank, depth })
}

/// A finding without the placeholders that it holds; none when nothing of it is left. What only reaches into one was made up
/// by it.
fn beside(mut one: Found, placeholders: &[Range<usize>]) -> Option<Found> {
    let first = placeholders.partition_point(|place| place.end <= one.start());
    let end = one.end();
    let touched = placeholders.get(first..).unwrap_or_default().iter().take_while(|place| place.start < end);
    let mut left = Vec::new();
    for place in one.places {
        let mut at = place.start;
        for other in touched.clone().filter(|other| other.start < place.end && place.start < other.end) {
            if other.start < place.start || other.end > place.end {
                return None;
            }
            left.push(at..other.start);
            at = other.end;
        }
        left.push(at..place.end);
    }
    left.retain(|place| !place.is_empty());
    one.places = left;
    (!one.places.is_empty()).then_some(one)
}

/// Whether a field holds a time, by its name.
fn is_time_field(name: &[u8]) -> bool {
    name.ends_with(b"_at")
        || name.ends_with(b"At")
        || name.ends_with(b"_time")
        || name.ends_with(b"imestamp")
        || matches!(name, b"time" | b"date" | b"ts" | b"created" | b"updated")
}

/// Whether a text may be an id or a digest: nothing in it is set apart by blanks, or beside a name.
fn is_one_word(text: &[u8]) -> bool {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    !slice(text, 0, text.len() - padding).iter().any(|byte| *byte == b'=' || byte.is_ascii_whitespace())
}

/// Whether a field holds an id, a time, a digest or the like, by its name: those stay as they are, whatever they look like.
fn is_identity(name: &[u8]) -> bool {
    let Some(last) = name.last() else { return false };
    match last {
        b'd' | b'D' => {
            matches!(name, b"id" | b"_id" | b"uuid" | b"ulid" | b"guid" | b"kid" | b"pid")
                || name.ends_with(b"_id")
                || name.ends_with(b"Id")
                || name.ends_with(b"ID")
                || name.ends_with(b"Uuid")
                || matches!(name, b"created" | b"updated")
        }
        b's' => name.ends_with(b"_ids") || name.ends_with(b"Ids") || name == b"ts",
        b'p' => name == b"timestamp" || name.ends_with(b"Timestamp") || name.ends_with(b"_timestamp"),
        b't' => {
            name.ends_with(b"_at")
                || name.ends_with(b"At")
                || matches!(name, b"digest" | b"commit" | b"encrypted_content")
        }
        b'e' => {
            matches!(name, b"time" | b"date" | b"type" | b"role" | b"signature" | b"thoughtSignature")
                || name.ends_with(b"_time")
        }
        b'h' | b'm' | b'y' | b'g' | b'n' | b'l' | b'a' | b'6' => matches!(
            name,
            b"hash" | b"sha" | b"sha256" | b"checksum" | b"integrity" | b"etag" | b"version" | b"model" | b"gitBranch"
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Pattern;

    pub(crate) fn keyed(secret: &[u8]) -> [u8; 4] {
        secret
            .iter()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
            .to_be_bytes()
    }

    fn redactor() -> Redactor {
        Redactor::new(&Policy { pii: Mode::Off, ..Policy::default() }, &[], Arc::new(keyed)).unwrap()
    }

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn placeholder_of(kind: &str, secret: &str) -> String {
        let mut text = String::new();
        placeholder::write(&mut text, Class::Secret, kind, keyed(secret.as_bytes()), secret.len());
        text
    }

    fn redacted(text: &str) -> String {
        let redacted = redactor().redact(text.as_bytes());
        String::from_utf8(redacted.bytes.unwrap_or_else(|| text.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn the_same_secret_reads_the_same_in_every_encoding() {
        let holder = placeholder_of("github-token", TOKEN);
        let inner = serde_json::to_string(&serde_json::json!({"env": {"GITHUB_TOKEN": TOKEN}})).unwrap();
        let outer = serde_json::to_string(&serde_json::json!({"type": "tool_result", "content": inner})).unwrap();
        assert_eq!(redacted(&outer), outer.replace(TOKEN, &holder));
        let deeper = serde_json::to_string(&serde_json::json!([{"content": outer}])).unwrap();
        assert_eq!(redacted(&deeper), deeper.replace(TOKEN, &holder));
        let base64 = data_encoding::BASE64.encode(format!("GITHUB_TOKEN={TOKEN}\n").as_bytes());
        assert_eq!(redacted(&format!("echo {base64} | base64 -d")), format!("echo {holder} | base64 -d"));
        assert_eq!(redacted(&format!("q=a%20{TOKEN}%20b")), format!("q=a%20{holder}%20b"));
        assert_eq!(
            redacted("\x1b[1mghp_16C7e42F292c69\x1b[31m12E7710c838347Ae178B4a\x1b[0m"),
            format!("\x1b[1m{holder}\x1b[0m")
        );
        let (first, second) = TOKEN.split_at(20);
        let stream = format!(
            "data: {{\"delta\":{{\"text\":\"use {first}\"}}}}\n\ndata: {{\"delta\":{{\"text\":\"{second} now\"}}}}\n\n"
        );
        let expected = format!(
            "data: {{\"delta\":{{\"text\":\"use {holder}\"}}}}\n\ndata: {{\"delta\":{{\"text\":\" now\"}}}}\n\n"
        );
        assert_eq!(redacted(&stream), expected);
    }

    #[test]
    fn json_keeps_all_but_its_strings() {
        let text =
            "{\"z\": 1.50, \"id\" : \"q7w8e9r1t2y3u4i5o6p7\",\n\"password\":\"hunter2!\", \"a\":[\"\\u0041\", null]}";
        assert_eq!(redacted(text), text.replace("hunter2!", &placeholder_of("credential", "hunter2!")));
        let arguments = r#"{"argv":["mysql","--password","hunter2!","-h","hunter2!"]}"#;
        let expected = arguments.replacen("hunter2!", &placeholder_of("credential", "hunter2!"), 1);
        assert_eq!(redacted(arguments), expected);
        let pairs = r#"[{"name":"DB_PASSWORD","value":"hunter2!"},{"name":"LEVEL","value":"hunter2!"}]"#;
        let expected = format!(
            r#"[{{"name":"DB_PASSWORD","value":"{}"}},{{"name":"LEVEL","value":"hunter2!"}}]"#,
            placeholder_of("credential", "hunter2!")
        );
        assert_eq!(redacted(pairs), expected);
    }

    #[test]
    fn registered_secrets_leave_times_and_ids_alone() {
        let registered = [Registered { name: "year".to_owned(), secret: b"2026-02".to_vec() }];
        let redactor = Redactor::new(&Policy::default(), &registered, Arc::new(keyed)).unwrap();
        let text = br#"{"timestamp":"2026-02-12T16:02:25Z","text":"it is 2026-02 now"}"#;
        let out = String::from_utf8(redactor.redact(text).bytes.unwrap()).unwrap();
        assert!(out.starts_with(r#"{"timestamp":"2026-02-12T16:02:25Z","text":"it is [secret:year:"#), "{out}");
    }

    #[test]
    fn msgpack_stays_msgpack() {
        let leaf = |text: &str| [vec![0xd9, u8::try_from(text.len()).unwrap()], text.as_bytes().to_vec()].concat();
        let row = |token: &str| {
            [vec![0x82], leaf(&"k".repeat(40)), leaf(&format!("use the token {token}")), vec![0xa1, b'n', 0xcd, 1, 200]]
                .concat()
        };
        let redacted = redactor().redact(&row(TOKEN));
        assert_eq!(redacted.bytes, Some(row(&placeholder_of("github-token", TOKEN))));
        assert_eq!(redacted.findings.len(), 1);
        assert_eq!(redactor().redact(&row("none")), Redacted::default());
    }

    #[test]
    fn modes_decide_by_class() {
        let policy = Policy {
            secrets: Mode::Report,
            pii: Mode::Off,
            pattern_mode: Mode::Redact,
            patterns: vec![Pattern { name: "customer".to_owned(), expression: "CUST-[0-9]+".to_owned() }],
            ..Policy::default()
        };
        let redactor = Redactor::new(&policy, &[], Arc::new(keyed)).unwrap();
        let text = format!("CUST-42 has {TOKEN}");
        let out = redactor.redact(text.as_bytes());
        assert!(String::from_utf8(out.bytes.unwrap()).unwrap().ends_with(&format!("] has {TOKEN}")));
        let kinds: Vec<_> = out.findings.iter().map(|one| (one.kind.as_ref(), one.redacted, one.length)).collect();
        assert_eq!(kinds, [("customer", true, 7), ("github-token", false, 40)]);
    }
}
