//! SQLite's integers are signed.

/// A seq, size or count as stored.
pub(super) fn stored(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A limit as SQLite takes it.
pub(super) fn limit(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A stored seq, size or count.
pub(super) fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The length of bytes as stored.
pub(super) fn length(bytes: &[u8]) -> i64 {
    i64::try_from(bytes.len()).unwrap_or(i64::MAX)
}
