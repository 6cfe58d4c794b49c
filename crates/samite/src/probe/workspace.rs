//! The workspace's tree: unchanged means that the step did nothing to it.

use super::{cannot_tell, evidence};
use samite_model::Result;
use samite_model::step::{Evidence, Verdict};

pub(super) fn look(changed: Option<&dyn Fn() -> Result<Vec<String>>>) -> Evidence {
    let Some(changed) = changed else { return cannot_tell("no workspace is attached") };
    match changed() {
        Ok(paths) if paths.is_empty() => evidence(Verdict::DidNot, "the workspace is as it was when the step started"),
        Ok(paths) => {
            let seen = format!("{} paths of the workspace differ from when the step started", paths.len());
            Evidence { verdict: Verdict::CannotTell, seen, paths }
        }
        Err(error) => cannot_tell(format!("the workspace cannot be compared: {error}")),
    }
}
