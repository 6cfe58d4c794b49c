//! `guarantees`: every test that a claim names is there, and the document is what the claims say.

use crate::documents::root;
use crate::support::Place;
use samite_model::guarantees::{claims, markdown};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files in which a module of a crate may stand: its own, or one above with the module inside.
fn files_of(directory: &Path, modules: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for depth in (0..=modules.len()).rev() {
        let path = modules[..depth].iter().fold(directory.to_owned(), |path, module| path.join(module));
        let names = if depth == 0 {
            vec![path.join("main.rs"), path.join("lib.rs")]
        } else {
            vec![path.with_extension("rs"), path.join("mod.rs")]
        };
        files.extend(names.into_iter().filter(|file| file.is_file()));
    }
    files
}

/// Why there is no such test; nothing when there is.
fn missing(name: &str) -> Result<(), String> {
    let parts: Vec<&str> = name.split("::").collect();
    let [package, middle @ .., test] = parts.as_slice() else { return Err("it names no crate and test".to_owned()) };
    let package = root().join("crates").join(package);
    let target = middle.first().map(|target| package.join("tests").join(target)).filter(|target| target.is_dir());
    let files = match (&target, middle) {
        (Some(target), [_, modules @ ..]) => files_of(target, modules),
        _ => files_of(&package.join("src"), middle),
    };
    let Some(file) = files.first() else { return Err(format!("{} has no such module", package.display())) };
    let source = fs::read_to_string(file).unwrap();
    // A program without the usual harness lists its one test itself.
    if middle.len() == 1 && source.contains(&format!("\"{test}: test\"")) {
        return Ok(());
    }
    let (before, _) =
        source.split_once(&format!("fn {test}(")).ok_or(format!("{} has no such function", file.display()))?;
    // The last of these is what stands before the function in its own line.
    let above = before.rsplit('\n').skip(1);
    let attributes: Vec<&str> = above.take_while(|line| line.trim_start().starts_with('#')).collect();
    let is = |wanted: &str| attributes.iter().any(|line| line.trim().starts_with(wanted));
    if !is("#[test]") || is("#[ignore") {
        return Err(format!("{test} in {} is no test that is run", file.display()));
    }
    Ok(())
}

#[test]
fn every_test_that_a_claim_names_is_there() {
    let named: BTreeSet<&str> = claims().iter().flat_map(|claim| claim.tests).copied().collect();
    assert!(named.len() >= 12, "{named:?}");
    let wrong: Vec<String> =
        named.into_iter().filter_map(|name| missing(name).err().map(|why| format!("{name}: {why}"))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_test_that_is_not_there_is_missed() {
    for (name, why) in [
        ("samite::suite::closing::no_such_test", "no such function"),
        ("samite::suite::no_such_module::x", "no such function"),
        ("samite::suite::closing::site", "no test that is run"),
        ("no-such-crate::suite::x", "no such module"),
        ("samite-cli::matrix::other_matrix", "no such function"),
        ("kill_matrix", "names no crate"),
    ] {
        let said = missing(name).unwrap_err();
        assert!(said.contains(why), "{name}: {said}");
    }
    assert_eq!(missing("samite-cli::suite::guarantees::a_test_that_is_not_there_is_missed"), Ok(()));
    assert_eq!(missing("samite-model::guarantees::tests::names_are_one_to_one"), Ok(()));
}

#[test]
fn the_document_has_the_table_of_the_claims() {
    const BEGIN: &str = "<!-- begin guarantees: made from crates/samite-model/src/guarantees by the tests -->\n";
    const END: &str = "<!-- end guarantees -->";
    let path = root().join("docs/guarantees.md");
    let document = fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let right = format!("\n{}\n", markdown());
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        fs::write(&path, format!("{before}{BEGIN}{right}{END}{after}")).unwrap();
        return;
    }
    assert!(table == right, "docs/guarantees.md is not what the claims say: run the tests with INSTA_UPDATE=always");
}

#[test]
fn the_bound_of_a_session_is_shown_and_every_page_fits_eighty_columns() {
    let place = Place::new();
    let id = place.session();
    place.attach_work(&id);
    fs::write(place.path().join("work/a"), "x").unwrap();
    let taken = place.json(&["checkpoint", &id, "--no-environment"]).json();
    place.run(&["session", "set", &id, "--max-loss", "45s"]).ok();
    let holds = place.json(&["guarantees", &id, "--of", "workspace"]).json();
    assert_eq!((&holds["cadence"], &holds["last"]["seq"]), (&"adaptive".into(), &taken["seq"]));
    let claims = holds["claims"].as_array().unwrap();
    let lost = claims.iter().find(|claim| claim["failure"] == "sandbox_loss").unwrap();
    assert_eq!(lost["bound"], "what changed in the last 45 s while checkpoints keep to their share of time and bytes");
    assert_eq!((claims.len(), &lost["substrate"]), (14, &Value::from("dir")));
    // Without bounds, what an agent does between two ends is what may be lost; and a tighter cadence bounds it more.
    let cadences = [
        ("turn", "what changed since the last turn ended, the last contained step, or the last `samite checkpoint`"),
        ("step", "what changed since the last step or turn ended, or the last `samite checkpoint`"),
    ];
    for (cadence, right) in cadences {
        place.run(&["session", "set", &id, "--cadence", cadence]).ok();
        let holds = place.json(&["guarantees", &id, "--of", "workspace"]).json();
        assert_eq!(holds["cadence"], cadence);
        let bounds: BTreeSet<&str> =
            holds["claims"].as_array().unwrap().iter().filter_map(|claim| claim["bound"].as_str()).collect();
        assert_eq!(bounds, BTreeSet::from([right]));
        assert!(place.run(&["guarantees", &id]).ok().contains(cadence));
    }
    place.run(&["session", "set", &id, "--cadence", "adaptive", "--max-loss", "90s"]).ok();
    let holds = place.json(&["guarantees", &id, "--of", "workspace"]).json();
    assert!(holds["claims"][2]["bound"].as_str().unwrap().contains("in the last 90 s"), "{holds}");
    let page = place.run(&["guarantees", &id]).ok();
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert_eq!(place.json(&["guarantees", "--of", "vectors"]).error(2)["code"], "usage");
    // It needs no store.
    let none = place.run(&["--store", "none", "guarantees", "--of", "session"]).ok();
    insta::assert_snapshot!(none);
}
