//! docs/json.md is what every command answers with `--json`: each is run, and each field that it has is listed there
//! with its type, and each one that is listed is seen.

use crate::documents::{root, rows};
use crate::help::commands;
use crate::support::{Did, Place, Witness, text};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// A field of a shape.
struct Field {
    name: String,
    optional: bool,
    kind: String,
}

/// The page, and what of it was seen.
struct Page {
    shapes: BTreeMap<String, Vec<Field>>,
    commands: BTreeMap<String, String>,
    seen: RefCell<BTreeSet<(String, String)>>,
    run: RefCell<BTreeSet<String>>,
}

/// What no test of this file brings about: what cannot be read, is erased or huge, decisions that take time, and what
/// needs git.
const UNSEEN: [(&str, &str); 20] = [
    // No leaf is 183 days old.
    ("moved_leaves", "log"),
    ("moved_leaves", "from"),
    ("moved_leaves", "to"),
    ("moved_leaves", "archive"),
    ("moved_leaves", "since"),
    ("due_leaves", "log"),
    ("due_leaves", "from"),
    ("due_leaves", "to"),
    ("due_leaves", "archive"),
    ("due_leaves", "moved"),
    ("special", "path"),
    ("special", "what"),
    ("unreadable", "error"),
    ("status", "unreadable"),
    ("entry", "large"),
    ("doubt", "error"),
    ("doubt", "seconds"),
    ("settlement", "seconds"),
    ("settlement", "reason"),
    ("kept", "repository"),
];

impl Page {
    fn read() -> Self {
        let document = fs::read_to_string(root().join("docs/json.md")).unwrap();
        let mut shapes = BTreeMap::new();
        for section in document.split("\n### ").skip(1) {
            let (name, rest) = section.split_once('\n').unwrap();
            let rest = rest.split("\n## ").next().unwrap();
            let fields = rows(rest, &["field", "type", "what"]).into_iter().map(|row| Field {
                optional: row[0].ends_with('?'),
                name: row[0].trim_end_matches('?').to_owned(),
                kind: row[1].clone(),
            });
            assert!(shapes.insert(name.to_owned(), fields.collect::<Vec<_>>()).is_none(), "{name} stands there twice");
        }
        let commands = rows(&document, &["command", "answers with"]);
        let commands = commands.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
        Self { shapes, commands, seen: RefCell::default(), run: RefCell::default() }
    }

    /// The fields of a shape, those that it takes over included, each with the shape that lists it.
    fn fields(&self, shape: &str) -> Vec<(&str, &Field)> {
        let (name, fields) = self.shapes.get_key_value(shape).unwrap_or_else(|| panic!("{shape} is no shape"));
        let mut all: Vec<(&str, &Field)> = Vec::new();
        for field in fields {
            if field.name == "…" {
                all.extend(self.fields(&field.kind));
            } else {
                all.push((name.as_str(), field));
            }
        }
        // What a shape lists itself counts before what it takes over.
        let own: BTreeSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        all.retain(|(owner, field)| *owner == shape || !own.contains(field.name.as_str()));
        all
    }

    /// Checks a value against a type, and answers with what is wrong.
    fn check(&self, value: &Value, kind: &str) -> Result<(), String> {
        let mut wrong = Vec::new();
        for one in alternatives(kind) {
            match self.check_one(value, one) {
                Ok(seen) => {
                    self.seen.borrow_mut().extend(seen);
                    return Ok(());
                }
                Err(why) => wrong.push(why),
            }
        }
        Err(wrong.join("; or "))
    }

    fn check_one(&self, value: &Value, kind: &str) -> Result<Vec<(String, String)>, String> {
        let is = match (kind, value) {
            ("any", _) | ("null", Value::Null) | ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => true,
            ("number", Value::Number(number)) => number.is_u64() || number.is_i64(),
            ("null" | "string" | "boolean" | "number", _) => false,
            (list, Value::Array(items)) if list.starts_with('[') => {
                let inner = list.trim_start_matches('[').trim_end_matches(']');
                for item in items {
                    self.check(item, inner)?;
                }
                true
            }
            (list, _) if list.starts_with('[') => false,
            (shape, Value::Object(object)) => return self.check_shape(object, shape),
            _ => false,
        };
        if is { Ok(Vec::new()) } else { Err(format!("{value} is no {kind}")) }
    }

    fn check_shape(
        &self,
        object: &serde_json::Map<String, Value>,
        shape: &str,
    ) -> Result<Vec<(String, String)>, String> {
        let fields = self.fields(shape);
        let mut seen = Vec::new();
        for (name, value) in object {
            let Some((owner, field)) = fields.iter().find(|(_, field)| field.name == *name) else {
                return Err(format!("{shape} lists no field {name}: {value}"));
            };
            self.check(value, &field.kind).map_err(|why| format!("{shape}.{name}: {why}"))?;
            seen.push(((*owner).to_owned(), name.clone()));
        }
        for (_, field) in fields {
            if !field.optional && !object.contains_key(&field.name) {
                return Err(format!("{shape} has no field {}", field.name));
            }
        }
        Ok(seen)
    }

    /// Runs a command with `--json` and checks what it answers.
    #[track_caller]
    fn run(&self, place: &Place, arguments: &[&str]) -> Value {
        let did = place.json(arguments);
        assert_eq!(did.status, 0, "{arguments:?}: {did:?}");
        self.answered(arguments, &did.out)
    }

    /// Checks an answer, and answers with its last line.
    #[track_caller]
    fn answered(&self, arguments: &[&str], out: &str) -> Value {
        let words: Vec<String> = (1..=arguments.len().min(3)).rev().map(|many| arguments[..many].join(" ")).collect();
        let command = words.iter().find(|words| self.commands.contains_key(*words));
        let command = command.unwrap_or_else(|| panic!("docs/json.md does not list {arguments:?}"));
        self.run.borrow_mut().insert(command.clone());
        let mut last = Value::Null;
        for line in out.lines() {
            last = serde_json::from_str(line).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {line}"));
            self.check(&last, &self.commands[command]).unwrap_or_else(|why| panic!("{arguments:?}: {why}\n{last:#}"));
        }
        last
    }
}

/// The alternatives of a type: `a or b`, but not those inside of a list.
fn alternatives(kind: &str) -> Vec<&str> {
    if kind.starts_with('[') && kind.ends_with(']') && !kind.contains("] or") {
        return vec![kind];
    }
    kind.split(" or ").collect()
}

/// Two sessions, branches, files, steps and doubts: everything that has a field of its own.
fn run_all(page: &Page, place: &Place) {
    let run = |arguments: &[&str]| page.run(place, arguments);
    let id = text(&run(&["session", "new", "--name", "one"]), "/id");
    let other = text(&run(&["session", "new", "--parent", &id]), "/id");
    let write = |name: &str, content: &[u8]| fs::write(place.path().join(name), content).unwrap();
    fs::create_dir(place.path().join("work")).unwrap();
    write("work/a.txt", b"one\n");
    write("work/.env", b"SECRET=1\n");
    write("work/raw", &[0xff]);
    write("work/left.log", b"x");
    write("work/.samiteignore", b"*.log\n");
    write("work/package.json", b"{}\n");
    let socket = std::os::unix::net::UnixListener::bind(place.path().join("work/socket")).unwrap();
    run(&["workspace", "attach", &id, "work"]);
    run(&["workspace", "status", &id]);
    let first = run(&["checkpoint", &id, "--label", "begin"])["seq"].as_u64().unwrap();
    let at = format!("{id}@{first}");
    run(&["append", &id, "--text", "hello", "--dedupe", "m1"]);
    run(&["append", &id, "--kind", "compaction", "--text", "short", "--attributes", r#"{"from": 1, "to": 2}"#]);
    run(&["append", &id, "--kind", "event", "--json-value", "{}"]);
    let step = |key: &str, effect: &[&str], script: &str| {
        let mut arguments = vec!["step", "run", &id, "--key", key, "--tool", key];
        arguments.extend_from_slice(effect);
        arguments.extend_from_slice(&["--", "sh", "-c", script]);
        run(&arguments)
    };
    step("keyed", &["--effect", "keyed:24h", "--touches", "https://example.com/x"], "true");
    step("keyed", &["--effect", "keyed:24h", "--touches", "https://example.com/x"], "true");
    step("files", &["--effect", "contained", "--within", "x", "--cwd", "work"], "true");
    step("seen", &["--effect", "observable:5s", "--probe", "file:sent"], "echo > sent");
    let listed = run(&["step", "list", &id]);
    let again = step("keyed", &["--effect", "keyed:24h", "--touches", "https://example.com/x"], "true");
    assert_eq!(again["id"], listed["steps"][0]["id"]);
    run(&["read", &id]);
    run(&["read", &id, "--headers"]);
    write("work/a.txt", b"changed\n");
    write("work/plan.md", b"1. go on\n");
    write("work/package.json", b"{\"name\": \"x\"}\n");
    run(&["recover", &id]);
    run(&["guarantees", &id]);
    refused(page, place, &["workspace", "close", &id]);
    drop(socket);
    fs::remove_file(place.path().join("work/socket")).unwrap();
    run(&["workspace", "close", &id]);
    run(&["workspace", "status", &id]);
    write("work/mine.txt", b"mine\n");
    run(&["workspace", "restore", &at, "--plan"]);
    run(&["workspace", "restore", &at]);
    write("work/token", b"ghp_16C7e42F292c6912E7710c838347Ae178B4a\n");
    run(&["checkpoint", &id]);
    run(&["turn", "end", &id, "--dedupe", "turn"]);
    run(&["turn", "end", &id, "--dedupe", "turn"]);
    run(&["checkpoint", "list", &id]);
    run(&["checkpoint", "found", &id]);
    run(&["checkpoint", "thin", &id, "--all-for", "0s", "--hourly-for", "0s", "--dry-run"]);
    run(&["diff", &at, &id]);
    run(&["workspace", "log", &id, "a.txt"]);
    run(&["workspace", "cat", &at, "a.txt"]);
    run(&["workspace", "cat", &at, "raw"]);
    let fork = text(&run(&["fork", &at, "--into", "second", "--name", "second"]), "/id");
    let fork = format!("{id}:{fork}");
    doubts(page, place, &id);
    run(&["branch", "keep", &fork]);
    run(&["branch", "keep", &fork, "--days", "3"]);
    run(&["branch", "list", &id]);
    run(&["rewind", &at, "--plan"]);
    run(&["rewind", &at]);
    run(&["branch", "use", &fork]);
    run(&["session", "show", &id]);
    run(&["session", "set", &id]);
    run(&["session", "set", &other, "--max-loss", "60s", "--deliver", "dist/**"]);
    run(&["session", "list"]);
    run(&["session", "tree", &id]);
    run(&["status"]);
    merges(page, place);
    let gone = text(&run(&["fork", &other]), "/id");
    run(&["branch", "delete", &format!("{other}:{gone}"), "--dry-run"]);
    run(&["branch", "delete", &format!("{other}:{gone}"), "--yes"]);
    let third = text(&run(&["fork", &at, "--into", "third"]), "/id");
    let third = format!("{id}:{third}");
    write("third/new", b"new");
    run(&["checkpoint", &third, "--no-environment"]);
    run(&["branch", "keep", &third, "--days", "0"]);
    artifacts(page, place, &id, &fork);
    memories(page, place, &id);
    left(page, place);
    run(&["log", &fork]);
    run(&["append", &fork, "--text", "go on", "--attributes", r#"{"role": "user"}"#]);
    run(&["log", &fork, "--turns", "1"]);
    run(&["log", &id]);
    run(&["gc", "--dry-run"]);
    run(&["gc", "--yes"]);
    run(&["verify"]);
    audited(page, place, &id);
    run(&["backup", "copy"]);
    erasures(page, place);
    fs::remove_dir_all(place.path().join("second")).unwrap();
    run(&["rewind", &at]);
}

/// The audit log, what leaves the store of it, and what is found when it is not as it says.
fn audited(page: &Page, place: &Place, id: &str) {
    let run = |arguments: &[&str]| page.run(place, arguments);
    run(&["audit", "log", "--all"]);
    run(&["audit", "show", "1"]);
    run(&["audit", "anchor"]);
    let key = text(&run(&["audit", "key"]), "/keys/0/key");
    let exported = run(&["audit", "export", "exported"]);
    let witness = Witness::start();
    run(&["audit", "witness", &witness.url, "--key", &witness.key]);
    let both = ["audit", "witness", &witness.url, "http://127.0.0.1:9", "--key", &witness.key, "--key", &witness.key];
    let did = place.json(&both);
    assert_eq!(did.status, 7, "{did:?}");
    page.answered(&both, &did.out);
    run(&["audit", "prove", "1", "--reveal", "--to", "one.tlog-proof"]);
    run(&["audit", "prove", &format!("{id}@1")]);
    run(&["audit", "verify-proof", "one.tlog-proof", "--key", &key, "--witness", &witness.key]);
    run(&["audit", "consistency", "2"]);
    run(&["audit", "consistency", &exported["size"].to_string(), "--to", "grown"]);
    run(&["audit", "verify-proof", "grown", "--old", "exported/checkpoint", "--key", &key]);
    run(&["audit", "verify"]);
    run(&["audit", "verify", "--folder", "exported", "--key", &key]);
    run(&["audit", "archive", "exported", "cold", "--key", &key, "--before", "2", "--prune"]);
    run(&["audit", "verify", "--folder", "cold", "--key", &key, "--to", "2"]);
    fs::write(place.path().join("exported/checkpoint"), "nothing").unwrap();
    let verify = ["audit", "verify", "--folder", "exported", "--key", &key];
    let did = place.json(&verify);
    assert_eq!(did.status, 8, "{did:?}");
    page.answered(&verify, &did.out);
}

/// A close that names what is not durable.
fn refused(page: &Page, place: &Place, arguments: &[&str]) {
    let did = place.json(arguments);
    assert_eq!(did.status, 1, "{did:?}");
    page.answered(arguments, &did.out);
}

/// Holds, and erasures with all that there is to say of them.
fn erasures(page: &Page, place: &Place) {
    let run = |arguments: &[&str]| page.run(place, arguments);
    let id = text(&run(&["session", "new"]), "/id");
    let child = text(&run(&["session", "new", "--parent", &id]), "/id");
    run(&["append", &id, "--text", "one"]);
    run(&["hold", "set", "--ahead", "--user", "nobody", "--reason", "x"]);
    run(&["hold", "set", "--session", &id, "--reason", "x"]);
    run(&["hold", "list"]);
    run(&["erase", "--session", &id, "--reason", "x", "--plan"]);
    run(&["hold", "lift", "--session", &id, "--reason", "y"]);
    run(&["erase", "--entries", &format!("{id}@1..1"), "--reason", "x", "--yes"]);
    run(&["read", &id]);
    let erased = run(&["erase", "--session", &id, "--reason", "x", "--yes"]);
    assert_eq!(erased["plan"]["derived"][0]["id"].as_str(), Some(child.as_str()));
    let record = text(&run(&["memory", "add", "tea", "-n", "whole"]), "/id");
    run(&["memory", "forget", &record, "-n", "whole", "--reason", "x", "--plan"]);
    run(&["memory", "forget", &record, "-n", "whole", "--reason", "x", "--yes"]);
    run(&["erase", "--memory", "whole", "--reason", "x", "--yes"]);
    run(&["erase", "list"]);
    run(&["erase", "show", erased["erased"]["id"].as_str().unwrap()]);
    run(&["erase", "prove", erased["erased"]["id"].as_str().unwrap(), "--to", "erased.tlog-proof"]);
    run(&["erase", "resume"]);
    run(&["subject", "export", "--user", "local", "--to", "mine"]);
    fs::write(place.path().join("texts"), "a text of nobody\n").unwrap();
    run(&["erase", "sweep", "--canaries", "texts"]);
    run(&["append", &child, "--text", "a text of nobody"]);
    let sweep = ["erase", "sweep", "--canaries", "texts"];
    let did = place.json(&sweep);
    assert_eq!(did.status, 1, "{did:?}");
    page.answered(&sweep, &did.out);
    run(&["erase", "sweep", "--canaries", "texts", "--expect", "found"]);
}

/// Something published, looked at, made again, and about to go. The branch works in `second`.
fn memories(page: &Page, place: &Place, session: &str) {
    let run = |arguments: &[&str]| page.run(place, &[&["memory"], arguments, &["--namespace", "notes"]].concat());
    let journal = "7".repeat(32);
    let tea = ["add", "tea", "--metadata", "place=home", "--valid-from", "2024-01-01", "--valid-to", "2124-01-01"];
    let tea = text(&run(&tea), "/id");
    run(&["add", "tea"]);
    let from = format!("{journal}@4");
    let coffee = ["supersede", &tea, "coffee", "--made-of", &tea, "--source", "a talk", "--extractor", "by hand@1"];
    let coffee = text(&run(&[&coffee[..], &["--entry", &from, "--previous", &tea]].concat()), "/id");
    run(&["supersede", &coffee, "water", "--correct"]);
    let edge = ["add", "Ada knows Grace", "--kind", "edge", "--from", "Ada", "--relation", "knows", "--to", "Grace"];
    let edge = [&edge[..], &["--trust", "user"]].concat();
    let edge = text(&run(&edge), "/id");
    let page_said = text(&run(&["add", "never mind", "--trust", "web"]), "/id");
    run(&["quarantine", "list"]);
    run(&["quarantine", "approve", &page_said, "--reason", "harmless"]);
    run(&["quarantine", "reject", &page_said]);
    run(&["revoke", "--record", &tea, "--reason", "never said", "--plan"]);
    run(&["revoke", "--record", &coffee, "--reason", "never said", "--yes"]);
    run(&["policy", "--share", "30", "--open", "tool"]);
    run(&["policy"]);
    run(&["pin", &edge]);
    run(&["get", &coffee]);
    run(&["search", "Does Ada know Grace?", "--hops", "1"]);
    run(&["search", "coffee", "--limit", "1"]);
    run(&["brief", "--about", "Grace"]);
    run(&["why", &coffee]);
    run(&["seen"]);
    run(&["reindex"]);
    run(&["reindex", "--to", "builtin"]);
    run(&["list", "--all"]);
    for (file, holds) in
        [("read.me", &b"# Read me\n\nA short one.\n"[..]), ("odd", b"\0\x01"), ("gone.txt", b"It goes.\n")]
    {
        fs::create_dir_all(place.path().join("papers")).unwrap();
        fs::write(place.path().join("papers").join(file), holds).unwrap();
    }
    let ingest = ["ingest", "papers", "--delete-missing", "--yes"];
    run(&ingest[..2]);
    fs::remove_file(place.path().join("papers/gone.txt")).unwrap();
    run(&ingest[..2]);
    run(&ingest);
    for (view, input) in
        [("files", r#"{"command": "view", "path": "/memories"}"#), ("graph", r#"{"name": "read_graph"}"#)]
    {
        let arguments = ["--json", "memory", view, "--namespace", "notes"];
        let out = place.run_with_input(&arguments, input.as_bytes()).ok();
        page.answered(&arguments[1..], &out);
    }
    run(&["history", &coffee]);
    run(&["retract", &edge, "--reason", "they fell out"]);
    run(&["get", &edge]);
    page.run(place, &["memory", "stats"]);
    let on = ["--session", session];
    let own = text(&run(&[&["add", "for itself"][..], &on].concat()), "/id");
    let other = text(&run(&[&["supersede", &own, "for itself alone"][..], &on].concat()), "/id");
    run(&[&["pin", &other, "--off"][..], &on].concat());
    run(&[&["list"][..], &on].concat());
    run(&["promote", session]);
    let again = text(&run(&["add", "said by two"]), "/id");
    run(&[&["add", "said by two"][..], &on].concat());
    run(&["promote", session]);
    run(&["get", &again]);
    run(&[&["add", "once more"][..], &on].concat());
    let all = run(&["list"]);
    let first = text(&all, "/records/0/id");
    run(&[&["retract", &first][..], &on].concat());
    let tree = page.run(place, &["checkpoint", session])["seq"].as_u64().unwrap();
    run(&[&["add", "after that"][..], &on].concat());
    run(&["diff", &format!("{session}@{tree}"), session]);
}

fn artifacts(page: &Page, place: &Place, id: &str, branch: &str) {
    let run = |arguments: &[&str]| page.run(place, arguments);
    let write = |name: &str, content: &[u8]| fs::write(place.path().join(name), content).unwrap();
    write("second/in.txt", b"b\na\n");
    let script = "sort in.txt > out.txt";
    let step = ["--effect", "contained", "--cwd", "second", "--", "sh", "-c", script];
    run(&[&["step", "run", branch, "--key", "sort"][..], &step].concat());
    let put = ["artifact", "put", branch, "second/out.txt", "--input", "second/in.txt", "--description", "sorted"];
    let artifact = text(&run(&put), "/id");
    run(&put);
    let raw = text(&run(&["artifact", "put", branch, "second/raw", "--type", "odd"]), "/id");
    run(&["artifact", "list"]);
    run(&["artifact", "show", &artifact]);
    write("second/seen.txt", b"ghp_27D8e42F292c6912E7710c838347Ae178B4a\n");
    write("second/made.txt", b"of it\n");
    run(&["artifact", "put", branch, "second/made.txt", "--input", "second/seen.txt"]);
    run(&["artifact", "found"]);
    run(&["artifact", "lineage", &artifact]);
    run(&["artifact", "get", &artifact]);
    run(&["artifact", "get", &raw, "raw-copy"]);
    run(&["artifact", "get", &raw]);
    run(&["artifact", "reproduce", &artifact, "again", "--run"]);
    run(&["artifact", "reproduce", &raw, "raw-again"]);
    run(&["artifact", "keep", &artifact, "--days", "9"]);
    run(&["artifact", "policy", "odd", "--days", "0"]);
    run(&["artifact", "policy", "image", "--forever"]);
    run(&["artifact", "usage"]);
    run(&["session", "set", id, "--deliver", "*.txt"]);
    run(&["artifact", "deliver", branch]);
    fs::write(place.path().join("second").join(std::ffi::OsStr::from_bytes(b"\xff.txt")), "odd").unwrap();
    let deliver = ["artifact", "deliver", branch];
    let did = place.json(&deliver);
    assert_eq!(did.status, 7, "{did:?}");
    page.answered(&deliver, &did.out);
    fs::remove_file(place.path().join("second").join(std::ffi::OsStr::from_bytes(b"\xff.txt"))).unwrap();
}

/// Two branches that worked in directories of their own, and their merges.
fn merges(page: &Page, place: &Place) {
    let run = |arguments: &[&str]| page.run(place, arguments);
    let write = |name: &str, content: &[u8]| fs::write(place.path().join(name), content).unwrap();
    let id = text(&run(&["session", "new"]), "/id");
    fs::create_dir(place.path().join("ours")).unwrap();
    write("ours/a", b"one\n");
    write("ours/moved", b"moved\n");
    fs::create_dir_all(place.path().join("ours/.git/refs/heads")).unwrap();
    fs::create_dir_all(place.path().join("ours/.git/objects/cc")).unwrap();
    write("ours/.git/HEAD", b"ref: refs/heads/main\n");
    run(&["workspace", "attach", &id, "ours"]);
    run(&["checkpoint", &id, "--no-environment"]);
    run(&["append", &id, "--text", "asked"]);
    let last = run(&["append", &id, "--text", "again"])["seq"].as_u64().unwrap();
    let fork = text(&run(&["fork", &id, "--into", "theirs"]), "/id");
    let fork = format!("{id}:{fork}");
    write("words", b"another question");
    run(&["fork", &format!("{id}@{last}"), "--edit", "words"]);
    for branch in [&id, &fork] {
        let push = ["--effect", "keyed:1h", "--touches", "https://example.com/x"];
        let step = ["step", "run", branch, "--key", "push", "--tool", "push"];
        run(&[&step[..], &push[..], &["--", "true"][..]].concat());
        run(&["step", "run", branch, "--key", "any", "--tool", "any", "--", "true"]);
    }
    run(&["diverge", &id, &fork]);
    write("ours/a", b"ours\n");
    fs::rename(place.path().join("ours/moved"), place.path().join("ours/new")).unwrap();
    write("theirs/a", b"theirs\n");
    write("theirs/moved", b"moved and edited\n");
    // Git reads neither commit, so that nobody knows how many there are.
    for side in ["ours", "theirs"] {
        let id = if side == "ours" { "cc1" } else { "cc2" }.to_owned() + &"0".repeat(37);
        write(&format!("{side}/.git/refs/heads/main"), id.as_bytes());
        write(&format!("{side}/.git/objects/cc/{}", &id[2..]), b"broken");
    }
    run(&["checkpoint", &fork, "--no-environment"]);
    run(&["merge", &fork, "--plan", "--take", "a=ours"]);
    let open = |arguments: &[&str]| {
        let did = place.json(arguments);
        assert_eq!(did.status, 4, "{did:?}");
        page.answered(arguments, &did.out);
    };
    open(&["merge", &fork]);
    run(&["session", "tree", &id]);
    run(&["merge", "--abort", &id]);
    open(&["merge", &fork, "--layout", "layout"]);
    run(&["merge", "--continue", &id, "--auto", "--take", "a=theirs", "--take", ".git=theirs"]);
    run(&["session", "tree", &id]);
    run(&["log", &id]);
    run(&["merge", &fork]);
    let other = text(&run(&["session", "new"]), "/id");
    run(&["workspace", "attach", &other, "theirs"]);
}

/// Steps that were cut off, found, settled and given up.
fn doubts(page: &Page, place: &Place, id: &str) {
    let cut_off = |key: &str, effect: &[&str], script: &str| {
        let mut arguments = vec!["--json", "step", "run", id, "--key", key, "--tool", key];
        arguments.extend_from_slice(effect);
        let script = format!("{script}; kill -9 $PPID; sleep 60");
        arguments.extend_from_slice(&["--", "sh", "-c", &script]);
        place.cut_off(&arguments, key);
    };
    let run = |arguments: &[&str]| page.run(place, arguments);
    cut_off("mail", &[], "echo > mail");
    cut_off("file", &["--effect", "observable", "--probe", "file:file"], "echo > file");
    cut_off("look", &["--effect", "observable", "--probe", "workspace"], "echo x > work/seen; echo > look");
    run(&["recover", id, "--plan"]);
    let again = ["step", "run", id, "--key", "again", "--tool", "file", "--", "true"];
    let did = place.json(&again);
    assert_eq!(did.status, 9, "{did:?}");
    page.answered(&again, &did.out);
    run(&["step", "list", id]);
    run(&["recover", id]);
    run(&["step", "resolve", id, "mail", "--happened"]);
    run(&["step", "resolve", id, "look", "--did-not"]);
}

/// Steps that were cut off, of a line that is left, and one that is put back; and positions that mean others.
fn left(page: &Page, place: &Place) {
    let run = |arguments: &[&str]| page.run(place, arguments);
    let id = text(&run(&["session", "new"]), "/id");
    run(&["append", &id, "--text", "before any checkpoint"]);
    fs::create_dir(place.path().join("left")).unwrap();
    fs::write(place.path().join("left/f"), "0").unwrap();
    run(&["workspace", "attach", &id, "left"]);
    let at = run(&["checkpoint", &id, "--no-environment"])["seq"].to_string();
    let step = |key: &'static str| {
        ["--key", key, "--effect", "contained", "--within", "f", "--cwd", "left", "--", "sh", "-c"].to_vec()
    };
    run(&[&["step", "run", &id][..], &step("done"), &["true"]].concat());
    let start = run(&["step", "list", &id])["steps"][0]["seq"].to_string();
    run(&["rewind", &format!("{id}@{start}"), "--plan"]);
    run(&["rewind", &format!("{id}@{start}")]);
    for key in ["torn", "half"] {
        let script = format!("echo {key} > f; echo $PPID $$ > ../{key}.new; mv ../{key}.new ../{key}; exec sleep 60");
        place.cut_off_whole(&[&["step", "run", &id][..], &step(key), &[&script]].concat(), key);
        if key == "torn" {
            run(&["rewind", &format!("{id}@{at}")]);
        }
        run(&["recover", &id]);
    }
    run(&["rewind", &format!("{id}@1"), "--plan"]);
    run(&["rewind", &format!("{id}@1")]);
}

#[test]
fn every_command_answers_as_the_page_says() {
    let page = Page::read();
    let place = Place::new();
    run_all(&page, &place);
    let out = place.run_with_input(&["--json", "key", "export", "key.samite"], b"correct horse\n").ok();
    page.answered(&["key", "export"], &out);
    let out = place.run_with_input(&["--json", "key", "import", "key.samite"], b"correct horse\n").ok();
    page.answered(&["key", "import"], &out);
    let line = r#"{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"content":"hi"}}"#;
    fs::create_dir(place.path().join("logs")).unwrap();
    fs::write(place.path().join("logs/s.jsonl"), format!("{line}\n{{torn\n")).unwrap();
    fs::write(place.path().join("logs/no.jsonl"), "plain words\n").unwrap();
    page.run(&place, &["import", "claude-code", "logs"]);
    page.run(&place, &["init", "codex", "--dry-run"]);
    let event = r#"{"hook_event_name":"Stop","session_id":"s"}"#;
    let out = place.run_with_input(&["--json", "hook", "codex"], event.as_bytes()).ok();
    page.answered(&["hook", "codex"], &out);
    for (format, source) in crate::imports::sources(&place) {
        page.run(&place, &["import", format, &source]);
    }
    let transcript = place.path().join("sessions/rollout-t.jsonl");
    let event = serde_json::json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "t", "prompt": "go", "cwd": place.path(),
        "transcript_path": transcript,
    });
    let out = place.run_with_input(&["--json", "hook", "codex"], event.to_string().as_bytes()).ok();
    let hooked = text(&page.answered(&["hook", "codex"], &out), "/id");
    page.run(&place, &["session", "transcript", &hooked]);
    page.run(&place, &["fork", &hooked]);
    page.run(&place, &["policy", "redaction", "--pattern", "own=x[0-9]{3}"]);
    let out = place.run_with_input(&["--json", "secrets", "register", "db"], b"hunter2!x").ok();
    page.answered(&["secrets", "register"], &out);
    page.run(&place, &["secrets", "list"]);
    page.run(&place, &["secrets", "forget", "db"]);
    let out = place.run_with_input(&["--json", "redact"], b"password=hunter2!x\n").ok();
    page.answered(&["redact"], &out);
    page.run(&place, &["completions", "bash"]);
    page.run(&place, &["tour"]);
    sharing(&page, &place);
    damaged(&page);
    decided(&page);
    organisation(&page);
    let groups = [
        "policy",
        "policy organisation",
        "secrets",
        "session",
        "step",
        "turn",
        "workspace",
        "branch",
        "artifact",
        "memory",
        "memory quarantine",
        "audit",
        "key",
        "import",
        "hold",
        "subject",
        "consent",
        "processor",
        "region",
        "capture",
        "retain",
    ];
    let all: BTreeSet<String> =
        commands(&place).into_iter().filter(|name| name != "samite" && !groups.contains(&name.as_str())).collect();
    let listed: BTreeSet<String> = page.commands.keys().cloned().collect();
    assert_eq!(listed, all, "docs/json.md lists every command and no other");
    assert_eq!(*page.run.borrow(), all, "every command was run");
    let seen = page.seen.borrow();
    let unseen: Vec<(String, String)> = page
        .shapes
        .iter()
        .flat_map(|(shape, fields)| fields.iter().map(|field| (shape.clone(), field.name.clone())))
        .filter(|(_, field)| field != "…")
        .filter(|(shape, _)| cfg!(feature = "cedar") || !shape.starts_with("organisation"))
        .filter(|(shape, field)| shape != "error" && !UNSEEN.contains(&(shape.as_str(), field.as_str())))
        .filter(|field| !seen.contains(field))
        .collect();
    assert!(unseen.is_empty(), "docs/json.md lists what no command answered with: {unseen:?}");
}

/// A session that is shared and read, and who calls.
fn sharing(page: &Page, place: &Place) {
    let run = |arguments: &[&str]| page.run(place, arguments);
    let id = text(&run(&["session", "new", "--name", "shared"]), "/id");
    run(&["append", &id, "--text", "hers"]);
    run(&["share", &id, "--with", "user:bob", "--with", "agent:editor", "--read", "--days", "7"]);
    run(&["share", &id, "--with", "user:eve", "--read"]);
    crate::sharing::read_by(place, "bob", &id);
    run(&["grants", &id]);
    run(&["unshare", &id, "--all"]);
    run(&["identity"]);
    let token = "token = \"development-only-1\"\ntenant = \"a\"\nuser = \"u\"\nagent = \"b\"\nworkload = \"w\"";
    let config = format!("[[development]]\n{token}\nparents = [\"a\"]\n");
    fs::write(place.path().join("identity.toml"), config).unwrap();
    let arguments = ["--json", "identity", "check", "--config", "identity.toml", "--dev"];
    let out = place.run_with_input(&arguments, b"development-only-1").ok();
    page.answered(&["identity", "check"], &out);
}

/// The organisation's own policies; what a build without the engine cannot answer is not looked at there.
fn organisation(page: &Page) {
    let place = Place::new();
    place.session();
    page.run(&place, &["policy", "organisation", "schema"]);
    page.run(&place, &["policy", "organisation", "show"]);
    page.run(&place, &["policy", "organisation", "clear"]);
    page.run(&place, &["policy", "organisation", "history"]);
    if cfg!(feature = "cedar") {
        fs::write(place.path().join("rules.cedar"), "permit(principal, action, resource);").unwrap();
        page.run(&place, &["policy", "organisation", "check", "rules.cedar"]);
        page.run(&place, &["policy", "organisation", "set", "rules.cedar"]);
        page.run(&place, &["policy", "organisation", "show"]);
        page.run(&place, &["policy", "organisation", "history"]);
    } else {
        let unanswered = ["policy organisation check", "policy organisation set"];
        page.run.borrow_mut().extend(unanswered.map(str::to_owned));
    }
}

/// A store of which things are decided, in a region.
fn decided(page: &Page) {
    let place = Place::new();
    let id = place.session();
    let run = |arguments: &[&str]| {
        let output = place.command(&[&["--json"], arguments].concat()).env("SAMITE_REGION", "eu").output().unwrap();
        page.answered(arguments, &Did::new(&output).ok())
    };
    run(&["consent", "set", "yes", "--session", &id, "--basis", "form"]);
    run(&["consent", "set", "yes", "--ahead", "--user", "ada", "--basis", "form", "--reason", "asked"]);
    run(&["consent", "show", "--session", &id]);
    run(&["consent", "list"]);
    run(&["region", "set", "eu"]);
    place.json(&["status"]).error(6);
    run(&["region", "transfer", "us", "--basis", "clauses", "--reason", "asked"]);
    run(&["region", "show"]);
    let receives = ["--purpose", "copies", "--agreement", "DPA", "--receives", "backups"];
    run(&[&["processor", "register", "far", "--region", "us"][..], &receives].concat());
    run(&["processor", "list"]);
    run(&[
        "processor",
        "register",
        "near",
        "--region",
        "eu",
        "--purpose",
        "p",
        "--agreement",
        "a",
        "--receives",
        "audit",
    ]);
    run(&["processor", "remove", "near"]);
    run(&["capture", "set", "metadata", "--kind", "event"]);
    run(&["capture", "show"]);
    run(&["retain", "set", "session", "400d"]);
    run(&["retain", "show"]);
    run(&["retain", "set", "artifact", "0d"]);
    run(&["append", &id, "--text", "said"]);
    let other = text(&run(&["session", "new"]), "/id");
    run(&["append", &other, "--text", "not to be used"]);
    fs::create_dir(place.path().join("work")).unwrap();
    fs::write(place.path().join("work/f"), "x").unwrap();
    run(&["workspace", "attach", &id, "work"]);
    run(&["artifact", "put", &id, "work/f"]);
    run(&["retain", "preview"]);
    run(&["retain", "apply", "--yes"]);
    run(&["export", "--for-training", "--to-region", "us", "--basis", "contract", "--all", "data"]);
    run(&["region", "set", "us"]);
    let output = place.command(&["--json", "records"]).env("SAMITE_REGION", "us").output().unwrap();
    page.answered(&["records"], &Did::new(&output).ok());
    let output = place.command(&["--json", "region", "show"]).env("SAMITE_REGION", "us").output().unwrap();
    page.answered(&["region", "show"], &Did::new(&output).ok());
}

/// A store that is damaged, for what `verify` finds.
fn damaged(page: &Page) {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "one");
    fs::create_dir(place.path().join("work")).unwrap();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    let noise: Vec<u8> = (0..700_000).map(|_| next()).collect();
    fs::write(place.path().join("work/noise"), noise).unwrap();
    place.run(&["workspace", "attach", &id, "work"]).ok();
    place.run(&["checkpoint", &id, "--no-environment"]).ok();
    let packs = place.store().join("tenants/local/packs");
    fs::remove_dir_all(&packs).unwrap();
    fs::create_dir(&packs).unwrap();
    let did = place.json(&["verify"]);
    assert_eq!(did.status, 8, "{did:?}");
    let verified = page.answered(&["verify"], &did.out);
    assert!(!verified["findings"].as_array().unwrap().is_empty(), "{verified}");
}

#[test]
fn an_error_is_as_the_page_says() {
    let page = Page::read();
    let place = Place::new();
    let id = place.session();
    for (arguments, status) in [(["read", "0000"], 3), (["no-such-command", &id], 2), (["rewind", &id], 2)] {
        let error = place.json(&arguments).error(status);
        page.check(&error, "error").unwrap();
    }
}
