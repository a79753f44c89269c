//! The objective of multi-metric LMNN: exact, and on an active set of impostors.

use crate::labelled::Labelled;
use crate::lmnn::{Hinge, Lmnn, Targets};
use faer::{Mat, MatRef};
use mahala::Rows;
use mahala::error::{Error, MemoryRemedy, Result};
use mahala::footprint::memory_limit_gb;
use mahala::metric::project;
use mahala_kernels::blas::product;
use mahala_kernels::knn::distance::squared_distance;
use rayon::prelude::*;

/// Bytes of a pair in the active set: its rows, their places among the rows of a class, and its distance.
const PAIR: f64 = 48.0;

/// Rows in the coordinates of the maps, with the targets of each.
pub(super) struct Problem<'a> {
    pub(super) data: Labelled,
    pub(super) targets: Targets,
    pub(super) lmnn: &'a Lmnn,
}

/// The whole objective at a point, and the pairs of a row and an impostor inside its margin, sorted.
pub(super) struct Check {
    pub(super) value: f64,
    pub(super) impostors: Vec<(u32, u32)>,
}

/// The map of a class.
fn map(l: &[f64], class: usize, r: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(&l[class * r * r..][..r * r], r, r)
}

/// Refuses more memory than the process may take.
pub(super) fn refuse(gigabytes: f64, d: usize, remedy: MemoryRemedy) -> Result<()> {
    let limit = memory_limit_gb();
    if gigabytes > limit {
        return Err(Error::Memory { what: "multi-metric lmnn", gigabytes, d, limit, remedy });
    }
    Ok(())
}

/// The union of two sorted lists.
pub(super) fn united(a: &[(u32, u32)], b: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

impl Problem<'_> {
    /// The weights of targets and of hinges.
    fn pull_and_push(&self) -> (f64, f64) {
        match self.lmnn.hinge {
            Hinge::Squared => (1.0, 1.0),
            Hinge::Classic => (1.0 - self.lmnn.push, self.lmnn.push),
        }
    }

    /// The hinge and its slope at an intrusion above 0.
    fn hinge(&self, intrusion: f64) -> (f64, f64) {
        match self.lmnn.hinge {
            Hinge::Squared => (intrusion * intrusion, 2.0 * intrusion),
            Hinge::Classic => (intrusion, 1.0),
        }
    }

    /// The whole objective: every row against all of other classes.
    pub(super) fn check(&self, l: &[f64]) -> Result<Check> {
        let (n, classes) = (self.data.len(), self.data.class_count());
        let target = self.target_distances(l);
        let radius =
            |i: usize| target[self.targets.places(i)].iter().fold(0.0, |most: f64, &x| most.max(1.0 + x));
        let radii: Vec<f64> = (0..n).map(radius).collect();
        if 1e-9 * PAIR * (n as f64).powi(2) > memory_limit_gb() {
            let count = |c| self.intruders(l, c, &radii, |_, found| found.count()).into_iter().sum::<usize>();
            let pairs = (0..classes).map(count).sum::<usize>();
            refuse(1e-9 * PAIR * pairs as f64, self.data.columns(), MemoryRemedy::Rows)?;
        }
        let (pull, push) = self.pull_and_push();
        let mut value = pull * target.iter().sum::<f64>();
        let mut impostors = Vec::new();
        let hinges = |i: usize, distance: f64| {
            let intrusions = target[self.targets.places(i)].iter().map(|t| 1.0 + t - distance);
            intrusions.filter(|x| *x > 0.0).map(|x| self.hinge(x).0).sum::<f64>()
        };
        for c in 0..classes {
            let of_row = |i: usize, found: &mut dyn Iterator<Item = (u32, f64)>| {
                let mut sum = 0.0;
                let list: Vec<(u32, u32)> = found
                    .map(|(l, distance)| {
                        sum += hinges(i, distance);
                        (i as u32, l)
                    })
                    .collect();
                (sum, list)
            };
            for (sum, list) in self.intruders(l, c, &radii, of_row) {
                value += push * sum;
                impostors.extend(list);
            }
        }
        impostors.sort_unstable();
        Ok(Check { value, impostors })
    }

    /// The distance of each row to each of its targets.
    fn target_distances(&self, l: &[f64]) -> Vec<f64> {
        let r = self.data.columns();
        let mut distances = vec![0.0; self.targets.rows.len()];
        for c in (0..self.data.class_count()).filter(|&c| !self.data.class(c).is_empty()) {
            let z = self.data.transformed(map(l, c, r));
            let row = |i: usize| &z[i * r..(i + 1) * r];
            for i in self.data.class(c) {
                for place in self.targets.places(i) {
                    distances[place] = squared_distance(row(i), row(self.targets.rows[place]));
                }
            }
        }
        distances
    }

    /// For every row of another class, what `of` makes of the rows of class `c` within its radius, with their distances.
    fn intruders<T: Send>(
        &self,
        l: &[f64],
        c: usize,
        radii: &[f64],
        of: impl Fn(usize, &mut dyn Iterator<Item = (u32, f64)>) -> T + Sync,
    ) -> Vec<T> {
        let (r, class) = (self.data.columns(), self.data.class(c));
        let z = if class.is_empty() { Vec::new() } else { self.data.transformed(map(l, c, r)) };
        let others = if class.is_empty() { 0 } else { self.data.len() };
        let row = |i: usize| &z[i * r..(i + 1) * r];
        let search = |i: usize| {
            let distances = class.clone().map(|l| (l as u32, squared_distance(row(i), row(l))));
            of(i, &mut distances.filter(|(_, distance)| *distance < radii[i]))
        };
        (0..others).into_par_iter().filter(|i| !class.contains(i)).map(search).collect()
    }
}

/// The objective on an active set of impostors.
pub(super) struct Round<'a> {
    problem: &'a Problem<'a>,
    /// The row of each pair.
    rows: Vec<u32>,
    classes: Vec<ClassPairs>,
}

/// The pairs whose distance the metric of one class measures.
struct ClassPairs {
    /// The rows that occur in them.
    x: Option<Rows>,
    /// The place in a list of distances, and both rows, as places in `x`.
    targets: Vec<[usize; 3]>,
    impostors: Vec<[usize; 3]>,
}

impl<'a> Round<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, active: &[(u32, u32)]) -> Self {
        let data = &problem.data;
        let mut of_class = vec![Vec::new(); data.class_count()];
        for (at, &(i, l)) in active.iter().enumerate() {
            of_class[data.codes()[l as usize] as usize].push([at, i as usize, l as usize]);
        }
        let pairs = |(c, impostors): (usize, Vec<[usize; 3]>)| {
            let target = |i: usize| {
                problem.targets.places(i).map(move |place| [place, i, problem.targets.rows[place]])
            };
            let targets: Vec<[usize; 3]> = data.class(c).flat_map(target).collect();
            let mut members: Vec<usize> =
                impostors.iter().chain(&targets).flat_map(|&[_, i, j]| [i, j]).collect();
            members.sort_unstable();
            members.dedup();
            let mut place = vec![0; data.len()];
            members.iter().enumerate().for_each(|(at, &i)| place[i] = at);
            let local = |pairs: Vec<[usize; 3]>| {
                pairs.into_iter().map(|[at, i, j]| [at, place[i], place[j]]).collect()
            };
            let x = (!members.is_empty()).then(|| data.rows().subset(&members));
            ClassPairs { x, targets: local(targets), impostors: local(impostors) }
        };
        let classes = of_class.into_iter().enumerate().map(pairs).collect();
        Self { problem, rows: active.iter().map(|&(i, _)| i).collect(), classes }
    }

    /// The objective at the maps `l`, and its gradient.
    pub(super) fn loss(&self, l: &[f64], gradient: &mut [f64]) -> f64 {
        let r = self.problem.data.columns();
        let measured: Vec<[Vec<f64>; 2]> =
            self.classes.par_iter().enumerate().map(|(c, pairs)| pairs.distances(map(l, c, r))).collect();
        let targets = &self.problem.targets;
        let (mut near, mut far) = (vec![0.0; targets.rows.len()], vec![0.0; self.rows.len()]);
        for (pairs, [to_targets, to_impostors]) in self.classes.iter().zip(&measured) {
            pairs.targets.iter().zip(to_targets).for_each(|(pair, &x)| near[pair[0]] = x);
            pairs.impostors.iter().zip(to_impostors).for_each(|(pair, &x)| far[pair[0]] = x);
        }
        let (pull, push) = self.problem.pull_and_push();
        let mut value = pull * near.iter().sum::<f64>();
        // From distances to the derivatives by them.
        let mut by_target = vec![pull; near.len()];
        for (&i, far) in self.rows.iter().zip(&mut far) {
            let distance = std::mem::replace(far, 0.0);
            for place in targets.places(i as usize) {
                let intrusion = 1.0 + near[place] - distance;
                if intrusion > 0.0 {
                    let (hinge, slope) = self.problem.hinge(intrusion);
                    value += push * hinge;
                    by_target[place] += push * slope;
                    *far -= push * slope;
                }
            }
        }
        if !value.is_finite() {
            return f64::INFINITY; // too far: a shorter step
        }
        let parts = gradient.par_chunks_exact_mut(r * r).zip(&self.classes).enumerate();
        parts.for_each(|(c, (gradient, pairs))| pairs.gradient(map(l, c, r), &by_target, &far, gradient));
        value
    }
}

impl ClassPairs {
    /// The distances to targets and to impostors.
    fn distances(&self, l: MatRef<'_, f64>) -> [Vec<f64>; 2] {
        let Some(x) = &self.x else { return [Vec::new(), Vec::new()] };
        let r = l.nrows();
        let z = project(x, &vec![0.0; r], None, l.transpose());
        let row = |i: usize| &z[i * r..(i + 1) * r];
        [&self.targets, &self.impostors]
            .map(|pairs| pairs.iter().map(|&[_, i, j]| squared_distance(row(i), row(j))).collect())
    }

    /// `2 L_c Σ w vvᵀ`, by the Laplacian of the weights.
    fn gradient(&self, l: MatRef<'_, f64>, by_target: &[f64], by_impostor: &[f64], gradient: &mut [f64]) {
        let Some(x) = &self.x else { return gradient.fill(0.0) };
        let r = l.nrows();
        let mut laplacian = vec![0.0; x.len() * r];
        let weights = [(&self.targets, by_target), (&self.impostors, by_impostor)];
        for (&[at, i, j], weights) in
            weights.into_iter().flat_map(|(pairs, w)| pairs.iter().map(move |p| (p, w)))
        {
            let w = weights[at];
            if w != 0.0 {
                for (k, (a, b)) in x.row(i).iter().zip(x.row(j)).enumerate() {
                    let part = w * (a - b);
                    laplacian[i * r + k] += part;
                    laplacian[j * r + k] -= part;
                }
            }
        }
        let laplacian = MatRef::from_row_major_slice(&laplacian, x.len(), r);
        let sum: Mat<f64> = product(laplacian.transpose(), x.as_mat());
        let slope = product(l, sum.as_ref());
        gradient.iter_mut().enumerate().for_each(|(at, g)| *g = 2.0 * slope[(at / r, at % r)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;
    use mahala::{Dataset, Labels};

    fn problem(lmnn: &Lmnn) -> Problem<'_> {
        let mut random = Random::new(4, 0);
        let cells = (0..40 * 3).map(|_| random.uniform()).collect();
        let labels = Labels::new((0..40).map(|i| ["a", "b", "c"][i % 3]));
        let data = Labelled::new(&Dataset::new(Rows::new(cells, 3).unwrap(), labels).unwrap()).unwrap();
        Problem { targets: Targets::nearest(&data, 3).unwrap(), data, lmnn }
    }

    fn point() -> Vec<f64> {
        let mut random = Random::new(5, 0);
        (0..27).map(|_| 4.0 * random.uniform() - 2.0).collect()
    }

    #[test]
    fn the_objective_of_the_active_set_is_the_whole_one_where_it_was_checked_and_that_of_the_formula() {
        for hinge in [Hinge::Squared, Hinge::Classic] {
            let lmnn = Lmnn { hinge, push: 0.3, ..Lmnn::default() };
            let (problem, l) = (problem(&lmnn), point());
            let check = problem.check(&l).unwrap();
            let value = Round::new(&problem, &check.impostors).loss(&l, &mut [0.0; 27]);
            assert!((value / check.value - 1.0).abs() < 1e-13, "{value} {}", check.value);
            let codes = problem.data.codes();
            let distance = |i: usize, j: usize| {
                let (x, y, m) =
                    (problem.data.rows().row(i), problem.data.rows().row(j), map(&l, codes[j] as usize, 3));
                (0..3).map(|a| (0..3).map(|b| m[(a, b)] * (x[b] - y[b])).sum::<f64>().powi(2)).sum::<f64>()
            };
            let (mut pulled, mut pushed) = (0.0, 0.0);
            for (i, j) in problem.targets.pairs() {
                pulled += distance(i, j);
                for l in (0..40).filter(|&l| codes[l] != codes[i]) {
                    let x = (1.0 + distance(i, j) - distance(i, l)).max(0.0);
                    pushed += if hinge == Hinge::Squared { x * x } else { x };
                }
            }
            let direct = if hinge == Hinge::Squared { pulled + pushed } else { 0.7 * pulled + 0.3 * pushed };
            assert!((value / direct - 1.0).abs() < 1e-12, "{value} {direct}");
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        for hinge in [Hinge::Squared, Hinge::Classic] {
            let lmnn = Lmnn { hinge, push: 0.3, ..Lmnn::default() };
            let (problem, mut l) = (problem(&lmnn), point());
            let active = problem.check(&l).unwrap().impostors;
            let round = Round::new(&problem, &active);
            let (mut gradient, mut unused) = (vec![0.0; 27], vec![0.0; 27]);
            round.loss(&l, &mut gradient);
            for at in 0..27 {
                let (here, h) = (l[at], 1e-6);
                l[at] = here + h;
                let above = round.loss(&l, &mut unused);
                l[at] = here - h;
                let below = round.loss(&l, &mut unused);
                l[at] = here;
                let slope = (above - below) / (2.0 * h);
                // The classic hinge has kinks; none is within h of this point.
                assert!(
                    (slope - gradient[at]).abs() < 1e-5 * slope.abs().max(10.0),
                    "{slope} {}",
                    gradient[at]
                );
            }
        }
    }

    #[test]
    fn the_union_of_two_lists_has_every_pair_once() {
        assert_eq!(united(&[(0, 1), (2, 3)], &[(0, 1), (1, 0)]), [(0, 1), (1, 0), (2, 3)]);
    }
}
