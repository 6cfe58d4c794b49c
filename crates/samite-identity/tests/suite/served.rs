use crate::support::{NOW, Pair, claims, code, config, set, system};
use samite_host::TestClock;
use samite_identity::Verifier;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server on loopback that gives these answers in turn, the last one for ever, and counts them.
fn serve(answers: Vec<Vec<u8>>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            if stream.read(&mut request).unwrap_or_default() == 0 {
                continue;
            }
            let at = counted.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
            stream.write_all(&answers[at]).ok();
        }
    });
    (url, count)
}

fn http(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

fn verifier(keys: &str, clock: &Arc<TestClock>) -> Verifier {
    Verifier::with(config(keys), false, clock.clone(), &system()).unwrap()
}

#[test]
fn keys_are_fetched_from_a_real_server() {
    let (old, new) = (Pair::rsa(false), Pair::rsa(true));
    let (url, count) =
        serve(vec![http("200 OK", &set(&[old.public("old")])), http("200 OK", &set(&[new.public("new")]))]);
    let clock = Arc::new(TestClock::new(NOW * 1_000_000_000));
    let verifier = verifier(&url, &clock);
    for _ in 0..3 {
        assert_eq!(code(&verifier, &old.token("old", &claims())), "");
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(code(&verifier, &new.token("new", &claims())), "");
    assert_eq!(code(&verifier, &old.token("old", &claims())), "unknown_token_key");
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[test]
fn a_server_that_misbehaves_gives_no_keys() {
    let pair = Pair::ed();
    let right = set(&[pair.public("k")]);
    let (elsewhere, followed) = serve(vec![http("200 OK", &right)]);
    let large = format!("{{\"keys\":[],\"more\":\"{}\"}}", "x".repeat(300 << 10));
    let cases = [
        (http("500 Internal Server Error", &right), "keys_unavailable"),
        (http("404 Not Found", &right), "keys_unavailable"),
        // A redirect is not followed, wherever it leads.
        (
            format!("HTTP/1.1 302 Found\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n").into_bytes(),
            "keys_unavailable",
        ),
        (http("200 OK", &large), "keys_unavailable"),
        (http("200 OK", "<html>"), "bad_key_set"),
        (http("200 OK", "{\"keys\":[]}"), "bad_key_set"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{".to_vec(), "keys_unavailable"),
        (b"nonsense\r\n\r\n".to_vec(), "keys_unavailable"),
    ];
    for (answer, expected) in cases {
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(60)]).into_owned();
        let (url, _) = serve(vec![answer]);
        let clock = Arc::new(TestClock::new(NOW * 1_000_000_000));
        assert_eq!(code(&verifier(&url, &clock), &pair.token("k", &claims())), expected, "{shown}");
    }
    assert_eq!(followed.load(Ordering::SeqCst), 0);
    // Nobody there at all.
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/keys", listener.local_addr().unwrap())
    };
    let clock = Arc::new(TestClock::new(NOW * 1_000_000_000));
    assert_eq!(code(&verifier(&gone, &clock), &pair.token("k", &claims())), "keys_unavailable");
}

#[test]
fn keys_are_read_from_a_file_and_read_again_when_it_changes() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("keys.json");
    let (old, new) = (Pair::p256(), Pair::p384());
    let clock = Arc::new(TestClock::new(NOW * 1_000_000_000));
    let verifier = verifier(path.to_str().unwrap(), &clock);
    assert_eq!(code(&verifier, &old.token("old", &claims())), "keys_unavailable");
    clock.advance(30 * 1_000_000_000);
    std::fs::write(&path, set(&[old.public("old")])).unwrap();
    assert_eq!(code(&verifier, &old.token("old", &claims())), "");
    std::fs::write(&path, set(&[new.public("new")])).unwrap();
    assert_eq!(code(&verifier, &new.token("new", &claims())), "");
    assert_eq!(code(&verifier, &old.token("old", &claims())), "unknown_token_key");
    // A link, a pipe or a directory is no file.
    let link = scratch.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for wrong in [link.to_str().unwrap(), scratch.path().to_str().unwrap()] {
        assert_eq!(code(&self::verifier(wrong, &clock), &new.token("new", &claims())), "keys_unavailable");
    }
}
