//! Which grants stand. What somebody gave who is not the owner holds as long as what allowed them to give it, and no longer.

use super::grant::Grant;
use super::rights::{Right, Rights};
use crate::principal::{Owner, Principal};
use std::collections::BTreeSet;

/// The rights that a grant can give.
const RIGHTS: [Right; 5] = [Right::Read, Right::Append, Right::Fork, Right::Publish, Right::Manage];

/// When a right that a grant gives ends, in nanoseconds since 1970, in the order of [`RIGHTS`].
type Ends = [i64; RIGHTS.len()];

/// Nothing was ever allowed.
const NEVER: i64 = i64::MIN;
/// Allowed until it is revoked.
const FOR_EVER: i64 = i64::MAX;

/// The grants on one thing, each with how long what it gives holds: as long as the grant itself, and, where its giver was not
/// the owner, as long as others let that giver manage it and do the same. A grant supports neither itself nor what it rests on.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    grants: &'a [Grant],
    ends: Vec<Ends>,
}

impl<'a> Standing<'a> {
    /// Works out what stands of the grants on something of this owner.
    pub fn of(owner: &Owner, grants: &'a [Grant]) -> Self {
        let first = |grant: &Grant| if grant.rests_on_none(owner) { own_ends(grant) } else { [NEVER; RIGHTS.len()] };
        let mut standing = Self { grants, ends: grants.iter().map(first).collect() };
        // Each round lets in what rests on what the last one let in. Ends only grow, towards times that grants name.
        loop {
            let rest = grants.iter().zip(&standing.ends);
            let ends: Vec<Ends> = rest
                .map(|(grant, now)| if grant.rests_on_none(owner) { *now } else { standing.supported(grant) })
                .collect();
            if ends == standing.ends {
                return standing;
            }
            standing.ends = ends;
        }
    }

    /// How long what a grant gives is supported by what its giver may.
    fn supported(&self, grant: &Grant) -> Ends {
        let manages = self.end(&grant.by, Right::Manage);
        let mut ends = own_ends(grant);
        for (right, end) in RIGHTS.into_iter().zip(&mut ends) {
            *end = (*end).min(manages).min(self.end(&grant.by, right));
        }
        ends
    }

    fn end(&self, principal: &Principal, right: Right) -> i64 {
        let own = self.grants.iter().zip(&self.ends).filter(|(grant, _)| grant.to.names(principal));
        own.map(|(_, ends)| of(ends, right)).max().unwrap_or(NEVER)
    }

    /// Until when grants allow a principal this, in nanoseconds since 1970 ([`i64::MAX`]: until one is revoked); none where none does
    /// at `now`.
    pub fn until(&self, principal: &Principal, right: Right, now: i64) -> Option<i64> {
        Some(self.end(principal, right)).filter(|end| now < *end)
    }

    /// Whether the grant in this place gives this right at `now`.
    pub fn gives(&self, place: usize, right: Right, now: i64) -> bool {
        self.ends.get(place).is_some_and(|ends| now < of(ends, right))
    }

    /// The places of those of which something does not hold as long as it was to: their givers' own rights were taken back, or are
    /// for a shorter time now.
    fn short(&self) -> Vec<usize> {
        let all = self.grants.iter().zip(&self.ends).enumerate();
        all.filter(|(_, (grant, ends))| **ends != own_ends(grant)).map(|(place, _)| place).collect()
    }
}

/// The places of the grants on something of this owner that are to end: those of which something does not hold as long as it was
/// to, since what their givers had was taken back or is for a shorter time, and those that then rest on them.
pub fn fallen(owner: &Owner, grants: &[Grant]) -> Vec<usize> {
    let mut stand: Vec<(usize, Grant)> = grants.iter().cloned().enumerate().collect();
    let mut fallen = Vec::new();
    loop {
        let left: Vec<Grant> = stand.iter().map(|(_, grant)| grant.clone()).collect();
        let short: BTreeSet<usize> = Standing::of(owner, &left).short().into_iter().collect();
        if short.is_empty() {
            fallen.sort_unstable();
            return fallen;
        }
        let (gone, rest): (Vec<_>, Vec<_>) =
            stand.into_iter().enumerate().partition(|(place, _)| short.contains(place));
        fallen.extend(gone.into_iter().map(|(_, (place, _))| place));
        stand = rest.into_iter().map(|(_, one)| one).collect();
    }
}

/// How long a grant is to hold.
fn own_ends(grant: &Grant) -> Ends {
    let rights = grant.rights.and(Rights::GRANTABLE);
    RIGHTS.map(|right| if rights.has(right) { grant.until.unwrap_or(FOR_EVER) } else { NEVER })
}

fn of(ends: &Ends, right: Right) -> i64 {
    RIGHTS.into_iter().zip(ends).find(|(one, _)| *one == right).map_or(NEVER, |(_, end)| *end)
}
