//! The outside world over HTTP: a real server on this machine that counts what it is asked to do, and its client.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock};

/// What was done to one resource.
#[derive(Default)]
struct Resource {
    done: usize,
    keys: HashSet<String>,
}

fn resources() -> &'static Mutex<HashMap<String, Resource>> {
    static RESOURCES: OnceLock<Mutex<HashMap<String, Resource>>> = OnceLock::new();
    RESOURCES.get_or_init(Mutex::default)
}

/// Host and port of the server, which starts at the first call and lasts.
pub(crate) fn address() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || answer(stream));
            }
        });
        address
    })
}

/// How often something was really done to the resources whose path begins so.
pub(crate) fn done(prefix: &str) -> usize {
    resources().lock().unwrap().iter().filter(|(path, _)| path.starts_with(prefix)).map(|(_, one)| one.done).sum()
}

/// Answers one request: POST does something once more, unless its idempotency key was seen; GET tells whether anything
/// was done.
fn answer(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers: HashMap<String, String> = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let mut body = vec![0; headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
    // A request that was cut off is none.
    reader.read_exact(&mut body).ok()?;
    let status = if method == "POST" {
        let mut resources = resources().lock().unwrap();
        let resource = resources.entry(path).or_default();
        let is_new = headers.get("idempotency-key").is_none_or(|key| resource.keys.insert(key.clone()));
        resource.done += usize::from(is_new);
        "201 Created"
    } else if resources().lock().unwrap().get(&path).is_some_and(|resource| resource.done > 0) {
        "200 OK"
    } else {
        "404 Not Found"
    };
    if let Some(held) = headers.get("world-held") {
        crate::shells::hold(held, || reader.read_exact(&mut [0]).is_err());
        return None;
    }
    let mut stream = stream;
    stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").as_bytes()).ok()
}

/// The client: `PATH` with `keyed` sends the step's idempotency key.
pub(crate) fn request(arguments: &[&str]) -> ExitCode {
    let [path, rest @ ..] = arguments else { return ExitCode::FAILURE };
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut request = format!("POST {path} HTTP/1.1\r\nhost: world\r\ncontent-length: 4\r\n");
    if rest.contains(&"keyed") {
        request.push_str(&format!("idempotency-key: {}\r\n", variable("SAMITE_IDEMPOTENCY_KEY")));
    }
    if variable("WORLD_GATE") == "effect.unanswered" {
        request.push_str(&format!("world-held: {}\r\n", variable("WORLD_HELD")));
    }
    request.push_str("\r\nbody");
    let mut stream = TcpStream::connect(variable("WORLD_HTTP")).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    println!("{}", response.lines().next().unwrap_or_default());
    ExitCode::from(u8::from(!response.starts_with("HTTP/1.1 201")))
}
