//! Which session an event belongs to: one for each session of a harness, and one for each of its sub-agents.

use super::carry_out::HookOptions;
use super::event::{Harness, HookEvent};
use crate::client::Client;
use crate::payload::ParentSession;
use crate::session::NewSession;
use crate::workspace::CheckpointOptions;
use crate::writer::Writer;
use samite_host::files;
use samite_model::{BranchId, Error, Result, SessionId, limits};
use serde_json::json;
use std::path::{Path, PathBuf};

/// The key that the session of a harness's session, or of a sub-agent in it, is found by.
pub fn session_key(harness: Harness, session: &str, agent: Option<&str>) -> String {
    let harness = harness.name();
    match agent {
        None => format!("hook {harness} {}", name(session)),
        Some(agent) => format!("hook {harness} {} agent {}", name(session), name(agent)),
    }
}

/// What a harness calls something, where that can be part of a key, or else a hash of it.
pub(super) fn name(text: &str) -> String {
    let is_short = text.len() <= 128 && limits::check_name("a name", text).is_ok();
    if is_short { text.to_owned() } else { blake3::hash(text.as_bytes()).to_hex().to_string() }
}

/// The session of an event.
pub(super) struct Place {
    pub(super) session: SessionId,
    /// The branch; none means the current one.
    pub(super) branch: Option<BranchId>,
    /// What it is known by.
    pub(super) key: String,
    /// Whether it was made just now.
    pub(super) is_new: bool,
}

impl Client {
    /// The session of an event, made when it is not there.
    pub(super) async fn hook_place(&self, event: &HookEvent) -> Result<Place> {
        let Some(agent) = &event.agent else { return self.hook_session(event, None, None).await };
        let key = session_key(event.harness, &event.session, Some(&agent.id));
        if let Some(session) = self.session_by_key(&key).await? {
            return Ok(Place { session, branch: None, key, is_new: false });
        }
        let parent = self.hook_session(event, None, None).await?;
        let parent = ParentSession { session: parent.session, step: None };
        self.hook_session(event, Some(&agent.id), Some(parent)).await
    }

    async fn hook_session(
        &self,
        event: &HookEvent,
        agent: Option<&str>,
        parent: Option<ParentSession>,
    ) -> Result<Place> {
        let key = session_key(event.harness, &event.session, agent);
        if let Some(session) = self.session_by_key(&key).await? {
            return Ok(Place { session, branch: None, key, is_new: false });
        }
        // The harness was resumed from the transcript of a branch.
        if let Some((session, branch)) = self.resumed_branch(&event.session).await?.filter(|_| agent.is_none()) {
            return Ok(Place { session, branch: Some(branch), key, is_new: false });
        }
        let short: String = name(&event.session).chars().take(8).collect();
        let of = match agent {
            None => String::new(),
            Some(agent) => format!(" agent {}", name(agent).chars().take(16).collect::<String>()),
        };
        let new = NewSession {
            name: Some(format!("{} {short}{of}", event.harness.name())),
            key: Some(key.clone()),
            parent,
            source: Some(json!({"harness": event.harness.name(), "session": event.session, "agent": agent})),
            ..NewSession::default()
        };
        let session = match self.create_session(new).await {
            Ok(info) => info.id,
            // Another hook made it just now, in other words.
            Err(error) if error.code() == "session_key_exists" => self.session_by_key(&key).await?.ok_or(error)?,
            Err(error) => return Err(error),
        };
        samite_host::kill_point("hook.session_made");
        Ok(Place { session, branch: None, key, is_new: true })
    }
}

impl Writer {
    /// Attaches the directory that the agent works in, where the branch has none, and takes the first checkpoint of it.
    /// Returns why not, when it is not attached.
    pub(super) async fn hook_workspace(&self, event: &HookEvent, options: &HookOptions) -> Result<Option<String>> {
        if self.workspace().await?.is_some() {
            return Ok(None);
        }
        let Some(directory) = &event.directory else { return Ok(Some("the agent does not say where it works".into())) };
        match self.hook_attach(directory, options).await {
            Ok(()) => {}
            Err(error) => return Ok(Some(format!("no workspace is attached: {error}"))),
        }
        samite_host::kill_point("hook.attached");
        let label = Some("session start".to_owned());
        self.checkpoint(CheckpointOptions { label, ..CheckpointOptions::default() }).await?;
        Ok(None)
    }

    async fn hook_attach(&self, directory: &Path, options: &HookOptions) -> Result<()> {
        let root = root_of(directory)?;
        if let Some(kept) =
            options.never.iter().find(|kept| **kept == root || (kept.is_file() && kept.starts_with(&root)))
        {
            return Err(Error::invalid(
                "hook_directory",
                format!("{} holds {}, or is all of your files", root.display(), kept.display()),
            )
            .hint("start the agent in the directory of a project"));
        }
        self.client.attach(self.session, Some(self.branch), &root).await.map(|_| ())
    }
}

/// The root of the git repository that a directory is in, or itself.
fn root_of(directory: &Path) -> Result<PathBuf> {
    let directory = files::canonical(directory)?;
    for above in directory.ancestors() {
        if files::exists(&above.join(".git")).unwrap_or(false) {
            return Ok(above.to_owned());
        }
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_name_whatever_the_harness_calls_its_session() {
        assert_eq!(session_key(Harness::Codex, "a-1", None), "hook codex a-1");
        assert_eq!(session_key(Harness::ClaudeCode, "a-1", Some("x")), "hook claude-code a-1 agent x");
        for odd in ["", "a\nb", &"x".repeat(10_000)] {
            let key = session_key(Harness::GeminiCli, odd, Some(odd));
            assert!(limits::check_name("a key", &key).is_ok(), "{key}");
            assert_ne!(key, session_key(Harness::GeminiCli, "other", Some(odd)));
        }
    }

    #[test]
    fn the_root_of_a_repository_is_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        files::create_private_dir(&top.join("plain/deep")).unwrap();
        files::create_private_dir(&top.join("repo/.git")).unwrap();
        files::create_private_dir(&top.join("repo/src")).unwrap();
        assert_eq!(root_of(&top.join("repo/src")).unwrap(), top.join("repo"));
        assert_eq!(root_of(&top.join("plain/deep")).unwrap(), top.join("plain/deep"));
        assert!(root_of(&top.join("gone")).is_err());
    }
}
