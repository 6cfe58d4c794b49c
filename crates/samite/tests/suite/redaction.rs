//! What is found in entries as they are written.

use crate::support::{World, assert_verifies, event, run};
use samite::payload::StepStarted;
use samite::redaction::{Class, Mode, Pattern};
use samite::{Begin, Entry, NewEvent, NewSession, NewStep, ReadOptions, Writer, WriterOptions};
use samite_model::EntryKind;
use samite_model::step::Effect;
use serde_json::json;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

async fn writer(world: &World) -> Writer {
    let session = world.client.create_session(NewSession::default()).await.unwrap().id;
    world.client.writer(session, None, WriterOptions::default()).await.unwrap()
}

async fn entries(writer: &Writer) -> Vec<Entry> {
    let mut reader = writer.read(ReadOptions::default()).await.unwrap();
    let mut entries = Vec::new();
    loop {
        let page = reader.next().await.unwrap();
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
    }
}

fn body(entry: &Entry) -> String {
    String::from_utf8(entry.event().unwrap().body.to_vec()).unwrap()
}

#[test]
fn a_message_is_stored_without_its_secret_and_appending_it_again_is_known() {
    let world = World::new();
    run(async {
        let writer = writer(&world).await;
        let text = format!("the token is {TOKEN}, mail me at jane@mail.example");
        let new = NewEvent {
            attributes: Some(json!({"source": format!("env TOKEN={TOKEN}")})),
            dedupe: Some("m1".to_owned()),
            ..event(&text)
        };
        let first = writer.append(new.clone()).await.unwrap();
        let again = writer.append(new.clone()).await.unwrap();
        assert_eq!((again.position, again.duplicate), (first.position, true));
        let other = NewEvent { body: b"other words".to_vec(), ..new };
        assert_eq!(writer.append(other).await.unwrap_err().code(), "dedupe_mismatch");

        let stored = entries(&writer).await.pop().unwrap();
        let words = body(&stored);
        assert!(
            words.starts_with("the token is [secret:github-token:")
                && words.ends_with(":40], mail me at jane@mail.example"),
            "{words}"
        );
        let event = stored.event().unwrap();
        assert!(!event.attributes.unwrap().to_string().contains(TOKEN));
        let found: Vec<_> =
            event.marks.unwrap().found.into_iter().map(|one| (one.class, one.kind, one.count, one.redacted)).collect();
        assert_eq!(
            found,
            [(Class::Secret, "github-token".to_owned(), 2, true), (Class::Pii, "email".to_owned(), 1, false),]
        );
        let counts = world.client.found_in(writer.session(), None).await.unwrap();
        assert_eq!(counts.iter().map(|one| one.count).sum::<u64>(), 3);
        assert_verifies(&world.store);
    });
}

#[test]
fn what_steps_are_called_with_and_answer_is_redacted_and_they_stay_the_steps_they_were() {
    let world = World::new();
    run(async {
        let writer = writer(&world).await;
        let step = |token: &str| NewStep {
            effect: Effect::Idempotent,
            ..NewStep::new("s1", "http", json!({"headers": {"authorization": format!("Bearer {token}")}, "id": 7}))
        };
        let Begin::Run(handle) = writer.begin(&step(TOKEN)).await.unwrap() else { panic!("not to run") };
        let output = json!({"stdout": format!("DB_PASSWORD=hunter2!x\n{TOKEN}"), "status": 0});
        writer.complete(&handle, output).await.unwrap();
        // The same call is the same step; one with another secret is another.
        assert!(matches!(writer.begin(&step(TOKEN)).await.unwrap(), Begin::Replay(_)));
        assert!(writer.begin(&step("ghp_26C7e42F292c6912E7710c838347Ae178B4b")).await.is_err());

        let all = entries(&writer).await;
        let started: StepStarted =
            all.iter().find(|entry| entry.header.kind == EntryKind::STEP_STARTED).unwrap().json().unwrap();
        let header = started.input["headers"]["authorization"].as_str().unwrap();
        assert!(header.starts_with("Bearer [secret:github-token:"), "{header}");
        assert_eq!(started.input["id"], 7);
        let whole: Vec<String> = all
            .iter()
            .filter_map(|entry| entry.payload.as_ref())
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect();
        assert!(whole.iter().all(|text| !text.contains(TOKEN) && !text.contains("hunter2")), "{whole:?}");
        assert_verifies(&world.store);
    });
}

#[test]
fn the_tenants_policy_decides() {
    let world = World::new();
    run(async {
        let writer = writer(&world).await;
        let say = async |text: &str| {
            writer.append(event(text)).await.unwrap();
            body(&entries(&writer).await.pop().unwrap())
        };
        let client = &world.client;
        let policy = client.redaction_policy().await.unwrap();
        assert_eq!((policy.secrets, policy.pii), (Mode::Redact, Mode::Report));
        client.change_redaction(|policy| policy.secrets = Mode::Off).await.unwrap();
        assert_eq!(say(TOKEN).await, TOKEN);
        client.change_redaction(|policy| policy.secrets = Mode::Report).await.unwrap();
        assert_eq!(say(TOKEN).await, TOKEN);
        client
            .change_redaction(|policy| {
                policy.pii = Mode::Redact;
                policy.patterns = vec![Pattern { name: "ticket".to_owned(), expression: "T-[0-9]+".to_owned() }];
            })
            .await
            .unwrap();
        let words = say("T-42 of jane@mail.example").await;
        assert!(words.starts_with("[pattern:ticket:") && words.contains(" of [pii:email:"), "{words}");
        let wrong = client.change_redaction(|policy| policy.patterns[0].expression = "(".to_owned()).await;
        assert_eq!(wrong.unwrap_err().code(), "bad_expression");
        // Another user's client of the same tenant has the same policy.
        let other = world.client_of("grace");
        assert_eq!(other.redaction_policy().await.unwrap().pii, Mode::Redact);
        assert_verifies(&world.store);
    });
}

#[test]
fn a_registered_secret_is_found_in_every_encoding_until_it_is_forgotten() {
    let world = World::new();
    run(async {
        let writer = writer(&world).await;
        let secret = "correct horse";
        world.client.register_secret("staple", secret.as_bytes()).await.unwrap();
        let encoded = data_encoding::BASE64.encode(format!("x{secret}y").as_bytes());
        writer.append(event(&format!("{secret} and {encoded}"))).await.unwrap();
        let words = body(&entries(&writer).await.pop().unwrap());
        let holder = words.split(" and ").next().unwrap().to_owned();
        assert!(holder.starts_with("[secret:staple:") && holder.ends_with(":13]"), "{words}");
        assert_eq!(words, format!("{holder} and {holder}"));
        let listed = world.client.registered_secrets().await.unwrap();
        assert_eq!(
            listed.iter().map(|one| (one.name.as_str(), one.length)).collect::<Vec<_>>(),
            [("staple", Some(13))]
        );
        world.client.forget_secret("staple").await.unwrap();
        assert_eq!(world.client.forget_secret("staple").await.unwrap_err().code(), "no_secret");
        writer.append(event(secret)).await.unwrap();
        assert_eq!(body(&entries(&writer).await.pop().unwrap()), secret);
        assert_eq!(world.client.register_secret("x", b"short").await.unwrap_err().code(), "secret_too_short");
        assert_verifies(&world.store);
    });
}

#[test]
fn a_policy_outlives_the_erasure_of_who_decided_it() {
    let world = World::new();
    run(async {
        let bob = world.client_of("bob");
        bob.change_redaction(|policy| policy.secrets = Mode::Off).await.unwrap();
        world.destroy_keys_of("bob").await;
        assert_eq!(world.client.redaction_policy().await.unwrap().secrets, Mode::Off);
    });
}
