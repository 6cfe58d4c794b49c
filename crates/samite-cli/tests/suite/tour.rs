//! The tour does the main job for real, wherever it runs.

use crate::support::Place;

#[test]
fn every_check_of_the_tour_holds() {
    let place = Place::new();
    let toured = place.json(&["tour"]).json();
    assert_eq!(toured["ok"], true, "{toured}");
    assert!(toured["checks"].as_array().unwrap().len() >= 20, "{toured}");
    assert!(!place.store().exists(), "the user's own store is not touched");
}

#[test]
fn a_tour_can_be_kept() {
    let place = Place::new();
    let said = place.run(&["tour", "--keep", "kept"]).ok();
    assert!(said.contains("checks hold"), "{said}");
    let store = place.path().join("kept/store");
    let mut list = place.command(&["session", "list", "--json"]);
    let output = list
        .env("SAMITE_STORE", store)
        .env("SAMITE_MASTER_FILE", place.path().join("kept/master.key"))
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(place.json(&["tour", "--keep", "kept"]).error(4)["code"], "file_exists");
}
