//! Endpoints, played by a server of the test.

use crate::server::{Answer, Server, nobody};
use samite_embed::{ApiKey, Embedder, Endpoint, EndpointOptions, KeySource, Normalisation, Pooling, Side};
use samite_model::{Error, ErrorKind};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const KEY: &str = "sk-a+very/secret=key";

fn key() -> KeySource {
    Box::new(|| ApiKey::from_bytes(KEY.as_bytes()))
}

fn options(base: &str) -> EndpointOptions {
    EndpointOptions { time_limit: Duration::from_mins(1), ..EndpointOptions::new(base, "small", 2) }
}

fn reply(vectors: &[(usize, [f32; 2])]) -> Answer {
    let data: Vec<_> = vectors.iter().map(|(index, vector)| json!({"index": index, "embedding": vector})).collect();
    Answer::Reply(200, "content-type: application/json\r\n", json!({"data": data, "model": "small"}).to_string())
}

fn raw(body: &str) -> Answer {
    Answer::Reply(200, "", body.to_owned())
}

/// What comes of one answer to a request for two texts, which has a key.
fn error_of(answer: Answer) -> Error {
    // Only what never ends is waited for no longer than this.
    let endless = matches!(answer, Answer::Silence | Answer::Drip);
    let time_limit = Duration::from_millis(if endless { 300 } else { 60_000 });
    let server = Server::new(vec![answer]);
    let endpoint = Endpoint::new(EndpointOptions { time_limit, ..options(&server.base) }, Some(key()));
    let error = endpoint.unwrap().embed(&["my own words", "others"], Side::Passage).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("sk-a") && !shown.contains("my own words"), "{shown}");
    error
}

#[test]
fn texts_are_sent_as_the_endpoint_takes_them_and_vectors_come_back_in_order() {
    let server = Server::new(vec![reply(&[(1, [0.0, 2.0]), (0, [3.0, 4.0])])]);
    let endpoint = Endpoint::new(options(&server.base), Some(key())).unwrap();
    let vectors = endpoint.embed(&["one", "two \u{0}\"东🎉"], Side::Query).unwrap();
    assert_eq!(vectors, [vec![0.6, 0.8], vec![0.0, 1.0]]);
    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("one request") };
    assert_eq!(request.line, "POST /v1/embeddings HTTP/1.1");
    assert_eq!(request.body, json!({"model": "small", "input": ["one", "two \u{0}\"东🎉"]}));
    let has = |header: &str| request.headers.iter().any(|other| other.eq_ignore_ascii_case(header));
    assert!(
        has(&format!("authorization: Bearer {KEY}")) && has("content-type: application/json"),
        "{:?}",
        request.headers
    );
    assert!(!format!("{endpoint:?}").contains("sk-a"));
}

#[test]
fn an_endpoint_without_a_key_gets_none() {
    let server = Server::new(vec![reply(&[(0, [1.0, 0.0])])]);
    let endpoint = Endpoint::new(EndpointOptions { ask_dimensions: true, ..options(&server.base) }, None).unwrap();
    endpoint.embed(&["one"], Side::Query).unwrap();
    let request = server.requests().remove(0);
    assert!(!request.headers.iter().any(|header| header.to_ascii_lowercase().starts_with("authorization")));
    assert_eq!(request.body, json!({"model": "small", "input": ["one"], "dimensions": 2}));
}

#[test]
fn the_space_is_what_was_configured() {
    let plain = options("https://Api.Example.com:8443/v1");
    let endpoint = Endpoint::new(plain.clone(), Some(key())).unwrap();
    assert_eq!(endpoint.host(), "api.example.com");
    let parts = endpoint.space().parts();
    assert_eq!((parts.provider.as_str(), parts.model.as_str(), parts.dimensions), ("api.example.com", "small", 2));
    assert_eq!((parts.pooling, parts.normalisation), (Pooling::Provider, Normalisation::Unit));
    let named = EndpointOptions { provider: Some("ours".to_owned()), revision: "2".to_owned(), ..plain };
    let named = Endpoint::new(named, None).unwrap();
    assert!(
        named
            .space()
            .to_string()
            .starts_with("ours/small@2 (2 dimensions, the provider's pooling, unit length, space ")
    );
    assert_eq!(endpoint.space().same(named.space()).unwrap_err().code(), "space_mismatch");
    assert_eq!(Endpoint::new(options("http://api.example.com/v1"), None).unwrap_err().code(), "bad_endpoint");
    assert_eq!(Endpoint::new(EndpointOptions::new("https://x", "small", 0), None).unwrap_err().code(), "bad_space");
}

#[test]
fn texts_go_in_batches_with_their_prefix_and_are_cut() {
    let server = Server::new(vec![reply(&[(0, [1.0, 0.0]), (1, [0.0, 1.0])]), reply(&[(0, [-1.0, 0.0])])]);
    let limits =
        EndpointOptions { batch: 2, longest_text: 6, passage_prefix: "p: ".to_owned(), ..options(&server.base) };
    let endpoint = Endpoint::new(limits, None).unwrap();
    let vectors = endpoint.embed(&["one", "twofold", "三三三三"], Side::Passage).unwrap();
    assert_eq!(vectors, [vec![1.0, 0.0], vec![0.0, 1.0], vec![-1.0, 0.0]]);
    let inputs: Vec<_> = server.requests().into_iter().map(|request| request.body["input"].clone()).collect();
    assert_eq!(inputs, [json!(["p: one", "p: two"]), json!(["p: 三三三"])]);
}

#[test]
fn nothing_is_sent_for_nothing_or_a_blank_text() {
    let server = Server::new(vec![]);
    let endpoint = Endpoint::new(options(&server.base), None).unwrap();
    assert!(endpoint.embed(&[], Side::Query).unwrap().is_empty());
    assert_eq!(endpoint.embed(&["one", "\u{200b}"], Side::Query).unwrap_err().code(), "blank_text");
}

#[test]
fn a_key_is_asked_for_at_each_request() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let server = Server::new(vec![reply(&[(0, [1.0, 0.0])]), reply(&[(0, [1.0, 0.0])])]);
    let source: KeySource = Box::new(|| match ASKED.fetch_add(1, Ordering::Relaxed) {
        0 => ApiKey::from_bytes(b"first\n"),
        1 => ApiKey::from_bytes(b"second\n"),
        _ => ApiKey::from_bytes(b""),
    });
    let endpoint = Endpoint::new(options(&server.base), Some(source)).unwrap();
    endpoint.embed(&["one"], Side::Query).unwrap();
    endpoint.embed(&["one"], Side::Query).unwrap();
    assert_eq!(endpoint.embed(&["one"], Side::Query).unwrap_err().code(), "bad_api_key");
    let requests = server.requests();
    let sent = |place: usize, key: &str| {
        requests[place].headers.iter().any(|header| header.ends_with(&format!("Bearer {key}")))
    };
    assert!(requests.len() == 2 && sent(0, "first") && sent(1, "second"));
}

#[test]
fn a_status_has_its_error() {
    use ErrorKind::{Denied, Invalid, Unavailable};
    let refusal =
        r#"{"error":{"message":"Incorrect API key sk-a+very/secret=key for: my own words","code":"bad_thing"}}"#;
    for (status, kind, code) in [
        (400, Invalid, "embedder_refused"),
        (401, Denied, "embedder_denied"),
        (403, Denied, "embedder_denied"),
        (404, Invalid, "embedder_refused"),
        (429, Unavailable, "embedder_unavailable"),
        (500, Unavailable, "embedder_unavailable"),
        (503, Unavailable, "embedder_unavailable"),
    ] {
        let error = error_of(Answer::Reply(status, "retry-after: 9\r\n", refusal.to_owned()));
        assert_eq!((error.kind(), error.code()), (kind, code), "{status}");
        assert!(error.message().ends_with(&format!("/v1/embeddings answered {status} (bad_thing)")), "{error}");
        assert_eq!(error.hints() == ["try again in 9 s"], kind == Unavailable, "{status}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Server::new(vec![reply(&[(0, [1.0, 0.0])])]);
    let target: &'static str = Box::leak(format!("location: {}/embeddings\r\n", other.base).into_boxed_str());
    for status in [301, 307, 308] {
        assert_eq!(error_of(Answer::Reply(status, target, String::new())).code(), "embedder_refused");
    }
    assert!(other.requests().is_empty());
}

#[test]
fn an_endpoint_that_is_not_there_or_does_not_end_is_unavailable() {
    let endpoint = Endpoint::new(options(&nobody()), Some(key())).unwrap();
    let error = endpoint.embed(&["one"], Side::Query).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "embedder_unavailable"));
    for answer in [Answer::Close, Answer::Silence, Answer::Drip] {
        let error = error_of(answer);
        assert_eq!((error.kind(), error.code()), (ErrorKind::Unavailable, "embedder_unavailable"));
    }
}

#[test]
fn an_answer_that_is_no_vector_for_each_text_is_invalid() {
    for (body, code) in [
        ("<html>", "bad_embeddings"),
        (r#"{"data":[]}"#, "bad_embeddings"),
        (r#"{"data":[{"index":0,"embedding":[1,0]}]}"#, "bad_embeddings"),
        (r#"{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}"#, "bad_embeddings"),
        (r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[NaN,0]}]}"#, "bad_embeddings"),
        (r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":["my own words",0]}]}"#, "bad_embeddings"),
        (r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1e300,0]}]}"#, "bad_vector"),
        (r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,0]}]}"#, "bad_vector"),
        (r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1,0,0]}]}"#, "wrong_dimensions"),
        (r#"{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[]}]}"#, "wrong_dimensions"),
    ] {
        let error = error_of(raw(body));
        assert_eq!((error.kind(), error.code()), (ErrorKind::Invalid, code), "{body}");
    }
}

#[test]
fn no_more_is_read_of_an_answer_than_it_can_have() {
    let server = Server::new(vec![Answer::Flood]);
    let endpoint = Endpoint::new(options(&server.base), None).unwrap();
    let error = endpoint.embed(&["one"], Side::Query).unwrap_err();
    assert_eq!(error.code(), "bad_embeddings", "{error}");
}
