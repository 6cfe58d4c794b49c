//! What is kept of deliberation, and what leaves for training.

use crate::support::{Did, Place, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What a model said to itself, through each way in.
const WAYS: [&str; 6] = [
    "qzx-append-thinking-1",
    "qzx-append-large-2",
    "qzx-import-3",
    "qzx-fork-edit-4",
    "qzx-tags-5",
    "qzx-attributes-6",
];

/// Says and does the same in any store, with deliberation in it.
fn deliberate(place: &Place) -> String {
    let id = place.session();
    let [one, large, import, edit, tags, attributes] = WAYS;
    let response = |secret: &str, more: usize| {
        let filler = "deliberating ".repeat(more);
        json!({"content": [{"type": "thinking", "thinking": format!("{secret} {filler}")}, {"type": "text", "text": "kept-1"}]})
            .to_string()
    };
    let append = |arguments: &[&str]| place.json(&[&["append", &id], arguments].concat()).json();
    let first = append(&["--kind", "model_response", "--json-value", &response(one, 0), "--dedupe", "r1"]);
    fs::write(place.path().join("large.json"), response(large, 200_000)).unwrap();
    append(&["--kind", "model_response", "--file", "large.json"]);
    append(&["--text", &format!("<think>{tags}</think>kept-5"), "--attributes", r#"{"role": "assistant"}"#]);
    append(&["--text", "kept-6", "--attributes", &json!({"role": "x", "reasoning": attributes}).to_string()]);
    fs::remove_file(place.path().join("large.json")).unwrap();
    let line = json!({"uuid": "a", "parentUuid": null, "sessionId": "s", "type": "assistant", "message": {"content": [
        {"type": "thinking", "thinking": import, "signature": "x"}, {"type": "text", "text": "kept-3"}]}});
    fs::create_dir(place.path().join("logs")).unwrap();
    fs::write(place.path().join("logs/s.jsonl"), format!("{line}\n")).unwrap();
    place.json(&["import", "claude-code", "logs"]).ok();
    // The same again is known, whatever was kept of it.
    let again = place.json(&["import", "claude-code", "logs"]).ok();
    assert!(!again.contains("\"stored\":1"), "{again}");
    fs::remove_dir_all(place.path().join("logs")).unwrap();
    let at = format!("{id}@{}", first["seq"]);
    let edited = place.path().join("edited.txt");
    fs::write(&edited, format!("<thinking>{edit}</thinking>kept-4")).unwrap();
    place.json(&["fork", &at, "--edit", "edited.txt"]).json();
    fs::remove_file(edited).unwrap();
    let twice = append(&["--kind", "model_response", "--json-value", &response(one, 0), "--dedupe", "r1"]);
    assert_eq!((&twice["duplicate"], &twice["seq"]), (&json!(true), &first["seq"]));
    let other = ["append", &id, "--kind", "model_response", "--json-value", "{}", "--dedupe", "r1"];
    assert_eq!(place.json(&other).error(4)["code"], "dedupe_mismatch");
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
    let verified = place.json(&["verify"]).json();
    assert_eq!((&verified["findings"], &verified["stale_views"]), (&json!([]), &json!([])));
    id
}

/// The texts that stand in the store, in whatever form.
fn hunted(place: &Place, texts: &[&str]) -> BTreeSet<String> {
    fs::write(place.path().join("texts"), texts.join("\n")).unwrap();
    let did = place.json(&["erase", "sweep", "--canaries", "texts"]);
    let answer: Value = serde_json::from_str(&did.out).unwrap_or_else(|error| panic!("{error}: {did:?}"));
    answer["hits"].as_array().unwrap().iter().map(|hit| text(hit, "/canary")).collect()
}

/// Whether the bytes of any file below a directory hold a text.
fn raw(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return raw(&path, text);
        }
        fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[test]
fn decisions_leave_no_byte_of_deliberation_on_disk() {
    let all: BTreeSet<String> = WAYS.iter().map(|way| (*way).to_owned()).collect();
    let kept: Vec<String> = [1, 3, 4, 5, 6].iter().map(|number| format!("kept-{number}")).collect();
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    // Where all is kept, all is found.
    let full = Place::new();
    deliberate(&full);
    assert_eq!(hunted(&full, &WAYS), all);
    let status = full.json(&["status"]).json();
    assert_eq!(status["dropped"], json!({"entries": 0, "pieces": 0, "bytes": 0}));
    let place = Place::new();
    place.session();
    place.json(&["capture", "set", "decisions"]).json();
    let id = deliberate(&place);
    assert_eq!(hunted(&place, &WAYS), BTreeSet::new());
    assert_eq!(hunted(&place, &kept).len(), kept.len());
    for way in WAYS {
        assert!(!raw(&place.store(), way), "{way}");
    }
    let entries = place.json(&["read", &id]).lines();
    let capture = |entry: &Value| entry["attributes"]["samite:capture"].clone();
    let first = entries.iter().map(capture).find(Value::is_object).unwrap();
    assert_eq!((&first["level"], &first["pieces"]), (&json!("decisions"), &json!(1)));
    let dropped = place.json(&["status"]).json()["dropped"].clone();
    assert_eq!((&dropped["entries"], &dropped["pieces"]), (&json!(6), &json!(6)));
    assert!(dropped["bytes"].as_u64().unwrap() > 2_000_000, "{dropped}");
}

#[test]
fn a_level_holds_for_its_kind_from_then_on_and_callers_do_not_speak_for_it() {
    let place = Place::new();
    let id = place.session();
    let shown = place.json(&["capture", "set", "metadata", "--kind", "event"]).json();
    assert_eq!(shown, json!({"others": "full", "kinds": [{"kind": "event", "level": "metadata"}]}));
    place.json(&["append", &id, "--kind", "event", "--text", "gone-1"]).json();
    place.json(&["append", &id, "--text", "kept-1"]).json();
    place.json(&["capture", "set", "default", "--kind", "event"]).json();
    place.json(&["append", &id, "--kind", "event", "--text", "kept-2"]).json();
    assert_eq!(hunted(&place, &["gone-1", "kept-1", "kept-2"]), ["kept-1", "kept-2"].map(str::to_owned).into());
    let own = ["append", &id, "--text", "x", "--attributes", r#"{"samite:capture": {}}"#];
    assert_eq!(place.json(&own).error(2)["code"], "reserved_attribute");
    // Content in attributes is content.
    place.json(&["capture", "set", "metadata"]).json();
    let noted = json!({"role": "user", "note": "gone-3", "of": {"path": "gone-4"}}).to_string();
    place.json(&["append", &id, "--text", "gone-5", "--attributes", &noted]).json();
    assert_eq!(hunted(&place, &["gone-3", "gone-4", "gone-5"]), BTreeSet::new());
    let last = place.json(&["read", &id]).lines().pop().unwrap();
    assert_eq!(
        (&last["attributes"]["role"], &last["attributes"]["samite:capture"]["pieces"]),
        (&json!("user"), &json!(3))
    );
    assert_eq!(place.json(&["capture", "set", "full", "--kind", "tree"]).error(2)["code"], "bad_kind");
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
}

/// The acts of a kind in the audit log.
fn logged(place: &Place, act: &str) -> Vec<Value> {
    place.json(&["audit", "log", "--act", act]).json()["acts"].as_array().unwrap().clone()
}

fn export(place: &Place, to: &str, what: &[&str]) -> Did {
    let options = ["export", "--for-training", "--to-region", "eu", "--basis", "contract 7", to];
    place.json(&[&options[..], what].concat())
}

/// The lines of a data set.
fn data(place: &Place, to: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.path().join(to).join("data.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bodies(lines: &[Value]) -> BTreeSet<String> {
    lines.iter().filter_map(|line| line["body"]["text"].as_str()).map(str::to_owned).collect()
}

#[test]
fn withdrawn_consent_removes_derived_rows_from_the_next_export() {
    let place = Place::new();
    let (one, other) = (place.session(), place.session());
    let child = text(&place.json(&["session", "new", "--parent", &one]).json(), "/id");
    for (id, said) in [(&one, "said-one"), (&child, "said-child"), (&other, "said-other")] {
        place.say(id, said);
    }
    let fork = text(&place.json(&["fork", &one]).json(), "/id");
    place.say(&format!("{one}:{fork}"), "said-fork");
    // Nothing said is no.
    let error = export(&place, "none", &["--all"]).error(6);
    assert_eq!(error["code"], "no_consent");
    let message = text(&error, "/message");
    assert!(message.contains("nobody consented for the sessions "), "{message}");
    assert!([&one, &child, &other].iter().all(|id| message.contains(&id[..12])), "{message}");
    assert!(!place.path().join("none").exists());
    for id in [&one, &child, &other] {
        place.json(&["consent", "set", "yes", "--session", id, "--basis", "form"]).json();
    }
    let first = export(&place, "first", &["--all"]).json();
    let lines = data(&place, "first");
    assert_eq!(bodies(&lines), ["said-one", "said-child", "said-other", "said-fork"].map(str::to_owned).into());
    assert_eq!((&first["entries"], &first["left_out"]), (&json!(lines.len()), &json!([])));
    assert!(lines.iter().all(|line| line["dataset"] == first["dataset"]));
    let about: Value = serde_json::from_slice(&fs::read(place.path().join("first/dataset.json")).unwrap()).unwrap();
    assert_eq!(
        (&about["dataset"], &about["basis"], &about["root"]),
        (&first["dataset"], &json!("contract 7"), &first["root"])
    );
    assert_eq!(export(&place, "first", &["--all"]).error(4)["code"], "not_empty");
    assert_eq!(export(&place, "store/x", &["--all"]).error(2)["code"], "inside_store");
    // Taken back for one, it goes for what was made of it too.
    place.json(&["consent", "set", "no", "--session", &one, "--basis", "letter"]).json();
    let second = export(&place, "second", &["--all"]).json();
    assert_eq!(bodies(&data(&place, "second")), ["said-other"].map(str::to_owned).into());
    let left = second["left_out"].as_array().unwrap();
    assert_eq!(left.len(), 3, "{second}");
    assert!(left.iter().all(|left| left["without_consent"] == json!([one])), "{second}");
    let only = export(&place, "third", &["--session", &child]).error(6);
    assert_eq!(only["code"], "no_consent");
    // It is not the session that was named.
    let message = text(&only, "/message");
    assert!(message.contains(&one[..12]) && !message.contains(&child[..12]), "{message}");
    // Proofs name the data sets that may hold what is erased, and no others.
    let erased = place.json(&["erase", "--session", &one, "--reason", "test", "--yes"]).json();
    let unreached = erased["erased"]["proof"]["unreached"].as_array().unwrap();
    let named: Vec<&Value> = unreached.iter().filter(|one| one["what"] == "dataset").map(|one| &one["which"]).collect();
    assert_eq!(named, [&first["dataset"]]);
    let records = place.json(&["records"]).json();
    assert_eq!(records["datasets"].as_array().unwrap().len(), 2);
    assert_eq!(place.json(&["audit", "log"]).ok().matches("\"dataset_exported\"").count(), 2);
    // What was made of it by a session that lives is not used, although that may be.
    let third = export(&place, "fourth", &["--all"]).json();
    assert_eq!(bodies(&data(&place, "fourth")), ["said-other"].map(str::to_owned).into());
    assert!(third["left_out"].as_array().unwrap().iter().any(|left| left["session"] == child), "{third}");
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
}

#[test]
fn merges_and_artifacts_with_inputs_follow_all_that_they_came_from() {
    let place = Place::new();
    let made = |name: &str| {
        let id = place.session();
        fs::create_dir(place.path().join(name)).unwrap();
        place.run(&["workspace", "attach", &id, name]).ok();
        place.say(&id, &format!("said-{name}"));
        id
    };
    let (one, two) = (made("one"), made("two"));
    fs::write(place.path().join("one/input.csv"), "a,b\n").unwrap();
    let put = |id: &str, file: &str, inputs: &[&str]| {
        let mut arguments = vec!["artifact", "put", id, file];
        for input in inputs {
            arguments.extend(["--input", input]);
        }
        text(&place.json(&arguments).json(), "/id")
    };
    put(&one, "one/input.csv", &[]);
    fs::write(place.path().join("two/chart.svg"), "<svg/>").unwrap();
    let chart = put(&two, "two/chart.svg", &["one/input.csv"]);
    place.json(&["consent", "set", "yes", "--session", &two, "--basis", "form"]).json();
    let exported = export(&place, "first", &["--session", &two]).json();
    let kinds = |to: &str| {
        let lines = data(&place, to);
        lines.iter().map(|line| text(line, "/kind")).collect::<Vec<_>>()
    };
    assert_eq!(kinds("first"), ["message"]);
    let left = &exported["left_out"][0];
    assert_eq!((&left["artifact"], &left["without_consent"]), (&json!(chart), &json!([one])));
    place.json(&["consent", "set", "yes", "--session", &one, "--basis", "form"]).json();
    export(&place, "second", &["--session", &two]).json();
    assert_eq!(kinds("second"), ["message", "artifact_published"]);
}

#[test]
fn an_export_to_another_region_needs_a_decision_and_its_refusal_is_recorded() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "said");
    let on = |arguments: &[&str]| {
        Did::new(&place.command(&[&["--json"], arguments].concat()).env("SAMITE_REGION", "eu").output().unwrap())
    };
    on(&["region", "set", "eu"]).json();
    on(&["consent", "set", "yes", "--session", &id, "--basis", "form"]).json();
    let us = ["export", "--for-training", "--to-region", "us", "--basis", "contract", "--all", "far"];
    assert_eq!(on(&us).error(6)["code"], "other_region");
    assert!(!place.path().join("far").exists());
    assert_eq!(on(&["region", "show"]).json()["refusals"][0]["what"], "export");
    on(&["region", "transfer", "us", "--basis", "clauses"]).json();
    assert_eq!(on(&us).json()["region"], "us");
    let mut empty = us;
    empty[5] = "";
    empty[7] = "farther";
    assert_eq!(on(&empty).error(2)["code"], "empty_name");
    assert_eq!(on(&["export", "--for-training", "--to-region", "eu", "--all", "x"]).status, 2);
}

#[test]
#[cfg(feature = "kill-points")]
fn what_is_killed_leaves_no_data_set_without_a_record() {
    for (point, recorded) in [("export.gathered", 0), ("export.recorded", 1), ("export.written", 1)] {
        let place = Place::new();
        let id = place.session();
        place.say(&id, "qzx-said-77");
        place.json(&["consent", "set", "yes", "--session", &id, "--basis", "form"]).json();
        let arguments = ["export", "--for-training", "--to-region", "eu", "--basis", "b", "--all", "data"];
        let killed = place.command(&arguments).env("SAMITE_KILL_POINT", point).output().unwrap();
        assert_eq!(killed.status.code(), None, "{point}");
        assert!(!place.path().join("data/data.jsonl").exists(), "{point}");
        // No file of any name anywhere has a word of it before the record is durable.
        let is_out = raw(place.path(), "qzx-said-77");
        assert_eq!(is_out, point == "export.written", "{point}");
        assert_eq!(place.json(&["records"]).json()["datasets"].as_array().unwrap().len(), recorded, "{point}");
        // It is begun anew where it was cut off; what is whole, or somebody else's, stays.
        std::fs::write(place.path().join("data/notes"), "mine").unwrap();
        assert_eq!(export(&place, "data", &["--all"]).error(4)["code"], "not_empty");
        std::fs::remove_file(place.path().join("data/notes")).unwrap();
        let again = export(&place, "data", &["--all"]).json();
        let written = std::fs::read_to_string(place.path().join("data/data.jsonl")).unwrap();
        assert_eq!(Some(written.lines().count() as u64), again["entries"].as_u64());
        assert_eq!(export(&place, "data", &["--all"]).error(4)["code"], "not_empty");
        assert_eq!(place.json(&["verify"]).status, 0, "{point}");
    }
}

#[test]
#[cfg(feature = "kill-points")]
fn a_persons_data_is_handed_out_after_that_is_recorded() {
    let place = Place::new();
    let id = place.session();
    place.say(&id, "qzx-said-78");
    let arguments = ["subject", "export", "--user", "local", "--to", "mine"];
    let killed = place.command(&arguments).env("SAMITE_KILL_POINT", "subject.recorded").output().unwrap();
    assert_eq!(killed.status.code(), None);
    assert!(!raw(place.path(), "qzx-said-78"));
    assert_eq!(logged(&place, "handed_out").len(), 1);
    place.json(&arguments).json();
    assert!(raw(&place.path().join("mine"), "qzx-said-78"));
    assert_eq!(place.json(&["verify"]).status, 0);
}

#[test]
fn each_handing_out_is_an_act_and_stands_in_proofs() {
    let place = Place::new();
    let (one, other) = (place.session(), place.session());
    let seq = place.say(&one, "said-one");
    place.say(&other, "said-other");
    fs::write(place.path().join("passphrase"), "correct horse battery staple").unwrap();
    let acts = || logged(&place, "handed_out");
    assert_eq!(acts().len(), 0);
    // Nothing that is refused is one.
    place.json(&["subject", "export", "--user", "eve", "--to", "none"]).error(3);
    place.json(&["subject", "export", "--user", "local", "--to", "store/x"]).error(2);
    assert_eq!(acts().len(), 0);
    place.json(&["subject", "export", "--user", "local", "--to", "mine"]).json();
    place.json(&["key", "export", "key.samite", "--passphrase-file", "passphrase"]).json();
    let created = logged(&place, "session_created");
    let index = created[0]["index"].to_string();
    place.json(&["audit", "prove", &index, "--to", "plain.proof"]).json();
    assert_eq!(acts().len(), 2, "a receipt without words hands nothing out");
    place.json(&["audit", "prove", &index, "--reveal", "--to", "open.proof"]).json();
    assert_eq!(acts().len(), 3);
    assert!(seq > 0);
    // A copy is made in somebody's name, too.
    place.json(&["backup", "copy"]).json();
    let copied = logged(&place, "backed_up");
    assert_eq!((copied.len(), &copied[0]["user"]), (1, &json!("user:local")), "{copied:?}");
    let unreached = |id: &str| -> Vec<String> {
        let erased = place.json(&["erase", "--session", id, "--reason", "test", "--yes"]).json();
        let unreached = erased["erased"]["proof"]["unreached"].as_array().unwrap().clone();
        let named = unreached.iter().filter(|one| one["which"].is_string());
        named.map(|one| text(one, "/what")).collect()
    };
    assert_eq!(unreached(&other), ["backup", "subject_export"]);
    assert_eq!(unreached(&one), ["backup", "subject_export", "revealed"]);
    let all = place.json(&["erase", "--user", "local", "--reason", "test", "--yes"]).json();
    let unreached = all["erased"]["proof"]["unreached"].as_array().unwrap().clone();
    let keys = unreached.iter().filter(|one| one["what"] == "key_export").map(|one| one["which"].is_string());
    assert_eq!(keys.collect::<Vec<bool>>(), [true, false]);
    assert_eq!(place.json(&["verify", "--rebuild"]).status, 0);
}
