//! Where the records of a namespace stand, as bytes that a later process goes on from.
//!
//! Numbers are big endian; a text is its length (u32) before its bytes.
//!
//! ```text
//! version [1], 1
//! settings: JSON, as a text
//! models: JSON, as a text
//! records (u32); for each, in the order in which they came:
//!     record: JSON, as a text
//!     the id that it was said as [16], journal [16], seq (u64), recorded (i64), lives (u32)
//!     said again (u32); each: id [16], time (i64), provenance: JSON, as a text
//!     flags [1]: 1 origin, 2 replaces, 4 pinned, 8 approved, 16 rejected, 32 ended
//!     origin: journal [16], seq (u64)        where there is one
//!     replaces [16]                          where it replaces one
//!     how it ended [1], when (i64)           where it ended; then
//!         0 superseded, 1 corrected: by [16]; 2 retracted; 3 retracted, 4 revoked: why, as a text
//! other ids (u32); for each, ascending: id [16], place of its record (u32)
//! contents (u32); for each, ascending: hash [16], id of the last record [16]
//! revoked (u32); each [16], ascending
//! revoked sources (u32); each: JSON, as a text, when (i64)
//! ```

use super::{Ended, Saying, Standing, Standings};
use samite_model::memory::{Changed, MemorySettings, Models, Provenance, Record, RevokedSource, Verdict};
use samite_model::{Error, Fingerprint, JournalId, Position, RecordId, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

const VERSION: u8 = 1;

const ORIGIN: u8 = 1;
const REPLACES: u8 = 2;
const PINNED: u8 = 4;
const APPROVED: u8 = 8;
const REJECTED: u8 = 16;
const ENDED: u8 = 32;
const FLAGS: u8 = 63;

impl Standings {
    /// As bytes. The same standings give the same.
    ///
    /// # Errors
    /// `internal` (`unserialisable`) for a record that is no JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        // Whatever is added to them is to be kept too.
        let Self { all, places, contents, models, settings, revoked, sources } = self;
        let mut bytes = vec![VERSION];
        put_json(&mut bytes, settings)?;
        put_json(&mut bytes, models)?;
        put_count(&mut bytes, all.len());
        for standing in all {
            put_standing(&mut bytes, standing)?;
        }
        let is_own = |id: &RecordId, place: usize| all.get(place).is_some_and(|standing| standing.record.record == *id);
        let mut others: Vec<(RecordId, usize)> = places.iter().map(|(id, place)| (*id, *place)).collect();
        others.retain(|(id, place)| !is_own(id, *place));
        others.sort_unstable();
        put_count(&mut bytes, others.len());
        for (id, place) in others {
            bytes.extend(id.0);
            put_count(&mut bytes, place);
        }
        let mut contents: Vec<([u8; 16], RecordId)> = contents.iter().map(|(hash, id)| (hash.0, *id)).collect();
        contents.sort_unstable();
        put_count(&mut bytes, contents.len());
        for (hash, id) in contents {
            bytes.extend(hash);
            bytes.extend(id.0);
        }
        let mut revoked: Vec<RecordId> = revoked.iter().copied().collect();
        revoked.sort_unstable();
        put_count(&mut bytes, revoked.len());
        bytes.extend(revoked.iter().flat_map(|id| id.0));
        put_count(&mut bytes, sources.len());
        for (source, time) in sources {
            put_json(&mut bytes, source)?;
            bytes.extend(time.to_be_bytes());
        }
        Ok(bytes)
    }

    /// From bytes, all of which are looked at.
    ///
    /// # Errors
    /// `corrupt` (`bad_standings`) for what are none.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        reader.standings().filter(|_| reader.0.is_empty()).ok_or_else(|| {
            Error::corrupt("bad_standings", "what was kept of a namespace's records is damaged")
                .hint("it is made again from the namespace's journal")
        })
    }
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put_count(bytes, text.len());
    bytes.extend(text);
}

fn put_json(bytes: &mut Vec<u8>, value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_vec(value)
        .map_err(|error| Error::internal("unserialisable", "a record is not JSON").because(error))?;
    put_text(bytes, &json);
    Ok(())
}

fn put_position(bytes: &mut Vec<u8>, at: Position) {
    bytes.extend(at.journal.0);
    bytes.extend(at.seq.to_be_bytes());
}

fn put_standing(bytes: &mut Vec<u8>, standing: &Standing) -> Result<()> {
    let Standing { record, said_as, again, at, recorded, origin, replaces, pinned, verdict, ended, lives } = standing;
    put_json(bytes, record.as_ref())?;
    bytes.extend(said_as.0);
    put_position(bytes, *at);
    bytes.extend(recorded.to_be_bytes());
    bytes.extend(lives.to_be_bytes());
    put_count(bytes, again.len());
    for Saying { id, time, provenance } in again {
        bytes.extend(id.0);
        bytes.extend(time.to_be_bytes());
        put_json(bytes, provenance)?;
    }
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    bytes.push(
        flag(origin.is_some(), ORIGIN)
            | flag(replaces.is_some(), REPLACES)
            | flag(*pinned, PINNED)
            | flag(*verdict == Some(Verdict::Approved), APPROVED)
            | flag(*verdict == Some(Verdict::Rejected), REJECTED)
            | flag(ended.is_some(), ENDED),
    );
    if let Some(origin) = origin {
        put_position(bytes, *origin);
    }
    if let Some(replaces) = replaces {
        bytes.extend(replaces.0);
    }
    let Some((ended, time)) = ended else { return Ok(()) };
    bytes.push(match ended {
        Ended::Replaced { changed: Changed::Superseded, .. } => 0,
        Ended::Replaced { changed: Changed::Corrected, .. } => 1,
        Ended::Retracted { reason: None } => 2,
        Ended::Retracted { reason: Some(_) } => 3,
        Ended::Revoked { .. } => 4,
    });
    bytes.extend(time.to_be_bytes());
    match ended {
        Ended::Replaced { by, .. } => bytes.extend(by.0),
        Ended::Retracted { reason: Some(reason) } | Ended::Revoked { reason } => put_text(bytes, reason.as_bytes()),
        Ended::Retracted { reason: None } => {}
    }
    Ok(())
}

/// Reads from the front of bytes that nobody vouches for.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u32::from_be_bytes(self.array()?)).ok()
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    fn json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_slice(self.text()?).ok()
    }

    fn position(&mut self) -> Option<Position> {
        Some(Position { journal: JournalId(self.array()?), seq: u64::from_be_bytes(self.array()?) })
    }

    fn reason(&mut self) -> Option<String> {
        std::str::from_utf8(self.text()?).ok().map(str::to_owned)
    }

    fn standings(&mut self) -> Option<Standings> {
        if self.byte()? != VERSION {
            return None;
        }
        let settings = self.json::<MemorySettings>()?;
        let mut standings = Standings { settings, models: self.json::<Models>()?, ..Standings::default() };
        for place in 0..self.count()? {
            let standing = self.standing()?;
            if standings.places.insert(standing.record.record, place).is_some() {
                return None;
            }
            standings.all.push(standing);
        }
        for _ in 0..self.count()? {
            let (id, place) = (RecordId(self.array()?), self.count()?);
            if place >= standings.all.len() || standings.places.insert(id, place).is_some() {
                return None;
            }
        }
        for _ in 0..self.count()? {
            let (hash, id) = (Fingerprint(self.array()?), RecordId(self.array()?));
            standings.contents.insert(hash, id);
        }
        for _ in 0..self.count()? {
            standings.revoked.insert(RecordId(self.array()?));
        }
        for _ in 0..self.count()? {
            let source = self.json::<RevokedSource>()?;
            standings.sources.push((source, i64::from_be_bytes(self.array()?)));
        }
        Some(standings)
    }

    fn standing(&mut self) -> Option<Standing> {
        let record = Arc::new(self.json::<Record>()?);
        let said_as = RecordId(self.array()?);
        let at = self.position()?;
        let recorded = i64::from_be_bytes(self.array()?);
        let lives = u32::from_be_bytes(self.array()?);
        let mut again = Vec::new();
        for _ in 0..self.count()? {
            let (id, time) = (RecordId(self.array()?), i64::from_be_bytes(self.array()?));
            again.push(Saying { id, time, provenance: self.json::<Provenance>()? });
        }
        let flags = self.byte().filter(|flags| *flags <= FLAGS)?;
        let origin = if flags & ORIGIN != 0 { Some(self.position()?) } else { None };
        let replaces = if flags & REPLACES != 0 { Some(RecordId(self.array()?)) } else { None };
        let verdict = match flags & (APPROVED | REJECTED) {
            0 => None,
            APPROVED => Some(Verdict::Approved),
            REJECTED => Some(Verdict::Rejected),
            _ => return None,
        };
        let ended = if flags & ENDED != 0 { Some(self.ended()?) } else { None };
        let pinned = flags & PINNED != 0;
        Some(Standing { record, said_as, again, at, recorded, origin, replaces, pinned, verdict, ended, lives })
    }

    fn ended(&mut self) -> Option<(Ended, i64)> {
        let how = self.byte()?;
        let time = i64::from_be_bytes(self.array()?);
        let replaced = |by: [u8; 16], changed| Ended::Replaced { by: RecordId(by), changed };
        let ended = match how {
            0 => replaced(self.array()?, Changed::Superseded),
            1 => replaced(self.array()?, Changed::Corrected),
            2 => Ended::Retracted { reason: None },
            3 => Ended::Retracted { reason: Some(self.reason()?) },
            4 => Ended::Revoked { reason: self.reason()? },
            _ => return None,
        };
        Some((ended, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samite_model::memory::{
        Asserted, Decided, Model, ModelChanged, ModelStep, Normalisation, Operation, Pinned, Pooling, RecordKind,
        Replaces, Retracted, Revoked, Space, SpaceParts, Trust, Validity, WriterName,
    };
    use serde_json::{Map, json};

    fn id(number: u8) -> RecordId {
        RecordId([number; 16])
    }

    /// What one of these numbers does to one record and another.
    fn operation(what: u8, one: u8, other: u8) -> Operation {
        let writer = WriterName { user: "ada".into(), agent: "test".into(), workload: "suite".into() };
        let trust = Trust::ALL[usize::from(other) % Trust::ALL.len()];
        let provenance = Provenance {
            session: None,
            branch: None,
            entries: Vec::new(),
            step: None,
            inputs: if what == 1 { vec![id(other)] } else { Vec::new() },
            source: Some(format!("https://{other}.example/")),
            extractor: None,
            writer,
            trust,
        };
        let metadata = json!({ "speaker": "Bö", "n": other, "of": [1.5, null] });
        let record = Record {
            record: id(one),
            kind: RecordKind::ALL[usize::from(one) % RecordKind::ALL.len()],
            text: format!("what {one} says of {other} \u{1f980}"),
            metadata: if other.is_multiple_of(2) {
                metadata.as_object().cloned().unwrap_or_default()
            } else {
                Map::new()
            },
            edge: None,
            valid: Validity::default(),
            previous: (what == 2).then(|| id(other)),
            provenance,
        };
        let reason = (other.is_multiple_of(2)).then(|| "a reason".to_owned());
        let changed = if other.is_multiple_of(2) { Changed::Superseded } else { Changed::Corrected };
        match what {
            0..=3 => Operation::Asserted(Box::new(Asserted {
                namespace: None,
                record,
                replaces: (what == 3).then_some(Replaces { record: id(other), changed, life: 0 }),
                content: Fingerprint([one / 2; 16]),
                origin: (what == 2).then_some(Position { journal: JournalId([3; 16]), seq: u64::from(other) }),
            })),
            4 => Operation::Retracted(Retracted { namespace: None, record: id(one), life: 0, reason }),
            5 => Operation::Pinned(Pinned { namespace: None, record: id(one), pinned: other.is_multiple_of(2) }),
            6 => {
                let verdict = if other.is_multiple_of(2) { Verdict::Approved } else { Verdict::Rejected };
                Operation::Decided(Decided { records: vec![id(one)], verdict, reason })
            }
            7 => {
                let agent = (other.is_multiple_of(2)).then(|| "gold".to_owned());
                let source = RevokedSource { agent, ..RevokedSource::default() };
                let records = vec![id(one), id(other)];
                Operation::Revoked(Revoked { records, reason: "bad".into(), source })
            }
            8 => {
                let step = if other.is_multiple_of(2) { ModelStep::Begun } else { ModelStep::Done };
                Operation::Model(Box::new(ModelChanged { step, model: model() }))
            }
            _ => Operation::Settled(MemorySettings { share: other, ..MemorySettings::default() }),
        }
    }

    fn model() -> Model {
        let space = Space::new(SpaceParts {
            provider: "test".into(),
            model: "Bö".into(),
            revision: "1".into(),
            dimensions: 2,
            pooling: Pooling::Mean,
            query_prefix: "query: ".into(),
            passage_prefix: String::new(),
            normalisation: Normalisation::Unit,
        });
        Model { name: "file:/models/bö".into(), space: space.unwrap() }
    }

    fn standings(done: &[(u8, u8, u8)]) -> Standings {
        let mut standings = Standings::default();
        for (seq, (what, one, other)) in (1..).zip(done) {
            let at = Position { journal: JournalId([9; 16]), seq };
            standings.apply(at, i64::from(*other) - 9, operation(*what, *one, *other));
        }
        standings
    }

    fn anything() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
        proptest::collection::vec((0_u8..10, 0_u8..12, 0_u8..12), 0..40)
    }

    #[test]
    fn no_cut_and_no_length_that_lies_is_taken() {
        let bytes = standings(&[(0, 2, 0), (3, 4, 2), (4, 4, 0), (7, 6, 8), (2, 5, 1), (1, 3, 2)]).encode().unwrap();
        for length in 0..bytes.len() {
            assert_eq!(Standings::decode(&bytes[..length]).unwrap_err().code(), "bad_standings", "{length}");
        }
        assert!(Standings::decode(&[&bytes[..], &[0]].concat()).is_err());
        // Whatever a changed byte makes of it, it is no panic, and what is taken is whole.
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[place] ^= 1 << bit;
                if let Ok(taken) = Standings::decode(&changed) {
                    assert_eq!(Standings::decode(&taken.encode().unwrap()).unwrap(), taken);
                }
            }
        }
        assert!(Standings::decode(&[1, 0, 0, 0, 2, b'{', b'}', 0, 0, 0, 2, b'{', b'}', 255, 255, 255, 255]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_decoded_is_what_was_encoded_and_goes_on_alike(before in anything(), after in anything()) {
            let mut one = standings(&before);
            let bytes = one.encode().unwrap();
            let mut other = Standings::decode(&bytes).unwrap();
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(other.encode().unwrap(), bytes);
            for (seq, (what, first, second)) in (100..).zip(after) {
                let at = Position { journal: JournalId([9; 16]), seq };
                one.apply(at, 7, operation(what, first, second));
                other.apply(at, 7, operation(what, first, second));
            }
            prop_assert_eq!(one, other);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Standings::decode(&bytes);
        }
    }
}
