//! Exact nearest neighbours in few columns by a k-d tree: rows are cut at the median of the widest column until few are
//! left, and a search leaves out every part whose box is farther away than the k best so far.
//!
//! The distance to a box is that to its nearest point, by the same formula as that to a row, in the same order: no rounding
//! makes it the larger of the two. So the answer is that of the plain search, ties included.

use crate::parallel::both;
use crate::rows::RowsRef;
use faer::Par;
use rayon::prelude::*;

/// With more columns the plain search is as fast (`./bench --only trees`).
const COLUMNS: usize = 6;
/// Fewer rows than this, doubled with every column, are searched faster without a tree.
const ROWS: usize = 1500;
/// A tree takes as long to plant as a plain search with a thousand queries.
const QUERIES: usize = 2000;
/// The best so far are a sorted list: too long a one is slow.
const NEIGHBOURS: usize = 100;
/// Rows of a part that is not cut any more, at most.
const LEAF: usize = 16;
/// Halves of this many rows are cut by two threads.
const SHARED: usize = 2000;
/// Queries that one thread answers at a time.
const TOGETHER: usize = 64;

/// A row, with zeros for the columns it does not have: they change no distance.
type Point = [f64; COLUMNS];

/// Rows in the order of the tree.
#[derive(Debug, Clone)]
pub struct Tree {
    points: Vec<Point>,
    /// The number of each row.
    rows: Vec<usize>,
    /// The parts: the whole first, the halves of part `i` at `2i + 1` and `2i + 2`.
    parts: Vec<Part>,
}

/// What is known of a part without looking at its rows.
#[derive(Debug, Clone, Copy)]
struct Part {
    low: Point,
    high: Point,
    /// The first of its rows.
    first_row: usize,
}

/// The best rows so far, nearest first, equal distances by row.
struct Best {
    k: usize,
    found: Vec<(f64, usize)>,
}

/// Whether a tree is the faster way: for a search with so many queries, or for any if there is one already.
pub fn pays(rows: RowsRef<'_>, queries: Option<usize>, k: usize) -> bool {
    let many = queries.is_none_or(|queries| queries >= QUERIES);
    rows.columns() <= COLUMNS && rows.len() >= ROWS << rows.columns() && many && k <= NEIGHBOURS
}

impl Tree {
    /// Of at most [`COLUMNS`] columns.
    pub fn new(rows: RowsRef<'_>) -> Self {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let depth = rows.len().div_ceil(LEAF).next_power_of_two().ilog2();
        let all: Vec<Point> = (0..rows.len()).map(|i| point(rows.row(i))).collect();
        arrange(&all, &mut order, depth);
        let points: Vec<Point> = order.iter().map(|&i| all[i]).collect();
        let mut tree = Self { points, rows: order, parts: Vec::new() };
        tree.parts = vec![Part::NOTHING; (2 << depth) - 1];
        tree.describe(0, 0, rows.len());
        tree
    }

    /// The `k` nearest rows of each query: distances and row numbers, query after query.
    pub fn search(&self, queries: RowsRef<'_>, k: usize) -> Vec<(f64, usize)> {
        let chunks: Vec<&[f64]> = queries.values().chunks(TOGETHER * queries.columns()).collect();
        let answers = chunks.into_par_iter().map(|chunk| {
            let mut answers = Vec::with_capacity(TOGETHER * k);
            for query in chunk.chunks_exact(queries.columns()) {
                let mut best = Best { k, found: Vec::with_capacity(k + 1) };
                self.look(0, 0, self.points.len(), &point(query), &mut best);
                answers.extend(best.found.into_iter().map(|(square, row)| (square.sqrt(), row)));
            }
            answers
        });
        let answers: Vec<Vec<(f64, usize)>> = answers.collect();
        answers.into_iter().flatten().collect()
    }

    /// Describes a part and those within it.
    fn describe(&mut self, part: usize, start: usize, end: usize) -> Part {
        self.parts[part] = if let Some((middle, [one, two])) = self.halves(part, start, end) {
            self.describe(one, start, middle).and(&self.describe(two, middle, end))
        } else {
            let rows = self.points[start..end].iter().zip(&self.rows[start..end]);
            rows.fold(Part::NOTHING, |part, (&p, &first_row)| part.and(&Part { low: p, high: p, first_row }))
        };
        self.parts[part]
    }

    /// Where a part is cut, and its halves, if it is.
    fn halves(&self, part: usize, start: usize, end: usize) -> Option<(usize, [usize; 2])> {
        let halves = [2 * part + 1, 2 * part + 2];
        (halves[1] < self.parts.len()).then_some((middle(start, end), halves))
    }

    /// Offers the rows of a part, but for those that cannot be among the best.
    fn look(&self, part: usize, start: usize, end: usize, query: &Point, best: &mut Best) {
        let Some((middle, [one, two])) = self.halves(part, start, end) else {
            for (point, &row) in self.points[start..end].iter().zip(&self.rows[start..end]) {
                best.offer(square(query, point), row);
            }
            return;
        };
        let [to_one, to_two] = [one, two].map(|half| self.parts[half].nearest(query));
        let mut ways = [(to_one, one, start, middle), (to_two, two, middle, end)];
        if to_two < to_one {
            ways.swap(0, 1);
        }
        for ((square, first_row), half, start, end) in ways {
            if best.takes(square, first_row) {
                self.look(half, start, end, query, best);
            }
        }
    }
}

impl Part {
    /// Without rows.
    const NOTHING: Self =
        Self { low: [f64::INFINITY; COLUMNS], high: [f64::NEG_INFINITY; COLUMNS], first_row: usize::MAX };

    /// Both together.
    fn and(&self, other: &Self) -> Self {
        let pairs = |x: &Point, y: &Point, f: fn(f64, f64) -> f64| std::array::from_fn(|j| f(x[j], y[j]));
        Self {
            low: pairs(&self.low, &other.low, f64::min),
            high: pairs(&self.high, &other.high, f64::max),
            first_row: self.first_row.min(other.first_row),
        }
    }

    /// The squared distance of the box, and the first row in it: none of its rows comes before these.
    fn nearest(&self, query: &Point) -> (f64, usize) {
        let inside = std::array::from_fn(|j| query[j].max(self.low[j]).min(self.high[j]));
        (square(query, &inside), self.first_row)
    }
}

impl Best {
    /// Whether a row at this squared distance would be among the best.
    fn takes(&self, square: f64, row: usize) -> bool {
        self.found.len() < self.k || self.found.last().is_none_or(|last| (square, row) < *last)
    }

    fn offer(&mut self, square: f64, row: usize) {
        if !self.takes(square, row) {
            return;
        }
        self.found.truncate(self.k - 1);
        let at = self.found.iter().rposition(|found| *found < (square, row)).map_or(0, |before| before + 1);
        self.found.insert(at, (square, row));
    }
}

/// Cuts at the median of the widest column; equal values by row, so that the order is one.
fn arrange(points: &[Point], order: &mut [usize], depth: u32) {
    if depth == 0 {
        return;
    }
    let whole = order
        .iter()
        .fold(Part::NOTHING, |whole, &i| whole.and(&Part { low: points[i], high: points[i], first_row: i }));
    let width = |j: usize| whole.high[j] - whole.low[j];
    let widest = (1..COLUMNS).fold(0, |widest, j| if width(j) > width(widest) { j } else { widest });
    let middle = middle(0, order.len());
    order.select_nth_unstable_by(middle, |&a, &b| {
        points[a][widest].total_cmp(&points[b][widest]).then(a.cmp(&b))
    });
    let (left, right) = order.split_at_mut(middle);
    let parallel = if middle < SHARED { Par::Seq } else { Par::rayon(2) };
    both(parallel, || arrange(points, left, depth - 1), || arrange(points, right, depth - 1));
}

fn middle(start: usize, end: usize) -> usize {
    start + (end - start) / 2
}

fn point(row: &[f64]) -> Point {
    let mut point = [0.0; COLUMNS];
    point[..row.len()].copy_from_slice(row);
    point
}

/// `Σ(x_j − y_j)²`, as in `distance.rs`.
fn square(x: &Point, y: &Point) -> f64 {
    let mut sum = 0.0;
    for j in 0..COLUMNS {
        sum += (x[j] - y[j]) * (x[j] - y[j]);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::search::Index;
    use crate::random::Random;

    struct Table(Vec<f64>, usize);

    impl Table {
        fn view(&self) -> RowsRef<'_> {
            RowsRef::new(&self.0, self.1)
        }
    }

    fn rows(n: usize, d: usize, seed: u64, f: impl Fn(f64) -> f64) -> Table {
        let mut random = Random::new(seed, 0);
        Table((0..n * d).map(|_| f(random.uniform())).collect(), d)
    }

    /// Few enough queries for the plain search.
    fn assert_as_plain(rows: &Table, queries: &Table, k: usize) {
        let (rows, queries) = (rows.view(), queries.view());
        assert!(queries.len() < QUERIES);
        let plain = Index::new(rows).search(rows, queries, k);
        assert_eq!(Tree::new(rows).search(queries, k), plain, "{} x {}, k = {k}", rows.len(), rows.columns());
    }

    #[test]
    fn the_answer_is_that_of_the_plain_search() {
        for (n, d) in
            [(1, 1), (2, 3), (16, 2), (17, 2), (2000, 1), (2001, 2), (5000, 3), (3333, 4), (4000, 6)]
        {
            for k in [1, 5, NEIGHBOURS].map(|k| k.min(n)) {
                assert_as_plain(&rows(n, d, 1, |x| x), &rows(200, d, 2, |x| 1.2 * x - 0.1), k);
            }
        }
    }

    #[test]
    fn equal_distances_go_to_the_earlier_row() {
        for d in 1..=COLUMNS {
            // Few places, many rows at each.
            assert_as_plain(
                &rows(3000, d, 3, |x| (3.0 * x).floor()),
                &rows(100, d, 4, |x| (6.0 * x).floor() / 2.0),
                20,
            );
            assert_as_plain(&rows(2500, d, 5, |_| 0.25), &rows(20, d, 6, |x| x), 9);
        }
    }

    #[test]
    fn far_queries_and_uneven_columns_lose_nothing() {
        assert_as_plain(&rows(2500, 3, 7, |x| 1e9 + x), &rows(50, 3, 8, |x| 1e9 + x), 5);
        assert_as_plain(&rows(2500, 2, 9, |x| x), &rows(50, 2, 10, |x| 1e12 * x), 5);
        assert_as_plain(&rows(2500, 4, 11, |x| x.powi(30)), &rows(50, 4, 12, |x| x.powi(9)), 5);
    }

    #[test]
    fn a_search_with_many_queries_plants_a_tree_and_one_beyond_its_range_does_not() {
        let table = rows(ROWS << 2, 2, 13, |x| x);
        let knn = Index::new(table.view());
        let (many, few) = (rows(QUERIES, 2, 14, |x| x), rows(3, 2, 15, |x| x));
        let before = knn.search(table.view(), few.view(), 5);
        assert!(!knn.has_tree());
        knn.search(table.view(), many.view(), NEIGHBOURS + 1);
        assert!(!knn.has_tree());
        knn.search(table.view(), rows(QUERIES, 2, 16, |x| 1e200 * x).view(), 5);
        assert!(!knn.has_tree());
        knn.search(table.view(), many.view(), 5);
        assert!(knn.has_tree());
        assert_eq!(knn.search(table.view(), few.view(), 5), before);
    }
}
