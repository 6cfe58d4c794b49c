//! Appends that are cut off.

use crate::agent::{self, Entries};
use crate::cell::{Call, Counts, Scenario};
use crate::hold::Cut;
use crate::place::{Place, noise, programs};
use crate::recovery::recover;
use data_encoding::HEXLOWER;

/// An append.
pub(crate) enum Append {
    /// A short message.
    Short,
    /// More bytes than an entry holds, which go to blocks.
    Large,
    /// A harness that appends so much in one process that the database moves its log.
    Checkpointing,
    /// A harness that appends ten entries in one process, and starts again from the first.
    Ten,
    /// The first use: the store, its keys and the first session are made.
    FirstUse,
}

impl Scenario for Append {
    fn name(&self) -> String {
        match self {
            Self::Short => "append",
            Self::Large => "append large",
            Self::Checkpointing => "append at log end",
            Self::Ten => "append ten",
            Self::FirstUse => "first use",
        }
        .to_owned()
    }

    fn calls(&self) -> Vec<Call> {
        match self {
            Self::Short => Call::ALL.to_vec(),
            _ => vec![Call::Same],
        }
    }

    fn run(&self, place: &Place, cut: &Cut, call: Call) -> Counts {
        if let Self::FirstUse = self {
            return first_use(place, cut);
        }
        let session = place.session();
        let mut acknowledged = vec![place.say(&session, "first"), place.say(&session, "second")];
        match self {
            Self::Ten => return many(place, cut, &session, acknowledged, agent::SHORT),
            Self::Checkpointing => return many(place, cut, &session, acknowledged, agent::LONG),
            _ => {}
        }
        let length = if let Self::Short = self { 20 } else { 1_500_000 };
        let body = HEXLOWER.encode(&noise(9, length));
        place.write("body", body.as_bytes());
        let arguments = ["append", &session, "--file", "body", "--dedupe", "message-1"];
        cut.run(place, &arguments);
        if call.recovers_first() {
            recover(place, &session, &mut 0, || false);
        }
        if call.is_reworded() {
            acknowledged.push(place.say(&session, "in other words"));
        }
        // Whoever lost an answer repeats itself, twice.
        let first = place.json(&arguments);
        let again = place.json(&arguments);
        assert_eq!(first["seq"], again["seq"]);
        assert_eq!(again["duplicate"], true);
        let times = place.said(&session).iter().filter(|(_, said)| *said == body).count();
        Counts {
            kills: cut.kills.get(),
            doubled: times.saturating_sub(1),
            missing: usize::from(times == 0),
            lost: place.lost(&session, &acknowledged),
            ..Counts::default()
        }
    }
}

fn many(place: &Place, cut: &Cut, session: &str, mut acknowledged: Vec<(u64, String)>, entries: Entries) -> Counts {
    let harness = || {
        let mut harness = place.program(&programs().world, &place.path());
        harness.args(["__agent", entries.name, session]);
        harness
    };
    let words: Vec<String> = (0..entries.count).map(|number| entries.words(number)).collect();
    let noted = || {
        let noted = agent::acknowledged(place).into_iter();
        noted.map(|(seq, number)| (seq, words[number.parse::<usize>().unwrap()].clone())).collect::<Vec<_>>()
    };
    cut.run_command(place, harness());
    acknowledged.extend(noted());
    let output = harness().output().unwrap();
    assert!(output.status.success(), "the harness that starts again: {}", String::from_utf8_lossy(&output.stderr));
    acknowledged.extend(noted());
    let said = place.said(session);
    let times: Vec<usize> = words.iter().map(|words| said.iter().filter(|(_, said)| said == words).count()).collect();
    Counts {
        kills: cut.kills.get(),
        doubled: times.iter().map(|times| times.saturating_sub(1)).sum(),
        missing: times.iter().filter(|times| **times == 0).count(),
        lost: acknowledged.iter().filter(|entry| !said.contains(entry)).count(),
        ..Counts::default()
    }
}

fn first_use(place: &Place, cut: &Cut) -> Counts {
    cut.run(place, &["session", "new", "--name", "first"]);
    let session = place.session();
    let acknowledged = vec![place.say(&session, "first")];
    let sessions = place.json(&["session", "list"]);
    let count = sessions["sessions"].as_array().unwrap().len();
    assert!((1..=2).contains(&count), "{sessions}");
    Counts { kills: cut.kills.get(), lost: place.lost(&session, &acknowledged), ..Counts::default() }
}
