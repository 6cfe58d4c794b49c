use crate::support::{Pair, claims, code, set, verifier};
use samite_host::TestClock;
use serde_json::json;

const SECOND: i64 = 1_000_000_000;

fn wait(clock: &TestClock, seconds: i64) {
    clock.advance(seconds * SECOND);
}

#[test]
fn a_new_key_is_known_at_once_and_a_removed_one_is_dropped_with_it() {
    let (old, new) = (Pair::p256(), Pair::p256());
    let (verifier, answers, clock) = verifier(&[old.public("old")]);
    assert_eq!(code(&verifier, &old.token("old", &claims())), "");
    assert_eq!(answers.count(), 1);
    answers.say(Some(set(&[new.public("new")])));
    // Until somebody looks, what is known counts.
    wait(&clock, 10);
    assert_eq!(code(&verifier, &old.token("old", &claims())), "");
    assert_eq!(answers.count(), 1);
    assert_eq!(code(&verifier, &new.token("new", &claims())), "");
    assert_eq!(answers.count(), 2);
    assert_eq!(code(&verifier, &old.token("old", &claims())), "unknown_token_key");
    assert_eq!(answers.count(), 2, "within the cool-down nothing is fetched for another unknown key");
}

#[test]
fn a_removed_key_is_dropped_after_five_minutes_without_anybody_asking_for_another() {
    let (stays, goes) = (Pair::ed(), Pair::ed());
    let (verifier, answers, clock) = verifier(&[stays.public("stays"), goes.public("goes")]);
    assert_eq!(code(&verifier, &goes.token("goes", &claims())), "");
    answers.say(Some(set(&[stays.public("stays")])));
    wait(&clock, 299);
    assert_eq!(code(&verifier, &goes.token("goes", &claims())), "");
    assert_eq!(answers.count(), 1);
    wait(&clock, 1);
    assert_eq!(code(&verifier, &stays.token("stays", &claims())), "");
    assert_eq!(answers.count(), 2);
    assert_eq!(code(&verifier, &goes.token("goes", &claims())), "unknown_token_key");
    // That one asks once more, and no more for 30 s.
    assert_eq!(answers.count(), 3);
}

#[test]
fn a_flood_of_made_up_keys_fetches_once_in_thirty_seconds_and_takes_no_key_away() {
    let pair = Pair::p256();
    let (verifier, answers, clock) = verifier(&[pair.public("k")]);
    assert_eq!(code(&verifier, &pair.token("k", &claims())), "");
    for at in 0..1000 {
        assert_eq!(code(&verifier, &pair.token(&format!("made-up-{at}"), &claims())), "unknown_token_key");
    }
    assert_eq!(answers.count(), 2);
    wait(&clock, 29);
    assert_eq!(code(&verifier, &pair.token("made-up", &claims())), "unknown_token_key");
    assert_eq!(answers.count(), 2);
    wait(&clock, 1);
    // The issuer does not answer while they go on: the key that is known stays.
    answers.say(None);
    for at in 0..1000 {
        assert_eq!(code(&verifier, &pair.token(&format!("again-{at}"), &claims())), "unknown_token_key");
    }
    assert_eq!(answers.count(), 3);
    assert_eq!(code(&verifier, &pair.token("k", &claims())), "");
    // Nor does an answer that is none.
    wait(&clock, 30);
    answers.say(Some("<html>".to_owned()));
    assert_eq!(code(&verifier, &pair.token("other", &claims())), "unknown_token_key");
    assert_eq!(code(&verifier, &pair.token("k", &claims())), "");
    assert_eq!(answers.count(), 4);
}

#[test]
fn an_issuer_that_does_not_answer_is_waited_for_a_while_and_no_longer() {
    let pair = Pair::rsa(false);
    let (verifier, answers, clock) = verifier(&[]);
    let token = pair.token("k", &claims());
    // A set without a key that can be used is none.
    assert_eq!(code(&verifier, &token), "bad_key_set");
    answers.say(None);
    for _ in 0..100 {
        assert_eq!(code(&verifier, &token), "keys_unavailable");
    }
    assert_eq!(answers.count(), 1, "nobody hammers an issuer that is down");
    wait(&clock, 30);
    answers.say(Some(set(&[json!({"kty": "new"}), pair.public("k")])));
    assert_eq!(code(&verifier, &token), "");
    assert_eq!(answers.count(), 2);
    // Old keys count for fifteen minutes in all, while they cannot be looked at again.
    answers.say(None);
    for (seconds, expected, fetched) in
        [(300, "", 3), (29, "", 3), (1, "", 4), (569, "", 5), (1, "keys_unavailable", 5)]
    {
        wait(&clock, seconds);
        assert_eq!(code(&verifier, &token), expected, "{seconds}");
        assert_eq!(answers.count(), fetched, "{seconds}");
    }
}

#[test]
fn many_that_ask_at_once_fetch_once() {
    let pair = Pair::ed();
    let (verifier, answers, _) = verifier(&[pair.public("k")]);
    let (known, made_up) = (pair.token("k", &claims()), pair.token("made-up", &claims()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert_eq!(code(&verifier, &known), "");
                assert_eq!(code(&verifier, &made_up), "unknown_token_key");
            });
        }
    });
    assert_eq!(answers.count(), 2);
}
