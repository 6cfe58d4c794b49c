//! What redaction finds in files: told by the checkpoint that stores them, listed afterwards, and by policy stored so that an
//! erasure of their owner takes them out of every copy.

use crate::support::{Place, text};
use serde_json::{Value, json};
use std::fs;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn work(place: &Place) -> (String, std::path::PathBuf) {
    let id = place.session();
    place.attach_work(&id);
    (id, place.path().join("work"))
}

fn checkpoint(place: &Place, id: &str) -> Value {
    place.json(&["checkpoint", id, "--no-environment"]).json()
}

fn found(checkpoint: &Value) -> Vec<(String, bool, String, u64)> {
    let found = checkpoint["report"]["found"].as_array().unwrap();
    let of = |one: &Value| {
        let kind = &one["found"][0];
        let (path, kind_name) = (text(one, "/path"), text(kind, "/kind"));
        (path, one["separate"].as_bool().unwrap(), kind_name, kind["count"].as_u64().unwrap())
    };
    found.iter().map(of).collect()
}

#[test]
fn a_secret_in_a_file_is_told_once_and_listed_for_every_checkpoint_that_has_it() {
    let place = Place::new();
    let (id, work) = work(&place);
    fs::write(work.join(".env"), format!("GITHUB_TOKEN={TOKEN}\n")).unwrap();
    fs::write(work.join("main.py"), "print(1)\n").unwrap();
    let first = checkpoint(&place, &id);
    assert_eq!(found(&first), [(".env".to_owned(), false, "github-token".to_owned(), 1)]);
    assert!(!first.to_string().contains(TOKEN));
    // What does not change is not told again, nor for another session in another directory.
    fs::write(work.join("main.py"), "print(2)\n").unwrap();
    assert_eq!(found(&checkpoint(&place, &id)), []);
    let other = place.session();
    fs::create_dir(place.path().join("other")).unwrap();
    fs::copy(work.join(".env"), place.path().join("other/copied")).unwrap();
    place.run(&["workspace", "attach", &other, place.path().join("other").to_str().unwrap()]).ok();
    assert_eq!(found(&checkpoint(&place, &other)), []);
    // Yet both can be asked what they hold, and so can a checkpoint of before.
    let holds = |at: &str| {
        let held = place.json(&["checkpoint", "found", at]).json();
        let files = held["files"].as_array().unwrap().clone();
        files.iter().map(|file| text(file, "/path")).collect::<Vec<String>>()
    };
    assert_eq!(holds(&id), [".env"]);
    assert_eq!(holds(&other), ["copied"]);
    let fingerprint = place.json(&["checkpoint", "found", &id]).json()["files"][0]["found"][0]["fingerprints"].clone();
    let written = place.run_with_input(&["redact"], TOKEN.as_bytes()).ok();
    assert_eq!(fingerprint, json!([written.split(':').nth(2).unwrap()]), "as in placeholders");
    fs::write(work.join(".env"), "GITHUB_TOKEN=\n").unwrap();
    assert_eq!(found(&checkpoint(&place, &id)), []);
    assert_eq!(holds(&id), [""; 0]);
    assert_eq!(holds(&format!("{id}@{}", first["seq"])), [".env"]);
    let shown = place.run(&["checkpoint", "found", &other]).ok();
    assert!(shown.contains("copied: 1 github-token") && !shown.contains(TOKEN), "{shown}");
    // Log and status say it; entries are counted too.
    place.say(&id, &format!("use {TOKEN}"));
    let log = place.run(&["log", &id]).ok();
    assert!(log.contains("redaction found something in 1 file"), "{log}");
    let status = place.json(&["status"]).json();
    let expected = json!([{
        "class": "secret", "kind": "github-token", "count": 1, "redacted": 1, "in_files": 1, "in_artifacts": 0, "separate": 0
    }]);
    assert_eq!(status["found"], expected);
    let of = |session: &str| {
        let sessions = status["sessions"].as_array().unwrap();
        sessions.iter().find(|one| one["id"] == session).unwrap()["found"].clone()
    };
    assert_eq!((of(&id), of(&other)), (expected, json!([])));
    let shown = place.run(&["status"]).ok();
    assert!(shown.contains("redaction found in entries: 1 github-token (1 replaced)"), "{shown}");
    assert!(shown.contains("redaction found in files: 1 github-token"), "{shown}");
    place.run(&["verify", "--rebuild"]).ok();
    place.run(&["verify"]).ok();
    assert_eq!(place.json(&["status"]).json()["found"], status["found"]);
}

#[test]
fn a_person_is_shown_what_was_found_and_the_policy_is_obeyed() {
    let place = Place::new();
    let (id, work) = work(&place);
    let policy = |arguments: &[&str]| place.json(&[&["policy", "redaction"], arguments].concat()).json();
    let usual = policy(&[]);
    assert_eq!((usual["files"].as_str(), usual["files_pii"].as_bool()), (Some("report"), Some(false)));
    fs::write(work.join("a"), format!("token: {TOKEN}\n")).unwrap();
    let shown = place.run(&["checkpoint", &id, "--no-environment"]).ok();
    assert!(shown.contains("  a: 1 github-token") && !shown.contains(TOKEN), "{shown}");
    assert_eq!(policy(&["--files", "off"])["files"], "off");
    fs::write(work.join("b"), format!("token: {TOKEN} b\n")).unwrap();
    assert_eq!(found(&checkpoint(&place, &id)), []);
    let set = policy(&["--files", "separate", "--files-pii", "on"]);
    assert_eq!((set["files"].as_str(), set["files_pii"].as_bool()), (Some("separate"), Some(true)));
    let shown = place.run(&["policy", "redaction"]).ok();
    assert!(shown.contains("separate, personal data too"), "{shown}");
    fs::write(work.join("c"), "write to ada@lovelace.example\n").unwrap();
    let taken = checkpoint(&place, &id);
    assert_eq!(found(&taken), [("c".to_owned(), true, "email".to_owned(), 1)]);
    policy(&["--files-pii", "off"]);
    fs::write(work.join("d"), "write to bob@lovelace.example\n").unwrap();
    assert_eq!(found(&checkpoint(&place, &id)), []);
    for wrong in [&["policy", "redaction", "--files", "redact"][..], &["policy", "redaction", "--files-pii", "maybe"]] {
        assert_eq!(place.run(wrong).status, 2, "{wrong:?}");
    }
    // Bytes that are no text are not looked at.
    fs::write(work.join("e"), [b"\0\0\0", TOKEN.as_bytes()].concat()).unwrap();
    assert_eq!(found(&checkpoint(&place, &id)), []);
}

#[test]
fn separate_files_are_restored_forked_merged_diffed_and_verified_like_others() {
    let place = Place::new();
    let (id, work) = work(&place);
    place.run(&["policy", "redaction", "--files", "separate"]).ok();
    let secret = format!("GITHUB_TOKEN={TOKEN}\n");
    fs::write(work.join(".env"), &secret).unwrap();
    fs::write(work.join("notes"), "one\n").unwrap();
    let first = checkpoint(&place, &id);
    assert_eq!(found(&first), [(".env".to_owned(), true, "github-token".to_owned(), 1)]);
    let at = format!("{id}@{}", first["seq"]);
    // A fork into a directory, with a change of its own to be merged.
    let copy = place.path().join("copy");
    let fork = place.json(&["fork", &at, "--into", copy.to_str().unwrap()]).json();
    let branch = text(&fork, "/id");
    assert_eq!(fs::read_to_string(copy.join(".env")).unwrap(), secret);
    let theirs = secret.clone() + &format!("OTHER={}\n", TOKEN.replace("16C7", "27D8"));
    fs::write(copy.join(".env"), &theirs).unwrap();
    let forked = place.json(&["checkpoint", &format!("{id}:{branch}"), "--no-environment"]).json();
    assert_eq!(found(&forked), [(".env".to_owned(), true, "github-token".to_owned(), 2)]);
    let merged = place.json(&["merge", &format!("{id}:{branch}")]);
    assert_eq!(merged.status, 0, "{merged:?}");
    assert_eq!(fs::read_to_string(work.join(".env")).unwrap(), theirs);
    // Back to before, also without stat caches and after the policy was changed.
    place.run(&["policy", "redaction", "--files", "report"]).ok();
    let tenants = place.store().join("tenants/local/caches");
    fs::remove_dir_all(&tenants).unwrap();
    assert_eq!(place.json(&["workspace", "status", &id]).json()["changes"], json!([]));
    let back = place.json(&["rewind", &at]);
    assert_eq!(back.status, 0, "{back:?}");
    assert_eq!(fs::read_to_string(work.join(".env")).unwrap(), secret);
    let differs = place.json(&["diff", &at, &format!("{id}:{branch}")]).json();
    assert_eq!(differs["changes"], json!([{"path": ".env", "change": "content"}]));
    place.run(&["gc", "--yes"]).ok();
    place.run(&["verify", "--rebuild"]).ok();
    place.run(&["verify"]).ok();
    let status = place.json(&["status"]).json();
    assert_eq!(status["found"][0]["separate"], 3, "{}", status["found"]);
    assert_eq!(status["found"][0]["in_files"], 3);
}

#[test]
fn a_secret_in_an_artifact_or_its_input_is_told_and_listed_like_one_in_a_file() {
    let place = Place::new();
    let (id, work) = work(&place);
    let secret = |number: u32| format!("GITHUB_TOKEN={}\n", TOKEN.replace("16C7", &format!("{number}aB3")));
    let put = |arguments: &[&str]| {
        let put = place.json(&[&["artifact", "put", &id], arguments].concat()).json();
        put["found"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (text(one, "/path"), one["separate"].as_bool().unwrap()))
            .collect::<Vec<_>>()
    };
    let held = |arguments: &[&str]| {
        let held = place.json(&[&["artifact", "found"], arguments].concat()).json();
        let of = |one: &Value| {
            (text(one, "/name"), one["input"].as_str().map(str::to_owned), one["version"].as_u64().unwrap())
        };
        held["artifacts"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let path = |name: &str| work.join(name).to_str().unwrap().to_owned();
    fs::write(work.join("report.md"), format!("see {}", secret(1))).unwrap();
    fs::create_dir(work.join("data")).unwrap();
    fs::write(work.join("data/in.csv"), secret(2)).unwrap();
    fs::write(work.join("plain.md"), "nothing\n").unwrap();
    let first = put(&[&path("report.md"), "--input", &path("data")]);
    assert_eq!(first, [("report.md".to_owned(), false), ("data/in.csv".to_owned(), false)]);
    assert_eq!(put(&[&path("plain.md")]), []);
    let both = [("report.md".to_owned(), None, 1), ("report.md".to_owned(), Some("data/in.csv".to_owned()), 1)];
    assert_eq!(held(&[&id]), both);
    // It is told once: neither the same again, nor a checkpoint of the same files, says it anew. Both can be asked.
    assert_eq!(put(&[&path("report.md"), "--input", &path("data")]), []);
    assert_eq!(found(&checkpoint(&place, &id)), []);
    let files = place.json(&["checkpoint", "found", &id]).json();
    assert_eq!(files["files"].as_array().unwrap().len(), 2, "{files}");
    // What a checkpoint stored and told is listed for the artifact.
    fs::write(work.join("later.md"), secret(3)).unwrap();
    assert_eq!(found(&checkpoint(&place, &id)).len(), 1);
    assert_eq!(put(&[&path("later.md")]), []);
    assert_eq!(held(&[])[2..], [("later.md".to_owned(), None, 1)]);
    // A version without it holds nothing; the one before does still.
    fs::write(work.join("report.md"), "see elsewhere\n").unwrap();
    assert_eq!(put(&[&path("report.md")]), []);
    assert_eq!(held(&[]), [("later.md".to_owned(), None, 1)]);
    assert_eq!(held(&["--all-versions"]).len(), 3);
    // A large one, with it where it is cut, under the owner's keys.
    place.run(&["policy", "redaction", "--files", "separate"]).ok();
    let lines = "some words that are lines of text\n".repeat(300_000);
    fs::write(work.join("large.txt"), format!("{lines}{}{lines}", secret(4))).unwrap();
    assert_eq!(put(&[&path("large.txt")]), [("large.txt".to_owned(), true)]);
    let shown = place.run(&["artifact", "found", &id]).ok();
    assert!(
        shown.contains("large.txt version 1: 1 github-token  (separate block)") && !shown.contains("aB3"),
        "{shown}"
    );
    fs::write(work.join("seen.md"), secret(5)).unwrap();
    let shown = place.run(&["artifact", "put", &id, &path("seen.md")]).ok();
    assert!(shown.contains("seen.md: 1 github-token  (separate block)") && !shown.contains("aB3"), "{shown}");
    // Counts say where.
    let status = place.json(&["status"]).json();
    let counts = &status["found"][0];
    let of = |field: &str| counts[field].as_u64().unwrap();
    assert_eq!((of("count"), of("in_files"), of("in_artifacts"), of("separate")), (0, 1, 4, 2), "{counts}");
    let shown = place.run(&["status"]).ok();
    assert!(shown.contains("redaction found in artifacts: 4 github-token"), "{shown}");
    place.run(&["gc", "--yes"]).ok();
    place.run(&["verify", "--rebuild"]).ok();
    place.run(&["verify"]).ok();
    assert_eq!(place.json(&["status"]).json()["found"], status["found"]);
    // Where files are not looked at, neither are artifacts.
    place.run(&["policy", "redaction", "--files", "off"]).ok();
    fs::write(work.join("off.md"), secret(6)).unwrap();
    assert_eq!(put(&[&path("off.md")]), []);
}

/// Copies a directory.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    let did = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(did.success());
}

#[test]
fn an_erasure_of_the_person_takes_separate_files_out_of_older_copies_as_well() {
    let place = Place::new();
    let (id, work) = work(&place);
    place.run(&["policy", "redaction", "--files", "separate"]).ok();
    fs::write(work.join(".env"), format!("GITHUB_TOKEN={TOKEN}\n")).unwrap();
    fs::write(work.join("notes"), "one\n").unwrap();
    checkpoint(&place, &id);
    let older = place.path().join("older");
    copy(&place.store(), &older);
    let erased = place.json(&["erase", "--user", "local", "--reason", "asked", "--yes"]).json();
    let proof = &erased["erased"]["proof"];
    let stores = proof["stores"].as_array().unwrap();
    let separate = stores.iter().find(|one| one["store"] == "separate_blocks").unwrap();
    assert_eq!((separate["found"].as_u64(), separate["deleted"].as_u64()), (Some(1), Some(1)));
    assert!(text(separate, "/why").contains("in no backup either"), "{separate}");
    place.run(&["verify"]).ok();
    // In the older copy both chunks are as they were. One is under a key that was destroyed, and opens for nobody.
    let destroyed: Vec<String> = proof["keys"].as_array().unwrap().iter().map(|key| text(key, "")).collect();
    let keys = keys_of_chunks(&older);
    let gone = keys.iter().filter(|key| destroyed.contains(key)).count();
    assert_eq!((keys.len(), gone), (2, 1), "{keys:?} {destroyed:?}");
}

/// The ids of the keys that seal the chunks of files in a store's ledger: what is no chunk is larger or smaller than these two.
fn keys_of_chunks(store: &std::path::Path) -> Vec<String> {
    use samite_ledger::{BlockIndex as _, OpenOptions, SqliteLedger};
    let ledger = SqliteLedger::open(OpenOptions::new(store.join("tenants/local/ledger.db"))).unwrap();
    let blocks = futures_lite::future::block_on(ledger.blocks(None, 1000)).unwrap();
    let ids: Vec<_> = blocks.iter().map(|block| block.id).collect();
    let sealed = futures_lite::future::block_on(ledger.inline_blocks(ids)).unwrap();
    // version, algorithm, key id [8], nonce [12]; codec, type [1], length; tag [16]: the length of the plaintext shows.
    let lengths = [format!("GITHUB_TOKEN={TOKEN}\n").len(), "one\n".len()];
    let sealed = sealed.into_iter().flatten().filter(|bytes| lengths.contains(&(bytes.len() - 22 - 6 - 16)));
    sealed.map(|bytes| data_encoding::HEXLOWER.encode(&bytes[2..10])).collect()
}

#[test]
#[cfg(feature = "kill-points")]
fn a_checkpoint_that_is_killed_over_a_separate_block_is_taken_again() {
    let place = Place::new();
    let (id, work) = work(&place);
    place.run(&["policy", "redaction", "--files", "separate"]).ok();
    fs::write(work.join(".env"), format!("GITHUB_TOKEN={TOKEN}\n")).unwrap();
    let mut command = place.command(&["checkpoint", &id, "--no-environment"]);
    command.env("SAMITE_KILL_POINT", "snapshot.separate");
    assert_eq!(command.output().unwrap().status.code(), None);
    let taken = checkpoint(&place, &id);
    assert_eq!(found(&taken), [(".env".to_owned(), true, "github-token".to_owned(), 1)]);
    place.run(&["gc", "--yes"]).ok();
    place.run(&["verify"]).ok();
    assert_eq!(place.json(&["status"]).json()["found"][0]["in_files"], 1);
}
