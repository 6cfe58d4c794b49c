//! The surfaces through which somebody's words come into a store.

use super::garden::{Garden, event};
use data_encoding::{BASE64, BASE64URL, HEXLOWER};
use futures_lite::future::block_on;
use samite::artifact::PutArtifact;
use samite::hook::{Harness as Agent, HookEvent, HookOptions, Policy};
use samite::import::{Checkpoints, Harness, Importer};
use samite::merge::MergeRequest;
use samite::payload::SettledBy;
use samite::workspace::CheckpointOptions;
use samite::{Begin, ForkOptions, NewEvent, NewSession, NewStep, Resolution, Settled, WriterOptions};
use samite_model::EntryKind;
use samite_model::step::{Effect, Probe};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// A way in.
pub(crate) struct Surface {
    /// What is planted, for whoever reads the table.
    pub(crate) name: &'static str,
    /// How many texts.
    pub(crate) count: usize,
    /// Whether only a keyed hash of it is stored.
    pub(crate) hashed: bool,
    /// Plants them.
    pub(crate) plant: fn(&Garden, &[String]),
}

pub(crate) const fn surface(name: &'static str, count: usize, plant: fn(&Garden, &[String])) -> Surface {
    Surface { name, count, hashed: false, plant }
}

/// Every surface. What comes later joins here.
pub(crate) const ALL: &[Surface] = &[
    surface("bodies of each kind", 24, bodies),
    surface("bodies in other forms", 48, forms),
    surface("bodies that are too large for a journal", 2, large),
    surface("attributes", 8, attributes),
    surface("dedupe ids", 8, dedupe),
    surface("steps: keys, tools, inputs, touches, outcomes, errors", 24, steps),
    surface("steps: probes, and a person's words about a doubt", 12, doubts),
    surface("sessions: names, keys, sources", 12, sessions),
    surface("branches: names and keys", 8, branches),
    surface("settings", 4, settings),
    surface("names, directories and contents of small files", 36, small_files),
    surface("contents of files in other forms", 16, encoded_files),
    surface("contents of large files", 4, large_files),
    surface("symbolic links and exclusion rules", 8, links),
    surface("extended attributes", 4, extended),
    surface("checkpoints: labels", 4, labels),
    surface("artifacts: bytes, names, types, descriptions, inputs, ids", 18, artifacts),
    surface("ends of turns", 4, turns),
    surface("forks that went on, and a merge that is open", 8, merges),
    surface("hooks of each agent", 15, hooks),
    surface("imports of each format", 33, imports),
    Surface { name: "ids of writers", count: 4, hashed: true, plant: writers },
];

fn bodies(garden: &Garden, texts: &[String]) {
    let kinds = [EntryKind::MESSAGE, EntryKind::MODEL_RESPONSE, EntryKind::EVENT, EntryKind::COMPACTION];
    for (text, kind) in texts.iter().zip(kinds.into_iter().cycle()) {
        let attributes = (kind == EntryKind::COMPACTION).then(|| json!({ "from": 1, "to": 2 }));
        garden.say(NewEvent { attributes, ..event(kind, format!("say {text}.").into_bytes()) });
    }
}

/// A text in one of the forms in which somebody may have written it.
pub(crate) fn in_form(text: &str, number: usize) -> Vec<u8> {
    let with = |before: usize| [vec![b'x'; before], text.as_bytes().to_vec(), b"yz".to_vec()].concat();
    match number % 9 {
        0 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        1 => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        2 => BASE64.encode(&with(0)).into_bytes(),
        3 => BASE64.encode(&with(1)).into_bytes(),
        4 => BASE64URL.encode(&with(2)).into_bytes(),
        5 => HEXLOWER.encode(text.as_bytes()).into_bytes(),
        6 => text.bytes().flat_map(|byte| format!("%{byte:02X}").into_bytes()).collect(),
        7 => text.replace('ö', "\\u00f6").into_bytes(),
        _ => text.as_bytes().to_vec(),
    }
}

fn forms(garden: &Garden, texts: &[String]) {
    for (number, text) in texts.iter().enumerate() {
        garden.say(event(EntryKind::EVENT, in_form(text, number)));
    }
}

fn large(garden: &Garden, texts: &[String]) {
    for text in texts {
        let mut body = noise(3 << 20, text);
        body.splice(1_500_000..1_500_000, text.bytes());
        garden.say(event(EntryKind::MODEL_RESPONSE, body));
    }
}

/// Bytes that do not compress, other ones for each text.
fn noise(length: usize, text: &str) -> Vec<u8> {
    let mut state = text
        .bytes()
        .fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[4]
    };
    (0..length).map(|_| next()).collect()
}

fn attributes(garden: &Garden, texts: &[String]) {
    for text in texts {
        let attributes = Some(json!({ "said": text, text: 1 }));
        garden.say(NewEvent { attributes, ..event(EntryKind::MESSAGE, b"with attributes".to_vec()) });
    }
}

fn dedupe(garden: &Garden, texts: &[String]) {
    for text in texts {
        garden.say(NewEvent { dedupe: Some(text.clone()), ..event(EntryKind::MESSAGE, b"once".to_vec()) });
    }
}

fn steps(garden: &Garden, texts: &[String]) {
    for six in texts.chunks(6) {
        let [key, tool, input, touch, output, failure] = six else { panic!("six each") };
        let step = |name: &str, tool: &str| NewStep {
            effect: Effect::Idempotent,
            touches: vec![format!("https://example.com/{touch}")],
            ..NewStep::new(name, tool, json!({ "command": input }))
        };
        garden.write(async |writer| {
            let Begin::Run(handle) = writer.begin(&step(key, tool)).await.unwrap() else { panic!("a new step") };
            writer.complete(&handle, json!({ "stdout": output })).await.unwrap();
            let Begin::Run(handle) = writer.begin(&step(&format!("{key} again"), "other")).await.unwrap() else {
                panic!("a new step")
            };
            writer.fail(&handle, json!({ "error": failure }), false).await.unwrap();
        });
    }
}

fn doubts(garden: &Garden, texts: &[String]) {
    for three in texts.chunks(3) {
        let [path, word, note] = three else { panic!("three each") };
        let session = block_on(garden.client.create_session(NewSession::default())).unwrap().id;
        let step = NewStep {
            effect: Effect::Observable { settle_seconds: Some(0) },
            probe: Some(Probe::File { path: format!("/nowhere/{path}"), sha256: None, before: None }),
            ..NewStep::new("doubtful", "send", json!({ "to": word }))
        };
        let options = |id: &str| WriterOptions { id: Some(id.to_owned()), take_over: true, ..WriterOptions::default() };
        let id = garden.write_to(session, options("one"), async |writer| {
            let Begin::Run(handle) = writer.begin(&step).await.unwrap() else { panic!("a new step") };
            handle.id
        });
        garden.write_to(session, options("two"), async |writer| {
            let said = Resolution {
                what: Settled::Happened(Value::Null),
                by: SettledBy::Person,
                evidence: None,
                note: Some(note.clone()),
            };
            writer.resolve(id, &said).await.unwrap();
        });
    }
}

fn sessions(garden: &Garden, texts: &[String]) {
    for three in texts.chunks(3) {
        let [name, key, source] = three else { panic!("three each") };
        let new = NewSession {
            name: Some(name.clone()),
            key: Some(key.clone()),
            source: Some(json!({ "path": source })),
            ..NewSession::default()
        };
        block_on(garden.client.create_session(new)).unwrap();
    }
}

fn branches(garden: &Garden, texts: &[String]) {
    for two in texts.chunks(2) {
        let [name, key] = two else { panic!("two each") };
        let options = ForkOptions { name: Some(name.clone()), key: Some(key.clone()), ..ForkOptions::default() };
        block_on(garden.client.fork(garden.session, options)).unwrap();
    }
}

fn settings(garden: &Garden, texts: &[String]) {
    for text in texts {
        let session = block_on(garden.client.create_session(NewSession::default())).unwrap().id;
        block_on(garden.client.change_settings(session, |settings| settings.deliver = vec![format!("{text}/*.txt")]))
            .unwrap();
    }
}

fn checkpoint(garden: &Garden, label: Option<&str>) {
    let options =
        CheckpointOptions { label: label.map(str::to_owned), no_environment: true, ..CheckpointOptions::default() };
    block_on(garden.client.checkpoint(garden.session, None, WriterOptions::default(), options)).unwrap();
}

fn small_files(garden: &Garden, texts: &[String]) {
    for three in texts.chunks(3) {
        let [directory, name, content] = three else { panic!("three each") };
        garden.file(format!("{directory}/{name}.txt"), format!("it says {content}\n").as_bytes());
    }
    checkpoint(garden, None);
}

fn encoded_files(garden: &Garden, texts: &[String]) {
    for (number, text) in texts.iter().enumerate() {
        garden.file(format!("encoded/{number}"), &in_form(text, number));
    }
    checkpoint(garden, None);
}

/// Stored in packs, apart from what is in the ledger; each is changed once, so that an older version of it is there too.
fn large_files(garden: &Garden, texts: &[String]) {
    for two in texts.chunks(2) {
        for text in two {
            let mut content = noise(2 << 20, text);
            content.splice(1_000_000..1_000_000, text.bytes());
            garden.file("large", &content);
            checkpoint(garden, None);
        }
    }
}

fn links(garden: &Garden, texts: &[String]) {
    let (targets, rules) = texts.split_at(texts.len() / 2);
    for (number, target) in targets.iter().enumerate() {
        symlink(format!("../{target}"), garden.work.join(format!("link {number}"))).unwrap();
    }
    garden.file(".samiteignore", (rules.join(".log\n") + ".log\n").as_bytes());
    checkpoint(garden, None);
}

fn extended(garden: &Garden, texts: &[String]) {
    garden.file("attributes", b"looked at from outside");
    let path = garden.work.join("attributes");
    for (number, text) in texts.iter().enumerate() {
        let name = format!("user.samite{number}");
        let set = rustix::fs::setxattr(&path, name.as_str(), text.as_bytes(), rustix::fs::XattrFlags::empty());
        // Where the file system has none, the text is planted in the file.
        if set.is_err() {
            eprintln!("SKIPPED: {} takes no extended attributes", path.display());
            garden.file(format!("attribute {number}"), text.as_bytes());
        }
    }
    checkpoint(garden, None);
}

fn labels(garden: &Garden, texts: &[String]) {
    for text in texts {
        checkpoint(garden, Some(text));
    }
}

fn artifacts(garden: &Garden, texts: &[String]) {
    for (number, six) in texts.chunks(6).enumerate() {
        let [bytes, name, of_type, description, input, id] = six else { panic!("six each") };
        garden.file(format!("out/{number}"), format!("made: {bytes}").as_bytes());
        let outside = garden.beside(&format!("input {number}"));
        fs::write(&outside, format!("from outside: {input}")).unwrap();
        let put = PutArtifact {
            name: Some(name.clone()),
            of_type: Some(of_type.clone()),
            description: Some(description.clone()),
            inputs: vec![outside],
            dedupe: Some(id.clone()),
            ..PutArtifact::file(garden.work.join(format!("out/{number}")))
        };
        garden.write(async |writer| writer.put_artifact(&put).await.unwrap());
    }
}

fn turns(garden: &Garden, texts: &[String]) {
    for text in texts {
        garden.write(async |writer| writer.end_turn(Some(text)).await.unwrap());
    }
}

/// Two branches that changed the same files in directories of their own: what is in conflict lies in plain files of the store.
fn merges(garden: &Garden, texts: &[String]) {
    let client = &garden.client;
    let session = block_on(client.create_session(NewSession::default())).unwrap().id;
    let (ours, theirs) = (garden.beside("ours"), garden.beside("theirs"));
    fs::create_dir(&ours).unwrap();
    fs::write(ours.join("both"), "before\n").unwrap();
    block_on(client.attach(session, None, &ours)).unwrap();
    let take = |branch| {
        let options = CheckpointOptions { no_environment: true, ..CheckpointOptions::default() };
        block_on(client.checkpoint(session, branch, WriterOptions::default(), options)).unwrap();
    };
    take(None);
    let fork = block_on(client.fork(session, ForkOptions::default())).unwrap().branch;
    block_on(client.materialise(session, fork, &theirs)).unwrap();
    let (in_ours, rest) = texts.split_at(texts.len() / 2);
    fs::write(ours.join("both"), in_ours.join("\n")).unwrap();
    fs::write(theirs.join("both"), rest.join("\n")).unwrap();
    take(None);
    take(Some(fork));
    let report =
        block_on(client.merge(session, fork, None, WriterOptions::default(), &MergeRequest::default())).unwrap();
    assert!(!report.undecided.is_empty(), "{report:?}");
}

fn hooks(garden: &Garden, texts: &[String]) {
    let agents = [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli];
    for (agent, five) in agents.into_iter().zip(texts.chunks(5)) {
        let [session, prompt, tool, input, output] = five else { panic!("five each") };
        let project = garden.beside(&format!("project {}", agent.name()));
        fs::create_dir(&project).unwrap();
        let gemini = agent == Agent::GeminiCli;
        let name = |usual: &'static str, of_gemini: &'static str| if gemini { of_gemini } else { usual };
        let tell = |event: &str, fields: Value| {
            let mut whole = json!({
                "session_id": session, "hook_event_name": event, "cwd": project,
                "transcript_path": garden.beside("no transcript"),
            });
            whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let event = HookEvent::parse(agent, whole.to_string().into_bytes()).unwrap();
            let options = HookOptions { policy: Policy::default(), runner: None, never: Vec::new() };
            block_on(garden.client.hook(&event, &options)).unwrap();
        };
        tell(name("UserPromptSubmit", "BeforeAgent"), json!({ "prompt": prompt }));
        let call = json!({ "tool_name": tool, "tool_input": { "command": input }, "tool_use_id": "call-1" });
        tell(name("PreToolUse", "BeforeTool"), call.clone());
        let mut ended = call;
        ended["tool_response"] = json!({ "stdout": output });
        tell(name("PostToolUse", "AfterTool"), ended);
    }
}

fn imports(garden: &Garden, texts: &[String]) {
    let folder = garden.beside("transcripts");
    let mut texts = texts.chunks(3);
    let mut three = || -> [String; 3] { texts.next().unwrap().to_vec().try_into().unwrap() };
    let write = |name: &str, content: String| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    };
    let lines = |all: &[Value]| all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    let mut importer = Importer::new(&garden.client);
    let mut source = |harness: Harness, path: &std::path::Path| {
        block_on(importer.source(harness, path, &mut |_| {})).unwrap();
    };

    let [id, said, called] = three();
    let item = |kind: &str, payload: Value| json!({ "timestamp": "2026-02-01T00:00:00.000Z", "type": kind, "payload": payload });
    let path = write(
        "rollout-x.jsonl",
        lines(&[
            item("session_meta", json!({ "id": id, "cwd": "/w", "cli_version": "1" })),
            item(
                "response_item",
                json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": said }] }),
            ),
            item(
                "response_item",
                json!({ "type": "function_call", "name": "exec", "arguments": called, "call_id": "c" }),
            ),
        ]),
    );
    source(Harness::Codex, &path);

    let [id, said, called] = three();
    let path = write(
        "chats/session-x.jsonl",
        lines(&[
            json!({ "sessionId": id, "projectHash": "p", "kind": "main" }),
            json!({ "id": "u", "type": "user", "content": [{ "text": said }] }),
            json!({ "id": "g", "type": "gemini", "content": "yes", "toolCalls": [
                { "id": "c", "name": "shell", "args": { "command": called }, "status": "success" }] }),
        ]),
    );
    source(Harness::GeminiCli, &path);

    let [said, called, seen] = three();
    let path = write(
        "t/me/run/i/i.traj",
        json!({
            "history": [{ "role": "user", "content": said }, { "role": "assistant", "action": called, "content": "x" }],
            "trajectory": [{ "action": called, "observation": seen }],
        })
        .to_string(),
    );
    source(Harness::SweAgent, &path);

    let [said, name, bytes] = three();
    let file = format!("data:application/pdf;base64,{}", BASE64.encode(bytes.as_bytes()));
    let path = write(
        "exports/july/chat.jsonl",
        lines(&[json!({ "role": "user", "content": [
            { "type": "input_text", "text": said }, { "type": "input_file", "filename": name, "file_data": file }] })]),
    );
    source(Harness::Responses, &path);

    let [said, called, id] = three();
    let message = |role: &str, uuid: &str, parent: Value, content: Value| {
        json!({
            "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": id, "timestamp": "2026-02-01T00:00:00.000Z",
            "cwd": "/w", "version": "1", "message": { "role": role, "content": content },
        })
    };
    let path = write(
        "claude/s.jsonl",
        lines(&[
            message("user", "a", Value::Null, json!(said)),
            message(
                "assistant",
                "b",
                json!("a"),
                json!([{ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": called } }]),
            ),
        ]),
    );
    let open = || std::io::BufReader::new(fs::File::open(&path).unwrap());
    block_on(Importer::new(&garden.client).transcript(&path, open(), open(), &mut |_| {})).unwrap();

    others(garden, &mut three);
}

/// The formats that are folders and databases.
fn others(garden: &Garden, three: &mut dyn FnMut() -> [String; 3]) {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../samite/tests/fixtures/imports");
    let [said, name, more] = three();
    let from = format!("{fixtures}/openhands/4ac5c60eee9249239fdf265e389ec12c");
    let to = garden.beside("conversation");
    crate::support::copy_tree(std::path::Path::new(&from), &to);
    let replace = |path: &std::path::Path, words: &[(&str, &str)]| {
        let mut text = fs::read_to_string(path).unwrap();
        for (from, to) in words {
            text = text.replace(from, to);
        }
        fs::write(path, text).unwrap();
    };
    let mut events: Vec<_> = fs::read_dir(to.join("events")).unwrap().map(|entry| entry.unwrap().path()).collect();
    events.sort();
    let last = events.last().unwrap().clone();
    let extra = |path: &std::path::Path, text: &str| {
        let mut value: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        value["remark"] = text.into();
        fs::write(path, value.to_string()).unwrap();
    };
    extra(&to.join("base_state.json"), &said);
    extra(events.first().unwrap(), &name);
    extra(&last, &more);
    block_on(Importer::new(&garden.client).source(Harness::OpenHands, &to, &mut |_| {})).unwrap();

    // A dump of checkpoints, in which threads are named.
    for _ in 0..5 {
        let [one, two, three] = three();
        let dump = garden.beside(&format!("dump {one}"));
        fs::copy(format!("{fixtures}/langgraph/dump.sql"), &dump).unwrap();
        let text = fs::read_to_string(&dump).unwrap();
        let checkpoints = Checkpoints::from_dump(&dump, &mut |_| {}).unwrap();
        let threads = checkpoints.threads().unwrap();
        let thread = threads.first().unwrap().clone();
        assert!(text.contains(&thread));
        replace(&dump, &[(&thread, &format!("{one} {two} {three}"))]);
        let checkpoints = Checkpoints::from_dump(&dump, &mut |_| {}).unwrap();
        let mut importer = Importer::new(&garden.client);
        let named = checkpoints.threads().unwrap().into_iter().find(|thread| thread.contains(&one)).unwrap();
        block_on(importer.thread(&checkpoints, &named, &mut |_| {})).unwrap();
    }
}

fn writers(garden: &Garden, texts: &[String]) {
    for text in texts {
        let options = WriterOptions { id: Some(text.clone()), ..WriterOptions::default() };
        garden.write_to(garden.session, options, async |writer| {
            writer.append(event(EntryKind::EVENT, b"by a writer".to_vec())).await.unwrap();
        });
    }
}
