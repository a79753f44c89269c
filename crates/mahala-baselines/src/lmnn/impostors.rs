//! Hinge losses of LMNN: every row of another class inside a row's margin, found exactly.
//!
//! A row's radius is `1 +` the distance to its farthest target: [`Reach`] finds the rows inside, and every hinge
//! is measured in double precision. Memory is a few times that of the rows, whatever the number of impostors.

use crate::lmnn::{Hinge, Targets};
use crate::reach::Reach;
use mahala_kernels::knn::distance::squared_distance;
use rayon::prelude::*;

/// The largest number of parallel partial sums, each over its own blocks of rows.
const GROUPS: usize = 8;
/// The largest number of entries in all partial sums.
const NUMBERS: usize = 1 << 25;

/// The objective and its derivatives, summed up.
pub(crate) struct Hinges {
    /// The objective.
    pub(crate) value: f64,
    /// The derivative of the objective by the distance of each row to each of its targets.
    pub(crate) weights: Vec<f64>,
    /// `Σ_l w_il (z_i − z_l)` for each row, with w the derivative by the distance to an impostor.
    pub(crate) laplacian: Vec<f64>,
}

/// Adds `push · Σ_i Σ_{j∈T(i)} Σ_l hinge(1 + D_ij − D_il)` over all rows l of another class than i's.
///
/// `z` are the rows under the metric, `distances` those to the targets.
pub(crate) fn add_hinges(
    codes: &[u32],
    targets: &Targets,
    distances: &[f64],
    z: &[f64],
    (hinge, push): (Hinge, f64),
    sums: &mut Hinges,
) {
    let search = Search { codes, targets, distances, z, rank: z.len() / codes.len(), hinge, push };
    // A row without targets has no margin.
    let radius = |i: usize| distances[targets.places(i)].iter().fold(0.0, |most: f64, &x| most.max(1.0 + x));
    let reach = Reach::new(z, &(0..codes.len()).map(radius).collect::<Vec<f64>>());
    let groups = (NUMBERS / z.len()).clamp(1, GROUPS);
    let group = |group: usize| {
        let mut sums =
            Hinges { value: 0.0, weights: vec![0.0; distances.len()], laplacian: vec![0.0; z.len()] };
        reach.pairs(group, groups, |i, l| search.pair(i, l, &mut sums));
        sums
    };
    let parts: Vec<Hinges> = (0..groups).into_par_iter().map(group).collect();
    for part in parts {
        sums.value += part.value;
        sums.weights.iter_mut().zip(&part.weights).for_each(|(sum, part)| *sum += part);
        sums.laplacian.iter_mut().zip(&part.laplacian).for_each(|(sum, part)| *sum += part);
    }
}

struct Search<'a> {
    codes: &'a [u32],
    targets: &'a Targets,
    distances: &'a [f64],
    z: &'a [f64],
    rank: usize,
    hinge: Hinge,
    push: f64,
}

impl Search<'_> {
    /// The hinges between two rows, of either in the margins of the other.
    fn pair(&self, i: usize, l: usize, sums: &mut Hinges) {
        if self.codes[i] == self.codes[l] {
            return;
        }
        let (z_i, z_l) =
            (&self.z[i * self.rank..(i + 1) * self.rank], &self.z[l * self.rank..(l + 1) * self.rank]);
        let distance = squared_distance(z_i, z_l);
        let mut weight = 0.0;
        for place in self.targets.places(i).chain(self.targets.places(l)) {
            let intrusion = 1.0 + self.distances[place] - distance;
            if intrusion > 0.0 {
                let (value, slope) = match self.hinge {
                    Hinge::Squared => (intrusion * intrusion, 2.0 * intrusion),
                    Hinge::Classic => (intrusion, 1.0),
                };
                sums.value += self.push * value;
                sums.weights[place] += self.push * slope;
                weight += self.push * slope;
            }
        }
        if weight > 0.0 {
            for (k, (x, y)) in z_i.iter().zip(z_l).enumerate() {
                let part = weight * (x - y);
                sums.laplacian[i * self.rank + k] -= part;
                sums.laplacian[l * self.rank + k] += part;
            }
        }
    }
}
