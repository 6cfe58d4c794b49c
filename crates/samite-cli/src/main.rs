//! The samite command.

mod advice;
mod arguments;
mod command;
mod input;
mod printer;
mod reference;
mod shape;
mod surface;
mod tour;

use arguments::{Arguments, ArgumentsFor};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind as Usage};
use command::{Command, HookAlone};
use printer::Printer;
use samite_model::Error;
use std::process::ExitCode;
use surface::Surface;

fn main() -> ExitCode {
    // A supervisor is this same program; it must not have started any thread.
    if let Some(status) = samite_host::supervise::dispatch() {
        return status;
    }
    let Arguments { global, command } = match parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&without_hidden(with_here(with_place(error)))),
    };
    let surface = Surface::new(global);
    match futures_lite::future::block_on(command.run(&surface)) {
        Ok(status) => status,
        Err(error) => {
            let error = advice::with_advice(error);
            surface.printer.failure(&error);
            ExitCode::from(if error.code() == printer::OUTPUT_CLOSED { 141 } else { error.kind().exit_status() })
        }
    }
}

/// What was written. An agent waits for each of its hooks, and making the parser of all commands takes longer than much of
/// what a hook does: so that one is tried alone first.
fn parse() -> Result<Arguments, clap::Error> {
    if std::env::args_os().nth(1).is_some_and(|first| first == "hook")
        && let Ok(ArgumentsFor { global, command: HookAlone::Hook(hook) }) = ArgumentsFor::try_parse()
    {
        return Ok(Arguments { global, command: Command::Hook(hook) });
    }
    Arguments::try_parse()
}

/// Where a command is that is asked for at the top and sits elsewhere.
fn place_of(command: &str) -> Option<&'static str> {
    Some(match command {
        "attach" => "workspace attach",
        "restore" => "workspace restore",
        "cat" => "workspace cat",
        "close" => "workspace close",
        "new" => "session new",
        "list" => "session list",
        "show" => "session show",
        "set" => "session set",
        "tree" => "session tree",
        "run" => "step run",
        "steps" => "step list",
        "resolve" => "step resolve",
        "use" => "branch use",
        "keep" => "branch keep",
        "delete" => "branch delete",
        "export" => "key export",
        _ => return None,
    })
}

fn unknown_command(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(command)) => Some(command),
        _ => None,
    }
}

/// Leaves out the commands that nobody calls but samite itself.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::Strings(names)) = error.remove(ContextKind::ValidSubcommand) {
        let shown = names.into_iter().filter(|name| !name.starts_with("__")).collect();
        error.insert(ContextKind::ValidSubcommand, ContextValue::Strings(shown));
    }
    error
}

/// Suggests the command that sits elsewhere, and not one that only looks alike.
fn with_place(mut error: clap::Error) -> clap::Error {
    if let Some(place) = unknown_command(&error).and_then(place_of) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![place.to_owned()]));
    }
    error
}

/// How to name the session that somebody means who stands in its workspace.
const HERE: &str = "'.' is the session whose workspace is this directory";

/// Whether nothing but a session was missing for the arguments to be understood, or that too.
fn lacks_session(error: &clap::Error) -> bool {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(names)) => names.as_slice(),
        _ => return false,
    };
    error.kind() == Usage::MissingRequiredArgument && missing.iter().any(|name| name == "<SESSION>")
}

/// Says how to name the session that works here.
fn with_here(mut error: clap::Error) -> clap::Error {
    if lacks_session(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![HERE.into()]));
    }
    error
}

/// Help and version are answers; anything else about the arguments is an `invalid` error.
fn usage(error: &clap::Error) -> ExitCode {
    let asked = matches!(error.kind(), Usage::DisplayHelp | Usage::DisplayVersion);
    // The arguments could not be parsed, so this is all that can be known of them.
    let json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    if json && !asked {
        let text = error.render().to_string();
        // The first paragraph says what is wrong; usage and tips follow.
        let words: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let message = words.join(" ").trim_start_matches("error: ").to_owned();
        let mut failure = Error::invalid("usage", message);
        if let Some(place) = unknown_command(error).and_then(place_of) {
            failure = failure.hint(format!("`samite {place}` is meant, perhaps"));
        }
        if lacks_session(error) {
            failure = failure.hint(HERE);
        }
        let failure = failure.hint("`--help` shows what can be written");
        Printer::new(true).failure(&failure);
    } else if error.print().is_err() {
        return ExitCode::from(141);
    }
    // An agent whose hook ends with 2 takes that for a refusal of its call.
    let is_hook = std::env::args_os().skip(1).find(|argument| !argument.as_encoded_bytes().starts_with(b"-"));
    let status = if is_hook.is_some_and(|first| first == "hook") { 1 } else { 2 };
    ExitCode::from(if asked { 0 } else { status })
}
