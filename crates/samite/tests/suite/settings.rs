//! What a person decides for a session, and what it forbids.

use crate::support::{World, assert_verifies, event, run};
use samite::payload::ForkReason;
use samite::{ForkOptions, NewSession, WriterOptions};
use samite_model::settings::{Authority, Bounds, Branching, Cadence, Settings};
use samite_model::{ErrorKind, SessionId};

async fn session_with(world: &World, branching: Branching) -> SessionId {
    let settings = Settings { branching, ..Settings::default() };
    let session = world.client.create_session(NewSession { settings, ..NewSession::default() }).await.unwrap();
    let writer = world.client.writer(session.id, None, WriterOptions::default()).await.unwrap();
    writer.append(event("a")).await.unwrap();
    writer.append(event("b")).await.unwrap();
    writer.release().await.unwrap();
    session.id
}

#[test]
fn a_policy_says_which_of_fork_and_rewind_are_allowed() {
    let world = World::new();
    run(async {
        for (branching, forks, rewinds) in
            [(Branching::Tree, true, true), (Branching::Rewind, false, true), (Branching::Linear, false, false)]
        {
            let session = session_with(&world, branching).await;
            for (reason, allowed) in [(ForkReason::Fork, forks), (ForkReason::Rewind, rewinds)] {
                let before = world.client.branches(session).await.unwrap().len();
                let options = ForkOptions { seq: Some(1), reason, ..ForkOptions::default() };
                match world.client.fork(session, options).await {
                    Ok(_) => assert!(allowed, "{branching:?} {reason:?}"),
                    Err(error) => {
                        assert!(!allowed, "{branching:?} {reason:?}: {error}");
                        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, "branching_denied"));
                    }
                }
                let after = world.client.branches(session).await.unwrap().len();
                assert_eq!(after - before, usize::from(allowed));
            }
        }
    });
}

#[test]
fn what_was_decided_last_holds_and_is_made_again_from_the_journal() {
    let world = World::new();
    run(async {
        let session = session_with(&world, Branching::Tree).await;
        assert_eq!(world.client.settings(session).await.unwrap(), Settings::default());
        let bounds = Bounds { max_loss: 5_000_000_000, ..Bounds::default() };
        let right = Settings {
            branching: Branching::Linear,
            authority: Authority::Files,
            cadence: Cadence::Adaptive(bounds),
            deliver: vec!["dist/**".to_owned()],
        };
        world.client.change_settings(session, |settings| settings.branching = Branching::Linear).await.unwrap();
        let wanted = right.clone();
        let changed = world.client.change_settings(session, |settings| settings.clone_from(&wanted)).await.unwrap();
        assert_eq!(changed, right);
        assert_eq!(world.client.session(session).await.unwrap().settings, right);
        let wrong = world.client.change_settings(session, |settings| {
            settings.cadence = Cadence::Adaptive(Bounds { max_loss: 0, ..Bounds::default() });
        });
        assert_eq!(wrong.await.unwrap_err().code(), "bad_cadence");
        assert_eq!(world.client.settings(session).await.unwrap(), right);
    });
    assert_verifies(&world.store);
}
