//! What all embedders have in common.

use samite_model::memory::{Normalisation, Space};
use samite_model::{Error, Result};
use std::borrow::Cow;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// What a text is for. Some models were trained with another prefix for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// It asks.
    Query,
    /// It is to be found.
    Passage,
}

/// Makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// The space that its vectors are of.
    fn space(&self) -> &Space;

    /// Who else gets the texts, by the name under which they are a processor of data; none where they stay on this machine.
    fn processor(&self) -> Option<&str> {
        None
    }

    /// A vector for each text, in their order: all finite, of the space's dimensions and normalisation.
    ///
    /// A text longer than the model takes is cut at its end. No text may be blank ([`is_blank`]): nothing is near to it, and a model
    /// answers something all the same.
    ///
    /// # Errors
    /// `invalid`: `blank_text`, and what [`accept`] says; and each embedder's own. One text that is refused refuses the call.
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<f32>>>;
}

/// Whether a text has nothing to embed: only white space, control and format characters (zero-width ones, marks of direction).
pub fn is_blank(text: &str) -> bool {
    let invisible = |char: char| matches!(char.general_category(), GeneralCategory::Control | GeneralCategory::Format);
    text.chars().all(|char| char.is_whitespace() || invisible(char))
}

/// Refuses blank texts.
pub(crate) fn refuse_blank(texts: &[&str]) -> Result<()> {
    let Some(place) = texts.iter().position(|text| is_blank(text)) else { return Ok(()) };
    Err(Error::invalid("blank_text", format!("text {} of {} is blank, and has no vector", place + 1, texts.len()))
        .hint("leave it out: it can be found by nothing that is in it"))
}

/// A text as its model was trained to get it.
pub(crate) fn prefixed<'a>(space: &Space, text: &'a str, side: Side) -> Cow<'a, str> {
    let prefix = match side {
        Side::Query => &space.parts().query_prefix,
        Side::Passage => &space.parts().passage_prefix,
    };
    if prefix.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{prefix}{text}")) }
}

/// Vectors as a space has them, of what a model, an endpoint or a caller gave for a number of texts: each is checked, and brought to
/// unit length where the space says so.
///
/// # Errors
/// `invalid`: `wrong_count` when there is not one for each text, and what [`Space::check`] says.
pub fn accept(space: &Space, texts: usize, mut vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>> {
    if vectors.len() != texts {
        let what = format!("{} vectors came for {texts} texts, from {space}", vectors.len());
        return Err(Error::invalid("wrong_count", what).hint("look whether what answers makes embeddings"));
    }
    for vector in &mut vectors {
        space.check(vector)?;
        if space.parts().normalisation == Normalisation::Unit {
            to_unit_length(vector);
        }
    }
    Ok(vectors)
}

/// Divides by the length. It is summed up in twice the precision, in which the square of no finite number is infinite or 0.
fn to_unit_length(vector: &mut [f32]) {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    for number in vector {
        #[expect(clippy::cast_possible_truncation, reason = "no part of a vector of length 1 is larger than 1")]
        let part = (f64::from(*number) / length) as f32;
        *number = part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samite_model::memory::{Pooling, SpaceParts};

    fn space(normalisation: Normalisation) -> Space {
        Space::new(SpaceParts {
            provider: "test".to_owned(),
            model: "two numbers".to_owned(),
            revision: String::new(),
            dimensions: 2,
            pooling: Pooling::Provider,
            query_prefix: "query: ".to_owned(),
            passage_prefix: String::new(),
            normalisation,
        })
        .unwrap()
    }

    #[test]
    fn vectors_are_brought_to_unit_length_where_the_space_says_so() {
        let vectors = || vec![vec![3.0, -4.0], vec![1e-40, 0.0], vec![f32::MAX, f32::MAX]];
        let half = 0.5_f32.sqrt();
        let unit = accept(&space(Normalisation::Unit), 3, vectors()).unwrap();
        assert_eq!(unit, [vec![0.6, -0.8], vec![1.0, 0.0], vec![half, half]]);
        assert_eq!(accept(&space(Normalisation::None), 3, vectors()).unwrap(), vectors());
        assert!(accept(&space(Normalisation::Unit), 0, Vec::new()).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        let code = |texts, vectors| accept(&space(Normalisation::Unit), texts, vectors).unwrap_err().code();
        assert_eq!(code(2, vec![vec![1.0, 0.0]]), "wrong_count");
        assert_eq!(code(0, vec![vec![1.0, 0.0]]), "wrong_count");
        assert_eq!(code(2, vec![vec![1.0, 0.0], vec![1.0]]), "wrong_dimensions");
        assert_eq!(code(1, vec![vec![f32::NAN, 0.0]]), "bad_vector");
        assert_eq!(code(1, vec![vec![f32::NEG_INFINITY, 0.0]]), "bad_vector");
        assert_eq!(code(1, vec![vec![0.0, 0.0]]), "bad_vector");
    }

    #[test]
    fn what_nobody_can_see_is_blank() {
        for blank in ["", " ", "\t\r\n", "\u{0}", "\u{200b}\u{feff}", "\u{202e}\u{2066}", "\u{a0}\u{3000}\u{2028}"] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for text in ["a", " . ", "\u{200b}x", "東", "🎉", "\u{301}"] {
            assert!(!is_blank(text), "{text:?}");
        }
        let error = refuse_blank(&["a", " "]).unwrap_err();
        assert_eq!((error.code(), error.message()), ("blank_text", "text 2 of 2 is blank, and has no vector"));
    }

    #[test]
    fn each_side_has_its_prefix() {
        let space = space(Normalisation::Unit);
        assert_eq!(prefixed(&space, "who", Side::Query), "query: who");
        assert_eq!(prefixed(&space, "who", Side::Passage), "who");
    }

    proptest! {
        #[test]
        fn every_vector_that_is_accepted_has_length_one(x in any::<f32>(), y in any::<f32>()) {
            match accept(&space(Normalisation::Unit), 1, vec![vec![x, y]]) {
                Ok(vectors) => {
                    let [x, y] = vectors[0][..] else { panic!("two numbers") };
                    prop_assert!((f64::from(x).hypot(f64::from(y)) - 1.0).abs() < 1e-6);
                }
                Err(error) => {
                    prop_assert!(!x.is_finite() || !y.is_finite() || (x, y) == (0.0, 0.0), "{error}");
                }
            }
        }
    }
}
