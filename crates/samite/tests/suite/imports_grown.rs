//! Importing again a source that grew, or that was changed, as a harness does that is still at it.

use crate::imports::{assert_sound, holds};
use crate::imports_rows::{Database, message};
use crate::support::{World, run};
use samite::import::{Harness, Importer};
use samite_host::files;
use serde_json::json;
use std::path::Path;

/// Imports a source, and says how many messages, responses, events and steps its session has: started, completed and
/// failed; and that none of them is open where all ended.
async fn counts(world: &World, harness: Harness, path: &Path) -> Vec<usize> {
    let mut importer = Importer::new(&world.client);
    let became = importer.source(harness, path, &mut |_| {}).await.unwrap();
    let all: Vec<usize> = holds(world, became.session).await.into_iter().map(|(_, count)| count).collect();
    let open: usize = world.client.branches(became.session).await.unwrap().iter().map(|one| one.open_steps).sum();
    assert_eq!(open, all[3] - all[4] - all[5], "{all:?}");
    assert_sound(world).await;
    all
}

#[test]
fn a_call_that_ended_since_is_one_step() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("session-x.json");
    let chat = |status: &str| {
        let call = json!({ "id": "c1", "name": "shell", "args": { "command": "ls" }, "status": status });
        let messages = json!([
            { "id": "u1", "type": "user", "content": [{ "text": "go" }] },
            { "id": "m1", "type": "gemini", "content": "", "toolCalls": [call] },
        ]);
        let chat = json!({ "sessionId": "s1", "projectHash": "p", "messages": messages });
        files::write_atomic(&path, chat.to_string().as_bytes(), 0o600).unwrap();
    };
    run(async {
        chat("executing");
        assert_eq!(counts(&world, Harness::GeminiCli, &path).await, [1, 1, 2, 1, 0, 0]);
        chat("success");
        assert_eq!(counts(&world, Harness::GeminiCli, &path).await, [1, 2, 2, 1, 1, 0]);
        assert_eq!(counts(&world, Harness::GeminiCli, &path).await, [1, 2, 2, 1, 1, 0]);
    });
}

/// Writes an event of `OpenHands`.
fn event(folder: &Path, number: u64, kind: &str, more: &serde_json::Value) {
    let mut event = json!({ "id": format!("e{number}"), "source": "agent", "kind": kind, "tool_call_id": "c1" });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let name = format!("events/event-{number:05}-e{number}.json");
    files::write_atomic(&folder.join(name), event.to_string().as_bytes(), 0o600).unwrap();
}

#[test]
fn an_action_that_gained_a_field_is_one_step() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    files::create_private_dir(&place.path().join("events")).unwrap();
    run(async {
        event(place.path(), 0, "ActionEvent", &json!({ "tool_name": "add" }));
        assert_eq!(counts(&world, Harness::OpenHands, place.path()).await, [0, 1, 0, 1, 0, 0]);
        event(place.path(), 0, "ActionEvent", &json!({ "tool_name": "add", "summary": "adds" }));
        assert_eq!(counts(&world, Harness::OpenHands, place.path()).await, [0, 2, 0, 1, 0, 0]);
        event(place.path(), 1, "ObservationEvent", &json!({ "observation": { "is_error": true } }));
        assert_eq!(counts(&world, Harness::OpenHands, place.path()).await, [1, 2, 0, 1, 0, 1]);
    });
}

#[test]
fn a_call_that_comes_after_its_result_ends_with_it() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    files::create_private_dir(&place.path().join("events")).unwrap();
    run(async {
        event(place.path(), 1, "ObservationEvent", &json!({ "observation": { "is_error": false } }));
        assert_eq!(counts(&world, Harness::OpenHands, place.path()).await, [1, 0, 0, 0, 0, 0]);
        event(place.path(), 0, "ActionEvent", &json!({ "tool_name": "add" }));
        assert_eq!(counts(&world, Harness::OpenHands, place.path()).await, [1, 1, 0, 1, 1, 0]);
        assert_eq!(counts(&world, Harness::OpenHands, place.path()).await, [1, 1, 0, 1, 1, 0]);
    });
}

#[test]
fn a_message_that_was_written_without_an_id_is_told_once() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    let database = Database::new(&place.path().join("a.db"));
    let call = json!({ "name": "add", "args": { "a": 1 }, "id": "c1" });
    let call = |more| message("AIMessage", &json!({ "content": "", "tool_calls": [call] }), more);
    let result = |more| message("ToolMessage", &json!({ "content": "3", "tool_call_id": "c1" }), more);
    let human = |id: &str| message("HumanMessage", &json!({ "content": "again" }), Some(id));
    run(async {
        // What each task wrote has no ids; the checkpoint that takes it up gives them.
        database.checkpoint("t", "1", None, &json!([human("h1")]));
        database.write("t", "1", 0, &json!([call(None)]));
        assert_eq!(database.counts(&world).await, [1, 1, 2, 1, 0, 0]);
        database.checkpoint("t", "2", Some("1"), &json!([human("h1"), call(Some("a1"))]));
        database.write("t", "2", 0, &json!([result(None)]));
        assert_eq!(database.counts(&world).await, [2, 1, 4, 1, 1, 0]);
        let all = json!([human("h1"), call(Some("a1")), result(Some("r1")), human("h2")]);
        database.checkpoint("t", "3", Some("2"), &all);
        assert_eq!(database.counts(&world).await, [3, 1, 5, 1, 1, 0]);
        // The same words in another step are another message.
        database.write("t", "3", 0, &json!([message("HumanMessage", &json!({ "content": "again" }), None)]));
        assert_eq!(database.counts(&world).await, [4, 1, 6, 1, 1, 0]);
        let mut all = all;
        all.as_array_mut().unwrap().extend([human("h3"), human("h4")]);
        database.checkpoint("t", "4", Some("3"), &all);
        assert_eq!(database.counts(&world).await, [5, 1, 7, 1, 1, 0]);
        assert_eq!(database.counts(&world).await, [5, 1, 7, 1, 1, 0]);
        // All at once it is the same.
        let other = World::new();
        assert_eq!(database.counts(&other).await, [5, 1, 7, 1, 1, 0]);
    });
}
