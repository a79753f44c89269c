//! Products of a matrix with a vector, four columns at a time: the vector passes through the registers once for all four.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::linalg::column;
use crate::simd::{Work, run};
use faer::MatRef;

/// Columns that pass through the registers together.
const TOGETHER: usize = 4;

/// `y −= M·x`
pub(crate) fn subtract_product(y: &mut [f64], m: MatRef<'_, f64>, x: &[f64]) {
    run(Subtract { y, m, x });
}

/// `y = Mᵀ·x`
pub(crate) fn transposed_product(m: MatRef<'_, f64>, x: &[f64], y: &mut [f64]) {
    run(Transposed { m, x, y });
}

/// `M·diag(weight)·Mᵀ·x`, reading each column of `M` once, from row `from(k)` on: above it, and in the columns after it,
/// it is 0.
pub(crate) fn outer_times(
    m: MatRef<'_, f64>,
    from: impl Fn(usize) -> usize,
    weight: impl Fn(usize) -> f64,
    x: &[f64],
) -> Vec<f64> {
    run(OuterTimes { m, from, weight, x })
}

struct Subtract<'a> {
    y: &'a mut [f64],
    m: MatRef<'a, f64>,
    x: &'a [f64],
}

impl Work for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let Self { y, m, x } = self;
        let (fours, rest) = x.as_chunks::<TOGETHER>();
        for (k, x) in fours.iter().enumerate() {
            add::<TOGETHER, FUSED>(y, std::array::from_fn(|c| column(m, TOGETHER * k + c)), x.map(|x| -x));
        }
        for (k, x) in (TOGETHER * fours.len()..).zip(rest) {
            add::<1, FUSED>(y, [column(m, k)], [-x]);
        }
    }
}

struct Transposed<'a> {
    m: MatRef<'a, f64>,
    x: &'a [f64],
    y: &'a mut [f64],
}

impl Work for Transposed<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let Self { m, x, y } = self;
        let (fours, rest) = y.as_chunks_mut::<TOGETHER>();
        let last = TOGETHER * fours.len();
        for (k, y) in fours.iter_mut().enumerate() {
            *y = dots::<TOGETHER, FUSED>(std::array::from_fn(|c| column(m, TOGETHER * k + c)), x);
        }
        for (k, y) in (last..).zip(rest) {
            [*y] = dots::<1, FUSED>([column(m, k)], x);
        }
    }
}

struct OuterTimes<'a, F, W> {
    m: MatRef<'a, f64>,
    from: F,
    weight: W,
    x: &'a [f64],
}

impl<F: Fn(usize) -> usize, W: Fn(usize) -> f64> Work for OuterTimes<'_, F, W> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Vec<f64> {
        let mut y = vec![0.0; self.m.nrows()];
        let fours = self.m.ncols() / TOGETHER * TOGETHER;
        for k in (0..fours).step_by(TOGETHER) {
            self.add_to::<TOGETHER, FUSED>(&mut y, k);
        }
        for k in fours..self.m.ncols() {
            self.add_to::<1, FUSED>(&mut y, k);
        }
        y
    }
}

impl<F: Fn(usize) -> usize, W: Fn(usize) -> f64> OuterTimes<'_, F, W> {
    /// The part of the columns `k..k + N`.
    #[inline(always)]
    fn add_to<const N: usize, const FUSED: bool>(&self, y: &mut [f64], k: usize) {
        let from = (self.from)(k);
        let columns: [&[f64]; N] = std::array::from_fn(|c| &column(self.m, k + c)[from..]);
        let mut along = dots::<N, FUSED>(columns, &self.x[from..]);
        for (k, along) in (k..).zip(&mut along) {
            *along *= (self.weight)(k);
        }
        add::<N, FUSED>(&mut y[from..], columns, along);
    }
}

/// `y += Σ x·column`
#[inline(always)]
fn add<const N: usize, const FUSED: bool>(y: &mut [f64], columns: [&[f64]; N], x: [f64; N]) {
    let columns = columns.map(|column| &column[..y.len()]);
    for i in 0..y.len() {
        let mut sum = y[i];
        for c in 0..N {
            sum = if FUSED { columns[c][i].mul_add(x[c], sum) } else { sum + columns[c][i] * x[c] };
        }
        y[i] = sum;
    }
}

/// The products of some columns with x, by eight partial sums each, which need not wait for each other.
#[inline(always)]
fn dots<const N: usize, const FUSED: bool>(columns: [&[f64]; N], x: &[f64]) -> [f64; N] {
    let (eights, rest) = x.as_chunks::<8>();
    let parts = columns.map(|column| column[..x.len()].as_chunks::<8>());
    let mut sums = [[0f64; 8]; N];
    for (i, x) in eights.iter().enumerate() {
        for c in 0..N {
            let column = &parts[c].0[i];
            for l in 0..8 {
                sums[c][l] =
                    if FUSED { column[l].mul_add(x[l], sums[c][l]) } else { sums[c][l] + column[l] * x[l] };
            }
        }
    }
    let mut totals = [0f64; N];
    for c in 0..N {
        for l in 0..4 {
            totals[c] += sums[c][l] + sums[c][4 + l];
        }
        for (column, x) in parts[c].1.iter().zip(rest) {
            totals[c] += column * x;
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use faer::Mat;

    #[test]
    fn every_build_computes_the_plain_products() {
        let mut random = Random::new(5, 0);
        for (rows, columns) in [(1, 1), (3, 2), (8, 4), (19, 7), (40, 12), (5, 0)] {
            let m = Mat::from_fn(rows, columns, |_, _| random.uniform() - 0.5);
            let mut numbers = |n: usize| -> Vec<f64> { (0..n).map(|_| random.uniform() - 0.5).collect() };
            let (x, y, weights) = (numbers(columns), numbers(rows), numbers(columns));
            let times = |x: &[f64], i: usize| (0..columns).map(|k| m[(i, k)] * x[k]).sum::<f64>();
            let along = |k: usize| (0..rows).map(|i| m[(i, k)] * y[i]).sum::<f64>();
            let close = |what: &str, seen: &[f64], plain: &dyn Fn(usize) -> f64| {
                for (i, seen) in seen.iter().enumerate() {
                    assert!((seen - plain(i)).abs() < 1e-14, "{what} of {rows} × {columns}, {i}: {seen}");
                }
            };
            let mut left = y.clone();
            subtract_product(&mut left, m.as_ref(), &x);
            Subtract { y: &mut left, m: m.as_ref(), x: &x }.call::<false>();
            close("difference", &left, &|i| y[i] - 2.0 * times(&x, i));
            let mut products = vec![f64::NAN; columns];
            transposed_product(m.as_ref(), &y, &mut products);
            close("product", &products, &along);
            products.fill(f64::NAN);
            Transposed { m: m.as_ref(), x: &y, y: &mut products }.call::<false>();
            close("portable product", &products, &along);
            let weighted: Vec<f64> = (0..columns).map(|k| weights[k] * along(k)).collect();
            let outer = OuterTimes { m: m.as_ref(), from: |_| 0, weight: |k| weights[k], x: &y };
            close("portable outer product", &outer.call::<false>(), &|i| times(&weighted, i));
            let outer = outer_times(m.as_ref(), |_| 0, |k| weights[k], &y);
            close("outer product", &outer, &|i| times(&weighted, i));
        }
    }

    #[test]
    fn a_lower_triangle_is_read_from_its_diagonal_on() {
        let mut random = Random::new(6, 0);
        let l = Mat::from_fn(11, 11, |i, j| if i < j { 0.0 } else { random.uniform() });
        let x: Vec<f64> = (0..11).map(|_| random.uniform()).collect();
        let (all, below) =
            (outer_times(l.as_ref(), |_| 0, |_| 1.0, &x), outer_times(l.as_ref(), |k| k, |_| 1.0, &x));
        assert!(all.iter().zip(&below).all(|(a, b)| (a - b).abs() < 1e-14));
    }
}
