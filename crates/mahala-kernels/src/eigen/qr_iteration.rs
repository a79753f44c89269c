//! Implicit QR iteration with Wilkinson's shift, for small symmetric matrices (Golub and Van Loan, Sec. 8.3).
//!
//! Unblocked Householder tridiagonalisation, then Givens rotations, all in arrays that stay in L1. Columns are `HEIGHT` long
//! whatever the order, padded with zeros, so that loops run over whole registers.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::order::descending;
use crate::simd::{Kernel, dispatch};
use faer::MatRef;
use std::ops::Range;

/// The largest order; above it divide and conquer is faster.
pub const MAX_ORDER: usize = 32;
const HEIGHT: usize = MAX_ORDER;
/// Doubles in one AVX2 register.
const LANES: usize = 4;
const EPSILON: f64 = f64::EPSILON / 2.0;
/// The limit of QR sweeps for each eigenvalue; two are usual.
const MAX_SWEEPS: usize = 60;

/// Columns of a small matrix.
pub type Columns = [[f64; HEIGHT]; MAX_ORDER];

/// The identity, from which rotations accumulate the eigenvectors.
pub fn identity() -> Columns {
    let mut columns = [[0.0; HEIGHT]; MAX_ORDER];
    columns.iter_mut().enumerate().for_each(|(i, column)| column[i] = 1.0);
    columns
}

/// The eigenvalues, unsorted, of a symmetric matrix, of which the lower triangle is read; `q`, the identity on entry, becomes
/// the eigenvectors. `None` if the iteration does not converge.
pub fn eigen(matrix: MatRef<'_, f64>, q: &mut Columns) -> Option<Vec<f64>> {
    let n = matrix.nrows();
    let mut a = [[0.0; HEIGHT]; MAX_ORDER];
    // With the diagonal in descending order, the small eigenvalues of a graded matrix keep their digits.
    let order = descending(&(0..n).map(|i| matrix[(i, i)].abs()).collect::<Vec<_>>());
    for (j, &column) in order.iter().enumerate() {
        for (i, &row) in order.iter().enumerate().skip(j) {
            let x = matrix[(row.max(column), row.min(column))];
            (a[j][i], a[i][j]) = (x, x);
        }
    }
    let (mut d, mut e) = (vec![0.0; n], [0.0; MAX_ORDER]);
    dispatch(Symmetric { a: &mut a[..n], d: &mut d, e: &mut e[..n - 1], q: &mut q[..n] })?;
    for column in &mut q[..n] {
        let permuted = *column;
        order.iter().zip(permuted).for_each(|(&i, x)| column[i] = x);
    }
    Some(d)
}

/// QR iteration on the tridiagonal matrix with diagonal `d` and subdiagonal `e`: `d` becomes the eigenvalues, unsorted, and
/// the rotations are applied to the columns of `q`. `None` if the iteration does not converge.
pub fn diagonalize(d: &mut [f64], e: &mut [f64], q: &mut [[f64; HEIGHT]]) -> Option<()> {
    dispatch(Tridiagonal { d, e, q })
}

struct Symmetric<'a> {
    a: &'a mut [[f64; HEIGHT]],
    d: &'a mut [f64],
    e: &'a mut [f64],
    q: &'a mut [[f64; HEIGHT]],
}

impl Kernel for Symmetric<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Option<()> {
        let Self { a, d, e, q } = self;
        let n = d.len();
        let rows = n.next_multiple_of(LANES);
        let mut over_tau = [0.0; MAX_ORDER];
        for k in 0..n {
            d[k] = a[k][k];
            if k + 1 == n {
                break;
            }
            let (done, rest) = a.split_at_mut(k + 1);
            let v = &mut done[k];
            v[..=k].fill(0.0);
            // (I − vvᵀ/τ)·x = β·e₁ with v₁ = 1
            let tail: f64 = v[k + 2..n].iter().map(|x| x * x).sum();
            let head = v[k + 1];
            e[k] = head;
            v[k + 1] = 1.0;
            if tail < f64::MIN_POSITIVE {
                v[k + 2..n].fill(0.0);
                continue;
            }
            let beta = -(head * head + tail).sqrt().copysign(head);
            let scale = 1.0 / (head - beta);
            v[k + 2..n].iter_mut().for_each(|x| *x *= scale);
            e[k] = beta;
            let inverse = 2.0 / (1.0 + tail * scale * scale);
            over_tau[k] = inverse;
            // A ← A − vwᵀ − wvᵀ with w = p − ½(pᵀv/τ)·v and p = Av/τ
            let v = *v;
            let mut w = [0.0; HEIGHT];
            let below = rows_below(k, rows);
            for (j, column) in (k + 1..).zip(&*rest) {
                add::<FMA>(&mut w, column, inverse * v[j], below.clone());
            }
            let half = 0.5 * inverse * dot::<FMA>(&w, &v, below.clone());
            add::<FMA>(&mut w, &v, -half, below.clone());
            for (j, column) in (k + 1..).zip(rest) {
                add::<FMA>(column, &v, -w[j], below.clone());
                add::<FMA>(column, &w, -v[j], below.clone());
            }
        }
        // Q = H₀H₁…, accumulated backwards: rows above a reflector's first stay those of the identity.
        for k in (0..n.saturating_sub(2)).rev() {
            let below = rows_below(k, rows);
            for column in &mut q[k + 1..] {
                let along = -over_tau[k] * dot::<FMA>(&a[k], column, below.clone());
                add::<FMA>(column, &a[k], along, below.clone());
            }
        }
        iterate::<FMA>(d, e, q)
    }
}

struct Tridiagonal<'a> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    q: &'a mut [[f64; HEIGHT]],
}

impl Kernel for Tridiagonal<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Option<()> {
        iterate::<FMA>(self.d, self.e, self.q)
    }
}

#[inline(always)]
fn iterate<const FMA: bool>(d: &mut [f64], e: &mut [f64], q: &mut [[f64; HEIGHT]]) -> Option<()> {
    let n = d.len();
    // Deflation begins at the last row: with the small end there, small eigenvalues converge first and keep their digits.
    if d[0].abs() < d[n - 1].abs() {
        d.reverse();
        e.reverse();
        q.reverse();
    }
    let (mut last, mut sweeps) = (n - 1, 0);
    let mut rotations = [[0.0; 2]; MAX_ORDER];
    while last > 0 {
        let negligible =
            |i: usize| e[i] * e[i] <= EPSILON * EPSILON * (d[i] * d[i + 1]).abs() + f64::MIN_POSITIVE;
        let first = (0..last).rev().find(|&i| negligible(i)).map_or(0, |i| i + 1);
        if first == last {
            last -= 1;
            continue;
        }
        sweep::<FMA>(d, e, q, &mut rotations, first, last);
        sweeps += 1;
        if sweeps > MAX_SWEEPS * n {
            return None;
        }
    }
    Some(())
}

/// One implicit QR sweep on the unreduced block `first..=last`.
#[inline(always)]
fn sweep<const FMA: bool>(
    d: &mut [f64],
    e: &mut [f64],
    q: &mut [[f64; HEIGHT]],
    rotations: &mut [[f64; 2]; MAX_ORDER],
    first: usize,
    last: usize,
) {
    let rows = q.len().next_multiple_of(LANES);
    // Wilkinson's shift: the eigenvalue of the trailing 2 × 2 block that is nearer to its last entry.
    let g = (d[last - 1] - d[last]) / (2.0 * e[last - 1]);
    let shift = d[last] - e[last - 1] / (g + hypot_1(g).copysign(g));
    // p and o are d[i] and e[i], kept in registers.
    let (mut p, mut o, mut x, mut bulge) = (d[first], e[first], d[first] - shift, e[first]);
    for i in first..last {
        let Givens { size, cosine, sine, squares } = givens(x, bulge);
        if i > first {
            e[i - 1] = size;
        }
        // [c s; −s c] [p o; o r] [c −s; s c], from c², s² and cs, which do not depend on the square root.
        let [cosine_2, sine_2, both] = squares;
        let r = d[i + 1];
        let u = (r - p) * sine_2 + 2.0 * both * o;
        d[i] = p + u;
        x = (r - p) * both + (cosine_2 - sine_2) * o;
        p = r - u;
        if i + 1 < last {
            (o, bulge) = (cosine * e[i + 1], sine * e[i + 1]);
        }
        rotations[i] = [cosine, sine];
    }
    (d[last], e[last - 1]) = (p, x);
    let (q, rotations) = (&mut q[first..=last], &rotations[first..last]);
    for from in (0..rows).step_by(4 * LANES) {
        match (rows - from) / LANES {
            1 => apply_rotations::<1, FMA>(q, rotations, from / LANES),
            2 => apply_rotations::<2, FMA>(q, rotations, from / LANES),
            3 => apply_rotations::<3, FMA>(q, rotations, from / LANES),
            _ => apply_rotations::<4, FMA>(q, rotations, from / LANES),
        }
    }
}

/// Applies Givens rotations to adjacent columns, in the registers `from..from + N`; the shared column stays in registers.
#[inline(always)]
fn apply_rotations<const N: usize, const FMA: bool>(
    q: &mut [[f64; HEIGHT]],
    rotations: &[[f64; 2]],
    from: usize,
) {
    let mut x: [[f64; LANES]; N] = *registers(&q[0], from);
    for (i, &[cosine, sine]) in rotations.iter().enumerate() {
        let y: [[f64; LANES]; N] = *registers(&q[i + 1], from);
        let mut left = [[0f64; LANES]; N];
        for k in 0..N {
            for l in 0..LANES {
                left[k][l] = mul_add::<FMA>(cosine, x[k][l], sine * y[k][l]);
                x[k][l] = mul_add::<FMA>(cosine, y[k][l], -sine * x[k][l]);
            }
        }
        *registers_mut(&mut q[i], from) = left;
    }
    *registers_mut(&mut q[rotations.len()], from) = x;
}

#[inline(always)]
fn registers<const N: usize>(column: &[f64; HEIGHT], from: usize) -> &[[f64; LANES]; N] {
    column.as_chunks().0[from..].first_chunk().expect("as many registers")
}

#[inline(always)]
fn registers_mut<const N: usize>(column: &mut [f64; HEIGHT], from: usize) -> &mut [[f64; LANES]; N] {
    column.as_chunks_mut().0[from..].first_chunk_mut().expect("as many registers")
}

/// A Givens rotation: `r = √(x² + y²)`, `c = x/r` and `s = y/r`; and `c²`, `s²` and `cs`.
struct Givens {
    size: f64,
    cosine: f64,
    sine: f64,
    squares: [f64; 3],
}

/// The Givens rotation that maps `(x, y)` to `(r, 0)`; by `hypot` where squares would overflow or underflow.
#[inline(always)]
fn givens(x: f64, y: f64) -> Givens {
    let squares = x * x + y * y;
    if (1e-280..1e280).contains(&squares) {
        // The quotient does not depend on the square root.
        let (size, quotient) = (squares.sqrt(), 1.0 / squares);
        let inverse = size * quotient;
        let squares = [x * x * quotient, y * y * quotient, x * y * quotient];
        return Givens { size, cosine: x * inverse, sine: y * inverse, squares };
    }
    let size = x.hypot(y);
    let (cosine, sine) = if size == 0.0 { (1.0, 0.0) } else { (x / size, y / size) };
    Givens { size, cosine, sine, squares: [cosine * cosine, sine * sine, cosine * sine] }
}

/// `√(x² + 1)`
#[inline(always)]
fn hypot_1(x: f64) -> f64 {
    if x.abs() < 1e150 { (x * x + 1.0).sqrt() } else { x.abs() }
}

/// `x·y + z`
#[inline(always)]
fn mul_add<const FMA: bool>(x: f64, y: f64, z: f64) -> f64 {
    if FMA { x.mul_add(y, z) } else { x * y + z }
}

/// The rows below row `k`, rounded to whole registers: the reflector is 0 above them.
#[inline(always)]
fn rows_below(k: usize, rows: usize) -> Range<usize> {
    (k + 1) / LANES * LANES..rows
}

/// `y += a·x`
#[inline(always)]
fn add<const FMA: bool>(y: &mut [f64; HEIGHT], x: &[f64; HEIGHT], a: f64, rows: Range<usize>) {
    let x = x[rows.clone()].as_chunks::<LANES>().0;
    for (y, x) in y[rows].as_chunks_mut::<LANES>().0.iter_mut().zip(x) {
        for l in 0..LANES {
            y[l] = mul_add::<FMA>(a, x[l], y[l]);
        }
    }
}

/// `xᵀy`
#[inline(always)]
fn dot<const FMA: bool>(x: &[f64; HEIGHT], y: &[f64; HEIGHT], rows: Range<usize>) -> f64 {
    let mut sums = [0.0; LANES];
    for (x, y) in x[rows.clone()].as_chunks::<LANES>().0.iter().zip(y[rows].as_chunks::<LANES>().0) {
        for l in 0..LANES {
            sums[l] = mul_add::<FMA>(x[l], y[l], sums[l]);
        }
    }
    sums.iter().sum()
}
