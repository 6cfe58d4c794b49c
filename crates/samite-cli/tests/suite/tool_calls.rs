//! `memory files` and `memory graph`: calls of other tools, as JSON in and JSON out.

use crate::support::{Did, Place};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

fn call(place: &Place, view: &str, input: &Value) -> Did {
    place.run_with_input(&["--json", "memory", view, "--namespace", "agent"], input.to_string().as_bytes())
}

fn answer(place: &Place, view: &str, input: &Value) -> Value {
    serde_json::from_str(&call(place, view, input).ok()).unwrap()
}

#[test]
fn a_command_of_the_file_tool_is_answered() {
    let place = Place::new();
    let session = place.session();
    let create = json!({ "command": "create", "path": "/memories/a.md", "file_text": "tea\n" }).to_string();
    let arguments = ["--json", "memory", "files", "-n", "agent", "--session", &session];
    let made: Value = serde_json::from_str(&place.run_with_input(&arguments, create.as_bytes()).ok()).unwrap();
    assert_eq!(made, json!({ "content": "File created successfully at: /memories/a.md", "is_error": false }));
    let listed: Value = place.json(&["memory", "list", "-n", "agent"]).json();
    assert_eq!(listed["records"][0]["session"].as_str(), Some(session.as_str()));
    let wrong = answer(&place, "files", &json!({ "command": "view", "path": "/memories/../a" }));
    assert_eq!(wrong["is_error"], true);
    let view = json!({ "command": "view", "path": "/memories/a.md" }).to_string();
    let shown = place.run_with_input(&["memory", "files", "-n", "agent"], view.as_bytes()).ok();
    assert_eq!(shown, "Here's the content of /memories/a.md with line numbers:\n     1    tea\n     2    \n");
    for (view, input) in [
        ("files", json!({ "command": "format" })),
        ("files", json!("view")),
        ("graph", json!({ "name": "read" })),
        ("graph", json!({ "name": "open_nodes" })),
    ] {
        assert_eq!(call(&place, view, &input).error(2)["code"], "bad_call", "{input}");
    }
    let did = place.run_with_input(&["--json", "memory", "graph", "-n", "agent"], b"{");
    assert_eq!(did.error(2)["code"], "bad_call");
}

/// Calls that say nothing twice and nothing blank, in which the server and the view are alike.
fn calls() -> Vec<Value> {
    let entity = |name: &str, kind: &str, observations: &[&str]| json!({ "name": name, "entityType": kind, "observations": observations });
    let relation = |from: &str, to: &str| json!({ "from": from, "to": to, "relationType": "knows" });
    let of = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let (ada, grace) = (entity("Ada", "person", &["drinks tea"]), entity("Grace", "Person", &[]));
    vec![
        of("read_graph", json!({})),
        of("create_entities", json!({ "entities": [ada, grace] })),
        of(
            "create_entities",
            json!({ "entities": [entity("Ada", "machine", &["x"]), entity("Bo", "ship", &["Steel", "old"])] }),
        ),
        of("create_relations", json!({ "relations": [relation("Ada", "Grace"), relation("Grace", "nobody")] })),
        of("create_relations", json!({ "relations": [relation("Ada", "Grace"), relation("Bo", "Ada")] })),
        of(
            "add_observations",
            json!({ "observations": [{ "entityName": "Ada", "contents": ["drinks tea", "sails"] }] }),
        ),
        of("add_observations", json!({ "observations": [{ "entityName": "nobody", "contents": ["x"] }] })),
        of("read_graph", json!({})),
        of("search_nodes", json!({ "query": "PERSON" })),
        of("search_nodes", json!({ "query": "steel" })),
        of("search_nodes", json!({ "query": "none of them" })),
        of("search_nodes", json!({ "query": "" })),
        of("open_nodes", json!({ "names": ["Grace", "nobody"] })),
        of("delete_observations", json!({ "deletions": [{ "entityName": "Bo", "observations": ["old", "new"] }] })),
        of("delete_relations", json!({ "relations": [relation("Bo", "Ada"), relation("Ada", "Bo")] })),
        of("read_graph", json!({})),
        of("delete_entities", json!({ "entityNames": ["Ada", "nobody"] })),
        of("read_graph", json!({})),
        of("create_entities", json!({ "entities": [ada] })),
        of("read_graph", json!({})),
    ]
}

/// The server itself, spoken to as a client does.
struct Server {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
    next: u64,
}

impl Server {
    fn start(program: &str, place: &Place) -> Self {
        let mut command = Command::new("node");
        command.arg(program).env("MEMORY_FILE_PATH", place.path().join("memory.jsonl"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, answers, next: 0 };
        let client = json!({ "name": "test", "version": "1" });
        let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        server.ask("initialize", &begin);
        server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn say(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.next += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": parameters }));
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        answer["result"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a view answered, as a server's result.
fn as_result(answer: &Value) -> Value {
    let content = json!([{ "type": "text", "text": answer["content"] }]);
    if answer["is_error"] == true {
        return json!({ "content": content, "isError": true });
    }
    json!({ "content": content, "structuredContent": answer["structured"] })
}

/// What a model reads is the same, however its fields are ordered.
fn read(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

#[test]
fn the_graph_answers_as_the_memory_server_does() {
    let Some(program) = std::env::var_os("SAMITE_MCP_MEMORY") else {
        eprintln!(
            "SKIPPED: SAMITE_MCP_MEMORY names no index.js of @modelcontextprotocol/server-memory to compare with"
        );
        return;
    };
    let place = Place::new();
    let mut server = Server::start(program.to_str().unwrap(), &place);
    for input in calls() {
        let (theirs, ours) = (server.ask("tools/call", &input), as_result(&answer(&place, "graph", &input)));
        assert_eq!(read(&ours), read(&theirs), "{input}");
        assert_eq!(ours["structuredContent"], theirs["structuredContent"], "{input}");
        assert_eq!(ours["isError"] == true, theirs["isError"] == true, "{input}");
    }
}

#[test]
fn the_graph_answers_what_is_written_down() {
    let place = Place::new();
    let all: Vec<Value> = calls().iter().map(|input| answer(&place, "graph", input)).collect();
    let found = |number: usize| {
        let graph = &all[number]["structured"];
        let names = |list: &str, name: &str| {
            let list = graph[list].as_array().unwrap();
            list.iter().map(|one| one[name].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        (names("entities", "name"), names("relations", "from"))
    };
    let of = |entities: &[&str], relations: &[&str]| {
        let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        (texts(entities), texts(relations))
    };
    assert_eq!(found(0), of(&[], &[]));
    assert_eq!(all[2]["structured"]["entities"].as_array().unwrap().len(), 1);
    assert_eq!(all[4]["structured"], json!({ "relations": [{ "from": "Bo", "to": "Ada", "relationType": "knows" }] }));
    let added = json!({ "results": [{ "entityName": "Ada", "addedObservations": ["sails"] }] });
    assert_eq!(all[5]["structured"], added);
    assert_eq!(all[6], json!({ "content": "Entity with name nobody not found", "structured": null, "is_error": true }));
    assert_eq!(found(7), of(&["Ada", "Grace", "Bo"], &["Ada", "Grace", "Bo"]));
    assert_eq!(found(8), of(&["Ada", "Grace"], &["Ada", "Grace", "Bo"]));
    assert_eq!(found(9), of(&["Bo"], &["Bo"]));
    assert_eq!(found(10), of(&[], &[]));
    assert_eq!(found(11), found(7));
    assert_eq!(found(12), of(&["Grace"], &["Ada", "Grace"]));
    assert_eq!(all[13]["content"], "Observations deleted successfully");
    assert_eq!(found(15), of(&["Ada", "Grace", "Bo"], &["Ada", "Grace"]));
    assert_eq!(found(17), of(&["Grace", "Bo"], &[]));
    assert_eq!(found(19), of(&["Grace", "Bo", "Ada"], &[]));
}
