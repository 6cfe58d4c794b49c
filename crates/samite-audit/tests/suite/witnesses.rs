//! Witnesses: a made-up one with each answer, and `aics-witness`.

use crate::log::{ORIGIN, entry, hashes, key, signed};
use crate::others;
use samite_audit::merkle::{leaf_hash, prove_consistency};
use samite_audit::note::{Cosigner, KeyKind, Signature};
use samite_audit::testing::TestSigner;
use samite_audit::witness::{Submission, submit};
use samite_audit::{Frontier, Hash, Note, TreeHead, VerifierKey};
use samite_model::Result;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// Sends the tree head of the first so many entries.
fn send(url: &str, witness: &VerifierKey, seen: u64, size: u64) -> Result<(Note, Cosigner)> {
    let submission = Submission { url, key: witness, seen, time_limit: Duration::from_secs(30) };
    let leaves = hashes(size);
    submit(&submission, &signed(size), &mut |old| prove_consistency(&mut &leaves[..], old, size))
}

/// A server that gives these answers, one a request, and then the requests that it got.
fn server(answers: Vec<(u16, String)>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/prefix/", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut first, mut length) = (String::new(), 0);
            reader.read_line(&mut first).unwrap();
            assert_eq!(first, "POST /prefix/add-checkpoint HTTP/1.1\r\n");
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let line = line.trim().to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
            }
            let mut request = vec![0; length];
            reader.read_exact(&mut request).unwrap();
            requests.push(String::from_utf8(request).unwrap());
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
        requests
    });
    (url, served)
}

fn witness() -> (TestSigner, VerifierKey) {
    let witness = TestSigner::new("witness.example/w", 3);
    let key = VerifierKey::of(&witness, KeyKind::Cosignature).unwrap();
    (witness, key)
}

#[test]
fn a_witness_that_saw_another_size_is_given_the_proof_from_there() {
    let (signer, witness_key) = witness();
    let cosignature = Signature::cosign(signed(7).text(), 99, &signer).unwrap().line();
    let other = Signature::cosign(signed(7).text(), 98, &TestSigner::new("other.example", 4)).unwrap().line();
    let (url, served) = server(vec![(409, "4\n".to_owned()), (200, other + &cosignature)]);
    let (note, cosigner) = send(&url, &witness_key, 0, 7).unwrap();
    assert_eq!((&cosigner.key, cosigner.seconds), (&witness_key, 99));
    // The log's signature and the witness's, and nobody else's.
    assert_eq!(note.to_string(), format!("{}{cosignature}", signed(7)));
    let requests = served.join().unwrap();
    assert_eq!(requests[0], format!("old 0\n\n{}", signed(7)));
    let proof = prove_consistency(&mut &hashes(7)[..], 4, 7).unwrap();
    assert_eq!(requests[1], format!("old 4\n{}\n\n{}", proof[0].to_base64(), signed(7)));
    assert_eq!(proof.len(), 1);
}

#[test]
fn what_a_witness_refuses_is_told() {
    let (signer, witness_key) = witness();
    let stale = Signature::cosign(signed(6).text(), 99, &signer).unwrap().line();
    let other = Signature::cosign(signed(7).text(), 98, &TestSigner::new("other.example", 4)).unwrap().line();
    for (answers, kind, code) in [
        (vec![(409, "8\n")], "conflict", "witness_ahead"),
        (vec![(409, "5\n")], "conflict", "witness_differs"),
        (vec![(409, "4\n"), (409, "4\n")], "conflict", "witness_differs"),
        (vec![(409, "4\n"), (409, "3\n"), (409, "2\n")], "unavailable", "witness_answer"),
        (vec![(422, "")], "conflict", "witness_proof"),
        (vec![(403, "")], "denied", "witness_signature"),
        (vec![(404, "")], "not_found", "witness_unknown_log"),
        (vec![(400, "")], "invalid", "witness_request"),
        (vec![(500, "oh")], "unavailable", "witness_answer"),
        (vec![(200, "no signature\n")], "unavailable", "witness_answer"),
        (vec![(200, other.as_str())], "corrupt", "not_signed"),
        (vec![(200, stale.as_str())], "corrupt", "bad_signature"),
    ] {
        let answers = answers.into_iter().map(|(status, body)| (status, body.to_owned())).collect();
        let (url, served) = server(answers);
        let error = send(&url, &witness_key, 5, 7).unwrap_err();
        assert_eq!((error.kind().name(), error.code()), (kind, code), "{error}");
        served.join().unwrap();
    }
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = send(&format!("http://{gone}"), &witness_key, 0, 7).unwrap_err();
    assert_eq!((error.kind().name(), error.code()), ("unavailable", "no_witness"));
}

/// A running `aics-witness`; it is ended with this.
struct Aics {
    process: Child,
    url: String,
    key: VerifierKey,
    _scratch: tempfile::TempDir,
}

impl Aics {
    /// One that knows the log, if it is installed.
    fn start() -> Option<Self> {
        let Some(python) = others::python() else {
            eprintln!("SKIPPED: aics-witness is not installed for tests; ./test installs it where it can");
            return None;
        };
        let scratch = tempfile::tempdir().unwrap();
        let command = |arguments: &[&str]| {
            let mut command = Command::new("python3");
            command.args(["-m", "aics_witness"]).args(arguments).env("PYTHONPATH", &python).current_dir(scratch.path());
            command
        };
        let done = |arguments: &[&str]| {
            let output = command(arguments).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let printed = done(&["init", "--config", "w.json", "--name", "witness.example/w1"]);
        let log_key = key().verifier().to_string();
        done(&["add-log", "--config", "w.json", "--origin", ORIGIN, "--vkey", &log_key]);
        let mut serve = command(&["serve", "--config", "w.json", "--listen", "127.0.0.1:0"]);
        let mut process = serve.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        // It says where it listens, and goes on saying things that nobody reads here.
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let listening =
            lines.by_ref().map_while(std::result::Result::ok).find(|line| line.contains("listening on ")).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let url = listening.split("listening on ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        Some(Self { process, url, key: printed.trim().parse().unwrap(), _scratch: scratch })
    }
}

impl Drop for Aics {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn aics_witness_cosigns_what_continues_and_nothing_else() {
    let Some(witness) = Aics::start() else { return };
    let send = |seen, size| send(&witness.url, &witness.key, seen, size);
    let (note, cosigner) = send(0, 300).unwrap();
    assert_eq!((note.signatures().len(), &cosigner.key), (2, &witness.key));
    let opened =
        TreeHead::open(note.to_string().as_bytes(), &key().verifier(), std::slice::from_ref(&witness.key)).unwrap();
    assert_eq!((opened.head.size, opened.cosigners.as_slice()), (300, &[cosigner][..]));
    // What it saw last is not known, or wrong, or right; and the same again.
    for (seen, size) in [(0, 700), (300, 701), (701, 70_000), (70_000, 70_000)] {
        assert_eq!(send(seen, size).unwrap().0.text(), signed(size).text(), "{seen} {size}");
    }
    assert_eq!(send(0, 69_999).unwrap_err().code(), "witness_ahead");
    // Another history under the same key, of the same size and of a later one.
    let fork = |size: u64| {
        let hashes: Vec<Hash> = (0..size).map(|index| leaf_hash(&entry(index + 1))).collect();
        let mut frontier = Frontier::new();
        for hash in &hashes {
            frontier.push(*hash);
        }
        let head = TreeHead::of(ORIGIN, &frontier).unwrap().sign(&key()).unwrap();
        let submission =
            Submission { url: &witness.url, key: &witness.key, seen: 0, time_limit: Duration::from_secs(30) };
        submit(&submission, &head, &mut |old| prove_consistency(&mut &hashes[..], old, size)).unwrap_err().code()
    };
    assert_eq!(fork(70_000), "witness_differs");
    assert_eq!(fork(70_001), "witness_proof");
    // A log that it does not know, and one that another key signs.
    let stranger = TestSigner::new("example.com/stranger", 9);
    let submission = Submission { url: &witness.url, key: &witness.key, seen: 0, time_limit: Duration::from_secs(30) };
    let head = TreeHead::of("example.com/stranger", &Frontier::new()).unwrap().sign(&stranger).unwrap();
    assert_eq!(submit(&submission, &head, &mut |_| Ok(Vec::new())).unwrap_err().code(), "witness_unknown_log");
    let forged = TreeHead::parse(signed(5).text()).unwrap().sign(&TestSigner::new(ORIGIN, 9)).unwrap();
    assert_eq!(submit(&submission, &forged, &mut |_| Ok(Vec::new())).unwrap_err().code(), "witness_signature");
}
