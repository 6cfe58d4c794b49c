//! What an agent's tools can do to the world: a file that a person can edit. Pure.

use samite_model::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The policy that holds where there is no file, and that `samite init` writes.
pub const DEFAULT: &str = include_str!("policy.toml");

/// What a tool or command can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It only reads: doing it again changes nothing.
    Idempotent,
    /// It changes nothing but files of the workspace.
    Contained,
    /// It moves one ref of a git remote, which can be looked at: a push.
    Observable,
    /// It may do anything.
    Opaque,
    /// It is a shell: its commands say.
    Shell,
}

impl Class {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "idempotent" => Self::Idempotent,
            "contained" => Self::Contained,
            "observable" => Self::Observable,
            "opaque" => Self::Opaque,
            "shell" => Self::Shell,
            _ => return None,
        })
    }
}

/// What an agent's tools can do to the world, and what becomes of a call that cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether a call is refused that cannot be recorded, or that may repeat one that was cut off.
    pub block: bool,
    /// A hook that takes longer gives up, in seconds.
    pub time_limit_seconds: u64,
    /// The classes of a file; the built-in ones where there is none.
    own: Option<Classes>,
}

/// What each tool and each command can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Classes {
    tools: BTreeMap<String, Class>,
    commands: BTreeMap<String, Class>,
}

/// A policy as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    block: bool,
    time_limit_seconds: u64,
    tools: BTreeMap<String, Class>,
    commands: BTreeMap<String, Class>,
}

/// The classes that the built-in policy names, for which an agent waits at each start of a tool: its lines are plain
/// enough to be read without a parser. A test holds it to read what the parser does.
static BUILT_IN: LazyLock<Classes> = LazyLock::new(|| {
    let mut classes = Classes::default();
    let mut section = "";
    for line in DEFAULT.lines() {
        if line.starts_with('[') {
            section = line;
            continue;
        }
        let of_section = match section {
            "[tools]" => &mut classes.tools,
            "[commands]" => &mut classes.commands,
            _ => continue,
        };
        if let Some((name, class)) = line.split_once(" = ")
            && let Some(class) = Class::from_word(class.trim_matches('"'))
        {
            of_section.insert(name.trim_matches('"').to_owned(), class);
        }
    }
    classes
});

impl Default for Policy {
    /// The built-in one: what [`DEFAULT`] says.
    fn default() -> Self {
        Self { block: false, time_limit_seconds: 300, own: None }
    }
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// `invalid` (`bad_hook_policy`) when it is none, with the line that is wrong.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |what: String| {
            Error::invalid("bad_hook_policy", format!("the policy for hooks cannot be used: {what}"))
                .hint("docs/hooks.md shows what may stand there; until it is mended, the built-in one holds")
        };
        if text == DEFAULT {
            return Ok(Self::default());
        }
        let policy: Written = toml::from_str(text).map_err(|error| bad(error.to_string().trim().to_owned()))?;
        if policy.time_limit_seconds == 0 {
            return Err(bad("time_limit_seconds must be at least 1".to_owned()));
        }
        for (name, class) in &policy.tools {
            if *class == Class::Observable {
                return Err(bad(format!("tool {name:?} cannot be observable: only `git push` can be looked at")));
            }
        }
        for (words, class) in &policy.commands {
            let is_push = words.split_whitespace().eq(["git", "push"]);
            if *class == Class::Shell || (*class == Class::Observable && !is_push) {
                return Err(bad(format!("command {words:?} cannot be {class:?}").to_lowercase()));
            }
        }
        let Written { block, time_limit_seconds, tools, commands } = policy;
        Ok(Self { block, time_limit_seconds, own: Some(Classes { tools, commands }) })
    }

    fn classes(&self) -> &Classes {
        self.own.as_ref().unwrap_or(&BUILT_IN)
    }

    /// What a tool can do: by its whole name, else by the longest beginning that ends with `*`.
    pub fn tool(&self, name: &str) -> Class {
        let tools = &self.classes().tools;
        if let Some(class) = tools.get(name) {
            return *class;
        }
        let matching = tools.iter().filter_map(|(pattern, class)| {
            let beginning = pattern.strip_suffix('*')?;
            name.starts_with(beginning).then_some((beginning.len(), *class))
        });
        matching.max_by_key(|(length, _)| *length).map_or(Class::Opaque, |(_, class)| class)
    }

    /// What a command can do: by the longest run of words that it begins with.
    pub fn command(&self, words: &[String]) -> Class {
        let matching = self.classes().commands.iter().filter_map(|(pattern, class)| {
            let pattern: Vec<&str> = pattern.split_whitespace().collect();
            let is_beginning = pattern.len() <= words.len() && pattern.iter().zip(words).all(|(one, word)| one == word);
            (is_beginning && !pattern.is_empty()).then_some((pattern.len(), *class))
        });
        matching.max_by_key(|(length, _)| *length).map_or(Class::Opaque, |(_, class)| class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_default_is_a_policy_and_blocks_nothing() {
        let policy = Policy::parse(DEFAULT).unwrap();
        assert_eq!(policy, Policy::default());
        let written: Written = toml::from_str(DEFAULT).unwrap();
        assert_eq!((written.block, written.time_limit_seconds), (policy.block, policy.time_limit_seconds));
        assert_eq!((&written.tools, &written.commands), (&BUILT_IN.tools, &BUILT_IN.commands));
        assert!(!policy.block);
        for (tool, right) in [
            ("Read", Class::Idempotent),
            ("read_file", Class::Idempotent),
            ("Write", Class::Contained),
            ("apply_patch", Class::Contained),
            ("Bash", Class::Shell),
            ("run_shell_command", Class::Shell),
            ("mcp__tickets__create", Class::Opaque),
            ("a tool of tomorrow", Class::Opaque),
        ] {
            assert_eq!(policy.tool(tool), right, "{tool}");
        }
        for (command, right) in [
            ("ls -la", Class::Idempotent),
            ("git status", Class::Idempotent),
            ("git commit -m x", Class::Contained),
            ("git push origin main", Class::Observable),
            ("git", Class::Opaque),
            ("curl https://x", Class::Opaque),
            ("lsx", Class::Opaque),
        ] {
            assert_eq!(policy.command(&words(command)), right, "{command}");
        }
    }

    #[test]
    fn the_longest_beginning_decides() {
        let text = "block = true\ntime_limit_seconds = 5\n[tools]\n\"mcp__*\" = \"opaque\"\n\"mcp__docs__*\" = \"idempotent\"\n\
                    [commands]\nmake = \"contained\"\n\"make deploy\" = \"opaque\"\n";
        let policy = Policy::parse(text).unwrap();
        assert!(policy.block);
        assert_eq!(policy.tool("mcp__docs__find"), Class::Idempotent);
        assert_eq!(policy.tool("mcp__x__y"), Class::Opaque);
        assert_eq!(policy.command(&words("make test")), Class::Contained);
        assert_eq!(policy.command(&words("make deploy now")), Class::Opaque);
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for text in [
            "",
            "block = 1",
            "block = false\ntime_limit_seconds = 0\n[tools]\n[commands]\n",
            "block = false\ntime_limit_seconds = 1\nmore = 1\n[tools]\n[commands]\n",
            "block = false\ntime_limit_seconds = 1\n[tools]\nRead = \"observable\"\n[commands]\n",
            "block = false\ntime_limit_seconds = 1\n[tools]\n[commands]\ncurl = \"observable\"\n",
            "block = false\ntime_limit_seconds = 1\n[tools]\n[commands]\nsh = \"shell\"\n",
        ] {
            assert_eq!(Policy::parse(text).unwrap_err().code(), "bad_hook_policy", "{text}");
        }
    }
}
