//! Golden vectors.
use crate::common::seeded;
#[test]
fn placeholder() {
    let _ = seeded(1);
}
