//! The squared Euclidean distance `Σ(x_j − y_j)²` in double precision, in eight lanes: every build gives the same bits, because
//! none uses fused multiply-add.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::simd::{Kernel, dispatch};

/// The squared distance `Σ(x_j − y_j)²` of two rows.
pub fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    squared_distances(x, [y])[0]
}

/// [`squared_distance`] from one row to `N` others, interleaved to hide memory latency.
pub fn squared_distances<const N: usize>(x: &[f64], ys: [&[f64]; N]) -> [f64; N] {
    dispatch(SquaredDistances(x, ys))
}

struct SquaredDistances<'a, const N: usize>(&'a [f64], [&'a [f64]; N]);

impl<const N: usize> Kernel for SquaredDistances<'_, N> {
    type Output = [f64; N];

    #[inline(always)]
    fn call<const FMA: bool>(self) -> [f64; N] {
        let (x, x_rest) = self.0.as_chunks::<8>();
        let mut sums = [[0f64; 8]; N];
        let chunks = self.1.map(|y| &y.as_chunks::<8>().0[..x.len()]);
        for (j, x) in x.iter().enumerate() {
            for (sums, y) in sums.iter_mut().zip(&chunks) {
                for ((sum, x), y) in sums.iter_mut().zip(x).zip(&y[j]) {
                    *sum += (x - y) * (x - y);
                }
            }
        }
        let mut distances = [0.0; N];
        for ((distance, s), y) in distances.iter_mut().zip(&sums).zip(self.1) {
            let rest: f64 = x_rest.iter().zip(y.as_chunks::<8>().1).map(|(x, y)| (x - y) * (x - y)).sum();
            *distance = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + rest;
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn every_build_of_the_distance_gives_the_same_bits() {
        let mut random = Random::new(1, 0);
        let mut numbers = |n: usize| (0..n).map(|_| random.uniform() - 0.5).collect::<Vec<f64>>();
        for d in [0, 1, 7, 8, 9, 64, 131] {
            let (x, y, z) = (numbers(d), numbers(d), numbers(d));
            let together = squared_distances(&x, [&y, &z, &x]);
            assert_eq!(together, [squared_distance(&x, &y), squared_distance(&x, &z), 0.0]);
            assert_eq!(
                squared_distance(&x, &y).to_bits(),
                SquaredDistances(&x, [&y]).call::<false>()[0].to_bits()
            );
            let plain: f64 = x.iter().zip(&y).map(|(x, y)| (x - y).powi(2)).sum();
            assert!((squared_distance(&x, &y) - plain).abs() <= d as f64 * f64::EPSILON * plain);
        }
    }
}
