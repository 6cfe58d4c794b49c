//! A model that follows a script, on a port of loopback: it answers in the shapes of OpenAI's Responses API and of Gemini's
//! `generateContent`, and keeps every request.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the model answers with.
#[derive(Clone)]
pub(crate) enum Turn {
    /// A call of the tool that runs a shell command.
    Shell(String),
    /// Its last words.
    Say(&'static str),
}

/// A call of the shell.
pub(crate) fn shell(command: &str) -> Turn {
    Turn::Shell(command.to_owned())
}

/// Last words.
pub(crate) fn say(words: &'static str) -> Turn {
    Turn::Say(words)
}

#[derive(Default)]
struct State {
    script: VecDeque<Turn>,
    requests: Vec<Value>,
    answered: usize,
}

/// The model. Its threads end with the test's process.
pub(crate) struct Model {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
}

impl Model {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { port, state }
    }

    /// What comes next; when it is over, the model has nothing more to say than "Done.".
    pub(crate) fn play(&self, script: &[Turn]) {
        let mut state = self.state.lock().unwrap();
        state.script = script.iter().cloned().collect();
        state.requests.clear();
    }

    /// The last request for an answer.
    pub(crate) fn last(&self) -> Value {
        self.state.lock().unwrap().requests.last().expect("the agent asked the model").clone()
    }
}

/// Serves one connection: one request, so that no connection is kept.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let (kind, bytes) = answer(method, path, &body, state);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        bytes.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&bytes).ok()
}

fn answer(method: &str, path: &str, body: &[u8], state: &Mutex<State>) -> (&'static str, Vec<u8>) {
    const JSON: &str = "application/json";
    const STREAM: &str = "text/event-stream";
    if method != "POST" {
        return (JSON, json!({"object": "list", "data": [], "models": []}).to_string().into_bytes());
    }
    if path.contains("countTokens") {
        return (JSON, json!({"totalTokens": 1}).to_string().into_bytes());
    }
    let mut state = state.lock().unwrap();
    state.requests.push(serde_json::from_slice(body).unwrap_or_default());
    state.answered += 1;
    let number = state.answered;
    let turn = state.script.pop_front().unwrap_or(Turn::Say("Done."));
    if path.contains("/models/") {
        let answer = gemini(&turn);
        if path.contains("stream") {
            return (STREAM, format!("data: {answer}\r\n\r\n").into_bytes());
        }
        return (JSON, answer.to_string().into_bytes());
    }
    let events: Vec<String> = responses(&turn, number)
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()))
        .collect();
    (STREAM, events.concat().into_bytes())
}

fn responses(turn: &Turn, number: usize) -> [Value; 3] {
    let item = match turn {
        Turn::Shell(command) => json!({
            "type": "function_call", "id": format!("item_{number}"), "call_id": format!("call_{number}"),
            "name": "exec_command", "arguments": json!({"cmd": command}).to_string(),
        }),
        Turn::Say(words) => json!({
            "type": "message", "role": "assistant", "id": format!("item_{number}"),
            "content": [{"type": "output_text", "text": words}],
        }),
    };
    let response = format!("response_{number}");
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1, "output_tokens_details": null,
        "total_tokens": 2,
    });
    [
        json!({"type": "response.created", "response": {"id": response}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": response, "usage": usage}}),
    ]
}

fn gemini(turn: &Turn) -> Value {
    let part = match turn {
        Turn::Shell(command) => json!({"functionCall": {
            "name": "run_shell_command", "args": {"command": command, "description": "as the script says"},
        }}),
        Turn::Say(words) => json!({"text": words}),
    };
    json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "modelVersion": "scripted",
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    })
}
