//! What a command did, and the environment that it did it in.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a command did.
#[derive(Debug)]
pub(crate) struct Did {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Did {
    pub(crate) fn new(output: &Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Its one JSON document, after it ended well.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 0, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Takes everything from a command's environment that could speak into it, and gives it a store and a master key in a
/// place of its own.
pub(crate) fn set_apart(command: &mut Command, place: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.join("home"))
        .env("TZ", "UTC")
        .env("SAMITE_STORE", place.join("store"))
        .env("SAMITE_MASTER_FILE", place.join("master.key"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null());
}

/// The string at a pointer.
#[track_caller]
pub(crate) fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} in {value}")).to_owned()
}
