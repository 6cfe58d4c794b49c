//! A file system in memory that records what is done to it: `samite-powercut-fs DIRECTORY LOG`.
//!
//! It prints `ready` when it is mounted, ends when its standard input does, and has then written the log.

mod recorder;

use fuser::{Config, MountOption, SessionACL};
use recorder::Recorder;
use samite_powercut::{CANNOT_MOUNT, READY};
use std::error::Error;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let told = |error: Box<dyn Error>| {
        let _ = writeln!(io::stderr(), "samite-powercut-fs: {error}");
    };
    let mut arguments = std::env::args_os().skip(1);
    let (Some(directory), Some(log), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        told("it takes a directory and a file for the log".into());
        return ExitCode::from(2);
    };
    let recorder = match open_log(&log) {
        Ok(log) => Recorder::new(Box::new(log)),
        Err(error) => {
            told(error);
            return ExitCode::FAILURE;
        }
    };
    let mut config = Config::default();
    config.mount_options = vec![MountOption::Subtype("samite-powercut".to_owned()), MountOption::NoAtime];
    config.acl = SessionACL::Owner;
    let session = match fuser::spawn_mount(recorder.clone(), &directory, &config) {
        Ok(session) => session,
        Err(error) => {
            told(format!("cannot mount on {}: {error}", directory.display()).into());
            return u8::try_from(CANNOT_MOUNT).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let served = wait_for_the_end();
    let ended = session.umount_and_join().map_err(Into::into).and_then(|()| recorder.finish());
    match served.and(ended) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            told(error);
            ExitCode::FAILURE
        }
    }
}

fn open_log(path: &OsString) -> Outcome<impl io::Write + Send + 'static> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    Ok(io::BufWriter::with_capacity(1 << 20, file))
}

fn wait_for_the_end() -> Outcome<()> {
    let mut out = io::stdout();
    writeln!(out, "{READY}")?;
    out.flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
