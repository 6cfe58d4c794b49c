//! A master key that a command keeps, such as a client of a key management service.

use super::{KeystoreName, Master, epoch_destroyed};
use crate::crypto::Secret;
use data_encoding::{BASE64, HEXLOWER};
use samite_host::supervise::{Bounded, Overflow, run_bounded};
use samite_model::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::time::Duration;
use zeroize::Zeroizing;

/// More output than this is an error: a keystore of some hundred thousand subjects fits.
const OUTPUT_LIMIT: usize = 256 << 20;
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Runs `COMMAND VERB TENANT KEYSTORE [EPOCH|NAME]`, where KEYSTORE is 32 hexadecimal digits. Secrets and copies go through
/// standard input and output as base64, never through arguments.
///
/// - `get … EPOCH` prints the epoch's secret of 32 bytes, and ends with status 3 when it was destroyed;
/// - `create …` makes a secret for a new epoch and prints its number, greater than all before;
/// - `destroy … EPOCH` destroys it for good; one that is gone is a success;
/// - `put-copy …` keeps what it reads; `get-copy …` prints it, or ends with status 3 when there is none;
/// - `put-note … NAME` and `get-note … NAME` do the same for a few bytes under a name (`a-z`, `-`). A command that has no
///   room for them ends `put-note` with status 3.
///
/// Status 6 means that the command may not, or cannot; any other failure is taken as one that may pass.
#[derive(Clone, Debug)]
pub struct CommandMaster {
    program: OsString,
    arguments: Vec<OsString>,
}

impl CommandMaster {
    /// A program, with arguments that come before the verb.
    pub fn new(program: impl Into<OsString>, arguments: Vec<OsString>) -> Self {
        Self { program: program.into(), arguments }
    }

    fn run(
        &self,
        verb: &str,
        keystore: &KeystoreName,
        last: Option<String>,
        input: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>> {
        let mut argv = vec![self.program.clone()];
        argv.extend(self.arguments.iter().cloned());
        argv.extend([verb.into(), keystore.tenant.as_str().into(), HEXLOWER.encode(&keystore.id).into()]);
        argv.extend(last.map(OsString::from));
        let what = format!("{} ({verb}, keystore {keystore})", self.describe());
        let outcome = run_bounded(&Bounded {
            input,
            output_limit: OUTPUT_LIMIT,
            overflow: Overflow::Kill,
            // One that unlocks something may ask for a word.
            may_ask: true,
            ..Bounded::new(&argv, TIME_LIMIT)
        })
        .map_err(|source| {
            if source.kind() == std::io::ErrorKind::TimedOut {
                return Error::unavailable("command_timeout", format!("{what} was asked: {source}")).because(source);
            }
            Error::unavailable("command_failed", format!("cannot run {what}: {source}")).because(source)
        })?;
        let output = Zeroizing::new(outcome.stdout);
        if outcome.overflowed {
            let message = format!("{what} wrote more than {OUTPUT_LIMIT} bytes");
            return Err(Error::unavailable("command_output", message));
        }
        if outcome.timed_out {
            let message = format!("{what} did not end within {} s", TIME_LIMIT.as_secs());
            return Err(Error::unavailable("command_timeout", message));
        }
        let words = String::from_utf8_lossy(&outcome.stderr).into_owned();
        match outcome.status {
            Some(0) => Ok(output),
            Some(3) => Err(Error::not_found("master_not_found", format!("{what} found nothing")).because(words)),
            Some(6) => Err(Error::denied("master_denied", format!("{what} refused")).because(words)),
            status => Err(Error::unavailable(
                "master_failed",
                format!(
                    "{what} ended with {}",
                    status.map_or("a signal".to_owned(), |status| format!("status {status}"))
                ),
            )
            .hint("run the command by hand to see what is wrong")
            .because(words)),
        }
    }

    fn decode(&self, output: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        BASE64.decode(output.trim_ascii()).map(Zeroizing::new).map_err(|_| self.misunderstood("base64"))
    }

    fn misunderstood(&self, wanted: &str) -> Error {
        Error::unavailable("master_failed", format!("{} did not print {wanted}", self.describe()))
    }
}

impl Master for CommandMaster {
    fn secret(&self, keystore: &KeystoreName, epoch: u64) -> Result<Secret> {
        match self.run("get", keystore, Some(epoch.to_string()), b"") {
            Ok(output) => <[u8; 32]>::try_from(self.decode(&output)?.as_slice())
                .map(Secret::new)
                .map_err(|_| self.misunderstood("32 bytes")),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(epoch_destroyed(keystore, epoch)),
            Err(error) => Err(error),
        }
    }

    fn create_epoch(&self, keystore: &KeystoreName) -> Result<u64> {
        let output = self.run("create", keystore, None, b"")?;
        std::str::from_utf8(&output)
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .filter(|epoch| *epoch > 0)
            .ok_or_else(|| self.misunderstood("the number of an epoch"))
    }

    fn can_destroy(&self) -> Result<()> {
        Ok(())
    }

    fn destroy_epoch(&self, keystore: &KeystoreName, epoch: u64) -> Result<()> {
        match self.run("destroy", keystore, Some(epoch.to_string()), b"") {
            Err(error) if error.kind() == ErrorKind::Denied => {
                Err(Error::denied("cannot_destroy", error.message().to_owned()))
            }
            other => other.map(drop),
        }
    }

    fn store_copy(&self, keystore: &KeystoreName, wrapped: &[u8]) -> Result<()> {
        self.run("put-copy", keystore, None, BASE64.encode(wrapped).as_bytes()).map(drop)
    }

    fn load_copy(&self, keystore: &KeystoreName) -> Result<Option<Vec<u8>>> {
        match self.run("get-copy", keystore, None, b"") {
            Ok(output) => Ok(Some(self.decode(&output)?.to_vec())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn store_note(&self, keystore: &KeystoreName, name: &str, bytes: &[u8]) -> Result<bool> {
        match self.run("put-note", keystore, Some(name.to_owned()), BASE64.encode(bytes).as_bytes()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
            // A command that does not know the verb may do nothing and say nothing.
            Ok(_) => Ok(self.load_note(keystore, name)?.as_deref() == Some(bytes)),
        }
    }

    fn load_note(&self, keystore: &KeystoreName, name: &str) -> Result<Option<Vec<u8>>> {
        match self.run("get-note", keystore, Some(name.to_owned()), b"") {
            Ok(output) if output.trim_ascii().is_empty() => Ok(None),
            Ok(output) => Ok(Some(self.decode(&output)?.to_vec())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn describe(&self) -> String {
        format!("the command {}", self.program.to_string_lossy())
    }
}
