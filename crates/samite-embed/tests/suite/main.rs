//! Embedders as the rest of samite uses them.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

#[cfg(feature = "builtin")]
mod builtin;
mod endpoint;
#[cfg(feature = "builtin")]
mod file;
mod server;

/// The cosine of the angle between two vectors.
#[cfg(feature = "builtin")]
fn cosine(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    let dot = |left: &[f32], right: &[f32]| -> f64 {
        left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right)).sum()
    };
    dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()
}
