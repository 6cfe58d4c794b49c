//! The help of every command is a golden file.

use crate::support::Place;

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Each line of an example can be pasted: none is so long that a terminal wraps it, and none was wrapped.
fn check_examples(path: &[String], help: &str) {
    let examples = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
    let mut goes_on = false;
    for line in examples.filter(|line| !line.is_empty()) {
        assert!(line.chars().count() <= 78, "{path:?}: an example is wider than 78 columns: {line}");
        let is_command = line.starts_with("  ") && !line.starts_with("   ");
        assert!(is_command != goes_on, "{path:?}: an example is cut in two: {line}");
        assert!(goes_on || line.contains("samite "), "{path:?}: this is no example: {line}");
        goes_on = line.ends_with('\\');
    }
}

fn visit(place: &Place, path: &[String], seen: &mut Vec<String>) {
    let with = |flag: &str| {
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain([flag]).collect();
        place.run(&arguments).ok()
    };
    let (long, short) = (with("--help"), with("-h"));
    assert!(short.len() <= long.len(), "-h is longer than --help: {path:?}");
    let wide: Vec<&str> = long.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{path:?} --help is wider than 80 columns: {wide:?}");
    check_examples(path, &long);
    let name = if path.is_empty() { "samite".to_owned() } else { path.join(" ") };
    let children = listed(&short);
    if children.is_empty() {
        assert!(long.contains("Example"), "{name} --help has no example");
    }
    insta::assert_snapshot!(format!("help {name}").replace(' ', "_"), long);
    seen.push(name);
    for child in children {
        let mut path = path.to_vec();
        path.push(child);
        visit(place, &path, seen);
    }
}

/// Every command, groups of commands included.
pub(crate) fn commands(place: &Place) -> Vec<String> {
    fn below(place: &Place, path: &[String], found: &mut Vec<String>) {
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain(["-h"]).collect();
        for child in listed(&place.run(&arguments).ok()) {
            let path = [path, &[child]].concat();
            found.push(path.join(" "));
            below(place, &path, found);
        }
    }
    let mut found = Vec::new();
    below(place, &[], &mut found);
    found
}

#[test]
fn golden_help_of_every_command() {
    let mut seen = Vec::new();
    visit(&Place::new(), &[], &mut seen);
    for name in ["session tree", "step run", "branch keep", "completions"] {
        assert!(seen.iter().any(|seen| seen == name), "{name} is not among {seen:?}");
    }
}

#[test]
fn golden_short_help() {
    insta::assert_snapshot!(Place::new().run(&["-h"]).ok());
}

#[test]
fn completions_are_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Place::new().run(&["completions", shell]).ok();
        assert!(script.contains("samite") && script.contains("checkpoint"), "{shell}: {script}");
    }
}
