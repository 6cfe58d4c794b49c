//! Vectors as whole numbers.

use samite_model::{Error, Result};

/// What the largest component of a row becomes: 127 in the high byte, and 0 in the low one.
pub(super) const LARGEST: u16 = 127 * 256;

/// Components of a vector as whole numbers, each to be multiplied by the scale.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub(super) whole: Vec<i16>,
    pub(super) scale: f64,
}

/// The largest component and the length of a vector.
///
/// # Errors
///
/// `vector_not_finite` (invalid) if a component is infinite or no number, `vector_zero` (invalid) if all are 0: such a vector
/// has no direction.
pub(super) fn measure(vector: &[f32]) -> Result<(f64, f64)> {
    if let Some(at) = vector.iter().position(|component| !component.is_finite()) {
        let what = format!("component {at} of the vector is not a finite number");
        return Err(Error::invalid("vector_not_finite", what).hint("look at what the model answered for this text"));
    }
    let largest = f64::from(vector.iter().fold(0.0_f32, |largest, component| largest.max(component.abs())));
    if largest == 0.0 {
        let what = "all components of the vector are 0, so that it has no direction";
        return Err(
            Error::invalid("vector_zero", what).hint("leave a text out of the vectors that the model has none for")
        );
    }
    // In order and in double precision: the same on every processor, and no square of a float overflows.
    let squares: f64 = vector.iter().map(|component| f64::from(*component) * f64::from(*component)).sum();
    Ok((largest, squares.sqrt()))
}

/// One component as a whole number.
#[expect(clippy::cast_possible_truncation, reason = "the factor takes the largest component to a number of 16 bits")]
pub(super) fn round(component: f32, factor: f64) -> i32 {
    let value = f64::from(component) * factor;
    (value + 0.5_f64.copysign(value)) as i32
}

/// The high and the low byte of a whole number: `whole = 256 * high + low`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "at most 127 by the largest number there is; -128 to 127 by what was taken away"
)]
pub(super) const fn split(whole: i32) -> (i8, i8) {
    let high = (whole + 128) >> 8;
    (high as i8, (whole - high * 256) as i8)
}

/// A vector, made one of length 1, in whole numbers of at most so much.
pub(super) fn fix(vector: &[f32], largest: u16) -> Result<Fixed> {
    let (longest, length) = measure(vector)?;
    let factor = f64::from(largest) / longest;
    let whole = vector.iter().map(|component| i16::try_from(round(*component, factor)).unwrap_or_default()).collect();
    Ok(Fixed { whole, scale: longest / length / f64::from(largest) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_split_so_that_the_high_byte_is_rounded() {
        assert_eq!(split(i32::from(LARGEST)), (127, 0));
        assert_eq!(split(-i32::from(LARGEST)), (-127, 0));
        assert_eq!(split(127), (0, 127));
        assert_eq!(split(128), (1, -128));
        assert_eq!(split(-128), (0, -128));
        assert_eq!(split(-129), (-1, 127));
        assert_eq!(split(0), (0, 0));
    }

    #[test]
    fn a_vector_is_made_one_of_length_1() {
        let fixed = fix(&[3.0, -4.0, 0.0], LARGEST).unwrap();
        assert_eq!(fixed.whole, [24384, -32512, 0]);
        assert!((fixed.scale - 0.8 / 32512.0).abs() < 1e-12);
        let tiny = fix(&[f32::from_bits(1), 0.0], 1000).unwrap();
        assert_eq!((tiny.whole, tiny.scale), (vec![1000, 0], 0.001));
        let huge = fix(&[f32::MAX, -f32::MAX], 1000).unwrap();
        assert_eq!(huge.whole, [1000, -1000]);
    }

    #[test]
    fn what_has_no_direction_is_refused() {
        let code = |vector: &[f32]| fix(vector, LARGEST).unwrap_err().code();
        assert_eq!(code(&[1.0, f32::NAN]), "vector_not_finite");
        assert_eq!(code(&[f32::NEG_INFINITY, 0.0]), "vector_not_finite");
        assert_eq!(code(&[0.0, -0.0]), "vector_zero");
        assert_eq!(code(&[]), "vector_zero");
    }

    proptest! {
        #[test]
        fn both_bytes_are_the_number(whole in -32512_i32..=32512) {
            let (high, low) = split(whole);
            prop_assert_eq!(256 * i32::from(high) + i32::from(low), whole);
            prop_assert!(high > -128);
        }

        #[test]
        fn components_are_off_by_half_a_unit_at_most(vector in prop::collection::vec(-1e3_f32..1e3, 1..40)) {
            prop_assume!(vector.iter().any(|component| *component != 0.0));
            let (_, length) = measure(&vector).unwrap();
            let fixed = fix(&vector, LARGEST).unwrap();
            for (whole, component) in fixed.whole.iter().zip(&vector) {
                let off = f64::from(*whole) * fixed.scale - f64::from(*component) / length;
                prop_assert!(off.abs() <= fixed.scale * 0.500_001);
            }
        }
    }
}
