//! The kinds of recipes that are tried, and how far `S` is shrunk in each.

use crate::auto::recipe::Recipe;
use crate::gmml::family::Curve;

const FIRST_SHRINKAGES: [f64; 1] = [0.1];
const OTHER_SHRINKAGES: [f64; 3] = [0.3, 0.0, 0.6];
const FIRST_RIDGES: [f64; 3] = [0.1, 0.02, 0.8];
const OTHER_RIDGES: [f64; 2] = [0.005, 0.4];
const COARSE: [f64; 6] = [0.0, 0.15, 0.3, 0.45, 0.6, 0.8];
const WITHIN: [f64; 4] = [0.0, 0.25, 0.5, 0.75];
const CURVED: [f64; 3] = [1.0, 0.5, 0.0];

/// Where a recipe learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Columns,
    Standardized,
    /// In leading directions of a pencil.
    Directions,
    /// In the columns, with `S` shrunk towards the identity.
    Ridge,
    /// In leading directions of such a pencil.
    RidgeDirections,
    /// In all directions of such a pencil, with KISSME's curve.
    Kissme,
    /// Between the class means: LDA, and its directions weighed.
    Means,
}

impl Kind {
    pub(crate) fn of(recipe: &Recipe) -> Option<Self> {
        recipe.t?;
        if recipe.curve == Curve::Kissme {
            return Some(Self::Kissme);
        }
        if recipe.beta < 1.0 {
            return Some(Self::Means);
        }
        Some(match (recipe.directions, recipe.towards_identity) {
            (Some(_), false) => Self::Directions,
            (Some(_), true) => Self::RidgeDirections,
            (None, true) => Self::Ridge,
            (None, false) if recipe.standardize => Self::Standardized,
            (None, false) => Self::Columns,
        })
    }

    /// A recipe of this kind, but for its directions and its t.
    pub(crate) fn recipe(self, shrinkage: f64) -> Recipe {
        let towards_identity = matches!(self, Self::Ridge | Self::RidgeDirections | Self::Kissme);
        let base = Recipe {
            standardize: self == Self::Standardized,
            shrinkage,
            towards_identity,
            ..Recipe::all_pairs(0.0)
        };
        match self {
            Self::Kissme => Recipe { curve: Curve::Kissme, ..base },
            Self::Means => Recipe { pooled: true, beta: 0.0, ..base },
            _ => base,
        }
    }

    /// Whether several numbers of leading directions are tried.
    pub(crate) fn reduces(self) -> bool {
        matches!(self, Self::Directions | Self::RidgeDirections)
    }

    /// The values of t that are tried.
    pub(crate) fn values(self) -> &'static [f64] {
        match self {
            Self::Directions | Self::RidgeDirections | Self::Means => &WITHIN,
            Self::Kissme => &CURVED,
            _ => &COARSE,
        }
    }

    /// How far `S` is shrunk: what is tried first, and what is tried where that did well.
    pub(crate) fn shrinkages(self) -> (&'static [f64], &'static [f64]) {
        match self {
            Self::Ridge | Self::RidgeDirections => (&FIRST_RIDGES, &OTHER_RIDGES),
            Self::Kissme => (&FIRST_RIDGES[..1], &OTHER_RIDGES),
            _ => (&FIRST_SHRINKAGES, &OTHER_SHRINKAGES),
        }
    }

    /// What is being tried, in words.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Columns => "all pairs",
            Self::Standardized => "standardised columns",
            Self::Directions => "leading directions",
            Self::Ridge => "S shrunk to the identity",
            Self::RidgeDirections => "leading directions, S shrunk to the identity",
            Self::Kissme => "KISSME's curve",
            Self::Means => "class means",
        }
    }
}
