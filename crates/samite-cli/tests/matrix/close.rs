//! Closing a workspace, cut off.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Place, number, text};
use crate::tree::{first, listing, second};
use std::fs;

/// `workspace close` of a workspace that changed since its last tree.
pub(crate) struct Close;

impl Scenario for Close {
    fn name(&self) -> String {
        "workspace close".to_owned()
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        let session = place.session();
        let acknowledged = vec![place.say(&session, "first"), place.say(&session, "second")];
        let work = place.path().join("work");
        first(place);
        place.json(&["workspace", "attach", &session, "work"]);
        let at = number(&place.json(&["checkpoint", &session, "--no-environment"]), "/seq");
        second(place);
        place.json(&["session", "set", &session, "--deliver", "new/**"]);
        let right = listing(&work);
        let arguments = ["workspace", "close", &session];
        cut.run(place, &arguments);
        assert!(listing(&work) == right, "a close changes nothing in the directory");
        // A receipt that was written before the kill holds: what it vouches for can be made anew.
        let closed = place.json(&["workspace", "status", &session])["closed"].clone();
        if !closed.is_null() {
            place.json(&["fork", &session, "--into", "vouched"]);
            assert!(listing(&place.path().join("vouched")) == right, "a receipt without its files");
        }
        let again = place.json(&arguments);
        assert_eq!(again["safe"], true, "{again}");
        assert_eq!(again["already"], !closed.is_null(), "{again}");
        let published = place.json(&["artifact", "list", "--all-versions"]);
        let published: Vec<String> =
            published["artifacts"].as_array().unwrap().iter().map(|one| text(one, "/name")).collect();
        assert_eq!(published, ["new/c.txt"], "what the session delivers, once");
        fs::remove_dir_all(&work).unwrap();
        let made = place.json(&["fork", &session, "--into", "again"]);
        assert!(listing(&place.path().join(text(&made, "/workspace/directory"))) == right, "the directory made anew");
        let old = place.json(&["workspace", "cat", &format!("{session}@{at}"), "deep/gone.txt"]);
        assert_eq!(text(&old, "/content"), "goes\n", "a checkpoint that was acknowledged");
        Counts { kills: cut.kills.get(), lost: place.lost(&session, &acknowledged), ..Counts::default() }
    }
}
