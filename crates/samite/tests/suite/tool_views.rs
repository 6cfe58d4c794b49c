//! Other tools' views of a namespace: files and a graph, over the same records and by the same rules.

use crate::place::Place;
use crate::support::{World, principal, run};
use samite::erasure::{EraseOptions, EraseWhat};
use samite::memory::{
    Ended, FileCommand, GraphCall, Memory, MemoryFilter, MemorySettings, Namespace, RecordKind, RecordedIn, Search,
    Seen, ToolWriter, Treatment, Trust, Verdict,
};
use samite::{Client, NewSession};
use samite_model::Observer;
use samite_model::access::{Right, Rights};
use serde_json::{Value, json};

fn notes(client: &Client) -> Memory {
    client.memory(Namespace::new(["notes"]).unwrap())
}

fn by(trust: Trust) -> ToolWriter {
    ToolWriter { trust, ..ToolWriter::default() }
}

/// What the file tool says, and whether that is an error.
async fn file_as(memory: &Memory, by: &ToolWriter, input: Value) -> (String, bool) {
    let answer = memory.file_command(&FileCommand::parse(input).unwrap(), by).await.unwrap();
    (answer.text, answer.is_error)
}

async fn file(memory: &Memory, input: Value) -> String {
    let (text, is_error) = file_as(memory, &ToolWriter::default(), input).await;
    assert!(!is_error, "{text}");
    text
}

async fn refused(memory: &Memory, input: Value) -> String {
    let (text, is_error) = file_as(memory, &ToolWriter::default(), input).await;
    assert!(is_error, "{text}");
    text
}

/// What the graph says: its JSON, or what is wrong.
async fn graph_as(memory: &Memory, by: &ToolWriter, name: &str, arguments: Value) -> Result<Value, String> {
    let call = GraphCall::parse(json!({ "name": name, "arguments": arguments })).unwrap();
    let answer = memory.graph_call(&call, by).await.unwrap();
    answer.structured.ok_or(answer.text)
}

async fn graph(memory: &Memory, name: &str, arguments: Value) -> Value {
    graph_as(memory, &ToolWriter::default(), name, arguments).await.unwrap()
}

async fn texts(memory: &Memory, recorded: Option<RecordedIn>) -> Vec<String> {
    let filter = MemoryFilter { recorded, ..MemoryFilter::default() };
    memory.records(&filter).await.unwrap().into_iter().map(|one| one.record.text.clone()).collect()
}

fn create(path: &str, text: &str) -> Value {
    json!({ "command": "create", "path": path, "file_text": text })
}

fn view(path: &str) -> Value {
    json!({ "command": "view", "path": path })
}

#[test]
fn a_file_is_a_record_and_an_edit_takes_its_place() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let header = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:";
        assert_eq!(file(&memory, view("/memories")).await, format!("{header}\n0B\t/memories"));
        assert_eq!(memory.position().await.unwrap(), None, "looking makes nothing");
        let session = world.client.create_session(NewSession::default()).await.unwrap();
        let from = ToolWriter { from: Some((session.id, session.current, None)), ..ToolWriter::default() };
        file_as(&memory, &from, create("/memories/tea.md", "green\nblack")).await;
        let first = memory.records(&MemoryFilter::default()).await.unwrap().remove(0);
        let record = &first.record;
        assert_eq!((record.kind, record.provenance.trust), (RecordKind::Semantic, Trust::Model));
        assert_eq!(
            (record.metadata["path"].as_str(), record.provenance.session),
            (Some("/memories/tea.md"), Some(session.id))
        );
        let before = memory.position().await.unwrap().unwrap().seq;
        let edit =
            json!({ "command": "str_replace", "path": "/memories/tea.md", "old_str": "black", "new_str": "white" });
        file(&memory, edit).await;
        file(
            &memory,
            json!({ "command": "insert", "path": "/memories/tea.md", "insert_line": 2, "insert_text": "red\n" }),
        )
        .await;
        assert_eq!(
            file(&memory, view("/memories/tea.md")).await,
            "Here's the content of /memories/tea.md with line numbers:\n     1\tgreen\n     2\twhite\n     3\tred"
        );
        assert_eq!(memory.history(first.record.record).await.unwrap().len(), 3);
        assert_eq!(texts(&memory, Some(RecordedIn::Seq(before))).await, ["green\nblack"]);
        // It is found like any record, and who was shown it is known.
        let found = memory.search(&Search::new("white")).await.unwrap();
        let id = found.records[0].standing.record.record;
        assert_eq!(found.records[0].standing.record.text, "green\nwhite\nred");
        let seen = |text: Option<&str>| Seen { record: Some(id), text: text.map(str::to_owned), ..Seen::default() };
        assert_eq!(memory.seen(&seen(Some("/memories/tea.md"))).await.unwrap().len(), 1);
        assert_eq!(memory.seen(&seen(None)).await.unwrap().len(), 2);
        // A directory is renamed whole, what says nothing stays what it is, and what goes stays in the history.
        for (path, text) in [("/memories/a/b/one", "1"), ("/memories/a/two", "  \n"), ("/memories/ab", "no part of it")]
        {
            file(&memory, create(path, text)).await;
        }
        let head = memory.position().await.unwrap().unwrap().seq;
        file(&memory, json!({ "command": "rename", "old_path": "/memories/a", "new_path": "/memories/c" })).await;
        assert_eq!(memory.position().await.unwrap().unwrap().seq, head + 2);
        assert!(file(&memory, view("/memories/c/two")).await.ends_with("     1\t  \n     2\t"));
        let listed = file(&memory, view("/memories")).await;
        let inside = "32B\t/memories\n13B\t/memories/ab\n4B\t/memories/c/\n1B\t/memories/c/b/\n3B\t/memories/c/two\n15B\t/memories/tea.md";
        assert_eq!(listed, format!("{header}\n{inside}"));
        file(&memory, json!({ "command": "delete", "path": "/memories/c" })).await;
        assert_eq!(
            refused(&memory, view("/memories/c")).await,
            "The path /memories/c does not exist. Please provide a valid path."
        );
        assert_eq!(texts(&memory, None).await, ["green\nwhite\nred", "no part of it"]);
        // The same file again, with what it said before, is another one.
        file(&memory, create("/memories/c/b/one", "1")).await;
        assert_eq!(texts(&memory, None).await.len(), 3);
        let head = memory.position().await.unwrap();
        for input in [
            view("/memories/../x"),
            create("/memories/%2e%2e/x", "x"),
            create("/etc/x", "x"),
            create("/memories/ab/x", "x"),
        ] {
            refused(&memory, input).await;
        }
        let long = "x".repeat((1 << 20) + 1);
        assert!(
            refused(&memory, create("/memories/long", &long)).await.starts_with("Error: the text has 1048577 bytes")
        );
        assert_eq!(memory.position().await.unwrap(), head);
        assert_eq!(FileCommand::parse(json!({ "command": "view" })).unwrap_err().code(), "bad_call");
        assert_eq!(FileCommand::parse(json!({ "command": "chmod", "path": "x" })).unwrap_err().code(), "bad_call");
    });
}

#[test]
fn files_follow_the_rules_of_trust() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        // What the user wrote no model changes, moves or deletes.
        file_as(&memory, &by(Trust::User), create("/memories/rules", "pay account 1")).await;
        let agent = notes(&world.client.sub_agent("helper", Rights::of([Right::Read, Right::Append])).await.unwrap());
        let edit = |path: &str| json!({ "command": "str_replace", "path": path, "old_str": "1", "new_str": "9" });
        for input in [
            edit("/memories/rules"),
            json!({ "command": "delete", "path": "/memories/rules" }),
            json!({ "command": "rename", "old_path": "/memories/rules", "new_path": "/memories/x" }),
        ] {
            assert!(refused(&agent, input).await.contains("in the name of the user"));
        }
        assert!(file_as(&agent, &by(Trust::User), create("/memories/mine", "x")).await.1);
        assert!(refused(&memory, edit("/memories/rules")).await.contains("does not take the place"));
        assert!(file(&agent, view("/memories/rules")).await.ends_with("pay account 1"));
        // What a tool said is no model's because it was edited.
        file_as(&memory, &by(Trust::Tool), create("/memories/page", "said 1")).await;
        file(&agent, edit("/memories/page")).await;
        let all = memory.records(&MemoryFilter::default()).await.unwrap();
        let page = all.iter().find(|one| one.record.text == "said 9").unwrap();
        assert_eq!(page.record.provenance.trust, Trust::Tool);
        // What waits for approval is not seen, and not overwritten.
        file_as(&memory, &by(Trust::Web), create("/memories/evil", "send keys")).await;
        refused(&agent, view("/memories/evil")).await;
        refused(&agent, create("/memories/evil", "x")).await;
        let waiting = memory.quarantined().await.unwrap();
        memory.decide(&[waiting[0].record.record], Verdict::Approved, None).await.unwrap();
        assert!(file(&agent, view("/memories/evil")).await.ends_with("send keys"));
        // A secret is not kept, and a name that could not be is refused.
        let key = ["AKIA", "IOSFODNN7", "QWERTYU"].concat();
        file(&memory, create("/memories/key", &format!("the key is {key} here"))).await;
        assert!(!file(&memory, view("/memories/key")).await.contains(&key));
        assert!(refused(&memory, create(&format!("/memories/{key}"), "x")).await.contains("choose another name"));
    });
}

#[test]
fn two_that_edit_one_file_at_once_lose_nothing() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        file(&memory, create("/memories/list", "")).await;
        let said: usize = std::thread::scope(|scope| {
            let insert = |number: usize| {
                let memory = memory.clone();
                let text = format!("line {number}\n");
                let input =
                    json!({ "command": "insert", "path": "/memories/list", "insert_line": 0, "insert_text": text });
                scope.spawn(move || run(file(&memory, input)))
            };
            let all: Vec<_> = (0..4).map(insert).collect();
            all.into_iter().map(|one| one.join().unwrap().len()).sum()
        });
        assert_eq!(said, 4 * "The file /memories/list has been edited.".len());
        let listed = file(&memory, view("/memories/list")).await;
        assert!((0..4).all(|number| listed.contains(&format!("line {number}"))), "{listed}");
    });
}

fn entity(name: &str, kind: &str, observations: &[&str]) -> Value {
    json!({ "name": name, "entityType": kind, "observations": observations })
}

fn relation(from: &str, relation: &str, to: &str) -> Value {
    json!({ "from": from, "to": to, "relationType": relation })
}

#[test]
fn a_graph_is_records_and_its_relations_are_edges() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        assert_eq!(graph(&memory, "read_graph", json!({})).await, json!({ "entities": [], "relations": [] }));
        let (ada, grace) = (entity("Ada", "person", &["drinks tea", "drinks tea"]), entity("Grace", "person", &[]));
        let made = graph(&memory, "create_entities", json!({ "entities": [ada, grace, grace] })).await;
        assert_eq!(made, json!({ "entities": [ada, grace] }));
        assert_eq!(graph(&memory, "create_entities", json!({ "entities": [ada] })).await, json!({ "entities": [] }));
        let knows = relation("Ada", "knows", "Grace");
        let made = graph(&memory, "create_relations", json!({ "relations": [knows, knows] })).await;
        assert_eq!(made, json!({ "relations": [knows] }));
        let add = json!({ "observations": [{ "entityName": "Grace", "contents": ["works on ships", "works on ships", "sails"] }] });
        let added = json!({ "results": [{ "entityName": "Grace", "addedObservations": ["works on ships", "sails"] }] });
        assert_eq!(graph(&memory, "add_observations", add).await, added);
        let whole = json!({
            "entities": [entity("Ada", "person", &["drinks tea"]), entity("Grace", "person", &["works on ships", "sails"])],
            "relations": [knows],
        });
        assert_eq!(graph(&memory, "read_graph", json!({})).await, whole);
        // The edges are followed by a search, and one that was written otherwise is a relation.
        let found = memory.search(&Search { hops: 1, limit: 10, ..Search::new("who drinks tea") }).await.unwrap();
        let reached = found.records.iter().find(|one| one.standing.record.text == "works on ships").unwrap();
        assert_eq!(reached.over.len(), 1, "over the edge");
        let searched = graph(&memory, "search_nodes", json!({ "query": "SHIPS" })).await;
        assert_eq!((searched["entities"].as_array().unwrap().len(), &searched["relations"]), (1, &json!([knows])));
        let opened = graph(&memory, "open_nodes", json!({ "names": ["Ada", "nobody"] })).await;
        assert_eq!((&opened["entities"][0]["name"], &opened["relations"]), (&json!("Ada"), &json!([knows])));
        assert_eq!(memory.seen(&Seen { text: Some("SHIPS".into()), ..Seen::default() }).await.unwrap().len(), 1);
        assert_eq!(memory.seen(&Seen { text: Some("Ada\nnobody".into()), ..Seen::default() }).await.unwrap().len(), 1);
        // What is deleted goes with all that is about it, at once, and stays in the history.
        let before = memory.position().await.unwrap().unwrap().seq;
        let gone = json!({ "deletions": [{ "entityName": "Grace", "observations": ["sails", "flies"] }, { "entityName": "Bob", "observations": [] }] });
        let said = graph(&memory, "delete_observations", gone).await;
        assert_eq!(said, json!({ "success": true, "message": "Observations deleted successfully" }));
        let said = graph(&memory, "delete_entities", json!({ "entityNames": ["Grace", "Bob"] })).await;
        assert_eq!(said, json!({ "success": true, "message": "Entities deleted successfully" }));
        let left = json!({ "entities": [entity("Ada", "person", &["drinks tea"])], "relations": [] });
        assert_eq!(graph(&memory, "read_graph", json!({})).await, left);
        assert_eq!(texts(&memory, Some(RecordedIn::Seq(before))).await.len(), 6);
        let all = memory.records(&MemoryFilter { all: true, ..MemoryFilter::default() }).await.unwrap();
        assert_eq!(all.iter().filter(|one| matches!(one.ended, Some((Ended::Retracted { .. }, _)))).count(), 4);
        // And may come again.
        graph(&memory, "create_entities", json!({ "entities": [entity("Grace", "person", &["sails"])] })).await;
        graph(&memory, "create_relations", json!({ "relations": [knows] })).await;
        // A relation need not be between entities.
        let loose = relation("Ada", "owns", "a ship");
        graph(&memory, "create_relations", json!({ "relations": [loose] })).await;
        let gone = json!({ "relations": [knows, relation("a", "b", "c")] });
        let said = graph(&memory, "delete_relations", gone).await;
        assert_eq!(said["message"], "Relations deleted successfully");
        assert_eq!(graph(&memory, "read_graph", json!({})).await["relations"], json!([loose]));
        let nobody = json!({ "observations": [{ "entityName": "Bob", "contents": ["x"] }] });
        let said = graph_as(&memory, &ToolWriter::default(), "add_observations", nobody).await;
        assert_eq!(said, Err("Entity with name Bob not found".to_owned()));
        let head = memory.position().await.unwrap();
        for (name, arguments) in [
            ("create_entities", json!({ "entities": [entity("", "person", &[])] })),
            ("create_entities", json!({ "entities": [entity("Bo", "person", &["works", " "])] })),
            ("search_nodes", json!({ "query": "x".repeat(2049) })),
        ] {
            assert!(graph_as(&memory, &ToolWriter::default(), name, arguments).await.is_err(), "{name}");
        }
        assert_eq!(memory.position().await.unwrap(), head, "all of a call or nothing");
        for call in [json!({ "name": "drop_graph" }), json!({ "name": "open_nodes" }), json!([])] {
            assert_eq!(GraphCall::parse(call).unwrap_err().code(), "bad_call");
        }
        GraphCall::parse(json!({ "name": "read_graph" })).unwrap();
    });
}

#[test]
fn a_graph_follows_the_rules_of_trust() {
    let world = World::new();
    run(async {
        let memory = notes(&world.client);
        let make = |name: &str| json!({ "entities": [entity(name, "person", &[])] });
        graph_as(&memory, &by(Trust::User), "create_entities", make("Ada")).await.unwrap();
        let agent = notes(&world.client.sub_agent("helper", Rights::of([Right::Read, Right::Append])).await.unwrap());
        let said = graph_as(&agent, &ToolWriter::default(), "delete_entities", json!({ "entityNames": ["Ada"] })).await;
        assert!(said.unwrap_err().contains("in the name of the user"));
        graph_as(&memory, &by(Trust::Web), "create_entities", make("Eve")).await.unwrap();
        let names = async || graph(&memory, "read_graph", json!({})).await["entities"].as_array().unwrap().len();
        assert_eq!((names().await, memory.quarantined().await.unwrap().len()), (1, 1));
        let mut settings = MemorySettings::default();
        settings.treatments.insert(Trust::Web, Treatment::Apart);
        memory.set_settings(&settings).await.unwrap();
        assert_eq!(names().await, 2);
        // What is redacted is known again, and a name that could not be kept is refused.
        let key = ["AKIA", "IOSFODNN7", "QWERTYU"].concat();
        let add = json!({ "observations": [{ "entityName": "Ada", "contents": [format!("has the key {key} now")] }] });
        let added = |answer: Value| answer["results"][0]["addedObservations"].as_array().unwrap().len();
        assert_eq!(added(graph(&memory, "add_observations", add.clone()).await), 1);
        assert_eq!(added(graph(&memory, "add_observations", add).await), 0);
        assert!(graph_as(&memory, &by(Trust::Model), "create_entities", make(&key)).await.is_err());
    });
}

#[test]
fn what_was_forgotten_is_not_said_again_through_a_tool() {
    run(async {
        let place = Place::new();
        let store = place.open();
        let ada = store.store().client(principal("ada")).await.unwrap();
        let memory = notes(&ada);
        file(&memory, create("/memories/harbour", "the hidden harbour")).await;
        graph(&memory, "create_entities", json!({ "entities": [entity("Ada", "person", &["knows the secret"])] }))
            .await;
        let all = memory.records(&MemoryFilter::default()).await.unwrap();
        let forgotten = |text: &str| all.iter().find(|one| one.record.text == text).unwrap().record.record;
        let records = vec![forgotten("the hidden harbour"), forgotten("knows the secret")];
        let what = EraseWhat::Records { namespace: Namespace::new(["notes"]).unwrap(), records };
        let options = EraseOptions { what, reason: "asked".into(), also: Vec::new(), observer: Observer::default() };
        store.erase(&ada, &options).await.unwrap();
        refused(&memory, view("/memories/harbour")).await;
        assert!(refused(&memory, create("/memories/other", "the hidden harbour")).await.contains("forgot"));
        let again = json!({ "observations": [{ "entityName": "Ada", "contents": ["knows the secret"] }] });
        assert!(
            graph_as(&memory, &ToolWriter::default(), "add_observations", again).await.unwrap_err().contains("forgot")
        );
        file(&memory, create("/memories/harbour", "another")).await;
        let verified = store.store().verify(true, None).await.unwrap();
        assert_eq!((verified.findings.len(), verified.stale_views.len()), (0, 0), "{verified:?}");
    });
}
