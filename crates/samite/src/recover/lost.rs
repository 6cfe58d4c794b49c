//! The processes of a step in doubt: which they were, and what became of them.

use samite_host::process::{Identity, Liveness};
use samite_host::supervise::{Recorded, Standing};

/// A process of a step in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostProcess {
    /// What it was to the step.
    pub part: Part,
    /// Its number; none for a command of which no sign of life tells: it may never have been started.
    pub pid: Option<u32>,
    /// The command and its arguments, where the step's start names them.
    pub command: Vec<String>,
    /// What became of it.
    pub fate: Fate,
}

/// What a process was to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It carried the step out and would have recorded its outcome.
    Runner,
    /// It supervised the command.
    Supervisor,
    /// The command.
    Command,
    /// Something that the command started.
    Descendant,
}

impl Part {
    /// The stable name, for JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runner => "runner",
            Self::Supervisor => "supervisor",
            Self::Command => "command",
            Self::Descendant => "descendant",
        }
    }
}

/// What became of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It had ended when recovery looked, or belongs to another boot or machine.
    Ended,
    /// Recovery ended it.
    Killed,
    /// It runs.
    Running,
    /// It ran in another container, or the process table does not answer: it cannot be seen from here.
    Unseen,
}

impl Fate {
    /// The stable name, for JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Killed => "killed",
            Self::Running => "running",
            Self::Unseen => "unseen",
        }
    }
}

/// What became of the process that carried a step out.
pub(super) fn runner(identity: &Identity) -> LostProcess {
    let fate = match identity.liveness() {
        Liveness::Alive => Fate::Running,
        Liveness::Gone | Liveness::OtherBoot => Fate::Ended,
        Liveness::Unknown => Fate::Unseen,
    };
    LostProcess { part: Part::Runner, pid: Some(identity.pid), command: Vec::new(), fate }
}

/// What became of a supervised command: by what was found before recovery did anything about it, and after.
pub(super) fn supervised(
    recorded: &Recorded,
    command: &[String],
    before: &Standing,
    after: &Standing,
) -> Vec<LostProcess> {
    let is_among = |standing: &Standing, process: &Identity| match standing {
        Standing::StillRunning(found) => found.iter().any(|one| is_same(one, process)),
        _ => false,
    };
    let fate = |process: &Identity| match after {
        Standing::Unseen => Fate::Unseen,
        _ if is_among(after, process) => Fate::Running,
        _ if is_among(before, process) => Fate::Killed,
        _ => Fate::Ended,
    };
    let supervisor = LostProcess {
        part: Part::Supervisor,
        pid: Some(recorded.supervisor.pid),
        command: Vec::new(),
        fate: fate(&recorded.supervisor),
    };
    let command = LostProcess {
        part: Part::Command,
        pid: recorded.command.map(|process| process.pid),
        command: command.to_vec(),
        fate: match (&recorded.command, after) {
            (Some(process), _) => fate(process),
            (None, Standing::Unseen) => Fate::Unseen,
            // What runs without a name is told as a descendant.
            (None, _) => Fate::Ended,
        },
    };
    let mut all = vec![supervisor, command];
    let known = [Some(recorded.supervisor), recorded.command];
    for process in [before, after].into_iter().flat_map(found) {
        let is_known = known.iter().flatten().any(|known| is_same(known, process));
        let is_told = all.iter().any(|told| told.part == Part::Descendant && told.pid == Some(process.pid));
        if !is_known && !is_told {
            let fate = fate(process);
            all.push(LostProcess { part: Part::Descendant, pid: Some(process.pid), command: Vec::new(), fate });
        }
    }
    all
}

fn found(standing: &Standing) -> &[Identity] {
    match standing {
        Standing::StillRunning(found) => found,
        _ => &[],
    }
}

fn is_same(one: &Identity, other: &Identity) -> bool {
    (one.pid, one.start_time) == (other.pid, other.start_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(pid: u32) -> Identity {
        Identity { pid, start_time: 7, boot_id: [1; 16], namespace: 2 }
    }

    #[test]
    fn what_became_of_each_is_told_from_two_looks() {
        let all = || Standing::StillRunning(vec![identity(1), identity(2), identity(3)]);
        let some = || Standing::StillRunning(vec![identity(3)]);
        let with = Recorded { supervisor: identity(1), command: Some(identity(2)), cgroup: None };
        let without = Recorded { command: None, ..with.clone() };
        let table: [(&Recorded, Standing, Standing, &str); 9] = [
            (&with, Standing::Ended, Standing::Ended, "supervisor 1 ended, command 2 ended"),
            (&with, Standing::OtherBoot, Standing::OtherBoot, "supervisor 1 ended, command 2 ended"),
            (&with, Standing::Unseen, Standing::Unseen, "supervisor 1 unseen, command 2 unseen"),
            (&with, all(), Standing::EndedNow, "supervisor 1 killed, command 2 killed, descendant 3 killed"),
            (&with, some(), Standing::EndedNow, "supervisor 1 ended, command 2 ended, descendant 3 killed"),
            // A look alone, and one whose patience ran out.
            (&with, all(), all(), "supervisor 1 running, command 2 running, descendant 3 running"),
            (&with, all(), some(), "supervisor 1 killed, command 2 killed, descendant 3 running"),
            (&without, Standing::Ended, Standing::Ended, "supervisor 1 ended, command ? ended"),
            (&without, some(), some(), "supervisor 1 ended, command ? ended, descendant 3 running"),
        ];
        for (recorded, before, after, expected) in table {
            let told: Vec<String> = supervised(recorded, &["make".to_owned()], &before, &after)
                .iter()
                .map(|process| {
                    let pid = process.pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
                    assert_eq!(process.command.is_empty(), process.part != Part::Command);
                    format!("{} {pid} {}", process.part.name(), process.fate.name())
                })
                .collect();
            assert_eq!(told.join(", "), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn the_runner_is_seen_or_gone() {
        let here = samite_host::process::current().unwrap();
        assert_eq!(runner(&here).fate, Fate::Running);
        assert_eq!(runner(&Identity { start_time: here.start_time + 1, ..here }).fate, Fate::Ended);
        assert_eq!(runner(&Identity { boot_id: [0; 16], ..here }).fate, Fate::Ended);
        assert_eq!(runner(&Identity { namespace: 1, ..here }).fate, Fate::Unseen);
    }
}
