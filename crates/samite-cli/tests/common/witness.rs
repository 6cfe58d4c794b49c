//! A witness of the audit log, for tests.

use samite_audit::note::{KeyKind, Signature};
use samite_audit::testing::TestSigner;
use samite_audit::{Note, VerifierKey};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

/// A witness that cosigns what continues what it saw. It takes the word of whoever asks for the proof.
pub(crate) struct Witness {
    pub(crate) url: String,
    pub(crate) key: String,
}

impl Witness {
    pub(crate) fn start() -> Self {
        Self::named("witness.example", 7)
    }

    /// One of this name, with the key of this seed.
    pub(crate) fn named(name: &str, secret: u8) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let key = TestSigner::new(name, secret);
        let verifier = VerifierKey::of(&key, KeyKind::Cosignature).unwrap().to_string();
        std::thread::spawn(move || {
            let mut seen = 0;
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut first = String::new();
                reader.read_line(&mut first).unwrap();
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let line = line.to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                }
                // Whoever looks whether somebody is there.
                if !first.starts_with("POST /add-checkpoint ") {
                    reader.get_mut().write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok();
                    continue;
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let body = String::from_utf8(body).unwrap();
                let (asked, signed) = body.split_once("\n\n").unwrap();
                let old: u64 = asked.lines().next().unwrap().strip_prefix("old ").unwrap().parse().unwrap();
                let note = Note::parse(signed.as_bytes()).unwrap();
                let size: u64 = note.text().lines().nth(1).unwrap().parse().unwrap();
                let (status, answer) = if old == seen {
                    seen = size;
                    ("200 OK", Signature::cosign(note.text(), 1_700_000_000, &key).unwrap().line())
                } else {
                    ("409 Conflict", format!("{seen}\n"))
                };
                let kind = "Content-Type: text/x.tlog.size\r\nConnection: close";
                let head = format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {}\r\n\r\n", answer.len());
                // Who asked may have been killed.
                reader.get_mut().write_all(format!("{head}{answer}").as_bytes()).ok();
            }
        });
        Self { url, key: verifier }
    }
}
