//! What leaves say of what an organisation has decided: words of a fixed list, from the registers of its decisions. Pure.

use crate::views::register;
use samite_audit::leaf::Word;
use samite_ledger::Register;
use samite_model::policy::capture::Level;
use samite_model::policy::given;
use samite_model::policy::retention::Retained;
use samite_model::{EntryKind, FamilyId, Pseudonym, Result};
use samite_redact::{Class, Policy};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Said where what was decided cannot be read.
const UNREAD: &str = "unread";

/// The flags of a tenant at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// Those of every act.
    everywhere: BTreeSet<Word>,
    /// Persons and sessions under a legal hold.
    held: HashSet<[u8; 16]>,
    /// What was said about training, of persons and of sessions.
    consents: HashMap<[u8; 16], bool>,
}

impl Flags {
    /// What follows from the registers of the tenant's control journal and from what is redacted; no policy is one that cannot
    /// be read.
    ///
    /// # Errors
    /// `invalid` (`bad_word`) for a word that no leaf can have: none is.
    pub(crate) fn new(registers: &[Register], redaction: Option<&Policy>) -> Result<Self> {
        let mut flags = Self::default();
        match redaction {
            Some(policy) => {
                for class in Class::ALL {
                    if class != Class::Pattern || !policy.patterns.is_empty() {
                        flags.add(&format!("{}_{}", class.name(), policy.mode(class).name()))?;
                    }
                }
            }
            None => flags.add(UNREAD)?,
        }
        let erased = registers.iter().filter(|entry| entry.kind == register::ERASED_SUBJECT);
        let erased: HashMap<[u8; 16], u64> = erased.map(|entry| (entry.hash, entry.seq)).collect();
        for found in registers {
            match found.kind {
                register::CAPTURE => {
                    let level = Level::from_code(found.value.first().copied().unwrap_or(u8::MAX)).name();
                    let [high, low, ..] = found.hash;
                    match u16::from_be_bytes([high, low]) {
                        0 => flags.add(&format!("capture_{level}"))?,
                        code => flags.add(&format!("capture_{}_{level}", word(EntryKind::from_code(code))))?,
                    }
                }
                register::RETENTION => {
                    let [code, ..] = found.hash;
                    let kind = Retained::ALL.into_iter().find(|kind| kind.code() == code);
                    flags.add(&format!("retain_{}", kind.map_or("other", Retained::name)))?;
                }
                register::REGION => flags.add("region")?,
                register::ORGANISATION => flags.add("organisation")?,
                register::HOLD => drop(flags.held.insert(found.hash)),
                // Who was erased and comes back has said nothing.
                register::CONSENT if erased.get(&found.hash).is_none_or(|seq| found.seq > *seq) => {
                    flags.consents.insert(found.hash, found.value == [1]);
                }
                _ => {}
            }
        }
        Ok(flags)
    }

    /// Those of a tenant of which nothing can be read.
    pub(crate) fn unread() -> Result<Self> {
        Ok(Self { everywhere: BTreeSet::from([Word::new(UNREAD)?]), ..Self::default() })
    }

    fn add(&mut self, text: &str) -> Result<()> {
        self.everywhere.insert(Word::new(text)?);
        Ok(())
    }

    /// Whether something was decided of single persons or sessions.
    pub(crate) fn tells_sessions_apart(&self) -> bool {
        !self.held.is_empty() || !self.consents.is_empty()
    }

    /// What a leaf says of policies and of consent: of an act on an owner's data in a family of journals, such as a session.
    ///
    /// # Errors
    /// As [`Flags::new`].
    pub(crate) fn of(&self, owner: Pseudonym, family: Option<FamilyId>) -> Result<(BTreeSet<Word>, BTreeSet<Word>)> {
        let (mut policy, mut consent) = (self.everywhere.clone(), BTreeSet::new());
        let family = family.map(|family| family.0);
        if self.held.contains(&owner.0) || family.is_some_and(|family| self.held.contains(&family)) {
            policy.insert(Word::new("held")?);
        }
        let session = family.and_then(|family| self.consents.get(&family).copied());
        if given(self.consents.get(&owner.0).copied(), session) {
            consent.insert(Word::new("training")?);
        }
        Ok((policy, consent))
    }
}

fn word(kind: EntryKind) -> String {
    kind.name().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_redact::{Mode, Pattern};

    fn set(kind: u16, hash: [u8; 16], seq: u64, value: &[u8]) -> Register {
        Register { kind, hash, seq, value: value.to_vec() }
    }

    fn code(code: u8) -> [u8; 16] {
        let mut hash = [0; 16];
        hash[0] = code;
        hash
    }

    fn kind_code(kind: EntryKind) -> [u8; 16] {
        crate::policy::kind_hash(Some(kind))
    }

    fn said(flags: &Flags, owner: u8, family: Option<u8>) -> String {
        let (policy, consent) = flags.of(Pseudonym([owner; 16]), family.map(|family| FamilyId([family; 16]))).unwrap();
        let words = |words: BTreeSet<Word>| words.iter().map(Word::to_string).collect::<Vec<_>>().join(" ");
        format!("{} | {}", words(policy), words(consent))
    }

    #[test]
    fn each_decision_has_its_word() {
        let plain = "pii_report secret_redact";
        let all = |rest: &str| format!("{plain}{rest} | ");
        let rows = [
            (vec![], all("")),
            (
                vec![set(register::CAPTURE, [0; 16], 1, &[Level::Decisions.code()])],
                format!("capture_decisions {plain} | "),
            ),
            (
                vec![set(register::CAPTURE, kind_code(EntryKind::MESSAGE), 1, &[Level::Metadata.code()])],
                format!("capture_message_metadata {plain} | "),
            ),
            (
                vec![set(register::RETENTION, code(1), 1, &[]), set(register::RETENTION, code(3), 2, &[])],
                "pii_report retain_audit retain_session secret_redact | ".to_owned(),
            ),
            (vec![set(register::REGION, [0; 16], 1, &[7; 16])], "pii_report region secret_redact | ".to_owned()),
            (vec![set(register::ORGANISATION, [0; 16], 1, &[])], "organisation pii_report secret_redact | ".to_owned()),
            // What is about others says nothing here.
            (vec![set(register::HOLD, [9; 16], 1, &[]), set(register::CONSENT, [9; 16], 1, &[1])], all("")),
            (vec![set(register::HOLD, [1; 16], 1, &[])], "held pii_report secret_redact | ".to_owned()),
            (vec![set(register::HOLD, [2; 16], 1, &[])], "held pii_report secret_redact | ".to_owned()),
            (vec![set(register::CONSENT, [1; 16], 1, &[1])], all("") + "training"),
            (vec![set(register::CONSENT, [2; 16], 1, &[1])], all("") + "training"),
            (vec![set(register::CONSENT, [1; 16], 1, &[1]), set(register::CONSENT, [2; 16], 2, &[0])], all("")),
            (vec![set(register::CONSENT, [1; 16], 3, &[1]), set(register::ERASED_SUBJECT, [1; 16], 4, &[])], all("")),
            (
                vec![set(register::CONSENT, [1; 16], 5, &[1]), set(register::ERASED_SUBJECT, [1; 16], 4, &[])],
                all("") + "training",
            ),
        ];
        for (place, (registers, expected)) in rows.into_iter().enumerate() {
            let flags = Flags::new(&registers, Some(&Policy::default())).unwrap();
            assert_eq!(said(&flags, 1, Some(2)), expected, "row {place}");
        }
    }

    #[test]
    fn redaction_has_a_word_for_each_class_and_says_when_it_cannot_be_read() {
        let patterns = vec![Pattern { name: "number".to_owned(), expression: "n[0-9]+".to_owned() }];
        let (secrets, pii, pattern_mode) = (Mode::Off, Mode::Redact, Mode::Report);
        let policy = Policy { secrets, pii, pattern_mode, patterns, ..Policy::default() };
        assert_eq!(said(&Flags::new(&[], Some(&policy)).unwrap(), 1, None), "pattern_report pii_redact secret_off | ");
        assert_eq!(said(&Flags::new(&[], None).unwrap(), 1, None), "unread | ");
        assert_eq!(said(&Flags::unread().unwrap(), 1, None), "unread | ");
    }
}
