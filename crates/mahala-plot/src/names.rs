//! Names beside the ends of lines, in the margin right of the plot.

use crate::palette::colour;
use crate::svg::{Anchor, Canvas};
use crate::{Area, text};

const LONGEST: f64 = 150.0;
const ROW: f64 = 17.0;
/// From the plot's edge to a name.
const LEAD: f64 = 22.0;

/// Room the names need right of the plot.
pub(crate) fn room(names: &[&str]) -> f64 {
    let widths = names.iter().map(|name| text::width(name, 12.0));
    LEAD + widths.fold(0.0, f64::max).min(LONGEST) + 14.0
}

/// Draws each line's name next to its end, and a thin lead from one to the
/// other where lines end close together.
pub(crate) fn draw(canvas: &mut Canvas, names: &[&str], ends: &[(f64, f64)], plot: Area) {
    let mut order: Vec<usize> = (0..names.len().min(ends.len())).collect();
    order.sort_by(|&a, &b| ends[a].1.total_cmp(&ends[b].1));
    let wanted: Vec<f64> = order.iter().map(|&i| ends[i].1).collect();
    for (i, y) in order.into_iter().zip(move_apart(&wanted)) {
        let (from, x) = (ends[i], plot.right() + LEAD);
        let class = format!("m-lead m-s{}", colour(i));
        canvas.polyline(&class, &[(from.0 + 5.0, from.1), (x - 9.0, y), (x - 4.0, y)]);
        let name = text::fit(names[i], 12.0, LONGEST);
        canvas.text("m-name", Anchor::Start, (x, y + 4.0), &name);
    }
}

/// Sorted positions moved as little as needed to lie a row apart: neighbours
/// that would touch form a block around their mean.
fn move_apart(wanted: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for &y in wanted {
        let (mut mean, mut count) = (y, 1);
        while let Some(&(before, n)) = blocks.last() {
            if mean - before >= ROW * (n + count) as f64 / 2.0 {
                break;
            }
            blocks.pop();
            mean = (before * n as f64 + mean * count as f64) / (n + count) as f64;
            count += n;
        }
        blocks.push((mean, count));
    }
    let row = |mean: f64, n: usize, k: usize| mean + ROW * (k as f64 - (n - 1) as f64 / 2.0);
    let rows = blocks.iter();
    rows.flat_map(|&(mean, n)| (0..n).map(move |k| row(mean, n, k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_touch_are_moved_apart_around_their_mean() {
        assert_eq!(move_apart(&[10.0, 100.0]), [10.0, 100.0]);
        assert_eq!(move_apart(&[50.0, 50.0]), [41.5, 58.5]);
        let rows = move_apart(&[0.0, 1.0, 20.0, 21.0, 90.0]);
        assert!(rows.windows(2).all(|w| w[1] - w[0] >= ROW - 1e-9), "{rows:?}");
    }
}
