//! Matrix transposition, blocked into tiles of one cache line: whole columns would miss the cache.

use crate::prefetch::prefetch;
use crate::view::{column, column_mut};
use faer::{Mat, MatRef};

/// Rows and columns of a tile: one cache line.
const SIDE: usize = 8;
type Tile = [[f64; SIDE]; SIDE];

/// Makes a matrix symmetric: copies the lower triangle onto the upper one.
pub fn mirror_lower(matrix: &mut Mat<f64>) {
    let n = matrix.ncols();
    for left in (0..n).step_by(SIDE) {
        let width = SIDE.min(n - left);
        for top in (left..n).step_by(SIDE) {
            let height = SIDE.min(n - top);
            prefetch_tile(matrix.as_ref(), left, top + SIDE);
            let tile = tile_of(matrix.as_ref(), top, left);
            if height == SIDE && top > left {
                // Whole cache lines, copied in registers.
                for (i, row) in tile.iter().enumerate() {
                    let to = column_mut(matrix.as_mut(), top + i)[left..].first_chunk_mut();
                    *to.expect("a tile above the diagonal is whole") = *row;
                }
                continue;
            }
            for (i, row) in tile.iter().enumerate().take(height) {
                let width = width.min(top + i - left);
                column_mut(matrix.as_mut(), top + i)[left..left + width].copy_from_slice(&row[..width]);
            }
        }
    }
}

/// `diag(weights)·Mᵀ`
pub fn weighted_transpose(m: MatRef<'_, f64>, weights: &[f64]) -> Mat<f64> {
    let mut out = Mat::zeros(m.ncols(), m.nrows());
    for left in (0..m.ncols()).step_by(SIDE) {
        for top in (0..m.nrows()).step_by(SIDE) {
            write_weighted(&mut out, &tile_of(m, top, left), top, left, weights);
        }
    }
    out
}

/// `diag(weights)·Mᵀ`, in place if `M` is square.
pub fn into_weighted_transpose(matrix: Mat<f64>, weights: &[f64]) -> Mat<f64> {
    if matrix.nrows() != matrix.ncols() {
        return weighted_transpose(matrix.as_ref(), weights);
    }
    let (mut matrix, n) = (matrix, weights.len());
    for left in (0..n).step_by(SIDE) {
        for top in (left..n).step_by(SIDE) {
            prefetch_tile(matrix.as_ref(), left, top + SIDE);
            // Swaps a tile with its mirror image across the diagonal.
            let places = [(top, left), (left, top)];
            let tiles = places.map(|(top, left)| tile_of(matrix.as_ref(), top, left));
            for (tile, (top, left)) in tiles.iter().zip(places) {
                write_weighted(&mut matrix, tile, top, left, weights);
            }
        }
    }
    matrix
}

/// Writes the tile read at `(top, left)` transposed, its entries weighted.
fn write_weighted(to: &mut Mat<f64>, tile: &Tile, top: usize, left: usize, weights: &[f64]) {
    let weights = &weights[left..weights.len().min(left + SIDE)];
    for (i, row) in (top..to.ncols()).zip(tile) {
        let to = &mut column_mut(to.as_mut(), i)[left..left + weights.len()];
        to.iter_mut().zip(row).zip(weights).for_each(|((to, x), weight)| *to = weight * x);
    }
}

/// Prefetches the tile at `(top, left)`: hardware prefetchers follow rows within a column, not columns.
fn prefetch_tile(m: MatRef<'_, f64>, top: usize, left: usize) {
    (left..m.ncols()).take(SIDE).for_each(|j| prefetch(column(m, j), top));
}

/// The rows of the tile at `(top, left)`; 0 outside the matrix.
fn tile_of(m: MatRef<'_, f64>, top: usize, left: usize) -> Tile {
    let mut tile = [[0.0; SIDE]; SIDE];
    if top + SIDE <= m.nrows() && left + SIDE <= m.ncols() {
        for (j, k) in (left..left + SIDE).enumerate() {
            let column: &[f64; SIDE] = column(m, k)[top..].first_chunk().expect("a whole tile");
            tile.iter_mut().zip(column).for_each(|(row, x)| row[j] = *x);
        }
        return tile;
    }
    for (j, k) in (left..m.ncols()).take(SIDE).enumerate() {
        let column = &column(m, k)[top..];
        tile.iter_mut().zip(column).for_each(|(row, x)| row[j] = *x);
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_matrix_is_transposed_in_place_as_any_other_beside_it() {
        for n in [1, 7, 8, 9, 24, 31] {
            let m = Mat::from_fn(n, n, |i, j| (i * n + j) as f64);
            let weights: Vec<f64> = (0..n).map(|k| 1.0 + k as f64).collect();
            let plain = Mat::from_fn(n, n, |i, j| weights[i] * m[(j, i)]);
            assert_eq!(weighted_transpose(m.as_ref(), &weights), plain);
            assert_eq!(into_weighted_transpose(m, &weights), plain);
        }
    }
}
