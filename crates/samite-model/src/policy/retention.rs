//! How long kinds of things are kept before they are due for erasure.

use crate::error::{Error, Result};

/// A day in nanoseconds.
const DAY: i64 = 24 * 3600 * 1_000_000_000;

/// The audit log is kept at least so many days.
pub const AUDIT_FLOOR: u32 = 183;

/// What has a retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Retained {
    /// Sessions, from the last entry of any of their branches.
    Session,
    /// Artifacts, from their publication, where nothing was decided for them or their type.
    Artifact,
    /// The audit log.
    Audit,
    /// Records of long-term memory, from when they were last said, or something that was made of them was.
    Memory,
}

impl Retained {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Session, Self::Artifact, Self::Audit, Self::Memory];

    /// The name in commands, entries and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Artifact => "artifact",
            Self::Audit => "audit",
            Self::Memory => "memory",
        }
    }

    /// The kind of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The stored code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Session => 1,
            Self::Artifact => 2,
            Self::Audit => 3,
            Self::Memory => 4,
        }
    }

    /// Refuses a retention that is too short for what it is of.
    ///
    /// # Errors
    /// `invalid` (`below_floor`) for an audit log that is kept for less than 183 days.
    pub fn check(self, days: u32) -> Result<()> {
        if self == Self::Audit && days < AUDIT_FLOOR {
            return Err(Error::invalid("below_floor", format!("the audit log is kept at least {AUDIT_FLOOR} days"))
                .hint(format!("{AUDIT_FLOOR}d is the least")));
        }
        Ok(())
    }
}

/// The days of a duration as a person writes it: `400d`, `8w`, `7y`. A year has 366 days, so that nothing goes too early.
///
/// # Errors
/// `invalid` (`bad_retention`).
pub fn days(text: &str) -> Result<u32> {
    let bad = || {
        Error::invalid("bad_retention", format!("{text:?} is no duration"))
            .hint("write days, weeks or years: 400d, 8w, 7y")
    };
    let unit = match text.bytes().last() {
        Some(b'd') => 1,
        Some(b'w') => 7,
        Some(b'y') => 366,
        _ => return Err(bad()),
    };
    let number = text.get(..text.len() - 1).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    number.and_then(|number| number.parse::<u32>().ok()?.checked_mul(unit)).ok_or_else(bad)
}

/// Whether something that was last touched at a time (ns since 1970) is due by another.
pub const fn is_due(since: i64, days: u32, now: i64) -> bool {
    since.saturating_add((days as i64).saturating_mul(DAY)) <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_days_weeks_and_years() {
        for (text, expected) in [("0d", 0), ("400d", 400), ("8w", 56), ("7y", 2562)] {
            assert_eq!(days(text).unwrap(), expected, "{text}");
        }
        for bad in ["", "d", "7", "7m", "-1d", "+1d", "1.5y", "99999999999d", "4294967295y", "7é", "y7"] {
            assert_eq!(days(bad).unwrap_err().code(), "bad_retention", "{bad}");
        }
    }

    #[test]
    fn the_audit_log_has_a_floor() {
        Retained::Audit.check(183).unwrap();
        assert_eq!(Retained::Audit.check(182).unwrap_err().code(), "below_floor");
        Retained::Session.check(0).unwrap();
        for kind in Retained::ALL {
            assert_eq!(Retained::from_name(kind.name()), Some(kind));
        }
    }

    #[test]
    fn things_are_due_when_their_days_are_over() {
        assert!(is_due(5, 0, 5) && !is_due(6, 0, 5));
        assert!(is_due(0, 2, 2 * DAY) && !is_due(0, 2, 2 * DAY - 1));
        assert!(!is_due(i64::MAX, u32::MAX, i64::MAX - 1));
    }
}
