//! What a person types for a session, a branch or a position: `SESSION[:BRANCH][@SEQ]`, ids by unique prefix, or whole names. Without an id, or
//! with `.`, the session is the one that worked in the current directory last.

use crate::surface::here;
use samite::Client;
use samite_model::{BranchId, Error, Position, Result, SessionId};
use std::fmt;
use std::str::FromStr;

/// A session, perhaps a branch of it, perhaps a position there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// None means the one that worked here last.
    session: Option<String>,
    branch: Option<String>,
    seq: Option<u64>,
}

/// A position, looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundPosition {
    /// The session.
    pub(crate) session: SessionId,
    /// The branch that was named, or the current one.
    pub(crate) branch: BranchId,
    /// The position: the seq that was named, or the branch's head.
    pub(crate) position: Position,
}

/// A reference, looked up. Without a branch it means the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The session.
    pub(crate) session: SessionId,
    /// The branch, when one was named.
    pub(crate) branch: Option<BranchId>,
    /// The seq, when one was named.
    pub(crate) seq: Option<u64>,
}

impl Found {
    /// The branch that was named, or the current one.
    ///
    /// # Errors
    /// As [`Client::current_branch`].
    pub(crate) async fn branch_or_current(&self, client: &Client) -> Result<BranchId> {
        match self.branch {
            Some(branch) => Ok(branch),
            None => client.current_branch(self.session).await,
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, seq) = match text.split_once('@') {
            Some((rest, seq)) => {
                let seq = seq.parse().map_err(|_| format!("{seq:?} after @ is not a position (a number)"))?;
                (rest, Some(seq))
            }
            None => (text, None),
        };
        let (session, branch) = match rest.split_once(':') {
            Some((session, branch)) => (session, Some(branch)),
            None => (rest, None),
        };
        let is_here = session == "." || (session.is_empty() && (branch.is_some() || seq.is_some()));
        for (what, id) in [("session", Some(session).filter(|_| !is_here)), ("branch", branch)] {
            let is_path = |id: &str| id == ".." || id.starts_with("./") || id.starts_with("../");
            if id.is_some_and(|id| {
                id.is_empty() || is_path(id) || id.contains([':', '@']) || id.contains(char::is_control)
            }) {
                return Err(format!(
                    "that is no {what}; write SESSION, SESSION@SEQ or SESSION:BRANCH@SEQ, by ids (`samite session list`, `samite \
                     branch list SESSION`) or names, with . for the session that worked here last"
                ));
            }
        }
        // A name is as it was given; an id is the same in upper case.
        let word = |text: &str| {
            let is_id = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_id && text.len() == 32 { text.to_ascii_lowercase() } else { text.to_owned() }
        };
        Ok(Self { session: (!is_here).then(|| word(session)), branch: branch.map(word), seq })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.session.is_some() || (self.branch.is_none() && self.seq.is_none()) {
            f.write_str(self.session())?;
        }
        if let Some(branch) = &self.branch {
            write!(f, ":{branch}")?;
        }
        self.seq.map_or(Ok(()), |seq| write!(f, "@{seq}"))
    }
}

impl Reference {
    /// The session as it is written.
    fn session(&self) -> &str {
        self.session.as_deref().unwrap_or(".")
    }

    /// The position that it names.
    pub(crate) const fn seq(&self) -> Option<u64> {
        self.seq
    }

    /// Looks it up.
    ///
    /// # Errors
    /// `not_found` when nothing has these ids, or no session worked here (`no_session_here`); `invalid`
    /// (`ambiguous_prefix`) when several have.
    pub(crate) async fn find(&self, client: &Client) -> Result<Found> {
        let (session, works_here) = match &self.session {
            Some(session) => (client.find_session(session).await?, None),
            None => client.session_here(&here()?).await?,
        };
        let branch = match &self.branch {
            Some(branch) => Some(client.find_branch(session, branch).await?),
            None => works_here,
        };
        Ok(Found { session, branch, seq: self.seq })
    }

    /// Looks up a session where neither a branch nor a position is meant.
    ///
    /// # Errors
    /// As [`Reference::find`], and `invalid` when a branch or position is named.
    pub(crate) async fn find_session(&self, client: &Client) -> Result<SessionId> {
        if self.branch.is_some() {
            let error = Error::invalid("no_branch_meant", format!("{self} names a branch, and none is meant here"));
            return Err(error.hint(format!("write {}", self.session())));
        }
        self.find_branch(client).await.map(|found| found.session)
    }

    /// Looks up a session or branch where no position is meant.
    ///
    /// # Errors
    /// As [`Reference::find`], and `invalid` when a position is named.
    pub(crate) async fn find_branch(&self, client: &Client) -> Result<Found> {
        if self.seq.is_some() {
            let error = Error::invalid("no_position_meant", format!("{self} names a position, and none is meant here"));
            let branch = self.branch.as_ref().map_or_else(String::new, |branch| format!(":{branch}"));
            return Err(error.hint(format!("write {}{branch}", self.session())));
        }
        self.find(client).await
    }

    /// Looks up a position; without a seq it is the branch's head.
    ///
    /// # Errors
    /// As [`Reference::find`], and `not_found` when the branch does not reach so far.
    pub(crate) async fn find_position(&self, client: &Client) -> Result<FoundPosition> {
        let found = self.find(client).await?;
        let branch = found.branch_or_current(client).await?;
        let position = match found.seq {
            Some(seq) => client.position(found.session, branch, seq).await?,
            None => client.head(found.session, branch).await?,
        };
        Ok(FoundPosition { session: found.session, branch, position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read_and_written() {
        for text in ["ab", "ab@12", "ab:cd", "ab:cd@0", ".", "@12", ":cd", ":cd@0"] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        for (text, right) in [(".@7", "@7"), (".:cd", ":cd")] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), right);
        }
        for text in ["fix the greeting", "codex 01a22870:second try@7", "a/b", "ü"] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_says_what_to_write() {
        for text in ["", "ab@", "ab@-1", "ab@x", "ab:", ":", "@", "ab:c:d", "..", "./x", "../x", "ab@1@2", "a\nb"] {
            assert!(text.parse::<Reference>().is_err(), "{text:?}");
        }
        let said = "..".parse::<Reference>().unwrap_err();
        assert!(said.contains("samite session list") && said.contains("samite branch list"), "{said}");
    }
}
