//! A server that answers what a test wrote down, one connection an answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// What is answered to one request.
pub(crate) enum Answer {
    /// A status, header lines, and a body.
    Reply(u16, &'static str, String),
    /// Nothing, until the client goes.
    Silence,
    /// The beginning of an answer, then a byte now and then until the client goes.
    Drip,
    /// An answer that never ends.
    Flood,
    /// The end of the connection.
    Close,
}

/// A request as it came: its first line, its headers, its body.
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: serde_json::Value,
}

pub(crate) struct Server {
    pub(crate) base: String,
    requests: Receiver<Request>,
}

impl Server {
    pub(crate) fn new(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                sender.send(request(&stream)).unwrap();
                // A client that goes is what some of the answers are for.
                let _ = write(&mut stream, &answer);
            }
        });
        Self { base, requests }
    }

    /// The requests that came so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

/// An address at which nobody listens.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/v1", listener.local_addr().unwrap())
}

fn request(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        if header.trim().is_empty() {
            break;
        }
        headers.push(header.trim().to_owned());
    }
    let length =
        headers.iter().find_map(|header| header.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    Request { line: line.trim().to_owned(), headers, body: serde_json::from_slice(&body).unwrap() }
}

fn write(stream: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    match answer {
        Answer::Reply(status, headers, body) => {
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
        }
        Answer::Silence => stream.read_to_end(&mut Vec::new()).map(drop),
        Answer::Drip => {
            write!(stream, "HTTP/1.1 200 X\r\ncontent-length: 100000\r\n\r\n")?;
            loop {
                stream.write_all(b" ")?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        Answer::Flood => {
            write!(stream, "HTTP/1.1 200 X\r\nconnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&[b' '; 8_192])?;
            }
        }
        Answer::Close => Ok(()),
    }
}
