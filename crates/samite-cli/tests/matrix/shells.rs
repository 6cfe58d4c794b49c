//! The moments of a command at which it can be held.

use std::io::Write;
use std::time::Duration;

/// A piece of shell that holds the command when the cell says so.
pub(crate) fn gate(name: &str) -> String {
    format!("if [ \"$WORLD_GATE\" = {name} ]; then echo $$ >> \"$WORLD_HELD\"; exec sleep 100; fi")
}

/// A git hook that is such a piece.
pub(crate) fn hook(name: &str) -> String {
    format!("#!/bin/sh\n{}\nexit 0\n", gate(name))
}

/// Says that the point is reached and stays there until it is over.
pub(crate) fn hold(file: &str, mut is_over: impl FnMut() -> bool) {
    let held = std::fs::OpenOptions::new().create(true).append(true).open(file);
    held.unwrap().write_all(b"held\n").unwrap();
    while !is_over() {
        std::thread::sleep(Duration::from_millis(20));
    }
}
