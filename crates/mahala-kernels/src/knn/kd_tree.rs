//! k-d tree for exact nearest neighbours in few columns: rows are split at the median of the widest column down to leaves, and
//! a search prunes every node whose bounding box is farther away than the k best so far.
//!
//! The distance to a box is that to its nearest point, computed by the formula and in the order of the distance to a row, so
//! rounding never makes it the larger of the two. The result is that of the exhaustive search, ties included.

use crate::parallel::both;
use crate::rows::RowsRef;
use faer::Par;
use rayon::prelude::*;

/// The largest number of columns: with more the exhaustive search is as fast (`./bench --only trees`).
const MAX_COLUMNS: usize = 6;
/// The least number of rows, doubled with every column: fewer are searched faster without a tree.
const MIN_ROWS: usize = 1500;
/// The least number of queries: building a tree takes as long as an exhaustive search with a thousand.
const MIN_QUERIES: usize = 2000;
/// The largest k: the best so far are a sorted list, which is slow if long.
const MAX_K: usize = 100;
/// The largest number of rows in a leaf.
const LEAF: usize = 16;
/// From this many rows on the two halves are built in parallel.
const PARALLEL_FROM: usize = 2000;
/// Queries of one parallel task.
const QUERY_BLOCK: usize = 64;

/// A row padded with zeros, which change no distance.
type Point = [f64; MAX_COLUMNS];

/// A k-d tree over copies of the rows.
#[derive(Debug, Clone)]
pub struct Tree {
    points: Vec<Point>,
    /// The row index of each point.
    rows: Vec<usize>,
    /// The nodes: the root first, the children of node `i` at `2i + 1` and `2i + 2`.
    nodes: Vec<Node>,
}

/// The bounding box of a node's rows.
#[derive(Debug, Clone, Copy)]
struct Node {
    low: Point,
    high: Point,
    /// The smallest row index in it.
    first_row: usize,
}

/// The k best rows so far, nearest first, equal distances by row index.
struct Best {
    k: usize,
    found: Vec<(f64, usize)>,
}

/// Whether a tree is faster: for so many queries if it has to be built, for any number (`None`) if it exists.
pub fn is_faster(rows: RowsRef<'_>, queries: Option<usize>, k: usize) -> bool {
    let many = queries.is_none_or(|queries| queries >= MIN_QUERIES);
    rows.columns() <= MAX_COLUMNS && rows.len() >= MIN_ROWS << rows.columns() && many && k <= MAX_K
}

impl Tree {
    /// Builds the tree of rows with at most `MAX_COLUMNS` columns.
    pub fn new(rows: RowsRef<'_>) -> Self {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let depth = rows.len().div_ceil(LEAF).next_power_of_two().ilog2();
        let all: Vec<Point> = (0..rows.len()).map(|i| point(rows.row(i))).collect();
        partition(&all, &mut order, depth);
        let points: Vec<Point> = order.iter().map(|&i| all[i]).collect();
        let mut tree = Self { points, rows: order, nodes: Vec::new() };
        tree.nodes = vec![Node::EMPTY; (2 << depth) - 1];
        tree.bound(0, 0, rows.len());
        tree
    }

    /// The `k` nearest rows of each query: distances and row indices, query after query.
    pub fn search(&self, queries: RowsRef<'_>, k: usize) -> Vec<(f64, usize)> {
        let chunks: Vec<&[f64]> = queries.values().chunks(QUERY_BLOCK * queries.columns()).collect();
        let results = chunks.into_par_iter().map(|chunk| {
            let mut results = Vec::with_capacity(QUERY_BLOCK * k);
            for query in chunk.chunks_exact(queries.columns()) {
                let mut best = Best { k, found: Vec::with_capacity(k + 1) };
                self.search_node(0, 0, self.points.len(), &point(query), &mut best);
                results.extend(best.found.into_iter().map(|(square, row)| (square.sqrt(), row)));
            }
            results
        });
        let results: Vec<Vec<(f64, usize)>> = results.collect();
        results.into_iter().flatten().collect()
    }

    /// Computes the bounding boxes of a node and its descendants.
    fn bound(&mut self, node: usize, start: usize, end: usize) -> Node {
        self.nodes[node] = if let Some((middle, [one, two])) = self.children(node, start, end) {
            self.bound(one, start, middle).union(&self.bound(two, middle, end))
        } else {
            let rows = self.points[start..end].iter().zip(&self.rows[start..end]);
            rows.fold(Node::EMPTY, |node, (&p, &first_row)| node.union(&Node { low: p, high: p, first_row }))
        };
        self.nodes[node]
    }

    /// The split position and the two children of a node; none for a leaf.
    fn children(&self, node: usize, start: usize, end: usize) -> Option<(usize, [usize; 2])> {
        let children = [2 * node + 1, 2 * node + 2];
        (children[1] < self.nodes.len()).then_some((middle(start, end), children))
    }

    /// Searches a node, pruning children that cannot hold any of the best.
    fn search_node(&self, node: usize, start: usize, end: usize, query: &Point, best: &mut Best) {
        let Some((middle, [one, two])) = self.children(node, start, end) else {
            for (point, &row) in self.points[start..end].iter().zip(&self.rows[start..end]) {
                best.offer(square(query, point), row);
            }
            return;
        };
        let [to_one, to_two] = [one, two].map(|half| self.nodes[half].nearest(query));
        let mut ways = [(to_one, one, start, middle), (to_two, two, middle, end)];
        if to_two < to_one {
            ways.swap(0, 1);
        }
        for ((square, first_row), half, start, end) in ways {
            if best.takes(square, first_row) {
                self.search_node(half, start, end, query, best);
            }
        }
    }
}

impl Node {
    /// The bounding box of no row.
    const EMPTY: Self = Self {
        low: [f64::INFINITY; MAX_COLUMNS],
        high: [f64::NEG_INFINITY; MAX_COLUMNS],
        first_row: usize::MAX,
    };

    /// The bounding box of two nodes.
    fn union(&self, other: &Self) -> Self {
        let pairs = |x: &Point, y: &Point, f: fn(f64, f64) -> f64| std::array::from_fn(|j| f(x[j], y[j]));
        Self {
            low: pairs(&self.low, &other.low, f64::min),
            high: pairs(&self.high, &other.high, f64::max),
            first_row: self.first_row.min(other.first_row),
        }
    }

    /// The squared distance to the box, and its smallest row index: a lower bound on the rank of its rows.
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

/// Partitions at the median of the widest column, recursively; equal values by row index, so that the order is unique.
fn partition(points: &[Point], order: &mut [usize], depth: u32) {
    if depth == 0 {
        return;
    }
    let whole = order
        .iter()
        .fold(Node::EMPTY, |whole, &i| whole.union(&Node { low: points[i], high: points[i], first_row: i }));
    let width = |j: usize| whole.high[j] - whole.low[j];
    let widest = (1..MAX_COLUMNS).fold(0, |widest, j| if width(j) > width(widest) { j } else { widest });
    let middle = middle(0, order.len());
    order.select_nth_unstable_by(middle, |&a, &b| {
        points[a][widest].total_cmp(&points[b][widest]).then(a.cmp(&b))
    });
    let (left, right) = order.split_at_mut(middle);
    let parallel = if middle < PARALLEL_FROM { Par::Seq } else { Par::rayon(16) };
    both(parallel, || partition(points, left, depth - 1), || partition(points, right, depth - 1));
}

fn middle(start: usize, end: usize) -> usize {
    start + (end - start) / 2
}

fn point(row: &[f64]) -> Point {
    let mut point = [0.0; MAX_COLUMNS];
    point[..row.len()].copy_from_slice(row);
    point
}

/// `Σ(x_j − y_j)²`; the bits are those of `distance.rs`.
fn square(x: &Point, y: &Point) -> f64 {
    let mut sum = 0.0;
    for j in 0..MAX_COLUMNS {
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

    /// Compares with the exhaustive search, which few queries select.
    fn assert_exhaustive(rows: &Table, queries: &Table, k: usize) {
        let (rows, queries) = (rows.view(), queries.view());
        assert!(queries.len() < MIN_QUERIES);
        let plain = Index::new(rows).search(rows, queries, k);
        assert_eq!(Tree::new(rows).search(queries, k), plain, "{} x {}, k = {k}", rows.len(), rows.columns());
    }

    #[test]
    fn the_result_is_that_of_the_exhaustive_search() {
        for (n, d) in
            [(1, 1), (2, 3), (16, 2), (17, 2), (2000, 1), (2001, 2), (5000, 3), (3333, 4), (4000, 6)]
        {
            for k in [1, 5, MAX_K].map(|k| k.min(n)) {
                assert_exhaustive(&rows(n, d, 1, |x| x), &rows(200, d, 2, |x| 1.2 * x - 0.1), k);
            }
        }
    }

    #[test]
    fn equal_distances_go_to_the_earlier_row() {
        for d in 1..=MAX_COLUMNS {
            // Few places, many rows at each.
            assert_exhaustive(
                &rows(3000, d, 3, |x| (3.0 * x).floor()),
                &rows(100, d, 4, |x| (6.0 * x).floor() / 2.0),
                20,
            );
            assert_exhaustive(&rows(2500, d, 5, |_| 0.25), &rows(20, d, 6, |x| x), 9);
        }
    }

    #[test]
    fn far_queries_and_uneven_columns_lose_nothing() {
        assert_exhaustive(&rows(2500, 3, 7, |x| 1e9 + x), &rows(50, 3, 8, |x| 1e9 + x), 5);
        assert_exhaustive(&rows(2500, 2, 9, |x| x), &rows(50, 2, 10, |x| 1e12 * x), 5);
        assert_exhaustive(&rows(2500, 4, 11, |x| x.powi(30)), &rows(50, 4, 12, |x| x.powi(9)), 5);
    }

    #[test]
    fn a_search_with_many_queries_builds_a_tree_and_one_beyond_its_range_does_not() {
        let table = rows(MIN_ROWS << 2, 2, 13, |x| x);
        let knn = Index::new(table.view());
        let (many, few) = (rows(MIN_QUERIES, 2, 14, |x| x), rows(3, 2, 15, |x| x));
        let before = knn.search(table.view(), few.view(), 5);
        assert!(!knn.has_tree());
        knn.search(table.view(), many.view(), MAX_K + 1);
        assert!(!knn.has_tree());
        knn.search(table.view(), rows(MIN_QUERIES, 2, 16, |x| 1e200 * x).view(), 5);
        assert!(!knn.has_tree());
        knn.search(table.view(), many.view(), 5);
        assert!(knn.has_tree());
        assert_eq!(knn.search(table.view(), few.view(), 5), before);
    }
}
