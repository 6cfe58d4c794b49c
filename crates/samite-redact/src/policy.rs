//! What is looked for, and what happens with what is found.

use samite_model::{Error, Result};
use serde::{Deserialize, Serialize};

/// What happens with what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It is not looked for.
    Off,
    /// It is counted and stays.
    Report,
    /// It is counted, and a placeholder takes its place.
    Redact,
}

impl Mode {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Off, Self::Report, Self::Redact];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Redact => "redact",
        }
    }
}

/// What happens with files of workspaces that hold something of what is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Files {
    /// They are not looked at.
    Off,
    /// They are stored like all others, and listed.
    #[default]
    Report,
    /// They are listed, and stored in blocks under keys of their owner's: not found again for others, and unreadable everywhere
    /// once the owner is erased.
    Separate,
}

impl Files {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Off, Self::Report, Self::Separate];

    /// The name in commands and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Separate => "separate",
        }
    }
}

/// What a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// What opens something: a token, a password, a private key; one that was registered too.
    Secret,
    /// What says who somebody is or how to reach them.
    Pii,
    /// What a pattern of the user's own matches.
    Pattern,
}

impl Class {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Secret, Self::Pii, Self::Pattern];

    /// The name in placeholders and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Pii => "pii",
            Self::Pattern => "pattern",
        }
    }
}

/// A pattern of the user's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// What its placeholders call it: small letters, digits and hyphens, 1 to 32.
    pub name: String,
    /// The regular expression, in the syntax of the `regex` crate: it is matched in linear time. Where it has a group
    /// named `secret`, only that is replaced.
    pub expression: String,
}

/// The most patterns that a policy may have.
pub const PATTERNS: usize = 64;
/// The longest expression, in bytes.
pub const EXPRESSION: usize = 1024;

/// What is looked for, and what happens with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Secrets.
    pub secrets: Mode,
    /// Personal data.
    pub pii: Mode,
    /// What the user's own patterns match.
    pub pattern_mode: Mode,
    /// The user's own patterns.
    pub patterns: Vec<Pattern>,
    /// Files of workspaces.
    #[serde(skip_serializing_if = "is_report")]
    pub files: Files,
    /// Whether personal data is looked for in files too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub files_pii: bool,
    /// Whether files were ever to be stored separately: some may be, whatever holds now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub files_separated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_report(files: &Files) -> bool {
    *files == Files::Report
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            secrets: Mode::Redact,
            pii: Mode::Report,
            pattern_mode: Mode::Redact,
            patterns: Vec::new(),
            files: Files::Report,
            files_pii: false,
            files_separated: false,
        }
    }
}

impl Policy {
    /// What happens with a class.
    pub const fn mode(&self, class: Class) -> Mode {
        match class {
            Class::Secret => self.secrets,
            Class::Pii => self.pii,
            Class::Pattern => self.pattern_mode,
        }
    }
}

/// Refuses a name that no placeholder could carry.
///
/// # Errors
/// `invalid` (`bad_redaction_name`).
pub fn check_name(name: &str) -> Result<()> {
    let fits = (1..=32).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits {
        return Ok(());
    }
    let shown: String = name.chars().take(40).collect();
    Err(Error::invalid("bad_redaction_name", format!("{shown:?} cannot be a name in a placeholder"))
        .hint("small letters, digits and hyphens, 1 to 32 of them, such as customer-number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_placeholder_can_carry_are_accepted() {
        for (name, fits) in [
            ("a", true),
            ("customer-number-2", true),
            ("", false),
            ("Upper", false),
            ("a b", false),
            ("a:b", false),
            ("]", false),
            (&"a".repeat(32), true),
            (&"a".repeat(33), false),
        ] {
            assert_eq!(check_name(name).is_ok(), fits, "{name}");
        }
    }
}
