//! `git push`: which ref of which remote it moves, and what tells later whether it did.

use samite_host::supervise::{Bounded, run_bounded};
use samite_model::step::Probe;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long git is asked for one thing; the agent waits meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// A push of one ref, as its words say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Push {
    /// The remote's name or URL; none means the branch's own.
    pub(super) remote: Option<String>,
    /// What is pushed; none means the branch that is checked out.
    pub(super) source: Option<String>,
    /// Where it goes; none means the ref of the same name.
    pub(super) target: Option<String>,
    /// Whether a commit is made before it, which is what it then pushes.
    pub(super) after_commit: bool,
}

impl Push {
    /// The push of a command's words; none when it is not of one ref, or its words are not known.
    pub(super) fn of(words: &[String]) -> Option<Self> {
        let mut named: Vec<&str> = Vec::new();
        for word in words.iter().skip(2) {
            match word.as_str() {
                "-q" | "--quiet" | "-v" | "--verbose" | "-u" | "--set-upstream" | "-f" | "--force"
                | "--force-with-lease" | "--no-verify" | "--progress" | "--no-progress" | "--porcelain"
                | "--atomic" | "--thin" | "-4" | "-6" => {}
                option if option.starts_with('-') => return None,
                name if name.contains('$') => return None,
                name => named.push(name),
            }
        }
        match named.as_slice() {
            [] => Some(Self::default()),
            [remote] => Some(Self { remote: Some((*remote).to_owned()), ..Self::default() }),
            [remote, refspec] => {
                let refspec = refspec.trim_start_matches('+');
                let (source, target) = match refspec.split_once(':') {
                    // Without a source, it deletes.
                    Some(("", _)) => return None,
                    Some((source, target)) => (source, Some(target.to_owned()).filter(|target| !target.is_empty())),
                    None => (refspec, None),
                };
                let whole = |name: &str| !name.is_empty() && !name.contains('*');
                (whole(source) && target.as_deref().is_none_or(whole)).then(|| Self {
                    remote: Some((*remote).to_owned()),
                    source: Some(source.to_owned()),
                    target,
                    after_commit: false,
                })
            }
            _ => None,
        }
    }

    /// The probe that tells whether it happened, and the resource that it touches; none when git does not say which ref
    /// that is. Asks git a few things, and nothing of the remote.
    pub(super) fn probe(&self, directory: &Path) -> Option<(Probe, String)> {
        let ask = |words: &[&str]| git(directory, words);
        let branch = || ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
        let source = match self.source.as_deref() {
            None | Some("HEAD" | "@") => None,
            Some(source) => Some(source.to_owned()),
        };
        let target = match (&self.target, &source) {
            (Some(target), _) => target.clone(),
            (None, Some(source)) => source.clone(),
            (None, None) => branch()?,
        };
        let own = || ask(&["config", "--get", &format!("branch.{}.remote", branch()?)]);
        let remote = self.remote.clone().or_else(own).unwrap_or_else(|| "origin".to_owned());
        let reference = if target.starts_with("refs/") {
            target.clone()
        } else if ask(&["rev-parse", "--quiet", "--verify", &format!("refs/tags/{target}")]).is_some()
            && ask(&["rev-parse", "--quiet", "--verify", &format!("refs/heads/{target}")]).is_none()
        {
            format!("refs/tags/{target}")
        } else {
            format!("refs/heads/{target}")
        };
        let pushed = format!("{}^{{commit}}", source.as_deref().unwrap_or("HEAD"));
        let expected =
            if self.after_commit { None } else { Some(ask(&["rev-parse", "--quiet", "--verify", &pushed])?) };
        // Where it was when it was last heard of. Should it have moved since, the look cannot tell, and asks.
        let before = reference
            .strip_prefix("refs/heads/")
            .and_then(|branch| ask(&["rev-parse", "--quiet", "--verify", &format!("refs/remotes/{remote}/{branch}")]));
        let short = reference.strip_prefix("refs/heads/").unwrap_or(&reference);
        let is_name = !remote.contains([':', '/']);
        let touched = if is_name { format!("git:{remote}/{short}") } else { format!("git:{remote}#{short}") };
        let touched = crate::syntax::parse_target(&touched, directory).ok()?;
        let probe = Probe::GitRef {
            repository: directory.to_str()?.to_owned(),
            remote: Some(remote),
            reference,
            before,
            expected,
        };
        Some((probe, touched))
    }
}

/// The first line of what git answers, when it answers.
fn git(directory: &Path, words: &[&str]) -> Option<String> {
    let mut argv: Vec<OsString> = vec!["git".into(), "-C".into(), directory.into()];
    argv.extend(words.iter().map(OsString::from));
    let outcome = run_bounded(&Bounded::new(&argv, PATIENCE)).ok()?;
    let answer = String::from_utf8(outcome.stdout).ok()?;
    (outcome.status == Some(0)).then(|| answer.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(text: &str) -> Option<Push> {
        Push::of(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_push_of_one_ref_is_told_from_its_words() {
        let of = |remote: Option<&str>, source: Option<&str>, target: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            Some(Push { remote: own(remote), source: own(source), target: own(target), after_commit: false })
        };
        for (text, right) in [
            ("git push", of(None, None, None)),
            ("git push -q", of(None, None, None)),
            ("git push origin", of(Some("origin"), None, None)),
            ("git push -q origin HEAD:main", of(Some("origin"), Some("HEAD"), Some("main"))),
            ("git push -u origin feature", of(Some("origin"), Some("feature"), None)),
            ("git push --force origin +a:b", of(Some("origin"), Some("a"), Some("b"))),
            ("git push --tags", None),
            ("git push --all origin", None),
            ("git push origin :gone", None),
            ("git push -d origin gone", None),
            ("git push origin a b", None),
            ("git push origin refs/heads/*:refs/heads/*", None),
            ("git push $REMOTE main", None),
        ] {
            assert_eq!(push(text), right, "{text}");
        }
    }
}
