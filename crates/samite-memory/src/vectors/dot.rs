//! Dot products of whole numbers: the loop that every search spends its time in.
//!
//! The loop is plain Rust, compiled once for each set of vector instructions and once without; `rten-simd` looks at the processor and
//! takes the widest (AVX-512, AVX2, NEON). Sums of whole numbers are the same in any order, so which one it takes changes nothing.

use rten_simd::{Isa, SimdOp};

/// What [`rough`] adds up never leaves 32 bits as long as the query's components are at most so much: a row's are at most 128.
pub(super) fn largest(dimensions: usize) -> u16 {
    let most = i32::MAX.unsigned_abs() as usize / 128 / dimensions.max(1);
    u16::try_from(most).unwrap_or(u16::MAX).min(i16::MAX.unsigned_abs())
}

/// The dot products of rows, one after the other, with a query: as many as there is room for.
pub(super) fn rough(rows: &[i8], query: &[i16], dots: &mut [i32]) {
    Rough { rows, query, dots }.dispatch();
}

struct Rough<'a> {
    rows: &'a [i8],
    query: &'a [i16],
    dots: &'a mut [i32],
}

impl SimdOp for Rough<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for the instructions that were chosen")]
    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        plain(self.rows, self.query, self.dots);
    }
}

/// The same without choosing instructions.
#[expect(clippy::inline_always, reason = "only what is inlined is compiled for the instructions that were chosen")]
#[inline(always)]
fn plain(rows: &[i8], query: &[i16], dots: &mut [i32]) {
    for (row, dot) in rows.chunks_exact(query.len().max(1)).zip(dots) {
        let products = row.iter().zip(query).map(|(a, b)| i32::from(*a) * i32::from(*b));
        *dot = products.fold(0, i32::wrapping_add);
    }
}

/// The dot product of both bytes of a row with a query.
pub(super) fn whole(high: &[i8], low: &[i8], query: &[i16]) -> i64 {
    let row = high.iter().zip(low).map(|(high, low)| 256 * i64::from(*high) + i64::from(*low));
    row.zip(query).map(|(a, b)| a * i64::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_largest_sums_fit() {
        for dimensions in [1, 2, 384, 512, 513, 1536, 16_384] {
            let query = vec![i16::try_from(largest(dimensions)).unwrap(); dimensions];
            let mut dots = [0];
            rough(&vec![-128; dimensions], &query, &mut dots);
            let right = -128 * i64::from(largest(dimensions)) * i64::try_from(dimensions).unwrap();
            assert_eq!(i64::from(dots[0]), right);
        }
        assert_eq!((largest(1), largest(384), largest(512), largest(1536)), (32767, 32767, 32767, 10922));
    }

    #[test]
    fn both_bytes_count() {
        assert_eq!(whole(&[1, -1], &[2, 3], &[10, 1]), 258 * 10 - 253);
        assert_eq!(whole(&[-128; 3], &[-128; 3], &[-32767; 3]), 3 * 32896 * 32767);
    }

    proptest! {
        #[test]
        fn every_set_of_instructions_gives_the_same(
            dimensions in 1_usize..200,
            count in 0_usize..6,
            bytes in prop::collection::vec(any::<i8>(), 1200),
            words in prop::collection::vec(any::<i16>(), 200),
        ) {
            let (rows, query) = (&bytes[..count * dimensions], &words[..dimensions]);
            let (mut chosen, mut portable) = (vec![0; count], vec![0; count]);
            rough(rows, query, &mut chosen);
            plain(rows, query, &mut portable);
            let right: Vec<i64> = rows
                .chunks_exact(dimensions)
                .map(|row| row.iter().zip(query).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum())
                .collect();
            prop_assert_eq!(&chosen, &portable);
            prop_assert_eq!(chosen.iter().map(|dot| i64::from(*dot)).collect::<Vec<_>>(), right);
        }
    }
}
