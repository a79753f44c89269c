//! What we know about the differences to the paper, and how the methods were set.

use crate::protocol::Method;

/// How each method was set.
pub(crate) const METHODS: [&str; 10] = [
    "**Euclidean**: the plain distance.",
    "**GMML**: as in the paper: 40c(c−1) sampled pairs, its λ, t in two steps by cross-validation.",
    "**LMNN**: three target neighbours, full rank, the squared hinge by L-BFGS, at most 100 iterations, nothing tuned \
     (the paper tunes by Bayesian optimisation).",
    "**ITML**: 40c(c−1) pairs, γ from 10⁻⁴ to 10⁴ by two-fold cross-validation, at most 100,000 projections.",
    "**FlatGeo**: 40c(c−1) pairs, full rank, at least 10,000 iterations.",
    "**NCA**: full rank, at most 50 iterations.",
    "**GMML auto**: everything chosen on the training rows; see [ARCHITECTURE.md](../../ARCHITECTURE.md).",
    "**GMML auto, kernels**: the same, and an RBF kernel where cross-validation on the training rows clearly prefers it.",
    "**GMML, all pairs**: S and D over all pairs in place of the sample; λ, folds and the choice of t as for GMML.",
    "**Inverse covariance, MCML, MMC, MMC diagonal**: their defaults ([baselines.md](../../docs/baselines.md)); MMC on \
     40c(c−1) pairs.",
];

/// Why a cell differs from the paper's bar, as far as we know.
pub(crate) fn of(set: &str, method: Method) -> Option<&'static str> {
    use Method::{Euclidean, FlatGeo, Gmml, Itml, Lmnn};
    Some(match (set, method) {
        ("breast-cancer", Euclidean | Lmnn | Itml | FlatGeo) => {
            "The paper's bar fits the 569 × 30 Diagnostic data (the next row of the table), not the 699 × 9 data it names."
        }
        ("usps" | "mnist" | "isolet", FlatGeo) => {
            "The limit of time comes long before the 10,000 iterations that the paper allows (five to seven hours there)."
        }
        ("usps", Gmml) => {
            "The paper's split of USPS is not known. That may not be all: the paper's GMML has .82 of the plain distance's error, \
             ours .94. On one split λ = .1, λ = 1 and all pairs changed next to nothing."
        }
        ("usps", _) => {
            "The paper's split of USPS is not known; under the plain distance, where nothing is learned, we differ as well."
        }
        ("isolet", Euclidean) => "136 wrong of 1559 against 139; three rows that we cannot explain.",
        ("letters", Euclidean) => {
            "221 wrong of 4000 against 216: integer features make equal distances frequent, and the order of equal rows \
             moves the count between 214 and 226."
        }
        ("wine", FlatGeo) => {
            "Raw columns differ by a factor of 1,000 in scale, and the loss falls very slowly: 11 of our 80 fits meet the \
             tolerance as soon as the 10,000 iterations are over, far from the minimum, and their runs have 11 to 21 percent; \
             the runs whose fits go on (15,000 to 54,000 iterations) have 3 to 10."
        }
        (_, Lmnn) => {
            "Probably the implementation: the paper tunes a toolbox of its time by Bayesian optimisation, with at most 50 \
             evaluations a fit; here the same squared hinge is minimised for longer, and nothing is tuned."
        }
        _ => return None,
    })
}
