//! How long an artifact is kept: what was decided for it, else for its type, else for ever.

const DAY: i64 = 24 * 3600 * 1_000_000_000;

/// What was decided, for one artifact or for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Keep it for ever.
    Forever,
    /// Keep it up to so many days after it was published. For one artifact the days are counted from the decision.
    Days(u32),
    /// Keep it up to this time, in nanoseconds since 1970.
    Until(i64),
}

impl Retention {
    /// The decision with its time made absolute: days are counted from `from` (ns since 1970).
    #[must_use]
    pub fn since(self, from: i64) -> Self {
        match self {
            Self::Days(days) => Self::Until(from.saturating_add(i64::from(days).saturating_mul(DAY))),
            other => other,
        }
    }

    /// The stored bytes: `00` for ever; `01` ‖ days (4 bytes); `02` ‖ time (8 bytes).
    pub fn encode(self) -> Vec<u8> {
        match self {
            Self::Forever => vec![0],
            Self::Days(days) => [&[1][..], &days.to_be_bytes()].concat(),
            Self::Until(time) => [&[2][..], &time.to_be_bytes()].concat(),
        }
    }

    /// Reads stored bytes; none when they are no decision.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(Self::Forever),
            [1, days @ ..] => days.try_into().ok().map(|days| Self::Days(u32::from_be_bytes(days))),
            [2, time @ ..] => time.try_into().ok().map(|time| Self::Until(i64::from_be_bytes(time))),
            _ => None,
        }
    }
}

/// How long an artifact is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// For ever, because somebody said so.
    Forever,
    /// Up to this time, in nanoseconds since 1970.
    Until(i64),
    /// For ever, because nobody said anything.
    NoPolicy,
}

impl Kept {
    /// Whether its time is over.
    pub fn is_over(self, now: i64) -> bool {
        matches!(self, Self::Until(time) if time <= now)
    }
}

/// How long an artifact that was `published` then (ns since 1970) is kept: its own decision counts before its type's.
pub fn kept(own: Option<Retention>, of_type: Option<Retention>, published: i64) -> Kept {
    match own.or(of_type).map(|retention| retention.since(published)) {
        None => Kept::NoPolicy,
        Some(Retention::Until(time)) => Kept::Until(time),
        Some(_) => Kept::Forever,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_decision_counts_before_the_types_and_nothing_goes_without_one() {
        use Retention::{Days, Forever, Until};
        let table = [
            (None, None, Kept::NoPolicy),
            (None, Some(Days(2)), Kept::Until(5 + 2 * DAY)),
            (None, Some(Forever), Kept::Forever),
            (Some(Forever), Some(Days(2)), Kept::Forever),
            (Some(Until(9)), Some(Forever), Kept::Until(9)),
            (Some(Days(0)), None, Kept::Until(5)),
            (None, Some(Days(u32::MAX)), Kept::Until(5_i64.saturating_add(i64::from(u32::MAX).saturating_mul(DAY)))),
        ];
        for (own, of_type, expected) in table {
            assert_eq!(kept(own, of_type, 5), expected, "{own:?} {of_type:?}");
        }
    }

    #[test]
    fn time_is_over_when_it_has_come() {
        assert!(!Kept::NoPolicy.is_over(i64::MAX));
        assert!(!Kept::Forever.is_over(i64::MAX));
        assert!(!Kept::Until(10).is_over(9));
        assert!(Kept::Until(10).is_over(10));
    }

    #[test]
    fn decisions_are_stored_as_written_down() {
        let table: [(Retention, &[u8]); 3] = [
            (Retention::Forever, &[0]),
            (Retention::Days(258), &[1, 0, 0, 1, 2]),
            (Retention::Until(-1), &[2, 255, 255, 255, 255, 255, 255, 255, 255]),
        ];
        for (retention, bytes) in table {
            assert_eq!(retention.encode(), bytes);
            assert_eq!(Retention::decode(bytes), Some(retention));
        }
        for bad in [&[][..], &[3], &[0, 0], &[1, 0], &[2, 0, 0]] {
            assert_eq!(Retention::decode(bad), None, "{bad:?}");
        }
    }
}
