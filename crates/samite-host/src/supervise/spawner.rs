//! The thread that starts supervisors. A parent-death signal is sent when the *thread* that started the child ends, so
//! this one lasts as long as the process.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};

type Job = (Command, Sender<io::Result<Child>>);

/// Starts a process from the lasting thread.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static JOBS: OnceLock<Mutex<Option<Sender<Job>>>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts supervisors is gone");
    let (answer, answered) = mpsc::channel();
    {
        let mut jobs = JOBS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match jobs.as_ref() {
            Some(sender) => sender,
            None => jobs.insert(start()?),
        };
        sender.send((command, answer)).map_err(|_| gone())?;
    }
    answered.recv().map_err(|_| gone())?
}

fn start() -> io::Result<Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    std::thread::Builder::new().name("samite-spawner".into()).spawn(move || {
        for (mut command, answer) in jobs {
            answer.send(command.spawn()).ok();
        }
    })?;
    Ok(sender)
}
