//! The eigenproblem of a small symmetric matrix: Householder's reflections to tridiagonal form, then rotations
//! (the implicit QR iteration with Wilkinson's shift), all in arrays that stay in the first cache.
//!
//! Columns are [`HEIGHT`] long whatever the order, zero below it, so that loops run over whole registers.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::order::descending;
use crate::simd::{Work, run};
use faer::MatRef;
use std::ops::Range;

/// The largest order.
pub const LARGEST: usize = 32;
const HEIGHT: usize = LARGEST;
/// Numbers in one register.
const LANES: usize = 4;
const EPSILON: f64 = f64::EPSILON / 2.0;
/// For one eigenvalue; two are usual.
const MOST_SWEEPS: usize = 60;

/// Columns of a small matrix.
pub type Columns = [[f64; HEIGHT]; LARGEST];

/// The first columns of the identity: what the eigenvectors of a tridiagonal matrix start from.
pub fn identity() -> Columns {
    let mut columns = [[0.0; HEIGHT]; LARGEST];
    columns.iter_mut().enumerate().for_each(|(i, column)| column[i] = 1.0);
    columns
}

/// Eigenvalues, in no particular order, of a matrix of which the lower triangle is read, and its eigenvectors in the
/// place of the identity; `None` if the iteration does not end.
pub fn eigen(matrix: MatRef<'_, f64>, q: &mut Columns) -> Option<Vec<f64>> {
    let n = matrix.nrows();
    let mut a = [[0.0; HEIGHT]; LARGEST];
    // Graded from large to small, small eigenvalues keep their digits.
    let order = descending(&(0..n).map(|i| matrix[(i, i)].abs()).collect::<Vec<_>>());
    for (j, &column) in order.iter().enumerate() {
        for (i, &row) in order.iter().enumerate().skip(j) {
            let x = matrix[(row.max(column), row.min(column))];
            (a[j][i], a[i][j]) = (x, x);
        }
    }
    let (mut d, mut e) = (vec![0.0; n], [0.0; LARGEST]);
    run(Symmetric { a: &mut a[..n], d: &mut d, e: &mut e[..n - 1], q: &mut q[..n] })?;
    for column in &mut q[..n] {
        let turned = *column;
        order.iter().zip(turned).for_each(|(&i, x)| column[i] = x);
    }
    Some(d)
}

/// Turns `d` into eigenvalues, in no particular order, and the columns of `q` with it; `None` if the
/// iteration does not end.
pub fn diagonalize(d: &mut [f64], e: &mut [f64], q: &mut [[f64; HEIGHT]]) -> Option<()> {
    run(Tridiagonal { d, e, q })
}

struct Symmetric<'a> {
    a: &'a mut [[f64; HEIGHT]],
    d: &'a mut [f64],
    e: &'a mut [f64],
    q: &'a mut [[f64; HEIGHT]],
}

impl Work for Symmetric<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Option<()> {
        let Self { a, d, e, q } = self;
        let n = d.len();
        let rows = n.next_multiple_of(LANES);
        let mut over_tau = [0.0; LARGEST];
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
            let left = left_of(k, rows);
            for (j, column) in (k + 1..).zip(&*rest) {
                add::<FUSED>(&mut w, column, inverse * v[j], left.clone());
            }
            let half = 0.5 * inverse * dot::<FUSED>(&w, &v, left.clone());
            add::<FUSED>(&mut w, &v, -half, left.clone());
            for (j, column) in (k + 1..).zip(rest) {
                add::<FUSED>(column, &v, -w[j], left.clone());
                add::<FUSED>(column, &w, -v[j], left.clone());
            }
        }
        // Q = H₀H₁…, from the last: what is before a reflection's first row stays as it is.
        for k in (0..n.saturating_sub(2)).rev() {
            let left = left_of(k, rows);
            for column in &mut q[k + 1..] {
                let along = -over_tau[k] * dot::<FUSED>(&a[k], column, left.clone());
                add::<FUSED>(column, &a[k], along, left.clone());
            }
        }
        rotations::<FUSED>(d, e, q)
    }
}

struct Tridiagonal<'a> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    q: &'a mut [[f64; HEIGHT]],
}

impl Work for Tridiagonal<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Option<()> {
        rotations::<FUSED>(self.d, self.e, self.q)
    }
}

#[inline(always)]
fn rotations<const FUSED: bool>(d: &mut [f64], e: &mut [f64], q: &mut [[f64; HEIGHT]]) -> Option<()> {
    let n = d.len();
    // At the small end of a graded matrix small eigenvalues converge first, and keep their digits.
    if d[0].abs() < d[n - 1].abs() {
        d.reverse();
        e.reverse();
        q.reverse();
    }
    let (mut last, mut sweeps) = (n - 1, 0);
    let mut turns = [[0.0; 2]; LARGEST];
    while last > 0 {
        let negligible =
            |i: usize| e[i] * e[i] <= EPSILON * EPSILON * (d[i] * d[i + 1]).abs() + f64::MIN_POSITIVE;
        let first = (0..last).rev().find(|&i| negligible(i)).map_or(0, |i| i + 1);
        if first == last {
            last -= 1;
            continue;
        }
        sweep::<FUSED>(d, e, q, &mut turns, first, last);
        sweeps += 1;
        if sweeps > MOST_SWEEPS * n {
            return None;
        }
    }
    Some(())
}

/// One implicit step on the block `first..=last`.
#[inline(always)]
fn sweep<const FUSED: bool>(
    d: &mut [f64],
    e: &mut [f64],
    q: &mut [[f64; HEIGHT]],
    turns: &mut [[f64; 2]; LARGEST],
    first: usize,
    last: usize,
) {
    let rows = q.len().next_multiple_of(LANES);
    // Wilkinson's shift: the eigenvalue of the last two rows that is nearer to their last entry.
    let g = (d[last - 1] - d[last]) / (2.0 * e[last - 1]);
    let shift = d[last] - e[last - 1] / (g + size_with_one(g).copysign(g));
    // p and o are d[i] and e[i], kept in registers.
    let (mut p, mut o, mut x, mut bulge) = (d[first], e[first], d[first] - shift, e[first]);
    for i in first..last {
        let Rotation { size, cosine, sine, squares } = rotation(x, bulge);
        if i > first {
            e[i - 1] = size;
        }
        // [c s; −s c] [p o; o r] [c −s; s c], from squares and products, which do not wait for a root.
        let [cosine_2, sine_2, both] = squares;
        let r = d[i + 1];
        let u = (r - p) * sine_2 + 2.0 * both * o;
        d[i] = p + u;
        x = (r - p) * both + (cosine_2 - sine_2) * o;
        p = r - u;
        if i + 1 < last {
            (o, bulge) = (cosine * e[i + 1], sine * e[i + 1]);
        }
        turns[i] = [cosine, sine];
    }
    (d[last], e[last - 1]) = (p, x);
    let (q, turns) = (&mut q[first..=last], &turns[first..last]);
    for from in (0..rows).step_by(4 * LANES) {
        match (rows - from) / LANES {
            1 => turn::<1, FUSED>(q, turns, from / LANES),
            2 => turn::<2, FUSED>(q, turns, from / LANES),
            3 => turn::<3, FUSED>(q, turns, from / LANES),
            _ => turn::<4, FUSED>(q, turns, from / LANES),
        }
    }
}

/// Turns each column with the next, in the registers `from..from + N`; what the next pair needs stays in registers.
#[inline(always)]
fn turn<const N: usize, const FUSED: bool>(q: &mut [[f64; HEIGHT]], turns: &[[f64; 2]], from: usize) {
    let mut x: [[f64; LANES]; N] = *some_of(&q[0], from);
    for (i, &[cosine, sine]) in turns.iter().enumerate() {
        let y: [[f64; LANES]; N] = *some_of(&q[i + 1], from);
        let mut left = [[0f64; LANES]; N];
        for k in 0..N {
            for l in 0..LANES {
                left[k][l] = fused::<FUSED>(cosine, x[k][l], sine * y[k][l]);
                x[k][l] = fused::<FUSED>(cosine, y[k][l], -sine * x[k][l]);
            }
        }
        *some_of_mut(&mut q[i], from) = left;
    }
    *some_of_mut(&mut q[turns.len()], from) = x;
}

#[inline(always)]
fn some_of<const N: usize>(column: &[f64; HEIGHT], from: usize) -> &[[f64; LANES]; N] {
    column.as_chunks().0[from..].first_chunk().expect("as many registers")
}

#[inline(always)]
fn some_of_mut<const N: usize>(column: &mut [f64; HEIGHT], from: usize) -> &mut [[f64; LANES]; N] {
    column.as_chunks_mut().0[from..].first_chunk_mut().expect("as many registers")
}

/// `r = √(x² + y²)`, `c = x/r` and `s = y/r`; and `c²`, `s²` and `cs`.
struct Rotation {
    size: f64,
    cosine: f64,
    sine: f64,
    squares: [f64; 3],
}

/// Slowly where squares would leave the range of numbers.
#[inline(always)]
fn rotation(x: f64, y: f64) -> Rotation {
    let squares = x * x + y * y;
    if (1e-280..1e280).contains(&squares) {
        // The quotient does not wait for the root.
        let (size, quotient) = (squares.sqrt(), 1.0 / squares);
        let inverse = size * quotient;
        let squares = [x * x * quotient, y * y * quotient, x * y * quotient];
        return Rotation { size, cosine: x * inverse, sine: y * inverse, squares };
    }
    let size = x.hypot(y);
    let (cosine, sine) = if size == 0.0 { (1.0, 0.0) } else { (x / size, y / size) };
    Rotation { size, cosine, sine, squares: [cosine * cosine, sine * sine, cosine * sine] }
}

/// `√(x² + 1)`
#[inline(always)]
fn size_with_one(x: f64) -> f64 {
    if x.abs() < 1e150 { (x * x + 1.0).sqrt() } else { x.abs() }
}

/// `x·y + z`
#[inline(always)]
fn fused<const FUSED: bool>(x: f64, y: f64, z: f64) -> f64 {
    if FUSED { x.mul_add(y, z) } else { x * y + z }
}

/// The rows below row `k`, in whole registers: a reflection is 0 before them.
#[inline(always)]
fn left_of(k: usize, rows: usize) -> Range<usize> {
    (k + 1) / LANES * LANES..rows
}

/// `y += a·x`
#[inline(always)]
fn add<const FUSED: bool>(y: &mut [f64; HEIGHT], x: &[f64; HEIGHT], a: f64, rows: Range<usize>) {
    let x = x[rows.clone()].as_chunks::<LANES>().0;
    for (y, x) in y[rows].as_chunks_mut::<LANES>().0.iter_mut().zip(x) {
        for l in 0..LANES {
            y[l] = fused::<FUSED>(a, x[l], y[l]);
        }
    }
}

/// `xᵀy`
#[inline(always)]
fn dot<const FUSED: bool>(x: &[f64; HEIGHT], y: &[f64; HEIGHT], rows: Range<usize>) -> f64 {
    let mut sums = [0.0; LANES];
    for (x, y) in x[rows.clone()].as_chunks::<LANES>().0.iter().zip(y[rows].as_chunks::<LANES>().0) {
        for l in 0..LANES {
            sums[l] = fused::<FUSED>(x[l], y[l], sums[l]);
        }
    }
    sums.iter().sum()
}
