//! Changing the model of a namespace's vectors by commands, also where it dies at any moment, and asking an endpoint.

use crate::documents::root;
use crate::support::{Did, Place};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

fn did(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Did {
    let arguments = [&["--json", "memory"], arguments].concat();
    Did::new(&place.command(&arguments).envs(variables.iter().copied()).output().unwrap())
}

fn answer(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&did(place, arguments, &[]).ok()).unwrap()
}

/// A copy of the built-in model that takes the first token and puts something before questions.
fn copied(place: &Place) -> String {
    let (from, to) = (root().join("crates/samite-embed/data"), place.path().join("model"));
    fs::create_dir_all(to.join("1_Pooling")).unwrap();
    for name in ["model.onnx", "vocab.txt"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    fs::write(to.join("1_Pooling/config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
    fs::write(to.join("config_sentence_transformers.json"), r#"{"prompts": {"query": "query: "}}"#).unwrap();
    format!("file:{}", to.display())
}

fn vectors(place: &Place) -> Vec<PathBuf> {
    fn below(path: PathBuf, found: &mut Vec<PathBuf>) {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                below(entry.unwrap().path(), found);
            }
        } else if path.extension().is_some_and(|extension| extension == "vectors") {
            found.push(path);
        }
    }
    let mut found = Vec::new();
    below(place.store(), &mut found);
    found
}

fn add(place: &Place, count: usize) {
    for number in 0..count {
        let text = format!("The shelf {number} has box {}.", number * 7);
        did(place, &["add", "-n", "notes", &text, "--trust", "user"], &[]).ok();
    }
}

#[test]
fn a_change_that_is_killed_anywhere_goes_on() {
    let place = Place::new();
    add(&place, 3);
    assert_eq!(answer(&place, &["reindex", "-n", "notes"])["made"], 3);
    let model = copied(&place);
    let change = ["reindex", "-n", "notes", "--to", &model];
    // In turn: the change begins, its vectors are written, it takes the place of the other one, whose file goes.
    let points = [
        "memory.model_begun",
        "memory.before_vectors",
        "memory.vectors_kept",
        "memory.model_made",
        "memory.model_changed",
    ];
    let mut far = Vec::new();
    for point in points {
        let arguments = [&["--json", "memory"], &change[..]].concat();
        let output = place.command(&arguments).env("SAMITE_KILL_POINT", point).output().unwrap();
        assert!(!output.status.success(), "{point}");
        // The words find it whatever came of it.
        let found = did(&place, &["search", "-n", "notes", "shelf 2"], &[("SAMITE_EMBEDDER", "off")]).ok();
        assert!(found.contains("The shelf 2 has box 14."), "{point}");
        let stats = answer(&place, &["stats"]);
        let spaces = stats["namespaces"][0]["spaces"].as_array().unwrap();
        far.push((spaces.len(), spaces[spaces.len() - 1]["made"].as_u64().unwrap(), vectors(&place).len()));
    }
    assert_eq!(far, [(2, 0, 1), (2, 0, 1), (2, 3, 2), (2, 3, 2), (1, 3, 2)]);
    let done = answer(&place, &change);
    assert_eq!((done["made"].as_u64(), done["changed"].as_bool()), (Some(0), Some(false)));
    let spaces = &answer(&place, &["stats"])["namespaces"][0]["spaces"];
    assert_eq!((spaces[0]["behind"].as_u64(), spaces[0]["made"].as_u64()), (Some(0), Some(3)));
    assert!(spaces[0]["name"].as_str().unwrap().contains("pooling by the first token"), "{spaces}");
    assert_eq!(vectors(&place).len(), 1);
    let held = did(&place, &["search", "-n", "notes", "box"], &[("SAMITE_EMBEDDER", "builtin")]).error(4);
    assert_eq!(held["code"], "space_mismatch");
    // A model that is another one by now is none of the namespace's.
    fs::write(place.path().join("model/1_Pooling/config.json"), "{}").unwrap();
    assert_eq!(did(&place, &["search", "-n", "notes", "box"], &[]).error(4)["code"], "space_mismatch");
    assert!(did(&place, &["search", "-n", "notes", "box"], &[("SAMITE_EMBEDDER", "off")]).ok().contains("box"));
    let back = answer(&place, &["reindex", "-n", "notes", "--to", "builtin"]);
    assert_eq!(back["made"], 3);
    assert_eq!(did(&place, &["reindex", "-n", "notes", "--abandon"], &[]).error(3)["code"], "no_model_change");
}

/// An endpoint on this machine that answers with this status, and counts the texts.
struct Server {
    address: String,
    status: AtomicU16,
    texts: AtomicUsize,
    dimensions: AtomicUsize,
}

fn serve() -> Arc<Server> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Arc::new(Server {
        address: format!("http://{}/v1", listener.local_addr().unwrap()),
        status: AtomicU16::new(200),
        texts: AtomicUsize::new(0),
        dimensions: AtomicUsize::new(3),
    });
    let serving = server.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                let header = line.to_ascii_lowercase();
                if let Some(value) = header.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                assert!(!header.starts_with("authorization") || line.trim_end().ends_with("Bearer sk-of-the-test"));
                line.clear();
            }
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
            let texts = asked["input"].as_array().cloned().unwrap_or_default();
            serving.texts.fetch_add(texts.len(), Ordering::SeqCst);
            let count = serving.dimensions.load(Ordering::SeqCst);
            let vector = |text: &Value| {
                let text = text.as_str().unwrap_or_default();
                (0..count)
                    .map(|place| 1 + text.bytes().filter(|byte| usize::from(*byte) % count == place).count())
                    .collect::<Vec<_>>()
            };
            let data: Vec<Value> =
                (0..).zip(&texts).map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
            let body = json!({"data": data}).to_string();
            let status = serving.status.load(Ordering::SeqCst);
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let mut stream = reader.into_inner();
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    server
}

#[test]
fn an_endpoint_gets_texts_as_a_processor_alone_and_may_be_down() {
    let place = Place::new();
    add(&place, 3);
    let server = serve();
    let described =
        json!({"away": {"base": server.address, "model": "m", "dimensions": 3, "key_variable": "AWAY_KEY"}});
    fs::write(place.store().join("endpoints.json"), described.to_string()).unwrap();
    let key = [("AWAY_KEY", "sk-of-the-test")];
    let change = ["reindex", "-n", "notes", "--to", "endpoint:away"];
    assert_eq!(did(&place, &change, &key).error(6)["code"], "no_processor_for_memory");
    let register = |region: &str| {
        let words = [
            "processor",
            "register",
            "away",
            "--region",
            region,
            "--purpose",
            "embeddings",
            "--agreement",
            "c",
            "--receives",
            "memory",
        ];
        Did::new(&place.command(&words).output().unwrap())
    };
    register("us").ok();
    assert_eq!(server.texts.load(Ordering::SeqCst), 0);
    let no_key = did(&place, &change, &[]).error(2);
    assert_eq!(no_key["code"], "no_api_key");
    // It has too much to do, then fails, then gives vectors of another length; nothing of that is kept.
    for (status, dimensions, exit, code) in
        [(429, 3, 7, "embedder_unavailable"), (500, 3, 7, "embedder_unavailable"), (200, 4, 2, "wrong_dimensions")]
    {
        server.status.store(status, Ordering::SeqCst);
        server.dimensions.store(dimensions, Ordering::SeqCst);
        let failed = did(&place, &change, &key).error(exit);
        assert_eq!(failed["code"], code);
        assert!(!failed.to_string().contains("sk-of"), "{failed}");
    }
    server.dimensions.store(3, Ordering::SeqCst);
    let done: Value = serde_json::from_str(&did(&place, &change, &key).ok()).unwrap();
    assert_eq!(done["made"], 3);
    let found: Value = serde_json::from_str(&did(&place, &["search", "-n", "notes", "shelf 2"], &key).ok()).unwrap();
    assert_eq!((found["spaces"].as_array().unwrap().len(), &found["encoder_failed"]), (1, &Value::Null));
    // It is down: writes go on, and searches by words, which say so.
    server.status.store(503, Ordering::SeqCst);
    did(&place, &["add", "-n", "notes", "The attic is empty.", "--trust", "user"], &key).ok();
    let found: Value = serde_json::from_str(&did(&place, &["search", "-n", "notes", "attic"], &key).ok()).unwrap();
    assert_eq!(found["records"][0]["text"], "The attic is empty.");
    assert_eq!((&found["encoder_failed"], &found["behind"]), (&json!("embedder_unavailable"), &json!(1)));
    server.status.store(200, Ordering::SeqCst);
    let found: Value = serde_json::from_str(&did(&place, &["search", "-n", "notes", "attic"], &key).ok()).unwrap();
    assert_eq!((&found["encoder_failed"], &found["behind"]), (&Value::Null, &json!(0)));
    // Nobody sends it anything once it is removed.
    Did::new(&place.command(&["processor", "remove", "away"]).output().unwrap()).ok();
    let before = server.texts.load(Ordering::SeqCst);
    let found: Value = serde_json::from_str(&did(&place, &["search", "-n", "notes", "attic"], &key).ok()).unwrap();
    assert_eq!(
        (&found["encoder_failed"], server.texts.load(Ordering::SeqCst)),
        (&json!("no_processor_for_memory"), before)
    );
}
