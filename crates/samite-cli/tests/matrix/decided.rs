//! Decisions about data that are cut off and said again: they hold as a whole or not at all, and each is in the audit log.

use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::Place;
use serde_json::Value;
use std::cell::RefCell;

/// A decision. In its words `SESSION`, `ARTIFACT` and `RECORD` stand for ids.
pub(crate) struct Decided {
    name: &'static str,
    /// What is decided before.
    before: &'static [&'static str],
    /// The decision.
    act: &'static str,
    /// What shows how it stands.
    shows: &'static str,
    /// What that answers with once it holds, and not before.
    says: (&'static str, &'static str),
    /// Its act in the audit log; empty for a record of long-term memory, which is anchored later and of which one is shown.
    logged: &'static str,
    /// With which code saying it again is refused; empty where it may be said again.
    again: &'static str,
}

const NONE: &[&str] = &[];

/// All of them.
pub(crate) static ALL: [Decided; 22] = [
    Decided {
        name: "policy redaction",
        before: NONE,
        act: "policy redaction --pii redact --pattern customer=CUST-[0-9]{6}",
        shows: "policy redaction",
        says: ("/pii", "redact"),
        logged: "redaction_set",
        again: "",
    },
    Decided {
        name: "secrets register",
        before: NONE,
        act: "secrets register db --file secret",
        shows: "secrets list",
        says: ("/secrets/0/name", "db"),
        logged: "secret_registered",
        again: "",
    },
    Decided {
        name: "secrets forget",
        before: &["secrets register db --file secret"],
        act: "secrets forget db",
        shows: "secrets list",
        says: ("/secrets", "[]"),
        logged: "secret_registered",
        again: "no_secret",
    },
    Decided {
        name: "consent set",
        before: NONE,
        act: "consent set yes --session SESSION --basis form",
        shows: "consent list",
        says: ("/consents/0/given", "true"),
        logged: "consent_set",
        again: "",
    },
    Decided {
        name: "processor register",
        before: NONE,
        act: "processor register vectors --region eu --purpose embeddings --agreement DPA --receives memory",
        shows: "processor list",
        says: ("/processors/0/name", "vectors"),
        logged: "processor_set",
        again: "",
    },
    Decided {
        name: "processor remove",
        before: &["processor register vectors --region eu --purpose embeddings --agreement DPA --receives memory"],
        act: "processor remove vectors --reason over",
        shows: "processor list",
        says: ("/processors", "[]"),
        logged: "processor_set",
        again: "no_processor",
    },
    Decided {
        name: "retain set",
        before: NONE,
        act: "retain set session 400d",
        shows: "retain show",
        says: ("/retentions/0/days", "400"),
        logged: "retention_set",
        again: "",
    },
    Decided {
        name: "region set",
        before: NONE,
        act: "region set eu",
        shows: "region show",
        says: ("/region", "eu"),
        logged: "region_set",
        again: "",
    },
    Decided {
        name: "region transfer",
        before: &["region set eu"],
        act: "region transfer us --basis clauses",
        shows: "region show",
        says: ("/transfers/0/basis", "clauses"),
        logged: "transfer_decided",
        again: "",
    },
    Decided {
        name: "region transfer --withdraw",
        before: &["region set eu", "region transfer us --basis clauses"],
        act: "region transfer us --withdraw --basis over",
        shows: "region show",
        says: ("/transfers", "[]"),
        logged: "transfer_decided",
        again: "no_transfer",
    },
    Decided {
        name: "capture set",
        before: NONE,
        act: "capture set decisions --kind event",
        shows: "capture show",
        says: ("/kinds/0/level", "decisions"),
        logged: "capture_set",
        again: "",
    },
    Decided {
        name: "share",
        before: NONE,
        act: "share SESSION --with user:bob --append",
        shows: "grants SESSION",
        says: ("/grants/0/user", "bob"),
        logged: "granted",
        again: "",
    },
    Decided {
        name: "share an artifact",
        before: NONE,
        act: "share --artifact ARTIFACT --with user:bob --read",
        shows: "grants --artifact ARTIFACT",
        says: ("/grants/0/user", "bob"),
        logged: "granted",
        again: "",
    },
    Decided {
        name: "unshare",
        before: &["share SESSION --with user:bob --append"],
        act: "unshare SESSION --all",
        shows: "grants SESSION",
        says: ("/grants", "[]"),
        logged: "grant_revoked",
        again: "no_grant",
    },
    Decided {
        name: "hold set",
        before: NONE,
        act: "hold set --session SESSION --reason case",
        shows: "hold list",
        says: ("/holds/0/reason", "case"),
        logged: "hold_set",
        again: "",
    },
    Decided {
        name: "hold lift",
        before: &["hold set --session SESSION --reason case"],
        act: "hold lift --session SESSION --reason over",
        shows: "hold list",
        says: ("/holds", "[]"),
        logged: "hold_lifted",
        again: "no_hold",
    },
    Decided {
        name: "audit anchor",
        // The first message was anchored when its branch was given up; another within a minute is not.
        before: &["append SESSION --text second"],
        act: "audit anchor",
        shows: "audit prove SESSION@2",
        says: ("/journal", "found"),
        logged: "anchored",
        again: "",
    },
    Decided {
        name: "memory add",
        before: NONE,
        act: "memory add -n notes --trust user tea",
        shows: "memory list -n notes",
        says: ("/records/0/text", "tea"),
        logged: "",
        again: "",
    },
    Decided {
        name: "memory supersede",
        before: &["memory add -n notes --trust user tea"],
        act: "memory supersede -n notes RECORD --trust user cake",
        shows: "memory list -n notes",
        says: ("/records/0/text", "cake"),
        logged: "",
        again: "record_exists",
    },
    Decided {
        name: "memory retract",
        before: &["memory add -n notes --trust user tea"],
        act: "memory retract -n notes RECORD",
        shows: "memory list -n notes",
        says: ("/records", "[]"),
        logged: "memory_retracted",
        again: "record_ended",
    },
    Decided {
        name: "memory revoke",
        before: &["memory add -n notes --trust tool --source page tea"],
        act: "memory revoke -n notes --source page --reason bad --yes",
        shows: "memory list -n notes",
        says: ("/records", "[]"),
        logged: "memory_revoked",
        again: "",
    },
    Decided {
        name: "memory promote",
        before: &["memory add -n notes --trust user --session SESSION tea"],
        act: "memory promote -n notes SESSION",
        shows: "memory list -n notes",
        says: ("/records/0/text", "tea"),
        logged: "memory_promoted",
        again: "",
    },
];

impl Scenario for &'static Decided {
    fn name(&self) -> String {
        format!("decide {}", self.name)
    }

    fn run(&self, place: &Place, cut: &Cut, _: Call) -> Counts {
        let session = place.session();
        let acknowledged = vec![place.say(&session, "first")];
        place.write("secret", b"correct horse");
        place.write("out", b"bytes");
        let artifact = if self.act.contains("ARTIFACT") {
            crate::place::text(&place.json(&["artifact", "put", &session, "out"]), "/id")
        } else {
            String::new()
        };
        let record = RefCell::new(String::new());
        let words = |line: &'static str| -> Vec<String> {
            let named = |word: &str| {
                word.replace("SESSION", &session).replace("ARTIFACT", &artifact).replace("RECORD", &record.borrow())
            };
            line.split(' ').map(named).collect()
        };
        let run = |line: &'static str| {
            let words = words(line);
            place.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        for line in self.before {
            let did = run(line).json();
            if line.starts_with("memory") {
                *record.borrow_mut() = crate::place::text(&did, "/id");
            }
        }
        let holds = || self.is_said(&run(self.shows));
        let logged = || {
            let log = place.json(&["audit", "log", "--all"]);
            log["acts"].as_array().unwrap().iter().filter(|act| act["act"] == self.logged).count()
        };
        let (stood, before) = (run(self.shows), logged());
        assert!(!self.is_said(&stood), "it holds before: {stood:?}");
        let act = words(self.act);
        cut.run(place, &act.iter().map(String::as_str).collect::<Vec<_>>());
        // All of it or nothing: what is not said stands as it stood, and what is said is in the log.
        let is_done = holds();
        if !is_done {
            let now = run(self.shows);
            assert_eq!((now.status, now.out), (stood.status, stood.out), "half of it");
        }
        if !self.logged.is_empty() {
            assert_eq!(logged() - before, usize::from(is_done), "in the log once it holds");
        }
        let again = run(self.act);
        match self.again {
            code if is_done && !code.is_empty() => assert_eq!(again.code(), code, "{again:?}"),
            _ => drop(again.json()),
        }
        let stands = run(self.shows);
        assert!(self.is_said(&stands), "{stands:?}");
        let (times, most) = if self.logged.is_empty() {
            (stands.json()["records"].as_array().unwrap().len(), 1)
        } else {
            (logged() - before, 2)
        };
        Counts {
            kills: cut.kills.get(),
            doubled: times.saturating_sub(most),
            missing: usize::from(times == 0),
            lost: place.lost(&session, &acknowledged),
            ..Counts::default()
        }
    }
}

impl Decided {
    fn is_said(&self, shown: &crate::place::Did) -> bool {
        let (pointer, wanted) = self.says;
        let shown: Value = serde_json::from_str(&shown.out).unwrap_or_default();
        match shown.pointer(pointer) {
            Some(Value::String(text)) => text == wanted || wanted == "found",
            Some(other) => serde_json::from_str::<Value>(wanted).is_ok_and(|wanted| wanted == *other),
            None => false,
        }
    }
}
