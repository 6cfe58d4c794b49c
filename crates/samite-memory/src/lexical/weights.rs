//! The constants of the score.

use super::field::{FIELDS, Field};
use crate::text::Kind;

/// What a field weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldWeight {
    /// What a term's frequency in it counts. With 0 the field adds nothing to a score and to document frequencies.
    pub weight: f32,
    /// How far its length counts, from 0 (not at all) to 1.
    pub b: f32,
}

/// What a query's term of a kind weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindWeight {
    /// What its share of the score is multiplied by.
    pub weight: f32,
    /// Whether a document that does not have it has less than the whole query; else it is a bonus.
    pub is_expected: bool,
}

/// Everything that can be tuned. The score of a document `d`, over the query's distinct terms `t`:
///
/// ```text
/// x(t, d) = sum over fields of weight * frequency / (1 - b + b * length / average length)
/// y(t, d) = x(t, d) + sum over i of back[i] * x(t, i-th predecessor) + ahead[i] * x(t, i-th successors)
/// idf(t)  = ln(1 + (n - df + 0.5) / (df + 0.5))
/// score   = sum of q(t) * idf(t) * y(t, d) * scale / (y(t, d) + k1)
/// ```
///
/// This is BM25 with weighted fields (Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to multiple weighted fields"),
/// after whose weighted frequency the neighbours' are added. `q(t)` is the weight of the term's kind. With `scale` = `k1` + 1 and
/// one field it is the usual BM25.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// From which frequency on more of the same term adds little.
    pub k1: f32,
    /// What every term's share is multiplied by.
    pub scale: f32,
    /// The fields, in the order of [`Field::ALL`].
    pub fields: [FieldWeight; FIELDS],
    /// The kinds of terms, in the order of [`Kind::ALL`].
    pub kinds: [KindWeight; 7],
    /// What a stop word weighs in a query that has other words too. One that has no others is about its stop words.
    pub stop_words: f32,
    /// What a term that is a visible document's speaker's name weighs besides, which is also no longer expected.
    pub names: f32,
    /// The weights of the first predecessor, the second and so on, up to the first 0.
    pub back: [f32; 4],
    /// The weights of the first successors, the second and so on, up to the first 0.
    pub ahead: [f32; 4],
    /// Whether the score is divided by the sum of the weighted `idf` of the expected terms, so that 1 means that the document
    /// answers all of the query.
    pub is_share: bool,
}

impl Weights {
    /// The usual BM25 of the body alone, with `k1` 1.2 and `b` 0.75, without neighbours.
    pub fn bm25() -> Self {
        let fields =
            Field::ALL.map(|field| FieldWeight { weight: if field == Field::Body { 1.0 } else { 0.0 }, b: 0.75 });
        Self {
            k1: 1.2,
            scale: 2.2,
            fields,
            kinds: KINDS,
            stop_words: 0.0,
            names: 1.0,
            back: [0.0; 4],
            ahead: [0.0; 4],
            is_share: false,
        }
    }

    /// The weight of a field.
    pub const fn field_mut(&mut self, field: Field) -> &mut FieldWeight {
        match field {
            Field::Body => &mut self.fields[0],
            Field::Title => &mut self.fields[1],
            Field::Speaker => &mut self.fields[2],
            Field::Date => &mut self.fields[3],
        }
    }

    pub(super) fn kind(&self, kind: Kind) -> KindWeight {
        self.kinds.get(kind as usize).copied().unwrap_or(KindWeight { weight: 1.0, is_expected: true })
    }
}

impl Default for Weights {
    /// Tuned for conversations: the share of the query that a record and its neighbours answer.
    fn default() -> Self {
        let mut weights = Self::bm25();
        for field in &mut weights.fields {
            field.b = 0.5;
        }
        Self {
            k1: 0.35,
            scale: 1.0,
            names: 0.2,
            back: [0.5, 0.3, 0.2, 0.1],
            ahead: [0.2, 0.1, 0.0, 0.0],
            is_share: true,
            ..weights
        }
    }
}

/// Words and pairs are what a query is about; what is made of the same words again adds a little for exactness.
const KINDS: [KindWeight; 7] = [
    KindWeight { weight: 1.0, is_expected: true },
    KindWeight { weight: 0.5, is_expected: false },
    KindWeight { weight: 0.5, is_expected: false },
    KindWeight { weight: 1.0, is_expected: true },
    KindWeight { weight: 0.3, is_expected: true },
    KindWeight { weight: 1.0, is_expected: true },
    KindWeight { weight: 0.5, is_expected: false },
];
