//! Unblocked Householder tridiagonalisation (LAPACK's `sytd2`).
//!
//! A reflector updates the matrix to `A − vwᵀ − wvᵀ` (SYR2), and the next one needs the product of that with its own `x`
//! (SYMV). Both are fused into one pass over the lower triangle: an entry is loaded, updated, multiplied for its row and for
//! its column, and stored. The 8 × 8 tiles on the diagonal hold both triangles, so that no entry is treated as a scalar, and
//! columns below them are 64-byte aligned.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::aligned::AlignedVec;
use crate::parallel::{cut_columns, each, reduction_pieces, triangle_cuts};
use crate::reduce::sum_by_lanes;
use crate::scaling::{exponent_of, times_power_of_two};
use crate::simd::{LANES, as_lanes, as_lanes_mut, sum_lanes};
use crate::view::column_mut;
use faer::{MatMut, Par};
use pulp::{Arch, Simd, WithSimd};

/// Rows of a tile on the diagonal.
const TILE: usize = 8;
/// From this order on a pass is cut into pieces.
const PARALLEL_FROM: usize = 500;

/// Reduces the lower triangle of `a` to tridiagonal form, with the reflectors below the subdiagonal; returns their τ.
/// Overwrites entries above the diagonal.
pub fn reduce(mut a: MatMut<'_, f64>, par: Par) -> Vec<f64> {
    let n = a.nrows();
    mirror_tiles(a.as_mut());
    // The last reflector v and its w, whose update is pending; the next reflector x, and its product y with the matrix.
    let [mut v, mut w, mut x, mut y] = [(); 4].map(|()| AlignedVec::zeros(n));
    let mut partial: Vec<AlignedVec> = (1..reduction_pieces(n)).map(|_| AlignedVec::zeros(n)).collect();
    let mut taus = Vec::with_capacity(n - 1);
    for k in 0..n - 1 {
        let now = &mut column_mut(a.as_mut(), k)[k..];
        let (v_k, w_k) = (v[k], w[k]);
        now.iter_mut().zip(v[k..].iter().zip(&w[k..])).for_each(|(a, (v, w))| *a -= v * w_k + w * v_k);
        let (head, tail) = now[1..].split_first_mut().expect("one row is left");
        let tau = make_reflector(head, tail);
        x[k] = 0.0;
        x[k + 1] = 1.0;
        x[k + 2..].copy_from_slice(tail);
        (v[k], w[k]) = (0.0, 0.0);
        pass(a.as_mut(), k + 1, [&v, &w, &x], &mut y, &mut partial, par);
        // w = p − ½(pᵀx/τ)·x with p = Ax/τ
        let (image, next) = (&y[k + 1..], &x[k + 1..]);
        let half = 0.5 * sum_by_lanes(image, next, |y, x| y * x) / tau / tau;
        w[k + 1..].iter_mut().zip(image.iter().zip(next)).for_each(|(w, (y, x))| *w = y / tau - half * x);
        std::mem::swap(&mut v, &mut x);
        taus.push(tau);
    }
    a[(n - 1, n - 1)] -= 2.0 * v[n - 1] * w[n - 1];
    taus
}

/// The Householder reflector `I − vvᵀ/τ` with `v = (1, tail)` that maps `(head, tail)` to `(β, 0)`: leaves β in `head`, v in
/// `tail`, and returns τ, which is infinite if `tail` is 0.
///
/// faer's own uses a norm whose order of additions depends on the processor.
pub fn make_reflector(head: &mut f64, tail: &mut [f64]) -> f64 {
    let norm = norm(tail);
    if norm < f64::MIN_POSITIVE {
        return f64::INFINITY;
    }
    let signed = norm.hypot(*head).copysign(*head);
    let inverse = 1.0 / (*head + signed);
    tail.iter_mut().for_each(|x| *x *= inverse);
    *head = -signed;
    0.5 * (1.0 + (norm * inverse).powi(2))
}

/// The Euclidean norm in eight lanes; scaled where squares would overflow or underflow.
fn norm(x: &[f64]) -> f64 {
    let squares = sum_by_lanes(x, x, |x, y| x * y);
    if (1e-250..1e250).contains(&squares) {
        return squares.sqrt();
    }
    let largest = x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let unit = exponent_of(largest);
    let scaled = |x: f64| times_power_of_two(x, -unit);
    times_power_of_two(sum_by_lanes(x, x, |x, y| scaled(x) * scaled(y)).sqrt(), unit)
}

/// Makes the tiles on the diagonal symmetric.
fn mirror_tiles(mut a: MatMut<'_, f64>) {
    for j in 0..a.ncols() {
        for i in j / TILE * TILE..j {
            a[(i, j)] = a[(j, i)];
        }
    }
}

/// Fused SYR2 and SYMV: `A ← A − vwᵀ − wvᵀ` and `y = Ax`, for rows and columns from `first` on. The input vectors must be 0
/// before it; y is undefined there. Each piece of the columns but the first has a vector of `partial` for its part of y.
fn pass(
    a: MatMut<'_, f64>,
    first: usize,
    [v, w, x]: [&[f64]; 3],
    y: &mut [f64],
    partial: &mut [AlignedVec],
    par: Par,
) {
    let n = a.nrows();
    let first = first / TILE * TILE;
    let a = a.subcols_mut(first, n - first);
    if n - first < PARALLEL_FROM {
        return Arch::new().dispatch(Pass { a, first, v, w, x, y });
    }
    let cuts = triangle_cuts(n - first, TILE, reduction_pieces(n - first));
    let images = std::iter::once(&mut *y).chain(partial.iter_mut().map(|part| &mut part[..]));
    let mut pieces: Vec<_> = cut_columns(a, &cuts).into_iter().zip(images).collect();
    each(par, &mut pieces, &|((cut, a), y)| {
        Arch::new().dispatch(Pass { a: a.as_mut(), first: first + *cut, v, w, x, y });
    });
    for (cut, part) in cuts.into_iter().zip(partial) {
        y[first + cut..].iter_mut().zip(&part[first + cut..]).for_each(|(y, z)| *y += z);
    }
}

/// The part of a pass in the columns from `first` on, a multiple of the tile.
struct Pass<'a> {
    a: MatMut<'a, f64>,
    first: usize,
    v: &'a [f64],
    w: &'a [f64],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl WithSimd for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let n = self.x.len();
        self.y[self.first..].fill(0.0);
        for top in (self.first..self.first + self.a.ncols()).step_by(TILE) {
            let below = top + TILE;
            if below > n {
                return self.last_tile(top);
            }
            self.tile(top);
            // As many columns at a time as there are registers for.
            match LANES / S::F64_LANES {
                1 => self.below_tile::<S, 1, 4>(simd, top, below),
                2 => self.below_tile::<S, 2, 2>(simd, top, below),
                4 => self.below_tile::<S, 4, 2>(simd, top, below),
                _ => self.below_tile::<S, 8, 2>(simd, top, below),
            }
        }
    }
}

impl Pass<'_> {
    /// The whole tile on the diagonal at row `top`.
    #[inline(always)]
    fn tile(&mut self, top: usize) {
        let (v, w, x) = (tile_of(&self.v[top..]), tile_of(&self.w[top..]), tile_of(&self.x[top..]));
        let mut sums = [0f64; TILE];
        for c in 0..TILE {
            let column = &mut column_mut(self.a.as_mut(), top + c - self.first)[top..top + TILE];
            let mut p = tile_of(column);
            for l in 0..TILE {
                p[l] -= v[l] * w[c] + w[l] * v[c];
                sums[l] += p[l] * x[c];
            }
            column.copy_from_slice(&p);
        }
        self.y[top..].iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
    }

    /// The last, partial tile on the diagonal.
    fn last_tile(&mut self, top: usize) {
        for j in top..self.x.len() {
            let column = &mut column_mut(self.a.as_mut(), j - self.first)[top..];
            for (i, a) in (top..).zip(column) {
                *a -= self.v[i] * self.w[j] + self.w[i] * self.v[j];
                self.y[i] += *a * self.x[j];
            }
        }
    }

    /// The columns of the tile at `top`, `N` at a time, from row `below` on.
    #[inline(always)]
    fn below_tile<S: Simd, const R: usize, const N: usize>(&mut self, simd: S, top: usize, below: usize) {
        for j in (top..below).step_by(N) {
            self.fused_columns::<S, R, N>(simd, j, below);
        }
    }

    /// The micro-kernel: columns `j..j + N`, from row `below` on, with `R` registers for eight rows.
    #[inline(always)]
    fn fused_columns<S: Simd, const R: usize, const N: usize>(&mut self, simd: S, j: usize, below: usize) {
        let Self { v, w, x, first, .. } = *self;
        let mut below_tile = self.a.as_mut().subcols_mut(j - first, N).col_iter_mut().map(|column| {
            &mut column.try_as_col_major_mut().expect("an owned matrix").as_slice_mut()[below..]
        });
        let mut columns: [&mut [f64]; N] = std::array::from_fn(|_| below_tile.next().expect("N columns"));
        let (head, y) = self.y.split_at_mut(below);
        // Not by closures, which may not inherit the instruction set of this function.
        let zero = simd.splat_f64s(0.0);
        let (mut less_v, mut less_w, mut factors) = ([zero; N], [zero; N], [zero; N]);
        let mut sums = [[zero; R]; N];
        for c in 0..N {
            less_v[c] = simd.splat_f64s(-v[j + c]);
            less_w[c] = simd.splat_f64s(-w[j + c]);
            factors[c] = simd.splat_f64s(x[j + c]);
        }
        let (v, w, x) = (&v[below..], &w[below..], &x[below..]);
        let whole = x.len() / LANES;
        {
            let y = &mut as_lanes_mut::<S, R>(y).0[..whole];
            let (v, w, x) = (
                &as_lanes::<S, R>(v).0[..whole],
                &as_lanes::<S, R>(w).0[..whole],
                &as_lanes::<S, R>(x).0[..whole],
            );
            let a = columns.each_mut().map(|column| &mut as_lanes_mut::<S, R>(column).0[..whole]);
            for i in 0..whole {
                for r in 0..R {
                    let (v, w, x, mut image) = (v[i][r], w[i][r], x[i][r], y[i][r]);
                    for c in 0..N {
                        let p = simd.mul_add_e_f64s(v, less_w[c], a[c][i][r]);
                        let p = simd.mul_add_e_f64s(w, less_v[c], p);
                        sums[c][r] = simd.mul_add_e_f64s(p, x, sums[c][r]);
                        image = simd.mul_add_e_f64s(p, factors[c], image);
                        a[c][i][r] = p;
                    }
                    y[i][r] = image;
                }
            }
        }
        for c in 0..N {
            let mut sum = sum_lanes(simd, sums[c]);
            let (v_j, w_j, x_j) = (self.v[j + c], self.w[j + c], self.x[j + c]);
            for i in whole * LANES..x.len() {
                let p = columns[c][i] - (v[i] * w_j + w[i] * v_j);
                columns[c][i] = p;
                sum += p * x[i];
                y[i] += p * x_j;
            }
            head[j + c] += sum;
        }
    }
}

#[inline(always)]
fn tile_of(x: &[f64]) -> [f64; TILE] {
    *x.first_chunk().expect("a whole tile")
}
