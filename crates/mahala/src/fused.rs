//! Reflections one at a time, for a matrix that stays in the cache.
//!
//! A reflection leaves `A − vwᵀ − wvᵀ` behind, and the next one asks for the product of that with its own `x`. Both are
//! done in one pass over the lower triangle: an entry is read, brought up to date, multiplied for its row and for its column,
//! and written. Tiles of 8 by 8 on the diagonal are kept whole, both triangles, so that no entry is treated alone, and
//! columns below them begin a line of the cache.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::linalg::{both, column_mut, sum_of_eights, triangle_cut};
use crate::memory::Lines;
use faer::linalg::householder::make_householder_in_place;
use faer::{ColMut, MatMut, Par};
use pulp::{Arch, Simd, WithSimd};

/// Rows of a tile on the diagonal.
const TILE: usize = 8;
/// From this order on a pass is shared between two threads.
const SHARED: usize = 500;

/// Reduces the lower triangle of `a` to tridiagonal form, with the reflections below the first diagonal; returns their τ.
/// What is above the diagonal is lost.
pub(crate) fn reduce(mut a: MatMut<'_, f64>, par: Par) -> Vec<f64> {
    let n = a.nrows();
    mirror_tiles(a.as_mut());
    // The last reflection and its image, which are still to be subtracted; the next one, and its product.
    let [mut v, mut w, mut x, mut y, mut z] = [(); 5].map(|()| Lines::zeros(n));
    let mut taus = Vec::with_capacity(n - 1);
    for k in 0..n - 1 {
        let now = &mut column_mut(a.as_mut(), k)[k..];
        let (v_k, w_k) = (v[k], w[k]);
        now.iter_mut().zip(v[k..].iter().zip(&w[k..])).for_each(|(a, (v, w))| *a -= v * w_k + w * v_k);
        let (head, tail) = now[1..].split_first_mut().expect("one row is left");
        let tau = make_householder_in_place(head, ColMut::from_slice_mut(tail)).tau;
        x[k] = 0.0;
        x[k + 1] = 1.0;
        x[k + 2..].copy_from_slice(tail);
        (v[k], w[k]) = (0.0, 0.0);
        pass(a.as_mut(), k + 1, [&v, &w, &x], [&mut y, &mut z], par);
        // w = p − ½(pᵀx/τ)·x with p = Ax/τ
        let (image, next) = (&y[k + 1..], &x[k + 1..]);
        let half = 0.5 * sum_of_eights(image, next, |y, x| y * x) / tau / tau;
        w[k + 1..].iter_mut().zip(image.iter().zip(next)).for_each(|(w, (y, x))| *w = y / tau - half * x);
        std::mem::swap(&mut v, &mut x);
        taus.push(tau);
    }
    a[(n - 1, n - 1)] -= 2.0 * v[n - 1] * w[n - 1];
    taus
}

/// Makes tiles on the diagonal symmetric.
fn mirror_tiles(mut a: MatMut<'_, f64>) {
    for j in 0..a.ncols() {
        for i in j / TILE * TILE..j {
            a[(i, j)] = a[(j, i)];
        }
    }
}

/// `A ← A − vwᵀ − wvᵀ` and `y = Ax`, for rows and columns from the first on. Vectors are 0 before it; y has any values there.
fn pass(a: MatMut<'_, f64>, first: usize, [v, w, x]: [&[f64]; 3], [y, z]: [&mut [f64]; 2], par: Par) {
    let n = a.nrows();
    let first = first / TILE * TILE;
    let a = a.subcols_mut(first, n - first);
    if n - first < SHARED {
        return Arch::new().dispatch(Pass { a, first, v, w, x, y });
    }
    let cut = triangle_cut(n - first, TILE);
    let (left, right) = a.split_at_col_mut(cut);
    both(
        par,
        || Arch::new().dispatch(Pass { a: left, first, v, w, x, y: &mut *y }),
        || Arch::new().dispatch(Pass { a: right, first: first + cut, v, w, x, y: &mut *z }),
    );
    y[first + cut..].iter_mut().zip(&z[first + cut..]).for_each(|(y, z)| *y += z);
}

/// The part of a pass in some columns, from number `first` on; it begins a tile.
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
            // As many columns together as there are registers for.
            if size_of::<S::f64s>() == size_of::<[f64; TILE]>() {
                for j in (top..below).step_by(4) {
                    self.some_columns::<S, 4>(simd, j, below);
                }
            } else {
                for j in (top..below).step_by(2) {
                    self.some_columns::<S, 2>(simd, j, below);
                }
            }
        }
    }
}

impl Pass<'_> {
    /// The tile on the diagonal that begins at `top`.
    #[inline(always)]
    fn tile(&mut self, top: usize) {
        let (v, w, x) = (eight(&self.v[top..]), eight(&self.w[top..]), eight(&self.x[top..]));
        let mut sums = [0f64; TILE];
        for c in 0..TILE {
            let column = &mut column_mut(self.a.as_mut(), top + c - self.first)[top..top + TILE];
            let mut p = eight(column);
            for l in 0..TILE {
                p[l] -= v[l] * w[c] + w[l] * v[c];
                sums[l] += p[l] * x[c];
            }
            column.copy_from_slice(&p);
        }
        self.y[top..].iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
    }

    /// The last tile, of fewer rows than others.
    fn last_tile(&mut self, top: usize) {
        for j in top..self.x.len() {
            let column = &mut column_mut(self.a.as_mut(), j - self.first)[top..];
            for (i, a) in (top..).zip(column) {
                *a -= self.v[i] * self.w[j] + self.w[i] * self.v[j];
                self.y[i] += *a * self.x[j];
            }
        }
    }

    /// Columns `j..j + N`, from row `below` on.
    #[inline(always)]
    fn some_columns<S: Simd, const N: usize>(&mut self, simd: S, j: usize, below: usize) {
        let Self { v, w, x, first, .. } = *self;
        let n = x.len();
        let mut below_tile = self.a.as_mut().subcols_mut(j - first, N).col_iter_mut().map(|column| {
            &mut column.try_as_col_major_mut().expect("an owned matrix").as_slice_mut()[below..]
        });
        let mut columns: [&mut [f64]; N] = std::array::from_fn(|_| below_tile.next().expect("N columns"));
        let (head, y) = self.y.split_at_mut(below);
        // Not by closures, which would not take on the instructions of this function.
        let zero = simd.splat_f64s(0.0);
        let (mut less_v, mut less_w, mut factors, mut sums) = ([zero; N], [zero; N], [zero; N], [zero; N]);
        for c in 0..N {
            less_v[c] = simd.splat_f64s(-v[j + c]);
            less_w[c] = simd.splat_f64s(-w[j + c]);
            factors[c] = simd.splat_f64s(x[j + c]);
        }
        let (v, w, x) = (&v[below..], &w[below..], &x[below..]);
        let whole = S::as_simd_f64s(x).0.len();
        {
            let y = &mut S::as_mut_simd_f64s(y).0[..whole];
            let (v, w, x) = (
                &S::as_simd_f64s(v).0[..whole],
                &S::as_simd_f64s(w).0[..whole],
                &S::as_simd_f64s(x).0[..whole],
            );
            let a = columns.each_mut().map(|column| &mut S::as_mut_simd_f64s(column).0[..whole]);
            for i in 0..whole {
                let (v, w, x, mut image) = (v[i], w[i], x[i], y[i]);
                for c in 0..N {
                    let p = simd.mul_add_e_f64s(w, less_v[c], simd.mul_add_e_f64s(v, less_w[c], a[c][i]));
                    sums[c] = simd.mul_add_e_f64s(p, x, sums[c]);
                    image = simd.mul_add_e_f64s(p, factors[c], image);
                    a[c][i] = p;
                }
                y[i] = image;
            }
        }
        let rest = whole * (size_of::<S::f64s>() / size_of::<f64>());
        for c in 0..N {
            let mut sum = simd.reduce_sum_f64s(sums[c]);
            let (v_j, w_j, x_j) = (self.v[j + c], self.w[j + c], self.x[j + c]);
            for i in rest..n - below {
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
fn eight(x: &[f64]) -> [f64; TILE] {
    *x.first_chunk().expect("a whole tile")
}
