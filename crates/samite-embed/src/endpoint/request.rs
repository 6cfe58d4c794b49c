//! What an endpoint is asked.

use samite_model::{Error, Result};
use serde::Serialize;
use std::borrow::Cow;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: &'a [Cow<'a, str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

/// The body of a request for the vectors of some texts.
pub(super) fn body(model: &str, texts: &[Cow<'_, str>], dimensions: Option<u32>) -> Result<Vec<u8>> {
    serde_json::to_vec(&Body { model, input: texts, dimensions }).map_err(|error| {
        Error::internal("unserialisable", "a request for embeddings could not be written").because(error)
    })
}

/// A text's first characters, at most so many.
pub(super) fn cut(text: Cow<'_, str>, longest: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(longest) else { return text };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..end).unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

/// Texts in batches of at most so many, and so many bytes; one text is a batch at least.
pub(super) fn batches<'a, 'b>(
    mut texts: &'a [Cow<'b, str>],
    most: usize,
    most_bytes: usize,
) -> impl Iterator<Item = &'a [Cow<'b, str>]> {
    std::iter::from_fn(move || {
        let mut bytes = 0_usize;
        let mut fits = |text: &Cow<'_, str>| {
            bytes = bytes.saturating_add(text.len());
            bytes <= most_bytes
        };
        let count = texts.iter().take(most).take_while(|text| fits(text)).count().max(1);
        let (batch, rest) = texts.split_at_checked(count)?;
        texts = rest;
        Some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_names_model_and_texts_and_dimensions_if_they_are_asked_for() {
        let texts = [Cow::Borrowed("a\u{0}\"b"), Cow::Borrowed("東🎉")];
        let text = |dimensions| String::from_utf8(body("m", &texts, dimensions).unwrap()).unwrap();
        assert_eq!(text(None), r#"{"model":"m","input":["a\u0000\"b","東🎉"]}"#);
        assert_eq!(text(Some(256)), r#"{"model":"m","input":["a\u0000\"b","東🎉"],"dimensions":256}"#);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut(Cow::Borrowed("東京都"), 2), "東京");
        assert_eq!(cut(Cow::Owned("東京都".to_owned()), 2), "東京");
        assert_eq!(cut(Cow::Borrowed("東京都"), 3), "東京都");
        assert_eq!(cut(Cow::Borrowed(""), 0), "");
    }

    #[test]
    fn batches_are_bounded_by_number_and_bytes() {
        let texts: Vec<Cow<'_, str>> = ["aa", "bb", "cccccc", "d", "e", "f"].map(Cow::Borrowed).into();
        let sizes = |most, bytes| batches(&texts, most, bytes).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(2, 100), [2, 2, 2]);
        assert_eq!(sizes(10, 4), [2, 1, 3]);
        assert_eq!(sizes(0, 0), [1, 1, 1, 1, 1, 1]);
        assert_eq!(batches(&[], 2, 2).count(), 0);
    }

    proptest! {
        #[test]
        fn no_text_gets_lost(texts in prop::collection::vec("[a-z]{0,9}", 0..40), most in 0_usize..9, bytes in 0_usize..30) {
            let texts: Vec<Cow<'_, str>> = texts.into_iter().map(Cow::Owned).collect();
            let batched: Vec<_> = batches(&texts, most, bytes).collect();
            prop_assert!(batched.iter().all(|batch| !batch.is_empty() && batch.len() <= most.max(1)));
            prop_assert_eq!(batched.concat(), texts);
        }
    }
}
