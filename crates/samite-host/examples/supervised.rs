//! Runs a command under a supervisor: `supervised [--no-cgroup] [--life FILE] COMMAND…`. It prints what is to be made
//! durable, waits for a line on its standard input, lets the command go, and prints how it ended.

use samite_host::supervise::{self, Cgroup, SuperviseOptions};
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = supervise::dispatch() {
        return code;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let mut options = SuperviseOptions::new(std::env::current_exe()?, Vec::new(), std::env::current_dir()?);
    while let Some(argument) = arguments.next_if(|argument| argument.as_encoded_bytes().starts_with(b"--")) {
        if argument == "--no-cgroup" {
            options.cgroup = Cgroup::No;
        } else if argument == "--life" {
            options.sign_of_life = arguments.next().map(Into::into);
        }
    }
    options.argv = arguments.collect();
    // The command is let go from a thread that ends: nothing may depend on it.
    let mut supervised = std::thread::spawn(|| supervise::spawn(options)).join().map_err(|_| "the thread died")??;
    let bytes = supervised.recorded().encode();
    let hex = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    writeln!(io::stdout(), "recorded {hex}")?;
    io::stdin().lock().read_line(&mut String::new())?;
    supervised.go()?;
    writeln!(io::stdout(), "gone")?;
    let finished = supervised.wait()?;
    writeln!(io::stdout(), "{:?}", finished.end)?;
    Ok(())
}
