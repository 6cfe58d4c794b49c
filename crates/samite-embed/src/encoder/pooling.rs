//! One vector of many.

use super::run::Hidden;
use samite_model::memory::Pooling;

/// A vector for each text of a batch, of which so many tokens are its own and the rest is padding.
pub(super) fn pooled(hidden: &Hidden, lengths: impl Iterator<Item = usize>, pooling: Pooling) -> Vec<Vec<f32>> {
    let texts = hidden.numbers.chunks(hidden.tokens * hidden.dimensions);
    let pool = |(numbers, length): (&[f32], usize)| {
        let tokens = numbers.chunks_exact(hidden.dimensions);
        match pooling {
            Pooling::Cls => tokens.take(1).flatten().copied().collect(),
            Pooling::Mean | Pooling::Provider => mean(tokens.take(length), hidden.dimensions),
        }
    };
    texts.zip(lengths).map(pool).collect()
}

fn mean<'a>(tokens: impl Iterator<Item = &'a [f32]>, dimensions: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dimensions];
    let mut count = 0.0;
    for token in tokens {
        sum.iter_mut().zip(token).for_each(|(sum, number)| *sum += number);
        count += 1.0;
    }
    sum.into_iter().map(|number| number / count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_counts_for_nothing() {
        let numbers = vec![1.0, 2.0, 3.0, 6.0, 9.0, 9.0, 5.0, 7.0, 9.0, 9.0, 9.0, 9.0];
        let hidden = Hidden { tokens: 3, dimensions: 2, numbers };
        let pooled = |pooling| pooled(&hidden, [2, 1].into_iter(), pooling);
        assert_eq!(pooled(Pooling::Mean), [vec![2.0, 4.0], vec![5.0, 7.0]]);
        assert_eq!(pooled(Pooling::Cls), [vec![1.0, 2.0], vec![5.0, 7.0]]);
    }
}
