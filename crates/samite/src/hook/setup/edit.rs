//! Putting hooks into a settings file's text, and taking them out of it.

use super::json::{Node, read};
use super::{Wanted, events, is_ours};
use crate::hook::event::Harness;
use samite_model::{Error, Result};
use serde_json::{Value, json};
use std::ops::Range;

/// What [`install`] begins with where there is nothing: what [`uninstall`] then leaves.
pub const BEGUN: &str = "{}\n";

/// A part of a text to be replaced.
struct Edit {
    at: Range<usize>,
    by: String,
}

impl Edit {
    fn apply(self, text: &str) -> String {
        let (before, after) = (text.get(..self.at.start), text.get(self.at.end..));
        [before.unwrap_or_default(), &self.by, after.unwrap_or_default()].concat()
    }
}

/// The text with the hooks in it; everything else stays as it was, and so does all of it when they are there already.
///
/// # Errors
/// `invalid` (`settings_not_json`) when it is no plain JSON, or (`settings_shape`) when its hooks are not where they should
/// be: it is better left as it is.
pub fn install(text: &str, wanted: &Wanted) -> Result<String> {
    let mut text = if text.trim().is_empty() { BEGUN.to_owned() } else { text.to_owned() };
    for (event, has_matcher) in events(wanted.harness) {
        let root = parse(&text)?;
        if let Some(edit) = put(&text, &root, wanted, event, *has_matcher)? {
            text = edit.apply(&text);
        }
    }
    Ok(text)
}

/// The text without the hooks that [`install`] put there, and without what then is empty.
///
/// # Errors
/// As [`install`].
pub fn uninstall(text: &str, harness: Harness) -> Result<String> {
    let mut text = text.to_owned();
    if text.trim().is_empty() {
        return Ok(text);
    }
    while let Some(edit) = take(&text, &parse(&text)?, harness)? {
        text = edit.apply(&text);
    }
    Ok(text)
}

fn parse(text: &str) -> Result<Node> {
    let not_json = |why: String| {
        Error::invalid("settings_not_json", format!("the settings are no plain JSON: {why}"))
            .hint("samite leaves a file alone that it cannot change without losing something, such as comments")
            .hint("mend it, or put the hooks there yourself: `--dry-run` on an empty file shows them")
    };
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| not_json(error.to_string()))?;
    read(text).ok_or_else(|| not_json("it cannot be read".to_owned()))
}

fn shape(what: &str) -> Error {
    Error::invalid("settings_shape", format!("the settings are not as expected: {what}"))
        .hint("nothing was touched; compare with the documentation of the agent's hooks")
}

/// The hooks of an event, as groups of hooks.
fn groups<'a>(root: &'a Node, event: &str) -> Result<Option<&'a [Node]>> {
    let Some(hooks) = hooks_of(root)? else { return Ok(None) };
    let Some(groups) = hooks.member(event) else { return Ok(None) };
    groups.items().map(Some).ok_or_else(|| shape(&format!("hooks.{event} is no list")))
}

fn hooks_of(root: &Node) -> Result<Option<&Node>> {
    let members = root.members().ok_or_else(|| shape("they are no object"))?;
    if members.iter().filter(|member| member.name == "hooks").count() > 1 {
        return Err(shape("there are two members named hooks"));
    }
    let Some(hooks) = root.member("hooks") else { return Ok(None) };
    let members = hooks.members().ok_or_else(|| shape("hooks is no object"))?;
    let mut names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|two| two.first() == two.last()) {
        return Err(shape("an event stands twice in hooks"));
    }
    Ok(Some(hooks))
}

fn value_of(text: &str, node: &Node) -> Value {
    text.get(node.span.clone()).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The hooks of a group that are samite's, each with its place among them.
fn ours<'a>(text: &str, group: &'a Node, harness: Harness) -> Vec<(usize, &'a Node)> {
    let hooks = group.member("hooks").and_then(Node::items).unwrap_or_default();
    let command = |hook: &Node| value_of(text, hook).get("command").and_then(Value::as_str).map(str::to_owned);
    hooks
        .iter()
        .enumerate()
        .filter(|(_, hook)| command(hook).is_some_and(|command| is_ours(&command, harness)))
        .collect()
}

/// A hook as it is to stand there, its members in the order that people write them in.
fn hook_text(wanted: &Wanted, layout: &Layout, depth: usize) -> String {
    let timeout = match wanted.harness {
        // In milliseconds there.
        Harness::GeminiCli => wanted.timeout_seconds * 1000,
        Harness::ClaudeCode | Harness::Codex => wanted.timeout_seconds,
    };
    let mut members = Vec::new();
    if wanted.harness == Harness::GeminiCli {
        members.push(("name", json!("samite")));
    }
    members.extend([("type", json!("command")), ("command", json!(wanted.command)), ("timeout", json!(timeout))]);
    let members: Vec<String> = members.into_iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    layout.wrap('{', &members, '}', depth)
}

fn group_text(wanted: &Wanted, has_matcher: bool, layout: &Layout, depth: usize) -> String {
    let hook = hook_text(wanted, layout, depth + 2);
    let hooks = layout.wrap('[', &[hook], ']', depth + 1);
    let mut members = Vec::new();
    if has_matcher {
        members.push("\"matcher\": \"*\"".to_owned());
    }
    members.push(format!("\"hooks\": {hooks}"));
    layout.wrap('{', &members, '}', depth)
}

/// What puts the hook of an event there; none when it is there as it should be.
fn put(text: &str, root: &Node, wanted: &Wanted, event: &str, has_matcher: bool) -> Result<Option<Edit>> {
    let layout = Layout::of(text, root);
    let found = groups(root, event)?;
    if let Some(hook) =
        found.into_iter().flatten().find_map(|group| ours(text, group, wanted.harness).into_iter().next())
    {
        let (_, hook) = hook;
        let right: Value = serde_json::from_str(&hook_text(wanted, &layout, 0)).unwrap_or_default();
        if value_of(text, hook) == right {
            return Ok(None);
        }
        return Ok(Some(Edit {
            at: hook.span.clone(),
            by: hook_text(wanted, &layout, layout.depth(text, hook.span.start)),
        }));
    }
    if let Some(groups) = found {
        let list = hooks_of(root)?.and_then(|hooks| hooks.member(event)).ok_or_else(|| shape("hooks is no object"))?;
        let starts: Vec<(usize, usize)> = groups.iter().map(|group| (group.span.start, group.span.end)).collect();
        return Ok(Some(
            layout.add(text, list, &starts, ('[', ']'), |depth| group_text(wanted, has_matcher, &layout, depth)),
        ));
    }
    let list = |depth: usize| {
        let group = group_text(wanted, has_matcher, &layout, depth + 1);
        format!("\"{event}\": {}", layout.wrap('[', &[group], ']', depth))
    };
    let (object, member): (&Node, &dyn Fn(usize) -> String) = match hooks_of(root)? {
        Some(hooks) => (hooks, &list),
        None => (root, &|depth: usize| format!("\"hooks\": {}", layout.wrap('{', &[list(depth + 1)], '}', depth))),
    };
    let members = object.members().unwrap_or_default();
    let places: Vec<(usize, usize)> = members.iter().map(|member| (member.start, member.node.span.end)).collect();
    Ok(Some(layout.add(text, object, &places, ('{', '}'), member)))
}

/// What takes one of samite's hooks away, or what is empty without it; none when there is none.
fn take(text: &str, root: &Node, harness: Harness) -> Result<Option<Edit>> {
    let Some(hooks) = hooks_of(root)? else { return Ok(None) };
    let members = hooks.members().unwrap_or_default();
    for (at, member) in members.iter().enumerate() {
        let Some(groups) = member.node.items() else { continue };
        for (place, group) in groups.iter().enumerate() {
            let ours = ours(text, group, harness);
            let Some((first, _)) = ours.first() else { continue };
            let all = group.member("hooks").and_then(Node::items).unwrap_or_default();
            if ours.len() < all.len() {
                return Ok(Some(without(all.iter().map(|hook| hook.span.clone()), *first)));
            }
            if groups.len() > 1 {
                return Ok(Some(without(groups.iter().map(|group| group.span.clone()), place)));
            }
            if members.len() > 1 {
                let spans = members.iter().map(|member| member.start..member.node.span.end);
                return Ok(Some(without(spans, at)));
            }
            // Nothing but this stands in hooks.
            let top = root.members().unwrap_or_default();
            if top.len() > 1 {
                let place = top.iter().position(|member| member.name == "hooks").unwrap_or_default();
                return Ok(Some(without(top.iter().map(|member| member.start..member.node.span.end), place)));
            }
            return Ok(Some(Edit { at: root.span.clone(), by: "{}".to_owned() }));
        }
    }
    Ok(None)
}

/// Takes one of several parts away, with the comma that stands before it, or after the first.
fn without(spans: impl Iterator<Item = Range<usize>>, which: usize) -> Edit {
    let spans: Vec<Range<usize>> = spans.collect();
    let part = spans.get(which).cloned().unwrap_or_default();
    let before = which.checked_sub(1).and_then(|before| spans.get(before));
    let at = match (before, spans.get(which + 1)) {
        (Some(before), _) => before.end..part.end,
        (None, Some(next)) => part.start..next.start,
        (None, None) => part,
    };
    Edit { at, by: String::new() }
}

/// How a text is laid out.
struct Layout {
    /// What one level is indented by; none when all stands on one line.
    unit: Option<String>,
    line_end: &'static str,
}

impl Layout {
    fn of(text: &str, root: &Node) -> Self {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.members().and_then(<[_]>::first).map(|member| member.start);
        let unit = match first {
            None => Some("  ".to_owned()),
            Some(first) => indent(text, first),
        };
        Self { unit: unit.map(|unit| if unit.is_empty() { "  ".to_owned() } else { unit }), line_end }
    }

    /// How deep a part stands that begins a line.
    fn depth(&self, text: &str, at: usize) -> usize {
        let unit = self.unit.as_ref().map_or(1, String::len).max(1);
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line| line + 1);
        let line = text.get(start..at).unwrap_or_default();
        (line.len() - line.trim_start_matches([' ', '\t']).len()) / unit
    }

    fn line(&self, depth: usize) -> String {
        match &self.unit {
            Some(unit) => format!("{}{}", self.line_end, unit.repeat(depth)),
            None => String::new(),
        }
    }

    /// Parts in brackets, which stand `depth` deep.
    fn wrap(&self, open: char, parts: &[String], close: char, depth: usize) -> String {
        let inner = self.line(depth + 1);
        let between = if self.unit.is_some() { format!(",{inner}") } else { ", ".to_owned() };
        format!("{open}{inner}{}{}{close}", parts.join(&between), self.line(depth))
    }

    /// Adds a part to those of an object or list, after the last.
    fn add(
        &self,
        text: &str,
        container: &Node,
        parts: &[(usize, usize)],
        (open, close): (char, char),
        part: impl Fn(usize) -> String,
    ) -> Edit {
        let Some((start, end)) = parts.last() else {
            let depth = self.depth(text, container.span.start);
            return Edit { at: container.span.clone(), by: self.wrap(open, &[part(depth + 1)], close, depth) };
        };
        // As the part before it stands: on a line of its own, or beside it.
        let by = match indent(text, *start).filter(|_| self.unit.is_some()) {
            Some(indent) => format!(",{}{indent}{}", self.line_end, part(self.depth(text, *start))),
            None => format!(", {}", part(self.depth(text, *start))),
        };
        Edit { at: *end..*end, by }
    }
}

/// What stands before a part on its line, when that is nothing but blanks.
fn indent(text: &str, at: usize) -> Option<String> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n')? + 1..)?;
    line.trim_matches([' ', '\t']).is_empty().then(|| line.to_owned())
}
