//! A source that is not trusted any more.

use super::record::Provenance;
use crate::id::{EntryId, RecordId, SessionId};
use serde::{Deserialize, Serialize};

/// Which source is revoked: what all that is given here is true of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevokedSource {
    /// These records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordId>,
    /// What was written in this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What this step brought, by its started entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<EntryId>,
    /// What comes from this address, path or tool, spelled as it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What this agent wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What was written at this time or later, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
}

impl RevokedSource {
    /// Whether nothing is given: that means nothing, never all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether what a record is, said at a time, comes from there. It may be known by several ids.
    pub fn matches(&self, ids: &[RecordId], from: &Provenance, time: i64) -> bool {
        !self.is_empty()
            && (self.records.is_empty() || ids.iter().any(|id| self.records.contains(id)))
            && self.session.is_none_or(|session| from.session == Some(session))
            && self.step.is_none_or(|step| from.step == Some(step))
            && self.source.as_ref().is_none_or(|source| from.source.as_ref() == Some(source))
            && self.agent.as_ref().is_none_or(|agent| from.writer.agent == *agent)
            && self.since.is_none_or(|since| time >= since)
    }
}

/// `memory_revoked`: a source is not trusted any more; all that came from it is retired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// Each time that it said something, those of which something else was made among them, by the ids under which it was said: a
    /// record that others said as well stays.
    pub records: Vec<RecordId>,
    /// Why.
    pub reason: String,
    /// The source: what it said on branches until then, and nobody took over, is retired there too.
    #[serde(default, skip_serializing_if = "RevokedSource::is_empty")]
    pub source: RevokedSource,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::FamilyId;
    use crate::memory::{Trust, WriterName};

    #[test]
    fn a_source_is_what_all_that_is_given_is_true_of() {
        let from = Provenance {
            session: Some(FamilyId([1; 16])),
            branch: None,
            entries: Vec::new(),
            step: Some(EntryId([2; 16])),
            inputs: Vec::new(),
            source: Some("example.org".into()),
            extractor: None,
            writer: WriterName { user: "ada".into(), agent: "scout".into(), workload: "suite".into() },
            trust: Trust::Web,
        };
        let ids = [RecordId([3; 16]), RecordId([4; 16])];
        let all = RevokedSource {
            records: vec![ids[1]],
            session: from.session,
            step: from.step,
            source: from.source.clone(),
            agent: Some("scout".into()),
            since: Some(10),
        };
        assert!(all.matches(&ids, &from, 10) && !all.matches(&ids, &from, 9) && !all.matches(&ids[..1], &from, 10));
        for other in [
            RevokedSource { session: Some(FamilyId([9; 16])), ..all.clone() },
            RevokedSource { step: Some(EntryId([9; 16])), ..all.clone() },
            RevokedSource { source: Some("example.com".into()), ..all.clone() },
            RevokedSource { agent: Some("other".into()), ..all.clone() },
            RevokedSource::default(),
        ] {
            assert!(!other.matches(&ids, &from, 10), "{other:?}");
        }
        // What was written before sources were kept is still read.
        let old: Revoked = serde_json::from_str(r#"{"records":[],"reason":"bad"}"#).unwrap();
        assert!(old.source.is_empty());
    }
}
