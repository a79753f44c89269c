//! Colours and marker shapes that stay apart without colour vision.

/// The colours of Okabe and Ito, as (light page, dark page).
///
/// Yellow is darkened on a white page and black turned light on a dark one,
/// where they would not be seen.
pub(crate) const COLOURS: [(&str, &str); 8] = [
    ("#0072b2", "#3f96dc"),
    ("#d55e00", "#ec7a3c"),
    ("#009e73", "#2cb58b"),
    ("#cc79a7", "#dd93bd"),
    ("#e69f00", "#f0b040"),
    ("#56b4e9", "#93d0f5"),
    ("#4a4f55", "#d3d8de"),
    ("#b3a300", "#f0e442"),
];

/// How many classes have a colour and shape of their own: the two cycles
/// have no common divisor.
pub(crate) const DISTINCT: usize = COLOURS.len() * SHAPES.len();

/// Corners of the marker shapes, for a radius of 1; no corners is a circle.
const SHAPES: [&[(f64, f64)]; 7] = [
    &[],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
    &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    &[
        (-0.4, -1.2),
        (0.4, -1.2),
        (0.4, -0.4),
        (1.2, -0.4),
        (1.2, 0.4),
        (0.4, 0.4),
        (0.4, 1.2),
        (-0.4, 1.2),
        (-0.4, 0.4),
        (-1.2, 0.4),
        (-1.2, -0.4),
        (-0.4, -0.4),
    ],
    &[(0.0, 1.2), (-1.1, -0.8), (1.1, -0.8)],
    &[
        (0.0, -0.57),
        (0.57, -1.13),
        (1.13, -0.57),
        (0.57, 0.0),
        (1.13, 0.57),
        (0.57, 1.13),
        (0.0, 0.57),
        (-0.57, 1.13),
        (-1.13, 0.57),
        (-0.57, 0.0),
        (-1.13, -0.57),
        (-0.57, -1.13),
    ],
];

/// The colour's position in [`COLOURS`] for the series or class `index`.
pub(crate) fn colour(index: usize) -> usize {
    index % COLOURS.len()
}

/// The marker's corners for the series or class `index`.
pub(crate) fn shape(index: usize) -> &'static [(f64, f64)] {
    SHAPES[index % SHAPES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_and_shape_repeat_together_only_after_all_pairs() {
        let pair = |i| (colour(i), i % SHAPES.len());
        let seen: std::collections::HashSet<_> = (0..DISTINCT).map(pair).collect();
        assert_eq!(seen.len(), 56);
    }
}
