//! What a tool call can do, from the policy and from what it is called with. Pure.

use super::event::Tool;
use super::policy::{Class, Policy};
use super::push::Push;
use super::shell::{self, Line};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// What a call can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It only reads.
    Idempotent,
    /// It changes these paths of the workspace; none means any of it.
    Contained(Vec<String>),
    /// It pushes to a git remote.
    Push(Push),
    /// It may do anything.
    Opaque,
}

/// Where a call is made.
pub(super) struct Site<'a> {
    /// The workspace's directory, when there is one.
    pub(super) workspace: Option<&'a Path>,
    /// Where the agent is.
    pub(super) directory: &'a Path,
}

/// What a call can do.
pub(super) fn judge(policy: &Policy, tool: &Tool, site: &Site<'_>) -> Judged {
    match policy.tool(&tool.name) {
        Class::Idempotent => Judged::Idempotent,
        Class::Contained => contained(&tool.input, site),
        Class::Shell => command_of(&tool.input).map_or(Judged::Opaque, |line| judge_line(policy, &line, site)),
        Class::Observable | Class::Opaque => Judged::Opaque,
    }
}

/// The tool that a call belongs to: of a shell, the program that does the work.
pub(super) fn tool_name(policy: &Policy, tool: &Tool) -> String {
    let is_shell = policy.tool(&tool.name) == Class::Shell;
    let code = if is_shell { code_of(&tool.input) } else { None };
    let name = code.map(|code| crate::run::tool_of(&["sh".into(), "-c".into(), code.into()]));
    let name = name.filter(|name| samite_model::limits::check_name("a tool", name).is_ok());
    name.unwrap_or_else(|| tool.name.clone())
}

/// The code that a shell tool is called with.
fn code_of(input: &Value) -> Option<String> {
    let command = ["command", "cmd"].into_iter().find_map(|name| input.get(name))?;
    match command {
        Value::String(code) => Some(code.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [shell, flags, code] if shell.ends_with("sh") && flags.starts_with('-') && flags.ends_with('c') => {
                    Some((*code).to_owned())
                }
                words => Some(
                    words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" "),
                ),
            }
        }
        _ => None,
    }
}

fn command_of(input: &Value) -> Option<Line> {
    code_of(input).map(|code| shell::read(&code))
}

/// A tool on files: by the paths that it names.
fn contained(input: &Value, site: &Site<'_>) -> Judged {
    let Some(workspace) = site.workspace else { return Judged::Opaque };
    let named = ["file_path", "notebook_path", "absolute_path", "path"];
    let mut paths: Vec<&str> = named.into_iter().filter_map(|name| input.get(name)?.as_str()).collect();
    let patch =
        input.as_str().or_else(|| ["command", "input", "patch"].into_iter().find_map(|name| input.get(name)?.as_str()));
    if paths.is_empty() {
        paths.extend(patch.into_iter().flat_map(str::lines).filter_map(patched));
    }
    let within: Option<Vec<String>> = paths.iter().map(|path| inside(workspace, site.directory, path)).collect();
    within.map_or(Judged::Opaque, Judged::Contained)
}

/// The path that a line of a patch names.
fn patched(line: &str) -> Option<&str> {
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "]
        .into_iter()
        .find_map(|beginning| line.strip_prefix(beginning))
}

/// A path relative to the workspace, as text alone; none when it leads out of it.
fn inside(workspace: &Path, directory: &Path, path: &str) -> Option<String> {
    if path.starts_with('~') || path.contains('$') {
        return None;
    }
    let mut clean = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    let relative = clean.strip_prefix(workspace).ok()?;
    relative.to_str().filter(|relative| !relative.is_empty()).map(str::to_owned)
}

/// Whether a word of a command names nothing outside the workspace.
fn stays_inside(word: &str, site: &Site<'_>) -> bool {
    let Some(workspace) = site.workspace else { return false };
    let value = word.strip_prefix('-').and_then(|option| option.split_once('=')).map_or(word, |(_, value)| value);
    let looks_away = value.starts_with('/') || value.starts_with('~') || value.split('/').any(|part| part == "..");
    !looks_away || inside(workspace, site.directory, value).is_some()
}

fn judge_line(policy: &Policy, line: &Line, site: &Site<'_>) -> Judged {
    if line.unclear {
        return Judged::Opaque;
    }
    let in_workspace = site.workspace.is_some_and(|workspace| site.directory.starts_with(workspace));
    let mut most = Judged::Idempotent;
    let mut commits = false;
    let mut others = false;
    for target in line.writes.iter().filter(|target| *target != "/dev/null") {
        if !in_workspace || !stays_inside(target, site) {
            return Judged::Opaque;
        }
        most = Judged::Contained(Vec::new());
        others = true;
    }
    for command in &line.commands {
        let words = without_options_of_git(command);
        let class = match policy.command(&words) {
            Class::Idempotent if !reads_only(&words) => Class::Contained,
            class => class,
        };
        match class {
            Class::Idempotent => {
                // Where the commands after it would run.
                if words.first().is_some_and(|first| first == "cd")
                    && !words.iter().skip(1).all(|word| stays_inside(word, site))
                {
                    return Judged::Opaque;
                }
            }
            Class::Contained => {
                if !in_workspace || !command.iter().skip(1).all(|word| stays_inside(word, site)) || runs_others(&words)
                {
                    return Judged::Opaque;
                }
                let is_git = words.first().is_some_and(|first| first == "git");
                let is_repeatable = matches!(words.get(1).map(String::as_str), Some("add" | "commit"));
                commits |= is_git;
                others |= !(is_git && is_repeatable);
                if most == Judged::Idempotent {
                    most = Judged::Contained(Vec::new());
                }
            }
            Class::Observable => {
                // Of two pushes, one look tells nothing; and what changes files besides is not told by a ref.
                let push = Push::of(&words).filter(|_| !matches!(most, Judged::Push(_)) && words == *command);
                let Some(push) = push else { return Judged::Opaque };
                most = Judged::Push(Push { after_commit: commits, ..push });
            }
            Class::Opaque | Class::Shell => return Judged::Opaque,
        }
    }
    match most {
        Judged::Push(_) if others => Judged::Opaque,
        most => most,
    }
}

/// The words of a command of git without the options that stand before what it does; a directory among them is not passed
/// over.
fn without_options_of_git(words: &[String]) -> Vec<String> {
    let mut rest = words.iter().skip(1).map(String::as_str);
    if words.first().is_none_or(|first| first != "git") {
        return words.to_vec();
    }
    let mut clean = vec!["git".to_owned()];
    while let Some(word) = rest.next() {
        match word {
            "--no-pager" | "-P" | "--no-optional-locks" => {}
            "-c" => drop(rest.next()),
            other => {
                clean.push(other.to_owned());
                clean.extend(rest.map(str::to_owned));
                break;
            }
        }
    }
    clean
}

/// Whether a command that usually reads does so with these words.
fn reads_only(words: &[String]) -> bool {
    let has = |options: &[&str]| words.iter().skip(1).any(|word| options.contains(&word.as_str()));
    let begins =
        |options: &[&str]| words.iter().skip(1).any(|word| options.iter().any(|option| word.starts_with(option)));
    match words.first().map(String::as_str).unwrap_or_default() {
        "find" => !begins(&["-exec", "-ok", "-delete", "-fprint", "-fls"]),
        "sort" => !begins(&["-o", "--output"]),
        "sed" => {
            let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
            let prints =
                |script: &String| script.bytes().all(|letter| letter.is_ascii_digit() || b",$p;".contains(&letter));
            has(&["-n"]) && !begins(&["-i", "--in-place", "-e", "-f", "-s"]) && script.is_some_and(prints)
        }
        "git" => !begins(&["--output", "--ext-diff", "--open-files-in-pager", "-O", "--upload-pack"]),
        "tree" => !has(&["-o"]),
        "date" => !begins(&["-s", "--set"]),
        "rg" => !begins(&["--pre"]),
        _ => true,
    }
}

/// Whether a command's words let it run other programs, whose effect is not known.
fn runs_others(words: &[String]) -> bool {
    let begins =
        |options: &[&str]| words.iter().skip(1).any(|word| options.iter().any(|option| word.starts_with(option)));
    match words.first().map(String::as_str).unwrap_or_default() {
        "find" => begins(&["-exec", "-ok"]),
        "git" => begins(&[
            "--exec",
            "-x",
            "--ext-diff",
            "--open-files-in-pager",
            "-O",
            "--upload-pack",
            "--global",
            "--system",
        ]),
        "sed" => !words.iter().any(|word| word.starts_with("s/")),
        _ => false,
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
