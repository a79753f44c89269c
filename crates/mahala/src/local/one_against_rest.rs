//! Scatter of one class against the rest: the pairs within a class, and those between it and all others.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::gmml::on_paper_scale;
use crate::scatter::all_pairs::degrees_of_freedom;
use crate::scatter::class_moments::ClassMoments;
use crate::scatter::moments::Moments;
use crate::scatter::totals::Totals;
use crate::scatter::{PairCount, Scatter};
use faer::Mat;
use mahala_kernels::blas::syrk::Block;

/// For each class, its own pairs and those with rows of other classes.
pub(super) fn scatters_of_classes(data: &Dataset) -> Result<Vec<Result<Scatter>>> {
    let moments = Moments::of(data)?;
    let named = |name: &String| moments.classes().iter().position(|class| class.name() == name);
    Ok(data.labels().names().iter().map(|name| one_against_rest(&moments, named(name))).collect())
}

/// The pairs within one class, and those between it and all others.
fn one_against_rest(moments: &Moments, class: Option<usize>) -> Result<Scatter> {
    let Some(c) = class else {
        return Err(Error::NoSimilarPair { reason: "a class has no row".to_owned() });
    };
    let (own, d) = (moments.class(c), moments.columns());
    let others = || moments.classes().iter().enumerate().filter(|(b, _)| *b != c).map(|(_, class)| class);
    let w = own.weight();
    let rest: f64 = others().map(ClassMoments::weight).sum();
    let mut totals = Totals::new(d);
    totals.s.add(w, own.scatter());
    let entry = |i: usize, j: usize| {
        let theirs: f64 = others().map(|class| class.scatter()[(i, j)]).sum();
        rest * own.scatter()[(i, j)] + w * theirs
    };
    totals.d.matrix = Mat::from_fn(d, d, |i, j| if i >= j { entry(i, j) } else { 0.0 });
    let mut block = Block::new(d, 1);
    for class in others() {
        let root = (w * class.weight()).sqrt();
        block.push(own.mean().iter().zip(class.mean()).map(|(a, b)| root * (a - b)));
        block.flush_into(totals.d.matrix.as_mut());
    }
    let rows: u64 = others().map(ClassMoments::rows).sum();
    let similar =
        PairCount { pairs: own.rows() * own.rows().saturating_sub(1) / 2, weight: 0.5 * w * (w - 1.0) };
    let dissimilar = PairCount { pairs: own.rows() * rows, weight: w * rest };
    let samples = degrees_of_freedom([own.rows()].into_iter());
    let scatter = totals.with_counts([similar, dissimilar]).finish(moments.units().to_vec(), samples)?;
    Ok(on_paper_scale(scatter, moments.classes().len(), w + rest))
}
