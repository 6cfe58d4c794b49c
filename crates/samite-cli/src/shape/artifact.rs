//! Artifacts as answers.

use crate::printer::words::{bytes, day, rfc3339, short_id, time};
use crate::printer::{Column, Page, Table};
use crate::shape::PositionShape;
use samite::artifact::{Artifact, Kept};
use samite::payload::{ArtifactRecord, KnownBy, Lineage, MadeWith};
use serde::Serialize;
use serde_json::Value;

/// An artifact's record.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ArtifactShape {
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) branch: String,
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) of_type: String,
    pub(crate) mime: String,
    pub(crate) description: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) content: String,
    pub(crate) version: u64,
    pub(crate) published: String,
    pub(crate) user: String,
    pub(crate) agent: String,
    pub(crate) workload: String,
    #[serde(skip)]
    time: i64,
}

impl ArtifactShape {
    pub(crate) fn new(record: &ArtifactRecord) -> Self {
        Self {
            id: record.artifact.to_string(),
            session: record.lineage.session.to_string(),
            branch: record.lineage.branch.to_string(),
            name: record.name.clone(),
            of_type: record.of_type.clone(),
            mime: record.mime.clone(),
            description: record.description.clone(),
            bytes: record.size,
            sha256: record.sha256.clone(),
            content: record.content.to_string(),
            version: record.version,
            published: rfc3339(record.published),
            user: record.by.user.clone(),
            agent: record.by.agent.clone(),
            workload: record.by.workload.clone(),
            time: record.published,
        }
    }

    /// The first digits of its id.
    pub(crate) fn short(&self) -> String {
        short_id(&self.id)
    }

    /// The size for a person.
    pub(crate) fn size(&self) -> String {
        bytes(self.bytes)
    }
}

/// An artifact as a list has it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ListedArtifact {
    #[serde(flatten)]
    pub(crate) artifact: ArtifactShape,
    pub(crate) versions: u64,
    /// `forever`, `until` or `no_policy`.
    pub(crate) keep: &'static str,
    pub(crate) kept_until: Option<String>,
    pub(crate) collected: bool,
    #[serde(skip)]
    until: Option<i64>,
}

impl ListedArtifact {
    pub(crate) fn new(artifact: &Artifact) -> Self {
        let (keep, until) = match artifact.kept {
            Kept::Forever => ("forever", None),
            Kept::Until(time) => ("until", Some(time)),
            Kept::NoPolicy => ("no_policy", None),
        };
        Self {
            artifact: ArtifactShape::new(&artifact.record),
            versions: artifact.versions,
            keep,
            kept_until: until.map(rfc3339),
            collected: artifact.collected,
            until,
        }
    }

    fn kept(&self, exact: bool) -> String {
        match (self.collected, self.keep, self.until) {
            (true, ..) => "collected".to_owned(),
            (false, "forever", _) => "for ever".to_owned(),
            (false, _, Some(until)) if exact => format!("until {}", time(until)),
            (false, _, Some(until)) => day(until),
            (false, _, None) => "no policy".to_owned(),
        }
    }

    /// Puts all that is known of it on a page.
    pub(crate) fn show(&self, page: &mut Page) {
        let artifact = &self.artifact;
        page.facts(&[
            ("artifact", artifact.id.clone()),
            ("name", artifact.name.clone()),
            ("version", format!("{} (of {} in the session)", artifact.version, self.versions)),
            ("type", artifact.of_type.clone()),
            ("media type", artifact.mime.clone()),
            ("description", artifact.description.clone().unwrap_or_default()),
            ("size", format!("{} ({} bytes)", artifact.size(), artifact.bytes)),
            ("sha256", artifact.sha256.clone()),
            ("published", time(artifact.time)),
            ("by", format!("{} / {} / {}", artifact.user, artifact.agent, artifact.workload)),
            ("session", artifact.session.clone()),
            ("branch", artifact.branch.clone()),
            ("kept", self.kept(true)),
        ]);
    }
}

/// A table of artifacts.
pub(crate) fn artifact_table(artifacts: &[ListedArtifact]) -> Table {
    let mut table = Table::new(&[
        ("ARTIFACT", Column::Left),
        ("NAME", Column::Flexible),
        ("TYPE", Column::Left),
        ("SIZE", Column::Right),
        ("VERSION", Column::Right),
        ("PUBLISHED", Column::Left),
        ("KEPT", Column::Left),
    ]);
    for listed in artifacts {
        let artifact = &listed.artifact;
        table.row([
            artifact.short(),
            artifact.name.clone(),
            artifact.of_type.chars().take(12).collect(),
            artifact.size(),
            format!("{}/{}", artifact.version, listed.versions),
            day(artifact.time),
            listed.kept(false),
        ]);
    }
    table
}

/// Where an artifact comes from.
#[derive(Debug, Serialize)]
pub(crate) struct LineageShape {
    id: String,
    name: String,
    session: String,
    branch: String,
    checkpoint: Option<PositionShape>,
    step: Option<StepShape>,
    inputs: Vec<InputShape>,
    command: Option<CommandShape>,
}

#[derive(Debug, Serialize)]
struct StepShape {
    key: String,
    tool: String,
    branch: String,
    seq: u64,
    /// `caller` or `trees`.
    known_by: &'static str,
}

#[derive(Debug, Serialize)]
struct InputShape {
    path: String,
    content: String,
    bytes: u64,
    before_step: bool,
}

#[derive(Debug, Serialize)]
struct CommandShape {
    argv: Value,
    directory: String,
}

impl LineageShape {
    pub(crate) fn new(record: &ArtifactRecord) -> Self {
        let Lineage { session, branch, checkpoint, step, inputs, command, .. } = &record.lineage;
        Self {
            id: record.artifact.to_string(),
            name: record.name.clone(),
            session: session.to_string(),
            branch: branch.to_string(),
            checkpoint: checkpoint.map(PositionShape::from),
            step: step.as_ref().map(|step| StepShape {
                key: step.key.clone(),
                tool: step.tool.clone(),
                branch: step.start.journal.to_string(),
                seq: step.start.seq,
                known_by: match step.known_by {
                    KnownBy::Caller => "caller",
                    KnownBy::Trees => "trees",
                },
            }),
            inputs: inputs
                .iter()
                .map(|input| InputShape {
                    path: input.path.clone(),
                    content: input.content.to_string(),
                    bytes: input.size,
                    before_step: input.before_step,
                })
                .collect(),
            command: command
                .as_ref()
                .map(|command| CommandShape { argv: command.argv.clone(), directory: command.directory.clone() }),
        }
    }

    pub(crate) fn show(&self, page: &mut Page) {
        let at = |branch: &str, seq: u64| format!("{}:{}@{seq}", short_id(&self.session), short_id(branch));
        let checkpoint = self.checkpoint.as_ref().map(|position| at(&position.branch, position.seq));
        let step = self.step.as_ref().map(|step| {
            let known = if step.known_by == "trees" { ", as the trees around it tell" } else { "" };
            format!("{} ({}) at {}{known}", step.key, step.tool, at(&step.branch, step.seq))
        });
        let place = match self.command.as_ref().map(|command| command.directory.as_str()) {
            None => String::new(),
            Some("") => "the top of the workspace".to_owned(),
            Some(directory) => directory.to_owned(),
        };
        page.facts(&[
            ("artifact", self.id.clone()),
            ("name", self.name.clone()),
            ("session", self.session.clone()),
            ("branch", self.branch.clone()),
            ("checkpoint", checkpoint.unwrap_or_else(|| "none before".to_owned())),
            ("step", step.unwrap_or_else(|| "not known".to_owned())),
            ("command", self.command.as_ref().map_or_else(|| "not known".to_owned(), |made| shell_words(&made.argv))),
            ("run in", place),
        ]);
        if self.inputs.is_empty() {
            return page.line("no inputs were named");
        }
        page.gap();
        let mut table = Table::new(&[
            ("INPUT", Column::Flexible),
            ("SIZE", Column::Right),
            ("CONTENT", Column::Left),
            ("AS IT WAS", Column::Left),
        ]);
        for input in &self.inputs {
            let when = if input.before_step { "when the step began" } else { "when published" };
            table.row([input.path.clone(), bytes(input.bytes), short_id(&input.content), when.to_owned()]);
        }
        page.table(&table);
    }
}

/// A recorded command, as a person would type it.
pub(crate) fn command_words(made: &MadeWith) -> String {
    shell_words(&made.argv)
}

/// The words of a command, quoted for a shell. Bytes that are no text stay in base64, as they are recorded.
fn shell_words(argv: &Value) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    let quoted = |word: &Value| match word {
        Value::String(text) if !text.is_empty() && text.chars().all(plain) => text.clone(),
        Value::String(text) => format!("'{}'", text.replace('\'', r"'\''")),
        other => other.to_string(),
    };
    argv.as_array().into_iter().flatten().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let argv = json!(["sh", "-c", "cat 'a b' > $OUT", "", {"base64": "/w=="}]);
        assert_eq!(shell_words(&argv), r#"sh -c 'cat '\''a b'\'' > $OUT' '' {"base64":"/w=="}"#);
        assert_eq!(shell_words(&Value::Null), "");
    }
}
