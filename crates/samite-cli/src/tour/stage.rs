//! Where the tour takes place: a scratch directory, this program, and git.

use crate::printer::{Answer, Page, Printer, Style};
use crate::surface::program;
use samite_model::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A thing that the tour checked.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    what: String,
    holds: bool,
}

impl Check {
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn holds(&self) -> bool {
        self.holds
    }
}

/// The scratch directory, the program, and what was checked so far.
pub(super) struct Stage {
    printer: Printer,
    scratch: PathBuf,
    program: PathBuf,
    checks: Vec<Check>,
    chapter: u32,
}

/// A line of the narration.
#[derive(Serialize)]
struct Line {
    #[serde(skip)]
    style: Style,
    #[serde(skip)]
    text: String,
}

impl Answer for Line {
    fn show(&self, page: &mut Page) {
        for line in self.text.split('\n') {
            page.styled(self.style, line);
        }
    }
}

impl Stage {
    pub(super) fn new(printer: Printer, scratch: &Path) -> Result<Self> {
        Ok(Self { printer, scratch: scratch.to_owned(), program: program()?, checks: Vec::new(), chapter: 0 })
    }

    /// A path in the scratch directory.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    pub(super) fn into_checks(self) -> Vec<Check> {
        self.checks
    }

    fn print(&self, style: Style, text: String) -> Result<()> {
        // With --json the checks are the answer.
        if self.printer.is_json() { Ok(()) } else { self.printer.part(&Line { style, text }) }
    }

    /// Begins a chapter.
    pub(super) fn chapter(&mut self, title: &str) -> Result<()> {
        self.chapter += 1;
        self.print(Style::Strong, format!("\n{}. {title}", self.chapter))
    }

    /// Tells something.
    pub(super) fn tell(&self, text: &str) -> Result<()> {
        self.print(Style::Plain, format!("   {text}"))
    }

    /// Shows what a command printed.
    pub(super) fn show(&self, output: &str) -> Result<()> {
        output.lines().try_for_each(|line| self.print(Style::Dim, format!("   │ {line}")))
    }

    /// Checks something, and says so.
    pub(super) fn check(&mut self, what: &str, holds: bool) -> Result<()> {
        let (style, mark) = if holds { (Style::Good, "✓") } else { (Style::Bad, "✗ NOT SO:") };
        self.print(style, format!("   {mark} {what}"))?;
        self.checks.push(Check { what: what.to_owned(), holds });
        Ok(())
    }

    /// A command in the tour's environment, where nothing of the user's is touched.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>, directory: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(directory)
            .stdin(Stdio::null())
            .env("SAMITE_STORE", self.path("store"))
            .env("SAMITE_MASTER_FILE", self.path("master.key"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0");
        for name in
            ["SAMITE_MASTER_KEY", "SAMITE_MASTER_COMMAND", "SAMITE_WRITER", "SAMITE_WRITER_PID", "SAMITE_KILL_POINT"]
        {
            command.env_remove(name);
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "samite tour").env(format!("GIT_{who}_EMAIL"), "tour@example.com");
        }
        command
    }

    /// This program in the tour's environment.
    pub(super) fn samite(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.program, &self.scratch);
        command.args(arguments);
        command
    }

    fn output(what: &str, command: &mut Command) -> Result<(Option<i32>, String, String)> {
        let output = command
            .output()
            .map_err(|error| Error::unavailable("tour_failed", format!("cannot run {what}: {error}")).because(error))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
    }

    /// Runs this program, shows its command line and its output, and returns what it printed.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String> {
        self.print(Style::Dim, format!("   $ samite {}", shell_words(arguments)))?;
        let (status, out, err) = Self::output("samite", &mut self.samite(arguments))?;
        self.show(&err)?;
        self.show(&out)?;
        if status != Some(0) {
            return Err(failed(&format!("samite {}", shell_words(arguments)), status, &err));
        }
        Ok(out)
    }

    /// Runs this program for its JSON answer, and shows nothing.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<Value> {
        let (status, out, err) = Self::output("samite", self.samite(arguments).arg("--json"))?;
        if status != Some(0) {
            return Err(failed(&format!("samite {}", shell_words(arguments)), status, &err));
        }
        serde_json::from_str(&out)
            .map_err(|error| Error::internal("tour_failed", format!("samite answered no JSON: {out}")).because(error))
    }

    /// Runs git, and returns what it printed.
    pub(super) fn git(&self, directory: &Path, arguments: &[&str]) -> Result<String> {
        let (status, out, err) = Self::output("git", self.command("git", directory).args(arguments))?;
        if status != Some(0) {
            return Err(failed(&format!("git {}", arguments.join(" ")), status, &err));
        }
        Ok(out.trim_end().to_owned())
    }

    /// How many commits `main` has.
    pub(super) fn commits(&self, repository: &Path) -> Result<u64> {
        let count = self.git(repository, &["rev-list", "--count", "main"])?;
        count.parse().map_err(|_| Error::internal("tour_failed", format!("git counts {count:?} commits")))
    }
}

fn failed(what: &str, status: Option<i32>, err: &str) -> Error {
    let status = status.map_or("a signal".to_owned(), |status| format!("status {status}"));
    Error::internal("tour_failed", format!("{what} ended with {status}: {}", err.trim_end()))
}

/// A command line as a person would type it.
fn shell_words(arguments: &[&str]) -> String {
    let word = |word: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@=#,+".contains(&byte);
        if !word.is_empty() && word.bytes().all(plain) {
            (*word).to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    arguments.iter().map(word).collect::<Vec<_>>().join(" ")
}
