//! The only place that prints: answers to standard output, everything else to standard error.

mod escape;
mod look;
mod page;
mod progress;
mod table;
pub(crate) mod words;

pub(crate) use look::{Look, Style};
pub(crate) use page::Page;
pub(crate) use progress::Progress;
pub(crate) use table::{Column, Table};

use crate::shape::ErrorShape;
use samite_model::{Error, Result};
use serde::Serialize;
use std::io::{self, Write as _};

/// What a command answers: one JSON document, or a page for a person.
pub(crate) trait Answer: Serialize {
    /// Puts it on a page.
    fn show(&self, page: &mut Page);
}

fn output_failed(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Error::unavailable(OUTPUT_CLOSED, "nobody reads the output any more")
    } else {
        Error::unavailable("output_failed", format!("cannot write to standard output: {error}")).because(error)
    }
}

/// Prints answers, notes and failures in the form that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    json: bool,
    out: Look,
    err: Look,
}

/// The code of the error for an output that nobody reads any more; nothing is said about it.
pub(crate) const OUTPUT_CLOSED: &str = "output_closed";

impl Printer {
    /// A printer for this process.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, out: Look::of_stdout(), err: Look::of_stderr() }
    }

    /// Whether answers are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person's terminal shows the answers.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.terminal
    }

    /// Prints a command's whole answer.
    pub(crate) fn answer(&self, answer: &impl Answer) -> Result<()> {
        if self.json { self.json_line(answer) } else { self.show(answer) }
    }

    /// Prints one part of an answer that is a stream: a JSON line, or lines for a person.
    pub(crate) fn part(&self, part: &impl Answer) -> Result<()> {
        self.answer(part)
    }

    fn json_line(&self, value: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(value)
            .map_err(|error| Error::internal("unserialisable", "an answer is not JSON").because(error))?;
        text.push(b'\n');
        self.bytes(&text)
    }

    fn show(&self, answer: &impl Answer) -> Result<()> {
        let mut page = Page::new(self.out);
        answer.show(&mut page);
        self.bytes(page.into_text().as_bytes())
    }

    #[expect(clippy::unused_self, reason = "only a printer prints")]
    /// Prints bytes as they are: a file's content, a command's output.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(output_failed)
    }

    /// Prints bytes that come piece by piece. When this returns, all of them are out.
    pub(crate) async fn pieces<T>(
        &self,
        write: impl AsyncFnOnce(&mut io::StdoutLock<'static>) -> Result<T>,
    ) -> Result<T> {
        let mut out = io::stdout().lock();
        match write(&mut out).await {
            Ok(done) => out.flush().map(|()| done).map_err(output_failed),
            Err(error) => {
                Err(match std::error::Error::source(&error).and_then(|why| why.downcast_ref::<io::Error>()) {
                    Some(why) if error.code() == "output_failed" => {
                        output_failed(io::Error::new(why.kind(), why.to_string()))
                    }
                    _ => error,
                })
            }
        }
    }

    #[expect(clippy::unused_self, reason = "only a printer prints")]
    /// Writes bytes to standard error as they are: a replayed command's own output.
    pub(crate) fn error_bytes(&self, bytes: &[u8]) {
        // Whoever closed standard error does not want to know.
        let _ = io::stderr().lock().write_all(bytes);
    }

    /// Says something beside the answer, on standard error.
    pub(crate) fn note(&self, text: &str) {
        self.aside(Style::Plain, text);
    }

    /// Warns, on standard error.
    pub(crate) fn warn(&self, text: &str) {
        self.aside(Style::Care, &format!("warning: {text}"));
    }

    /// Reports a failure, on standard error.
    pub(crate) fn failure(&self, error: &Error) {
        if error.code() == OUTPUT_CLOSED {
            return;
        }
        if self.json {
            let failure = serde_json::to_string(&ErrorShape::new(error)).unwrap_or_default();
            self.error_bytes(format!("{failure}\n").as_bytes());
            return;
        }
        let mut page = Page::new(self.err);
        page.spans(&[(Style::Bad, "error: "), (Style::Plain, error.message())]);
        for hint in error.hints() {
            page.spans(&[(Style::Dim, "hint: "), (Style::Plain, hint)]);
        }
        page.styled(Style::Dim, format!("({}: {})", error.kind(), error.code()));
        self.error_bytes(page.into_text().as_bytes());
    }

    /// Puts a page beside the answer, on standard error.
    pub(crate) fn aside_page(&self, fill: impl FnOnce(&mut Page)) {
        let mut page = Page::new(self.err);
        fill(&mut page);
        self.error_bytes(page.into_text().as_bytes());
    }

    fn aside(&self, style: Style, text: &str) {
        self.aside_page(|page| page.styled(style, text));
    }

    /// Shows the progress of long work, when a person watches.
    pub(crate) fn progress(&self, what: &str) -> Progress {
        Progress::new(self.err, !self.json, what)
    }
}
