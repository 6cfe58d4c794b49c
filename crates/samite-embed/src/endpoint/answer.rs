//! What an endpoint answers. Nothing of its words is repeated: they may hold a text, or a key.

use samite_model::{Error, Result};
use serde::Deserialize;

/// Refuses an answer by its status. Of the body only a code counts, which is a word.
pub(super) fn check_status(url: &str, status: u16, wait: Option<u64>, body: &[u8]) -> Result<()> {
    let code = code(body).map(|code| format!(" ({code})")).unwrap_or_default();
    let what = format!("{url} answered {status}{code}");
    let again = wait.map_or_else(|| "try again later".to_owned(), |seconds| format!("try again in {seconds} s"));
    Err(match status {
        200..=299 => return Ok(()),
        401 | 403 => {
            Error::denied("embedder_denied", what).hint("look whether its key is right, and may use this model")
        }
        408 | 425 | 429 | 500..=599 => Error::unavailable("embedder_unavailable", what).hint(again),
        300..=399 => {
            Error::invalid("embedder_refused", what).hint("no redirect is followed: name the address that it leads to")
        }
        _ => Error::invalid("embedder_refused", what).hint(
            "look whether the address and the model's name are right; one text that is too long refuses those with it",
        ),
    })
}

/// The error's code or type, as `{"error": {"code": "model_not_found"}}` has it, if it is one word of small letters.
fn code(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = value.get("error")?;
    let word = |name: &str| error.get(name)?.as_str().filter(|word| is_word(word)).map(str::to_owned);
    word("code").or_else(|| word("type"))
}

fn is_word(word: &str) -> bool {
    (1..=40).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[derive(Deserialize)]
struct Body {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Which text it is of; some servers leave it out and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The vectors of an answer in the order of the texts.
///
/// # Errors
/// `invalid` (`bad_embeddings`) when it is not one vector for each text. What is in them is not looked at.
pub(super) fn vectors(url: &str, texts: usize, body: &[u8]) -> Result<Vec<Vec<f32>>> {
    let body: Body = serde_json::from_slice(body).map_err(|error| {
        // The message of the parser may repeat a text; its place does not.
        wrong(url, &format!("it is no list of embeddings (line {}, column {})", error.line(), error.column()))
    })?;
    if body.data.len() != texts {
        return Err(wrong(url, &format!("it has {} vectors for {texts} texts", body.data.len())));
    }
    let mut places: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (order, item) in body.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(order);
        match places.get_mut(index) {
            Some(place @ None) => *place = Some(item.embedding),
            Some(Some(_)) => return Err(wrong(url, &format!("it has two vectors for text {index}"))),
            None => return Err(wrong(url, &format!("it has a vector for text {index} of {texts}"))),
        }
    }
    Ok(places.into_iter().flatten().collect())
}

/// An answer that is none.
pub(super) fn wrong(url: &str, what: &str) -> Error {
    Error::invalid("bad_embeddings", format!("the answer of {url} cannot be used: {what}"))
        .hint("look whether the address is that of an endpoint for embeddings")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samite_model::ErrorKind;

    #[test]
    fn a_status_says_what_to_do() {
        use ErrorKind::{Denied, Invalid, Unavailable};
        check_status("u", 200, None, b"").unwrap();
        for (status, kind, code) in [
            (301, Invalid, "embedder_refused"),
            (400, Invalid, "embedder_refused"),
            (401, Denied, "embedder_denied"),
            (403, Denied, "embedder_denied"),
            (404, Invalid, "embedder_refused"),
            (408, Unavailable, "embedder_unavailable"),
            (429, Unavailable, "embedder_unavailable"),
            (500, Unavailable, "embedder_unavailable"),
            (503, Unavailable, "embedder_unavailable"),
        ] {
            let error = check_status("u", status, Some(7), b"{}").unwrap_err();
            assert_eq!((error.kind(), error.code()), (kind, code), "{status}");
            assert_eq!(error.hints() == ["try again in 7 s"], kind == Unavailable, "{status}");
        }
    }

    #[test]
    fn only_a_word_of_an_error_is_repeated() {
        let message = |body: &str| check_status("u", 400, None, body.as_bytes()).unwrap_err().message().to_owned();
        assert_eq!(message(r#"{"error":{"code":"model_not_found"}}"#), "u answered 400 (model_not_found)");
        let by_type = r#"{"error":{"code":null,"type":"invalid_request_error","message":"secret words"}}"#;
        assert_eq!(message(by_type), "u answered 400 (invalid_request_error)");
        for quiet in
            [r#"{"error":{"code":"sk-SECRET"}}"#, r#"{"error":{"code":"two words"}}"#, r#"{"error":"x"}"#, "<p>", "[]"]
        {
            assert_eq!(message(quiet), "u answered 400");
        }
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let read = |body: &str| vectors("u", 2, body.as_bytes());
        let right = [vec![1.0, 2.0], vec![3.0, 4.0]];
        let by_index = r#"{"data":[{"index":1,"embedding":[3,4e0]},{"index":0,"embedding":[1.0,2]}],"model":"m"}"#;
        assert_eq!(read(by_index).unwrap(), right);
        assert_eq!(read(r#"{"data":[{"embedding":[1,2]},{"embedding":[3,4]}]}"#).unwrap(), right);
        for wrong in [
            "",
            "{}",
            "null",
            r#"{"data":[]}"#,
            r#"{"data":[{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[NaN]},{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[null]},{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":"AACAPw=="},{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]} more"#,
        ] {
            assert_eq!(read(wrong).unwrap_err().code(), "bad_embeddings", "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_a_panic(body in prop::collection::vec(any::<u8>(), 0..60), status in 100_u16..600) {
            let _ = vectors("u", 2, &body);
            let _ = check_status("u", status, None, &body);
        }
    }
}
