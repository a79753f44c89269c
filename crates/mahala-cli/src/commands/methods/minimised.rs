//! What each method minimises, in one line.

use crate::options::method::Method;

/// The objective in a few words; a closed form that has none says what its matrix is.
pub(super) fn minimised(method: Method) -> &'static str {
    match method {
        Method::Euclidean => "nothing: the plain distance",
        Method::Covariance => "nothing: A is the inverse covariance of the rows",
        Method::Gmml => "tr(AS) + tr(A⁻¹D), weighted by t",
        Method::Auto => "the held-out error, over recipes of gmml and kin",
        Method::AutoKernel => "the held-out error, over recipes and RBF kernels",
        Method::Recipe => "tr(AS) + tr(A⁻¹D), in the steps given",
        Method::Itml => "the LogDet divergence from I, under bounds on pairs",
        Method::Lmnn => "hinges of impostors within a margin of the targets",
        Method::Nca => "the expected error of a soft leave-one-out vote",
        Method::Mcml => "the KL divergence of soft neighbours from classes",
        Method::Mmc => "similar distances; dissimilar ones are kept large",
        Method::Flatgeo => "squared violations of bounds, at a fixed rank",
        Method::Rca => "closed form: inverse covariance within chunks",
        Method::Lda => "closed form: scatter within over between classes",
        Method::Lfda => "closed form: as lda, of nearby rows alone",
        Method::Kissme => "closed form: likelihood ratio of differences",
        Method::Xqda => "closed form: as kissme, in a discriminant subspace",
        Method::Dmlmj => "closed form: minus the Jeffrey divergence",
        Method::Ncmml => "the log loss of a soft vote of the class means",
        Method::Ldml => "the log loss of a logistic of pairs' distances",
        Method::Scml => "hinges of triplets, by sparse weights of bases",
        Method::Lsml => "squared residuals of quadruplets, and LogDet",
        Method::Sdml => "the graphical lasso's loss of signed pairs",
        Method::RobustGmml => "tr(AS) + tr(A⁻¹D), of Tyler's estimators",
        Method::Lego => "online: LogDet and squared errors, pair by pair",
        Method::Pola => "online: hinges of pairs, projected",
        Method::Oasis => "online: hinges of triplets of a similarity xᵀWy",
        Method::Loreta => "online: as oasis, at a fixed rank",
        Method::Moml => "online: hinges of triplets of distances",
        Method::GmmlRegression => "tr(AS) + tr(A⁻¹D), of pairs graded by targets",
        Method::Mlkr => "squared errors of a soft leave-one-out mean",
    }
}
