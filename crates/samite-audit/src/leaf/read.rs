//! Reading a leaf.

use super::{Actor, Anchor, Json, Leaf, VERSION, Word};
use crate::TreeHead;
use crate::merkle::LARGEST_TREE;
use samite_model::{Error, Result};
use std::collections::BTreeSet;
use std::str::FromStr;

impl Leaf {
    /// The leaf with these bytes. Only the bytes that [`Leaf::encode`] writes are taken, so that a leaf has one hash.
    ///
    /// # Errors
    /// `corrupt` (`bad_leaf`) when they are none, or of a version that is not known.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > super::LONGEST {
            return Err(bad("it has more than 65,535 bytes"));
        }
        let text = str::from_utf8(bytes).map_err(|_| bad("it is no UTF-8"))?;
        let mut fields = Fields::of(Json::parse(text)?, "the leaf")?;
        let version: u64 = fields.integer("v")?;
        if i64::try_from(version) != Ok(VERSION) {
            return Err(bad(&format!("its version is {version}, and this samite knows {VERSION}"))
                .hint("a newer samite may read it"));
        }
        Ok(Self {
            act: fields.read("act")?,
            at: fields.time("at")?,
            journal: fields.read("journal")?,
            seq: fields.integer("seq")?,
            entry: fields.read("entry")?,
            link: fields.read("link")?,
            commitment: fields.read("commitment")?,
            actor: actor(Fields::of(fields.required("actor")?, "actor")?)?,
            owner: fields.read("owner")?,
            policy: fields.words("policy")?,
            consent: fields.words("consent")?,
            anchors: fields.list("anchors")?.into_iter().map(anchor).collect::<Result<_>>()?,
            previous: fields.optional("previous").map(previous).transpose()?,
            extra: fields.rest,
        })
    }
}

fn actor(mut fields: Fields) -> Result<Actor> {
    let actor =
        Actor { user: fields.read("user")?, agent: fields.maybe("agent")?, workload: fields.maybe("workload")? };
    fields.end()?;
    Ok(actor)
}

fn anchor(value: Json) -> Result<Anchor> {
    let mut fields = Fields::of(value, "an anchor")?;
    let anchor = Anchor { journal: fields.read("journal")?, seq: fields.integer("seq")?, link: fields.read("link")? };
    fields.end()?;
    Ok(anchor)
}

fn previous(value: Json) -> Result<TreeHead> {
    let mut fields = Fields::of(value, "previous")?;
    let head = TreeHead { origin: fields.string("origin")?, size: fields.integer("size")?, root: fields.read("root")? };
    fields.end()?;
    if head.size > LARGEST_TREE || TreeHead::parse(&head.text()).is_err() {
        return Err(bad("previous is no tree head"));
    }
    Ok(head)
}

/// The fields of an object that were not taken yet.
struct Fields {
    rest: Vec<(String, Json)>,
    of: &'static str,
}

impl Fields {
    fn of(value: Json, what: &'static str) -> Result<Self> {
        match value {
            Json::Object(rest) => Ok(Self { rest, of: what }),
            _ => Err(bad(&format!("{what} is no object"))),
        }
    }

    fn bad(&self, key: &str, what: &str) -> Error {
        bad(&format!("{key:?} of {} {what}", self.of))
    }

    fn optional(&mut self, key: &str) -> Option<Json> {
        let place = self.rest.iter().position(|(name, _)| name == key)?;
        Some(self.rest.remove(place).1)
    }

    fn required(&mut self, key: &str) -> Result<Json> {
        self.optional(key).ok_or_else(|| self.bad(key, "is missing"))
    }

    fn string(&mut self, key: &str) -> Result<String> {
        match self.required(key)? {
            Json::String(value) => Ok(value),
            _ => Err(self.bad(key, "is no string")),
        }
    }

    fn read<T: FromStr>(&mut self, key: &str) -> Result<T> {
        let text = self.string(key)?;
        text.parse().map_err(|_| self.bad(key, &format!("is {text:?}")))
    }

    fn maybe<T: FromStr>(&mut self, key: &str) -> Result<Option<T>> {
        if self.rest.iter().any(|(name, _)| name == key) { self.read(key).map(Some) } else { Ok(None) }
    }

    fn integer(&mut self, key: &str) -> Result<u64> {
        match self.required(key)? {
            Json::Integer(value) => u64::try_from(value).map_err(|_| self.bad(key, "is negative")),
            _ => Err(self.bad(key, "is no integer")),
        }
    }

    /// Nanoseconds, which may take more bits than an integer of JSON has: a string of digits in one spelling.
    fn time(&mut self, key: &str) -> Result<i64> {
        let text = self.string(key)?;
        let time = text.parse::<i64>().ok().filter(|time| time.to_string() == text);
        time.ok_or_else(|| self.bad(key, "is no time"))
    }

    /// A list that is not written when it is empty.
    fn list(&mut self, key: &str) -> Result<Vec<Json>> {
        match self.optional(key) {
            None => Ok(Vec::new()),
            Some(Json::Array(values)) if !values.is_empty() => Ok(values),
            Some(_) => Err(self.bad(key, "is no list of something")),
        }
    }

    /// Words in order, each once.
    fn words(&mut self, key: &str) -> Result<BTreeSet<Word>> {
        let mut words: BTreeSet<Word> = BTreeSet::new();
        for value in self.list(key)? {
            let Json::String(text) = value else { return Err(self.bad(key, "has something that is no string")) };
            let word: Word = text.parse().map_err(|_| self.bad(key, &format!("has {text:?}")))?;
            if words.last().is_some_and(|last| *last >= word) {
                return Err(self.bad(key, "is not in order, each word once"));
            }
            words.insert(word);
        }
        Ok(words)
    }

    /// Refuses what was not taken.
    fn end(self) -> Result<()> {
        match self.rest.first() {
            None => Ok(()),
            Some((key, _)) => Err(self.bad(key, "is unknown")),
        }
    }
}

fn bad(what: &str) -> Error {
    Error::corrupt("bad_leaf", format!("this is no leaf of the audit log: {what}"))
}
