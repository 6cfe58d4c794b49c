//! Collections that are cut off, beside what they must keep.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Place, noise, number, text};
use crate::tree::{first, listing};

/// A collection.
pub(crate) struct Collect {
    /// After a snapshot that was cut off as well, which left a pack half-written and a pin.
    pub(crate) after_snapshot: bool,
}

impl Scenario for Collect {
    fn name(&self) -> String {
        if self.after_snapshot { "gc after a cut snapshot" } else { "gc" }.to_owned()
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        let session = place.session();
        let acknowledged = vec![place.say(&session, "first")];
        first(place);
        let kept = listing(&place.path().join("work"));
        place.json(&["workspace", "attach", &session, "work"]);
        let at = number(&place.json(&["checkpoint", &session, "--no-environment"]), "/seq");
        let fork = text(&place.json(&["fork", &session, "--into", "other"]), "/id");
        let branch = format!("{session}:{fork}");
        for seed in 0..3 {
            place.write(&format!("other/{seed}.bin"), &noise(10 + seed, 300_000));
            place.json(&["checkpoint", &branch, "--no-environment"]);
        }
        place.write("other/small.bin", &noise(20, 50_000));
        place.json(&["checkpoint", &branch, "--no-environment"]);
        place.json(&["branch", "delete", &branch, "--yes"]);
        if self.after_snapshot {
            place.write("work/more.bin", &noise(30, 400_000));
            let point = crate::cell::Point::Named("snapshot.nodes_added".to_owned(), 1);
            let command = place.command(&["checkpoint", &session, "--no-environment"]);
            crate::hold::cut_off(place, command, &point, crate::cell::Victim::Samite);
        }
        cut.run(place, &["gc", "--yes"]);
        place.json(&["gc", "--yes"]);
        // What is kept is there, and what was known before is not taken for stored any more.
        place.json(&["fork", &format!("{session}@{at}"), "--into", "third"]);
        let third = listing(&place.path().join("third"));
        assert!(third == kept, "what must be kept is not whole");
        place.write("work/0.bin", &noise(10, 300_000));
        let taken = number(&place.json(&["checkpoint", &session, "--no-environment"]), "/seq");
        place.json(&["fork", &format!("{session}@{taken}"), "--into", "fourth"]);
        assert!(
            listing(&place.path().join("fourth")) == listing(&place.path().join("work")),
            "a later tree is not whole"
        );
        let plan = place.json(&["gc", "--dry-run"]);
        assert_eq!(number(&plan, "/plan/bytes"), 0, "something is left: {plan}");
        Counts { kills: cut.kills.get(), lost: place.lost(&session, &acknowledged), ..Counts::default() }
    }
}
