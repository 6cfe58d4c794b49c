//! `samite init`.

mod record;

use super::hook::{harness, policy_file};
use crate::input::{asked, can_ask};
use crate::printer::{Answer, Page, Style};
use crate::surface::{Access, Surface, here, program};
use clap::Args;
use samite::hook::policy::DEFAULT;
use samite::hook::setup::{BEGUN, Wanted, diff, install, quoted, uninstall};
use samite::hook::{Harness, Policy};
use samite_host::files;
use samite_model::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The harness waits so much longer than a hook takes at most, in seconds.
const LONGER: u64 = 10;

/// Let a CLI agent tell samite what it does: write its hook settings
///
/// The change is shown first, and made once you agree. Only samite's own hooks are added, at the end of those that are
/// there; everything else in the file stays as it is, byte for byte. A file with comments or mistakes in it is left alone.
/// Calling again changes nothing, unless this program moved. `--undo` takes away exactly what was added,
/// and the file with it when it was made for that and nothing else stands in it.
///
/// Without `--project`, the hooks hold for all of your sessions with that agent. With it, they are written for the project
/// that you are in: to .claude/settings.local.json, .codex/hooks.json or .gemini/settings.json at its root. What the agent's
/// tools can do to the world is in a policy file that you may edit; it is made when it is not there.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite init claude-code
  samite init codex --project --dry-run
  samite init gemini-cli --yes
  samite init claude-code --undo")]
pub(crate) struct Init {
    /// The agent: claude-code, codex or gemini-cli
    #[arg(value_name = "HARNESS", value_parser = harness)]
    harness: Harness,
    /// For the project that you are in
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// For all of your projects; this is the default
    #[arg(long)]
    user: bool,
    /// Take samite's hooks away
    #[arg(long)]
    undo: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// What changed.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of its own in the answer")]
#[derive(Serialize)]
struct Initialised {
    harness: &'static str,
    /// The settings file.
    path: String,
    undo: bool,
    dry_run: bool,
    /// Whether it is, or with `dry_run` would be, another than before.
    changed: bool,
    /// Whether the file is, or with `dry_run` would be, gone: it was made for the hooks, and nothing else is in it.
    removed: bool,
    /// What is other, line by line.
    diff: String,
    /// The file that says what tools can do.
    policy: String,
    /// Whether that was made.
    policy_made: bool,
    #[serde(skip)]
    note: Option<&'static str>,
}

impl Answer for Initialised {
    fn show(&self, page: &mut Page) {
        let (path, harness) = (&self.path, self.harness);
        if self.removed && !self.dry_run {
            page.line(format!("{path} was made for the hooks alone, and is gone"));
        }
        match (self.changed, self.undo, self.dry_run) {
            (false, false, _) => page.line(format!("{path} has the hooks already")),
            (false, true, _) => page.line(format!("{path} has none of samite's hooks")),
            (true, _, true) => page.line(format!("{path} was not touched")),
            (true, false, false) => page.line(format!("{harness} tells samite what it does, from its next session on")),
            (true, true, false) => page.line(format!("{harness} tells samite nothing any more")),
        }
        if self.policy_made {
            page.line(format!("what its tools can do is in {}: edit it as you like", self.policy));
        }
        if let Some(note) = self.note.filter(|_| self.changed && !self.dry_run) {
            page.styled(Style::Dim, note);
        }
    }
}

impl Init {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let path = self.path()?;
        let before = read(&path)?;
        let shown = path.display().to_string();
        let text = before.as_deref().unwrap_or_default();
        let changed = match (self.undo, &before) {
            (true, None) => Ok(String::new()),
            (true, Some(text)) => uninstall(text, self.harness),
            (false, _) => install(text, &self.wanted(surface)?),
        };
        let mut after = changed.map_err(|error| error.context(shown.clone()))?;
        let made = self.made(&path, text, &after)?;
        if let Some(made) = &made {
            after = made.before.clone().unwrap_or_default();
        }
        let removes = made.as_ref().is_some_and(|made| made.before.is_none());
        let is_other = after != text || removes;
        let shown_diff = diff(text, &after, &shown);
        if is_other {
            self.agree(surface, &shown, &shown_diff)?;
        }
        let policy = policy_file()?;
        let mut policy_made = false;
        if !self.dry_run {
            if removes {
                remove(&path, before.as_deref(), made.is_some_and(|made| made.directory))?;
            } else if is_other {
                self.note(&path, before.as_deref())?;
                write(&path, before.as_deref(), &after)?;
            }
            if self.undo {
                record::forget(&path)?;
            }
            if !self.undo {
                policy_made = make_policy(&policy)?;
                // Made now, it tells a person where the master key is; a hook would tell the agent.
                surface.open(Access::Create)?.client().await?;
            }
        }
        surface.printer.answer(&Initialised {
            harness: self.harness.name(),
            path: shown,
            undo: self.undo,
            dry_run: self.dry_run,
            changed: is_other,
            removed: removes,
            diff: shown_diff,
            policy: policy.display().to_string(),
            policy_made,
            note: (!self.undo && self.harness == Harness::Codex)
                .then_some("Codex asks once whether it may run hooks that are new; `/hooks` there shows them"),
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// What was noted when the settings file was made, where taking the hooks away leaves nothing but that.
    fn made(&self, path: &Path, before: &str, after: &str) -> Result<Option<record::Made>> {
        // Where there were no hooks to take away, it may be a file that a person made since. A link is somebody's, and so
        // is what it leads to.
        if !self.undo || after == before || after != BEGUN || path.is_symlink() {
            return Ok(None);
        }
        record::of(path)
    }

    /// Notes that there is nothing yet where hooks are about to be written, or forgets that there was nothing once.
    fn note(&self, path: &Path, before: Option<&str>) -> Result<()> {
        if self.undo {
            return Ok(());
        }
        let text = before.unwrap_or_default();
        if text.trim().is_empty() {
            record::note(path, before)
        } else if uninstall(text, self.harness)? == text {
            record::forget(path)
        } else {
            Ok(())
        }
    }

    /// Shows the change, and asks.
    fn agree(&self, surface: &Surface, path: &str, diff: &str) -> Result<()> {
        if !surface.printer.is_json() {
            surface.printer.aside_page(|page| diff.lines().for_each(|line| page.line(line)));
        }
        if self.yes || self.dry_run {
            return Ok(());
        }
        if !can_ask() {
            return Err(Error::invalid("not_confirmed", format!("{path} would change"))
                .hint("nothing was touched; --yes changes it, --dry-run shows how"));
        }
        if asked("change it?")? {
            return Ok(());
        }
        Err(Error::invalid("not_confirmed", format!("{path} was not changed")).hint("nothing was touched"))
    }

    /// The settings file.
    fn path(&self) -> Result<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if self.project {
            let root = project(&here()?)?;
            return Ok(root.join(match self.harness {
                // The command names this machine's path: the file that is not shared.
                Harness::ClaudeCode => ".claude/settings.local.json",
                Harness::Codex => ".codex/hooks.json",
                Harness::GeminiCli => ".gemini/settings.json",
            }));
        }
        let home = || {
            std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).ok_or_else(|| {
                Error::invalid("no_home", "this user has no home directory").hint("--project writes to the project")
            })
        };
        Ok(match self.harness {
            Harness::ClaudeCode => match variable("CLAUDE_CONFIG_DIR") {
                Some(directory) => directory.join("settings.json"),
                None => home()?.join(".claude/settings.json"),
            },
            Harness::Codex => match variable("CODEX_HOME") {
                Some(directory) => directory.join("hooks.json"),
                None => home()?.join(".codex/hooks.json"),
            },
            Harness::GeminiCli => home()?.join(".gemini/settings.json"),
        })
    }

    fn wanted(&self, surface: &Surface) -> Result<Wanted> {
        let word = |path: &Path| -> Result<String> {
            let text = path.to_str().ok_or_else(|| {
                Error::invalid("bad_directory", format!("the path {} is not UTF-8", path.display()))
                    .hint("hook settings are text: put it where its path is")
            })?;
            Ok(quoted(text))
        };
        let mut command = word(&program()?)?;
        if let Some(store) = surface.named_store() {
            command = format!("{command} --store {}", word(&here()?.join(store))?);
        }
        let policy = files::read_if_exists(&policy_file()?)?;
        let policy = policy.and_then(|text| Policy::parse(&String::from_utf8_lossy(&text)).ok()).unwrap_or_default();
        Ok(Wanted {
            harness: self.harness,
            command: format!("{command} hook {}", self.harness.name()),
            timeout_seconds: policy.time_limit_seconds.saturating_add(LONGER),
        })
    }
}

/// The root of the git repository that a directory is in, or itself.
fn project(directory: &Path) -> Result<PathBuf> {
    for above in directory.ancestors() {
        if files::exists(&above.join(".git"))? {
            return Ok(above.to_owned());
        }
    }
    Ok(directory.to_owned())
}

/// A settings file's text; none when there is no such file.
fn read(path: &Path) -> Result<Option<String>> {
    let Some(bytes) = files::read_if_exists(path)? else {
        // A link that leads nowhere is somebody's, and stays.
        if path.is_symlink() {
            return Err(Error::invalid("settings_shape", format!("{} is a link that leads nowhere", path.display()))
                .hint("nothing was touched; make what it leads to, or remove it"));
        }
        return Ok(None);
    };
    String::from_utf8(bytes).map(Some).map_err(|_| {
        Error::invalid("settings_not_json", format!("{} is not UTF-8", path.display())).hint("nothing was touched")
    })
}

fn check_unchanged(path: &Path, before: Option<&str>) -> Result<()> {
    if read(path)?.as_deref() != before {
        return Err(Error::conflict("settings_changed", format!("{} changed just now", path.display()))
            .hint("nothing was touched; call again"));
    }
    Ok(())
}

/// Removes a settings file that is still as it was read, and its directory, if that was made too and is empty.
fn remove(path: &Path, before: Option<&str>, directory: bool) -> Result<()> {
    check_unchanged(path, before)?;
    files::remove(path)?;
    match path.parent().filter(|_| directory) {
        Some(directory) => files::remove_empty_dir(directory).map(|_| ()),
        None => Ok(()),
    }
}

/// Replaces a settings file that is still as it was read; through a link, the file that it leads to. Its mode stays.
fn write(path: &Path, before: Option<&str>, after: &str) -> Result<()> {
    check_unchanged(path, before)?;
    if before.is_none() {
        if let Some(directory) = path.parent() {
            files::create_private_dir(directory)?;
        }
        return files::write_atomic(path, after.as_bytes(), files::PRIVATE_FILE);
    }
    let target = files::canonical(path)?;
    files::write_atomic(&target, after.as_bytes(), files::mode(&target)? & 0o7777)
}

/// Makes the policy file where there is none.
fn make_policy(path: &Path) -> Result<bool> {
    if files::exists(path)? {
        return Ok(false);
    }
    if let Some(directory) = path.parent() {
        files::create_private_dir(directory)?;
    }
    files::write_atomic(path, DEFAULT.as_bytes(), files::PRIVATE_FILE)?;
    Ok(true)
}
