//! The surfaces of what is shared and granted, and what a person registers for the tenant.

use super::garden::{Garden, event};
use super::surfaces::{Surface, in_form, surface};
use futures_lite::future::block_on;
use samite::{Begin, NewEvent, NewSession, NewStep, WriterOptions};
use samite_model::EntryKind;
use samite_model::access::{Grantee, Right, Rights};
use serde_json::json;

pub(crate) const ALL: &[Surface] =
    &[surface("grants: whom they name", 4, grants), surface("words in a session that another owns", 18, in_anothers)];

fn with(user: &str) -> Grantee {
    Grantee::parse(&[format!("user:{user}")]).unwrap()
}

fn grants(garden: &Garden, texts: &[String]) {
    for text in texts {
        block_on(garden.client.share(garden.session, with(text), Rights::only(Right::Read), None)).unwrap();
    }
}

/// Secrets that this person registers are the tenant's: what keeps them out of the store does not go with whoever named them.
pub(crate) fn secrets(garden: &Garden, texts: &[String]) {
    let letters: String = garden.person.chars().filter(char::is_ascii_lowercase).collect();
    for (number, text) in texts.iter().enumerate() {
        block_on(garden.store.register_secret(&garden.client, &format!("{letters}-{number}"), text.as_bytes()))
            .unwrap();
    }
}

/// Somebody else lets this person in, who then writes and works there.
fn in_anothers(garden: &Garden, texts: &[String]) {
    let cleo = garden.other("cleo.of.elsewhere");
    let session = block_on(cleo.create_session(NewSession::default())).unwrap().id;
    let all = Rights::of([Right::Append, Right::Fork, Right::Manage]);
    block_on(cleo.share(session, with(garden.person), all, None)).unwrap();
    let there = block_on(garden.client.enter(session)).unwrap();
    let writer = block_on(there.writer(session, None, WriterOptions::default())).unwrap();
    for (number, six) in texts.chunks(6).enumerate() {
        let [body, attribute, dedupe, key, input, output] = six else { panic!("six each") };
        let said = NewEvent {
            attributes: Some(json!({ "said": attribute })),
            dedupe: Some(dedupe.clone()),
            ..event(EntryKind::MESSAGE, in_form(body, number))
        };
        block_on(writer.append(said)).unwrap();
        let step = NewStep::new(key, "tool", json!({ "command": input }));
        let Begin::Run(handle) = block_on(writer.begin(&step)).unwrap() else { panic!("a new step") };
        block_on(writer.complete(&handle, json!({ "stdout": output }))).unwrap();
    }
    block_on(writer.release()).unwrap();
    // What is there is read by this person, and then shared on by them.
    block_on(async { there.read(session, None, samite::ReadOptions::default()).await.unwrap().all().await }).unwrap();
    block_on(there.share(session, with("dora.the.fourth"), Rights::only(Right::Read), None)).unwrap();
    block_on(there.record_reads()).unwrap();
}
