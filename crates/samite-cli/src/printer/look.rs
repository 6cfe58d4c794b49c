//! What the output may look like: a terminal's width and colours, or plain text for a file or pipe.

use std::io::{IsTerminal, stderr, stdout};

/// How text on one of our outputs may look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Whether a person's terminal is at the other end.
    pub(crate) terminal: bool,
    /// Whether colours are welcome.
    pub(crate) colour: bool,
    /// The width that lines should fit in; none for a file or pipe.
    pub(crate) width: Option<usize>,
}

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// It does not.
    Plain,
    /// What the eye should find first.
    Strong,
    /// What may be passed over.
    Dim,
    /// What needs care.
    Care,
    /// What went well.
    Good,
    /// What went wrong.
    Bad,
}

impl Look {
    /// Standard output.
    pub(crate) fn of_stdout() -> Self {
        let width = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok().map(|size| usize::from(size.ws_col));
        Self::new(stdout().is_terminal(), width)
    }

    /// Standard error.
    pub(crate) fn of_stderr() -> Self {
        let width = rustix::termios::tcgetwinsize(rustix::stdio::stderr()).ok().map(|size| usize::from(size.ws_col));
        Self::new(stderr().is_terminal(), width)
    }

    fn new(terminal: bool, width: Option<usize>) -> Self {
        // https://no-color.org: set to anything but the empty string.
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let width = width.filter(|width| *width > 0);
        Self { terminal, colour: terminal && !unwanted, width: terminal.then(|| width.unwrap_or(80)) }
    }

    /// Text in a style, when colours are welcome.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Strong => "1",
            Style::Dim => "2",
            Style::Care => "33",
            Style::Good => "32",
            Style::Bad => "31",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
