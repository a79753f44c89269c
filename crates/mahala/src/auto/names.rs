//! Recipes that are methods known by a name.

use crate::auto::recipe::Recipe;
use crate::gmml::family::{Curve, Order};

impl Recipe {
    /// The name of the method that this recipe is, if it has one, on rows of so many columns with classes of these sizes: the metric is
    /// then the same up to a factor, to rounding, unless columns depend on each other. Shrinkage and rounds have no name.
    ///
    /// ```
    /// use mahala::auto::Recipe;
    /// let lda = Recipe { pooled: true, beta: 0.0, directions: Some(2), ..Recipe::all_pairs(0.0) };
    /// assert_eq!(lda.known_as(5, &[10, 20, 30]).as_deref(), Some("LDA with 2 directions"));
    /// assert_eq!(Recipe::all_pairs(0.3).known_as(5, &[10, 20]).as_deref(), Some("GMML at t = 0.3"));
    /// ```
    pub fn known_as(&self, columns: usize, class_sizes: &[usize]) -> Option<String> {
        let sizes: Vec<usize> = class_sizes.iter().copied().filter(|&size| size > 0).collect();
        if self.is_plain() {
            return (!self.standardize).then(|| "the plain distance".to_owned());
        }
        let t = self.t?;
        if self.shrinkage > 0.0 || !self.rounds.is_empty() || self.order != Order::Ratio {
            return None;
        }
        let balanced = sizes.windows(2).all(|two| two[0] == two[1]);
        // Then S is that of rows of equal weight, up to a factor, and the part of D within classes is S up to another.
        let by_row = balanced || self.pooled;
        let all_pairs = self.beta == 1.0 && (balanced || !self.pooled);
        let r = self.directions.filter(|&r| r < columns);
        match (self.curve, r) {
            (Curve::Kissme, None) if t == 1.0 && all_pairs => Some("KISSME".to_owned()),
            (Curve::Kissme, Some(r)) if t == 1.0 && all_pairs => Some(format!("KISSME with {r} directions")),
            (Curve::Power, None) if t == 0.0 && by_row => Some("RCA, a chunklet a class".to_owned()),
            (Curve::Power, None) if self.directions.is_none() && all_pairs && !self.standardize => {
                Some(format!("GMML at t = {t}"))
            }
            (Curve::Power, Some(r))
                if t == 0.0 && by_row && (balanced || self.beta == 0.0) && r < sizes.len() =>
            {
                Some(format!("LDA with {r} direction{}", if r == 1 { "" } else { "s" }))
            }
            _ => None,
        }
    }
}
