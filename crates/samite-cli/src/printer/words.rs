//! Times, sizes and counts in words.

use jiff::Timestamp;
use jiff::tz::TimeZone;

fn timestamp(nanoseconds: i64) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).ok()
}

/// A time (ns since 1970) for JSON: RFC 3339 in UTC, to the nanosecond.
pub(crate) fn rfc3339(nanoseconds: i64) -> String {
    timestamp(nanoseconds).map_or_else(|| nanoseconds.to_string(), |time| format!("{time:.9}"))
}

/// A time (ns since 1970) for a person, in the local time zone.
pub(crate) fn time(nanoseconds: i64) -> String {
    timestamp(nanoseconds).map_or_else(
        || nanoseconds.to_string(),
        |time| time.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// A day (ns since 1970) for a person, in the local time zone.
pub(crate) fn day(nanoseconds: i64) -> String {
    timestamp(nanoseconds).map_or_else(
        || nanoseconds.to_string(),
        |time| time.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d").to_string(),
    )
}

/// The first digits of an id, as a person is shown it.
pub(crate) fn short_id(id: &str) -> String {
    id.chars().take(12).collect()
}

/// A duration in nanoseconds.
pub(crate) fn duration(nanoseconds: u64) -> String {
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    match seconds {
        0 if rest < 1_000_000 => format!("{} µs", rest / 1000),
        0 => format!("{} ms", rest / 1_000_000),
        1..=59 => format!("{seconds}.{} s", rest / 100_000_000),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    let mut unit = 1u64;
    let mut names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].into_iter();
    let mut name = names.next().unwrap_or("B");
    for next in names {
        if count / unit < 1024 {
            break;
        }
        (unit, name) = (unit.saturating_mul(1024), next);
    }
    let (whole, tenth) = (count / unit, count % unit * 10 / unit);
    if unit == 1 || whole >= 100 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") }
}

/// A count of things: "1 step", "2 steps".
pub(crate) fn count(number: u64, one: &str) -> String {
    match (number, one.strip_suffix("ch").or_else(|| one.strip_suffix("sh"))) {
        (1, _) => format!("1 {one}"),
        (_, Some(_)) => format!("{number} {one}es"),
        (_, None) => match one.strip_suffix("ry") {
            Some(stem) => format!("{number} {stem}ries"),
            None if one == "leaf" => format!("{number} leaves"),
            None => format!("{number} {one}s"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_for_machines() {
        assert_eq!(rfc3339(1_764_442_800_000_000_001), "2025-11-29T19:00:00.000000001Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000000Z");
    }

    #[test]
    fn sizes_have_one_decimal_below_a_hundred() {
        let table = [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (150 << 20, "150 MiB")];
        for (count, expected) in table {
            assert_eq!(bytes(count), expected);
        }
        assert_eq!(bytes(u64::MAX), "16383 PiB");
    }

    #[test]
    fn durations_and_counts_read_well() {
        assert_eq!(duration(1_500_000), "1 ms");
        assert_eq!(duration(61_000_000_000), "1 min 1 s");
        assert_eq!(duration(1_250_000_000), "1.2 s");
        let counts =
            [(1, "branch", "1 branch"), (2, "branch", "2 branches"), (0, "entry", "0 entries"), (3, "step", "3 steps")];
        for (number, one, expected) in counts {
            assert_eq!(count(number, one), expected);
        }
    }
}
