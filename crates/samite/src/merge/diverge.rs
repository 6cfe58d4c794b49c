//! What two branches did outside since they parted: effects are never merged, and where both touched one thing, somebody has to
//! look.

use crate::branch::LeftBehind;
use crate::client::Client;
use crate::step::StepRecord;
use samite_model::{BranchId, Error, Position, Result, SessionId};
use std::collections::BTreeMap;

/// One thing outside that both branches touched.
#[derive(Clone, Debug)]
pub struct SharedResource {
    /// What both name.
    pub resource: String,
    /// The steps of the first branch.
    pub first: Vec<StepRecord>,
    /// The steps of the second.
    pub second: Vec<StepRecord>,
}

/// What two branches did outside since they parted.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The last position that both have; none when they share no entry.
    pub parted_at: Option<Position>,
    /// What both touched, in the order of names.
    pub shared: Vec<SharedResource>,
    /// Steps of the first branch that may have touched anything, and so what the second touched.
    pub first_anything: Vec<StepRecord>,
    /// Those of the second.
    pub second_anything: Vec<StepRecord>,
}

/// The steps of a branch by what they touched, and those that may have touched anything.
fn by_resource(left: Vec<LeftBehind>) -> (BTreeMap<String, Vec<StepRecord>>, Vec<StepRecord>) {
    let (mut named, mut anything) = (BTreeMap::<String, Vec<StepRecord>>::new(), Vec::new());
    for LeftBehind { step, touches } in left {
        if touches.is_empty() {
            anything.push(step);
            continue;
        }
        for touch in touches {
            named.entry(touch).or_default().push(step.clone());
        }
    }
    (named, anything)
}

impl Client {
    /// Where two branches of a session touched the same thing outside since they parted. Each key counts once, with its last
    /// try that may have done anything.
    ///
    /// # Errors
    /// `not_found` for an unknown branch; `invalid` (`same_branch`) when it is twice the same.
    pub async fn diverge(&self, session: SessionId, first: BranchId, second: BranchId) -> Result<Divergence> {
        if first == second {
            let message = format!("branch {} does not part from itself", first.short());
            return Err(Error::invalid("same_branch", message).hint("name two branches of the session"));
        }
        let (one, other) = (self.head(session, first).await?, self.head(session, second).await?);
        let (lines, others) = (self.core.ancestry(one).await?, self.core.ancestry(other).await?);
        let shared = lines.iter().zip(&others).take_while(|(one, other)| one.journal == other.journal).last();
        let parted_at = shared.map(|(one, other)| Position { journal: one.journal, seq: one.to.min(other.to) });
        let seq = parted_at.map_or(0, |at| at.seq);
        let (mut ones, first_anything) = by_resource(self.left_behind(one, seq).await?);
        let (others, second_anything) = by_resource(self.left_behind(other, seq).await?);
        let shared = others
            .into_iter()
            .filter_map(|(resource, second)| {
                let first = ones.remove(&resource)?;
                Some(SharedResource { resource, first, second })
            })
            .collect();
        Ok(Divergence { parted_at, shared, first_anything, second_anything })
    }
}
