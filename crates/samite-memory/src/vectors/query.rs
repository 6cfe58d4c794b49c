//! What is searched for.

use super::dot::largest;
use super::fixed::{Fixed, LARGEST, fix};
use super::{check_dimensions, dot};
use samite_model::Result;

/// The vector of what is searched for, made one of length 1.
#[derive(Clone, Debug)]
pub struct Query {
    /// As precise as the sums of the scan allow.
    rough: Fixed,
    /// As precise as 16 bits are.
    precise: Fixed,
    /// What a rough sum is multiplied by, beside the row's scale.
    factor: f32,
    /// How far the exact score of a row can be from its rough one, beside the row's scale.
    slack: f32,
}

impl Query {
    /// A query of the text's vector.
    ///
    /// # Errors
    ///
    /// `vector_dimensions`, `vector_not_finite` or `vector_zero` (invalid).
    #[expect(clippy::cast_possible_truncation, reason = "the slack covers what a float of 32 bits is off")]
    pub fn new(vector: &[f32]) -> Result<Self> {
        check_dimensions(vector.len())?;
        let rough = fix(vector, largest(vector.len()))?;
        let precise = fix(vector, i16::MAX.unsigned_abs())?;
        let value = |fixed: &Fixed, whole: i16| f64::from(whole) * fixed.scale;
        let (mut sum, mut off) = (0.0, 0.0);
        for (whole, coarse) in precise.whole.iter().zip(&rough.whole) {
            sum += value(&precise, *whole).abs();
            off += (value(&precise, *whole) - value(&rough, *coarse)).abs();
        }
        // The low byte is at most 128, the high one 128 times 256; a hundredth more is far beyond what floats are off here.
        let slack = (128.0 * sum + 32768.0 * off) * 1.01;
        Ok(Self { factor: (256.0 * rough.scale) as f32, slack: slack as f32, rough, precise })
    }

    /// How many dimensions the vector has.
    pub fn dimensions(&self) -> usize {
        self.precise.whole.len()
    }

    /// The sums of the scan of rows, one after the other: as many as there is room for.
    pub(super) fn rough(&self, high: &[i8], dots: &mut [i32]) {
        dot::rough(high, &self.rough.whole, dots);
    }

    /// The rough score of a row.
    #[expect(clippy::cast_precision_loss, reason = "the slack covers what a float of 32 bits is off")]
    pub(super) fn score(&self, dot: i32, scale: f32) -> f32 {
        self.factor * dot as f32 * scale
    }

    /// What the exact score of a row is between.
    #[expect(clippy::cast_precision_loss, reason = "the slack covers what a float of 32 bits is off")]
    pub(super) fn between(&self, dot: i32, scale: f32) -> (f32, f32) {
        let sum = self.factor * dot as f32;
        ((sum - self.slack) * scale, (sum + self.slack) * scale)
    }

    /// The exact score of a row.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "sums are below 2^45; a score is a float of 32 bits"
    )]
    pub(super) fn exact(&self, high: &[i8], low: &[i8], scale: f32) -> f32 {
        (dot::whole(high, low, &self.precise.whole) as f64 * self.precise.scale * f64::from(scale)) as f32
    }
}

/// The largest scale that a row can have.
#[expect(clippy::cast_possible_truncation, reason = "rounded as a row's own scale is")]
pub(super) fn largest_scale() -> f32 {
    (1.0 / f64::from(LARGEST)) as f32
}
