//! A branch that cannot be given up hides nothing of what was done with it.

use crate::place::Place;
use crate::support::{attached, event, files_only, principal, run};
use crate::watched::Watched;
use samite::recover::{RecoverOptions, Site};
use samite::workspace::RestoreRequest;
use samite::{Backends, ForkOptions, Store, WriterOptions};
use samite_model::Position;
use std::sync::Arc;

/// A writer for one command, which gets every branch, since none was given up.
fn short() -> WriterOptions {
    WriterOptions { take_over: true, ..WriterOptions::default() }
}

#[test]
fn a_lease_that_cannot_be_given_up_hides_no_outcome() {
    let place = Place::new();
    let work = place.directory("work");
    let backends = place.backends_in_memory();
    let ledger = Arc::new(Watched::keeping_leases(backends.ledger.clone()));
    let store = Store::new(Backends { ledger: ledger.clone(), ..backends });
    let client = run(store.client(principal("ada"))).unwrap();
    let refused = || ledger.kept_since();
    run(async {
        let session = attached(&client, &work).await;
        std::fs::write(work.join("file"), "one").unwrap();
        let taken = client.checkpoint(session, None, short(), files_only()).await.unwrap();
        assert_eq!((taken.report.files, refused()), (1, 1));
        std::fs::write(work.join("file"), "another").unwrap();
        client.checkpoint(session, None, short(), files_only()).await.unwrap();
        refused();
        let request = RestoreRequest::default();
        let restored = client.restore(session, None, taken.position, short(), &request).await.unwrap();
        assert_eq!((restored.target, refused()), (taken.root, 1));
        assert_eq!(std::fs::read_to_string(work.join("file")).unwrap(), "one");
        let back = ForkOptions { seq: Some(taken.position.seq), ..ForkOptions::default() };
        let (fork, restored) = client.rewind(session, back, short(), &request).await.unwrap();
        assert_eq!((restored.unwrap().target, refused()), (taken.root, 1));
        assert_eq!(client.current_branch(session).await.unwrap(), fork.branch);
        let site = Site { base: place.path(""), lives: place.path("") };
        let options = RecoverOptions { writer: short(), ..RecoverOptions::default() };
        let recovery = client.recover(session, options, &site).await.unwrap();
        assert!(recovery.is_clear() && refused() == 1);
        // Who gives it up itself is told.
        let writer = client.writer(session, None, short()).await.unwrap();
        let at: Position = writer.append(event("word")).await.unwrap().position;
        assert_eq!(at.journal, fork.branch);
        assert_eq!(writer.release().await.unwrap_err().code(), "disk_full");
    });
}
