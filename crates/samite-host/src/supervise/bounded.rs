//! A small command that is asked something: bounded in time and output, and gone with all its group when it is killed.

use super::monotonic;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// How many bytes of a standard error are kept: 64 KiB.
const ERRORS_LIMIT: usize = 64 << 10;

/// How long the outputs of a command that has ended may stay open before those that it left behind are killed, and how
/// long after that: what it wrote is in the pipes by then, and who left its group may hold them for ever.
const BEFORE_KILL: Duration = Duration::from_millis(500);
const AFTER_KILL: Duration = Duration::from_secs(1);

/// How long a command that was killed may take to end: one that runs as another user, or hangs in the kernel, may not.
const TO_END: Duration = Duration::from_secs(2);

/// What to ask, and the bounds.
#[derive(Clone, Copy, Debug)]
pub struct Bounded<'a> {
    /// Program and arguments.
    pub argv: &'a [OsString],
    /// Where it runs; none means here.
    pub cwd: Option<&'a Path>,
    /// Variables added to this process's environment.
    pub env: &'a [(&'a str, &'a OsStr)],
    /// Variables of this process's environment that it does not get, beside those that hold the master key.
    pub without: &'a [&'a str],
    /// What it gets to read. A command that does not read it is no error.
    pub input: &'a [u8],
    /// How many bytes of its standard output are kept.
    pub output_limit: usize,
    /// What becomes of one that writes more.
    pub overflow: Overflow,
    /// After this time it is killed, with its process group.
    pub time_limit: Duration,
    /// Whether it may ask on the terminal: it then stays in this process's group, and only it itself is killed.
    pub may_ask: bool,
}

/// What becomes of a command that writes more than is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The rest is read and dropped.
    Drop,
    /// It is killed.
    Kill,
}

impl<'a> Bounded<'a> {
    /// A command without input that keeps 4096 bytes of output.
    pub fn new(argv: &'a [OsString], time_limit: Duration) -> Self {
        Self {
            argv,
            cwd: None,
            env: &[],
            without: &[],
            input: &[],
            output_limit: 4096,
            overflow: Overflow::Drop,
            time_limit,
            may_ask: false,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedOutcome {
    /// Its exit status; none when a signal ended it, or one of the bounds did.
    pub status: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Whether it wrote more to its standard output than was kept.
    pub overflowed: bool,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error, at most 64 KiB.
    pub stderr: Vec<u8>,
}

/// What the threads around a command tell.
enum Event {
    /// One of its outputs ended.
    Closed,
    /// There is more output than is kept.
    Overflowed,
    /// It ended, and is not waited for yet: until then nobody else gets its number.
    Ended,
}

/// The beginning of an output, as far as it was read.
type Kept = Arc<Mutex<Vec<u8>>>;

/// Runs a command and waits for its end, or for the end of its time. When it left somebody behind who holds its outputs,
/// its group is killed; who left that too keeps nobody waiting for more than two seconds.
///
/// # Errors
/// When it cannot be started; `TimedOut`, naming its pid, when its time is over and it cannot be ended, because it runs as
/// another user or hangs in the kernel. It then goes on.
pub fn run_bounded(bounded: &Bounded<'_>) -> io::Result<BoundedOutcome> {
    run_killing(bounded, TO_END, &|pid| {
        if !bounded.may_ask {
            kill_process_group(pid, Signal::KILL).ok();
        }
        // It may have left its group. Nobody else has its number before it is waited for.
        kill_process(pid, Signal::KILL).ok();
    })
}

/// The same with the way to kill it, and the time that it then has.
fn run_killing(bounded: &Bounded<'_>, to_end: Duration, kill: &dyn Fn(Pid)) -> io::Result<BoundedOutcome> {
    let deadline = monotonic() + bounded.time_limit;
    let mut child = command(bounded)?.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, events) = mpsc::channel();
    let kept: [Kept; 2] = Default::default();
    let [stdout, stderr] = &kept;
    let mut open = 0_usize;
    if let Some(pipe) = child.stdout.take() {
        open += 1;
        collect(pipe, Arc::clone(stdout), bounded.output_limit, sender.clone(), true);
    }
    if let Some(pipe) = child.stderr.take() {
        open += 1;
        collect(pipe, Arc::clone(stderr), ERRORS_LIMIT, sender.clone(), false);
    }
    if let Some(mut pipe) = child.stdin.take() {
        let input = Zeroizing::new(bounded.input.to_vec());
        std::thread::spawn(move || pipe.write_all(&input).ok());
    }
    std::thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Some(pid) = pid
            && waitid(WaitId::Pid(pid), options).is_err_and(|error| error == rustix::io::Errno::INTR)
        {}
        sender.send(Event::Ended).ok();
    });
    let mut seen = Seen { events, open, overflowed: false, ended: false };
    let stop = |seen: &Seen| seen.ended || seen.overflowed && bounded.overflow == Overflow::Kill;
    let timed_out = !seen.until(deadline, stop);
    let by_itself = seen.ended;
    if by_itself {
        seen.until(monotonic() + BEFORE_KILL, |seen| seen.open == 0);
    }
    if !by_itself || seen.open > 0 {
        if let Some(pid) = pid {
            kill(pid);
        }
        if !seen.until(monotonic() + to_end, |seen| seen.ended) {
            let pid = child.id();
            // Whenever it ends, it leaves no zombie.
            std::thread::spawn(move || child.wait());
            let message = format!("it did not end when it was killed, and goes on as process {pid}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        seen.until(monotonic() + AFTER_KILL, |seen| seen.open == 0);
    }
    let status = child.wait()?;
    let overflowed = seen.overflowed;
    let [stdout, stderr] = kept.map(|kept| std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner)));
    Ok(BoundedOutcome { status: status.code().filter(|_| by_itself), timed_out, overflowed, stdout, stderr })
}

/// The command, not yet started.
fn command(bounded: &Bounded<'_>) -> io::Result<Command> {
    let (program, arguments) =
        bounded.argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
    let mut command = Command::new(program);
    command.args(arguments).envs(bounded.env.iter().copied());
    command.stdin(if bounded.input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if !bounded.may_ask {
        command.process_group(0);
    }
    for name in bounded.without.iter().chain(&super::SECRETS) {
        command.env_remove(name);
    }
    if let Some(cwd) = bounded.cwd {
        command.current_dir(cwd);
    }
    Ok(command)
}

/// What was seen of a command so far.
struct Seen {
    events: Receiver<Event>,
    /// How many of its outputs are open.
    open: usize,
    overflowed: bool,
    ended: bool,
}

impl Seen {
    /// Looks until something is so, which it returns, or until a time.
    fn until(&mut self, deadline: Instant, is_so: impl Fn(&Self) -> bool) -> bool {
        while !is_so(self) {
            match self.events.recv_timeout(deadline.saturating_duration_since(monotonic())) {
                Ok(Event::Closed) => self.open = self.open.saturating_sub(1),
                Ok(Event::Overflowed) => self.overflowed = true,
                Ok(Event::Ended) => self.ended = true,
                Err(_) => return false,
            }
        }
        true
    }
}

/// Reads an output to its end in a thread of its own, and keeps the beginning.
fn collect(mut pipe: impl Read + Send + 'static, kept: Kept, limit: usize, sender: Sender<Event>, tells: bool) {
    std::thread::spawn(move || {
        let mut buffer = Zeroizing::new(vec![0; 64 << 10]);
        let mut overflowed = false;
        loop {
            let read = match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let keep = read.min(limit.saturating_sub(kept.len()));
            kept.extend_from_slice(buffer.get(..keep).unwrap_or_default());
            drop(kept);
            if keep < read && !overflowed {
                overflowed = true;
                if tells {
                    sender.send(Event::Overflowed).ok();
                }
            }
        }
        sender.send(Event::Closed).ok();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn argv(script: &str) -> Vec<OsString> {
        ["sh", "-c", script].iter().map(OsString::from).collect()
    }

    fn shell(script: &str, milliseconds: u64) -> BoundedOutcome {
        let argv = argv(script);
        run_bounded(&Bounded {
            cwd: Some(Path::new("/")),
            env: &[("ASKED", OsStr::new("yes")), ("REMOVED", OsStr::new("no"))],
            without: &["REMOVED"],
            output_limit: 100,
            ..Bounded::new(&argv, Duration::from_millis(milliseconds))
        })
        .unwrap()
    }

    /// What comes of asking with a time limit in milliseconds that lets the command begin, however slow the machine is.
    fn with_time_enough<T>(ask: impl FnMut(u64) -> Option<T>) -> T {
        (0..9).map(|doubled| 250 << doubled).find_map(ask).unwrap()
    }

    /// Whether a process with this number runs.
    fn runs(pid: &[u8]) -> bool {
        let pid = String::from_utf8_lossy(pid).trim().to_owned();
        let stat = super::super::table::read(&format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat).into_owned();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    }

    /// Its outputs close a moment before it is gone.
    #[track_caller]
    fn is_gone(pid: &[u8]) {
        let deadline = monotonic() + MINUTE;
        while runs(pid) {
            assert!(monotonic() < deadline, "its group is not gone");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn status_outputs_directory_and_environment() {
        let outcome = shell("pwd; echo $ASKED$REMOVED >&2; exit 3", 60_000);
        assert_eq!((outcome.status, outcome.timed_out, outcome.overflowed), (Some(3), false, false));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"/\n"[..], &b"yes\n"[..]));
        assert_eq!(shell("kill -9 $$", 60_000).status, None);
    }

    #[test]
    fn input_is_carried_and_need_not_be_read() {
        let copy = argv("cat");
        let input = vec![7; 1 << 20];
        let bounded = Bounded { input: &input, output_limit: 2 << 20, ..Bounded::new(&copy, MINUTE) };
        let outcome = run_bounded(&bounded).unwrap();
        assert!(outcome.stdout == input && !outcome.overflowed);
        let deaf = argv("exit 5");
        assert_eq!(run_bounded(&Bounded { argv: &deaf, ..bounded }).unwrap().status, Some(5));
        // Without an input there is nothing to wait for.
        assert_eq!(shell("cat; echo end", 60_000).stdout, b"end\n");
    }

    #[test]
    fn a_flood_is_cut_and_does_not_block() {
        let outcome = shell("head -c 10000000 /dev/zero; exit 4", 60_000);
        assert_eq!((outcome.status, outcome.stdout.len(), outcome.overflowed), (Some(4), 100, true));
        let just = shell("head -c 100 /dev/zero", 60_000);
        assert_eq!((just.stdout.len(), just.overflowed), (100, false));
        let errors = shell("head -c 10000000 /dev/zero >&2", 60_000);
        assert_eq!((errors.status, errors.stderr.len(), errors.overflowed), (Some(0), ERRORS_LIMIT, false));
    }

    #[test]
    fn a_flood_without_an_end_is_killed_where_that_is_wanted() {
        let flood = argv("yes; exit 0");
        let bounded = Bounded { overflow: Overflow::Kill, ..Bounded::new(&flood, MINUTE) };
        let outcome = run_bounded(&bounded).unwrap();
        assert_eq!((outcome.status, outcome.overflowed, outcome.timed_out), (None, true, false));
        assert_eq!(outcome.stdout.len(), 4096);
    }

    #[test]
    fn time_ends_whatever_it_does_with_its_outputs() {
        for script in ["sleep 600", "exec >&- 2>&-; sleep 600", "sleep 600 & sleep 600"] {
            let outcome = shell(script, 50);
            assert!(outcome.timed_out, "{script}");
            assert_eq!(outcome.status, None);
        }
        let outcome = with_time_enough(|milliseconds| {
            let outcome = shell("echo some; sleep 600 & echo $! >&2; wait", milliseconds);
            assert!(outcome.timed_out, "{outcome:?}");
            Some(outcome).filter(|outcome| outcome.stderr.ends_with(b"\n"))
        });
        assert_eq!(outcome.stdout, b"some\n");
        is_gone(&outcome.stderr);
    }

    #[test]
    fn who_is_left_behind_with_the_outputs_keeps_nobody_waiting() {
        let outcome = shell("sleep 600 & echo $!; exit 6", 60_000);
        assert_eq!((outcome.status, outcome.timed_out), (Some(6), false));
        is_gone(&outcome.stdout);
        // One that left the group is not found, and not waited for.
        let outcome = shell("setsid sleep 600 & echo $!; exit 7", 60_000);
        assert_eq!((outcome.status, outcome.timed_out), (Some(7), false));
        let pid: i32 = String::from_utf8_lossy(&outcome.stdout).trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        // One that holds nothing may be wanted.
        let outcome = shell("sleep 600 >/dev/null 2>&1 & echo $!; exit 8", 60_000);
        assert!(outcome.status == Some(8) && runs(&outcome.stdout));
        let pid: i32 = String::from_utf8_lossy(&outcome.stdout).trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn one_that_may_ask_stays_in_our_group() {
        let group = argv("cut -d ' ' -f 5 /proc/$$/stat");
        let asking = Bounded { may_ask: true, ..Bounded::new(&group, MINUTE) };
        let ours = rustix::process::getpgrp().as_raw_nonzero().to_string();
        assert_eq!(run_bounded(&asking).unwrap().stdout, format!("{ours}\n").into_bytes());
        let own = run_bounded(&Bounded { may_ask: false, ..asking }).unwrap().stdout;
        assert_ne!(own, format!("{ours}\n").into_bytes());
        // Without a shell between, which would leave it behind when it is killed.
        let slow = argv("exec sleep 600");
        assert!(
            run_bounded(&Bounded { argv: &slow, time_limit: Duration::from_millis(50), ..asking }).unwrap().timed_out
        );
    }

    #[test]
    fn one_that_left_its_group_is_killed_all_the_same() {
        let leave = "setpgrp(0, getpgrp(getppid())); print $$; close(STDOUT); close(STDERR); sleep 600";
        let argv: Vec<OsString> = ["perl", "-e", leave].iter().map(OsString::from).collect();
        let outcome = with_time_enough(|milliseconds| {
            match run_bounded(&Bounded::new(&argv, Duration::from_millis(milliseconds))) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some(None),
                outcome => Some(Some(outcome.unwrap())).filter(|found| !found.as_ref().unwrap().stdout.is_empty()),
            }
        });
        let Some(outcome) = outcome else { return eprintln!("SKIPPED: there is no perl") };
        assert!(outcome.timed_out && outcome.status.is_none(), "{outcome:?}");
        assert!(!runs(&outcome.stdout));
    }

    #[test]
    fn one_that_cannot_be_ended_keeps_nobody_waiting_and_is_named() {
        let argv = argv("echo $$ > $TOLD; exec sleep 600");
        for may_ask in [false, true] {
            with_time_enough(|milliseconds| {
                let told = tempfile::NamedTempFile::new().unwrap();
                let env = [("TOLD", told.path().as_os_str())];
                let limit = Duration::from_millis(milliseconds);
                let bounded = Bounded { env: &env, may_ask, ..Bounded::new(&argv, limit) };
                let error = run_killing(&bounded, Duration::from_millis(50), &|_| {}).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                let message = error.to_string();
                let (_, pid) = message.split_once("goes on as process ").unwrap();
                kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
                // It is waited for, so that nothing is left of it.
                is_gone(pid.as_bytes());
                let told = String::from_utf8(crate::files::read(told.path()).unwrap()).unwrap();
                (!told.is_empty()).then(|| assert_eq!(told.trim(), pid))
            });
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let argv = [OsString::from("/nonexistent/program")];
        let error = run_bounded(&Bounded::new(&argv, MINUTE)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(run_bounded(&Bounded::new(&[], MINUTE)).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
