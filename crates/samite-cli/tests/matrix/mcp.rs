//! The outside world over MCP: a scripted server on standard input and output with a durable log of what it did, and
//! its client. Both speak JSON-RPC, one message a line.

use crate::shells;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

/// Serves until its input ends. The argument is its log: a line for each ticket, with its idempotency key and title.
pub(crate) fn serve(arguments: &[&str]) -> ExitCode {
    let [log] = arguments else { return ExitCode::FAILURE };
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = request.get("id") else { continue };
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "tickets", "version": "1" },
            }),
            "tools/call" => carry_out(log, &request["params"]),
            _ => Value::Null,
        };
        println!("{}", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }
    ExitCode::SUCCESS
}

fn carry_out(log: &str, call: &Value) -> Value {
    let title = call["arguments"]["title"].as_str().unwrap_or_default();
    let done = fs::read_to_string(log).unwrap_or_default();
    let tickets: Vec<Value> = done.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = if call["name"] == "find_ticket" {
        tickets.iter().any(|ticket| ticket["title"] == title)
    } else {
        let key = &call["_meta"]["idempotencyKey"];
        if key.is_null() || tickets.iter().all(|ticket| ticket["key"] != *key) {
            let mut file = OpenOptions::new().create(true).append(true).open(log).unwrap();
            file.write_all(format!("{}\n", json!({ "key": key, "title": title })).as_bytes()).unwrap();
            file.sync_all().unwrap();
        }
        if std::env::var("WORLD_GATE").is_ok_and(|gate| gate == "effect.unanswered") {
            shells::hold(&std::env::var("WORLD_HELD").unwrap(), || false);
        }
        true
    };
    json!({ "content": [{ "type": "text", "text": if found { "there" } else { "not there" } }], "isError": false })
}

/// Calls a tool of a server that it starts: `LOG TOOL TITLE [keyed]`. The status is 0 when the ticket is there.
pub(crate) fn call(arguments: &[&str]) -> ExitCode {
    let [log, tool, title, rest @ ..] = arguments else { return ExitCode::FAILURE };
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["__mcp-server", log])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut ask = |request: Value| -> Value {
        input.write_all(format!("{request}\n").as_bytes()).unwrap();
        if request.get("id").is_none() {
            return Value::Null;
        }
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "matrix", "version": "1" } });
    ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }));
    ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let mut params = json!({ "name": tool, "arguments": { "title": title } });
    if rest.contains(&"keyed") {
        params["_meta"] = json!({ "idempotencyKey": std::env::var("SAMITE_IDEMPOTENCY_KEY").unwrap() });
    }
    let answer = ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }));
    drop(input);
    server.wait().unwrap();
    let there = answer["result"]["content"][0]["text"] == "there";
    println!("{}", answer["result"]["content"][0]["text"]);
    ExitCode::from(u8::from(!there))
}
