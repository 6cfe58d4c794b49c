//! Calls whose acknowledgement got lost, and that are made again.

use crate::place::Place;
use crate::support::{principal, run};
use samite::{Client, NewSession, Store};
use samite_ledger::testing::{Faults, FaultyStore, Seeded};
use std::sync::Arc;

/// A store whose ledger fails as it is told, and a client of it.
fn faulty(place: &Place) -> (FaultyStore, Client) {
    let storage = FaultyStore::new(Seeded::new(7), Arc::new(samite_host::SystemSleep), Faults::NONE);
    let ledger = Arc::new(storage.open());
    let store = Store::new(place.backends(ledger.clone(), ledger));
    (storage, run(store.client(principal("ada"))).unwrap())
}

#[test]
fn a_session_whose_acknowledgement_got_lost_is_made_once() {
    let place = Place::new();
    let (storage, client) = faulty(&place);
    let lost = Faults { lost_acknowledgement: 1000, ..Faults::NONE };
    run(async {
        storage.set_faults(lost);
        let first = client.create_session(NewSession::default()).await.unwrap();
        let keyed = NewSession { key: Some("k".into()), name: Some("n".into()), ..NewSession::default() };
        let second = client.create_session(keyed.clone()).await.unwrap();
        storage.set_faults(Faults::NONE);
        // A caller that heard nothing asks again.
        assert_eq!(client.create_session(keyed.clone()).await.unwrap().id, second.id);
        let other = NewSession { name: Some("other".into()), ..keyed };
        let error = client.create_session(other).await.unwrap_err();
        assert_eq!(error.code(), "session_key_exists");
        assert!(error.message().contains(&second.id.to_string()), "{error}");
        let sessions = client.sessions().await.unwrap();
        let sessions: Vec<_> = sessions.into_iter().map(|session| session.unwrap().id).collect();
        assert_eq!(sessions, [first.id, second.id]);
    });
}

#[test]
fn a_session_that_was_not_made_says_how_to_go_on() {
    let place = Place::new();
    let (storage, client) = faulty(&place);
    run(async {
        storage.set_faults(Faults { lost_request: 1000, ..Faults::NONE });
        for (key, hint) in [(None, "samite session list"), (Some("k".to_owned()), "the same key")] {
            let error = client.create_session(NewSession { key, ..NewSession::default() }).await.unwrap_err();
            assert_eq!(error.code(), "outcome_unknown");
            assert!(error.hints().iter().any(|said| said.contains(hint)), "{:?}", error.hints());
        }
    });
}
