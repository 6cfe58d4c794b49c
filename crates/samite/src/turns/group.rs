//! Telling turns apart. Pure.

use super::{Said, TurnArtifact};

/// An entry that says something about turns.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    pub(super) seq: u64,
    pub(super) mark: Mark,
}

/// What it says.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    /// Somebody said something.
    Said(Said),
    /// An artifact of this name was published at this time: at a turn's end, right after it.
    Published(String, i64),
    /// The turn ended.
    Ended,
}

/// The entries of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) ended: bool,
    pub(super) said: Vec<Said>,
    pub(super) artifacts: Vec<TurnArtifact>,
}

/// The turns of a branch up to its head. One ends where that is recorded, or where a person says something again.
pub(super) fn spans(marks: Vec<Marked>, head: u64) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut next = Span { first: 1, ..Span::default() };
    for Marked { seq, mark } in marks {
        match mark {
            Mark::Said(said) => {
                let is_prompt = said.role.as_deref() == Some("user");
                if is_prompt && next.said.iter().any(|before| before.role.as_deref() == Some("user")) {
                    spans.push(Span { last: seq - 1, ..std::mem::take(&mut next) });
                    next.first = seq;
                }
                next.said.push(said);
            }
            Mark::Published(name, time) => {
                let artifact = TurnArtifact { seq, name, time };
                match spans.last_mut().filter(|last| last.ended && last.last + 1 == seq) {
                    Some(last) => {
                        last.last = seq;
                        last.artifacts.push(artifact);
                        next.first = seq + 1;
                    }
                    None => next.artifacts.push(artifact),
                }
            }
            Mark::Ended => {
                spans.push(Span { last: seq, ended: true, ..std::mem::take(&mut next) });
                next.first = seq + 1;
            }
        }
    }
    if next.first <= head {
        spans.push(Span { last: head, ..next });
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `u`: the person, `a`: the agent, `m`: nobody knows who, `p`: published, `e`: ended, anything else: no mark.
    fn told(entries: &str) -> Vec<String> {
        let mark = |letter: char, seq: u64| {
            let said = |role: Option<&str>| {
                Mark::Said(Said { seq, time: None, role: role.map(str::to_owned), text: String::new() })
            };
            Some(match letter {
                'u' => said(Some("user")),
                'a' => said(Some("assistant")),
                'm' => said(None),
                'p' => Mark::Published(String::new(), 0),
                'e' => Mark::Ended,
                _ => return None,
            })
        };
        let marks = (1..).zip(entries.chars());
        let marks = marks.filter_map(|(seq, letter)| mark(letter, seq).map(|mark| Marked { seq, mark }));
        let told = |span: Span| {
            let end = if span.ended { "." } else { "" };
            format!("{}–{} {}+{}{end}", span.first, span.last, span.said.len(), span.artifacts.len())
        };
        spans(marks.collect(), entries.len() as u64).into_iter().map(told).collect()
    }

    #[test]
    fn a_turn_ends_where_it_is_said_or_where_the_next_begins() {
        for (entries, right) in [
            ("", &[][..]),
            ("--", &["1–2 0+0"]),
            ("-u--ae", &["1–6 2+0."]),
            ("u-aeu-ae", &["1–4 2+0.", "5–8 2+0."]),
            // What is the person's lies before the prompt, and is of its turn.
            ("uae-u-", &["1–3 2+0.", "4–6 1+0"]),
            // Published at the end of the turn before.
            ("uaeppu", &["1–5 2+2.", "6–6 1+0"]),
            ("uae-p", &["1–3 2+0.", "4–5 0+1"]),
            // Interrupted: nothing says that the first is over.
            ("u-u-ae", &["1–2 1+0", "3–6 2+0."]),
            ("mmm", &["1–3 3+0"]),
        ] {
            assert_eq!(told(entries), right, "{entries}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_entry_is_of_one_turn(entries in "[uampe-]{0,40}") {
            let length = entries.chars().count() as u64;
            let mut next = 1;
            for span in told(&entries) {
                let (first, last) = span.split_once(' ').unwrap().0.split_once('–').unwrap();
                assert_eq!(first.parse::<u64>().unwrap(), next);
                next = last.parse::<u64>().unwrap() + 1;
            }
            assert_eq!(next, length + 1);
        }
    }
}
