//! A command that answers by its exit status.

use super::{cannot_tell, evidence, excerpt};
use samite_host::supervise::{Bounded, run_bounded};
use samite_model::step::{Evidence, Verdict};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

pub(super) fn look(argv: &[String], cwd: &Path, time_limit: Duration) -> Evidence {
    let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
    let name = argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bounded = Bounded { cwd: Some(cwd), ..Bounded::new(&argv, time_limit) };
    let outcome = match run_bounded(&bounded) {
        Ok(outcome) => outcome,
        Err(error) if error.kind() == ErrorKind::TimedOut => return cannot_tell(format!("{name} was asked: {error}")),
        Err(error) => return cannot_tell(format!("{name} cannot be run: {error}")),
    };
    let said =
        [&outcome.stdout, &outcome.stderr].map(|output| excerpt(output)).into_iter().find(|said| !said.is_empty());
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    match outcome.status {
        Some(0) => evidence(Verdict::Happened, format!("{name} exited with 0{said}")),
        Some(1) => evidence(Verdict::DidNot, format!("{name} exited with 1{said}")),
        Some(status) => cannot_tell(format!("{name} exited with {status}{said}")),
        None if outcome.timed_out => {
            cannot_tell(format!("{name} did not end within {} s{said}", time_limit.as_secs_f32()))
        }
        None => cannot_tell(format!("{name} was ended by a signal{said}")),
    }
}
