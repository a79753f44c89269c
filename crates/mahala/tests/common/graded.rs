//! The rows and entries of `reference/graded.json`, made as its script makes them, bit for bit.
#![allow(dead_code, reason = "each test file uses a part")]

/// Steele, Lea and Flood 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (((self.next() >> 33) * n as u64) >> 31) as usize
    }
}

/// 4d rows of d cells, row by row; row i is of class i mod 3. The columns' units are from 1 to 10^decades, in no order.
pub(crate) fn cells(d: usize, decades: usize) -> Vec<f64> {
    let mut random = SplitMix((1000 * d + decades) as u64);
    let mut powers: Vec<usize> = (0..d).map(|j| (2 * decades * j + d - 1) / (2 * (d - 1))).collect();
    for j in (1..d).rev() {
        powers.swap(j, random.below(j + 1));
    }
    let scales: Vec<f64> =
        powers.iter().map(|power| format!("1e{power}").parse().expect("a power of ten")).collect();
    let mut cells = Vec::with_capacity(4 * d * d);
    for i in 0..4 * d {
        let mut draw = || (random.next() >> 44) as f64 - f64::from(1u32 << 19);
        let mut z: Vec<f64> =
            (0..d).map(|_| (0..4).map(|_| draw()).sum::<f64>() / f64::from(1u32 << 20)).collect();
        z.iter_mut().enumerate().filter(|(j, _)| j % 3 == i % 3).for_each(|(_, z)| *z += 0.75);
        cells.extend((0..d).map(|j| scales[j] * (z[j] + 0.4 * z[(j + d - 1) % d])));
    }
    cells
}

/// The largest error of a matrix over `√(A_ii·A_jj)`, at the entries of the reference: the diagonal, and some beside it.
pub(crate) fn error(a: impl Fn(usize, usize) -> f64, d: usize, exact: &[f64]) -> f64 {
    let mut random = SplitMix(d as u64);
    let mut at: Vec<(usize, usize)> = (0..d).map(|i| (i, i)).collect();
    while at.len() < exact.len() {
        let (i, j) = (random.below(d), random.below(d));
        if i != j {
            at.push((i, j));
        }
    }
    let size = |i: usize, j: usize| exact[i].sqrt() * exact[j].sqrt();
    at.iter().zip(exact).map(|(&(i, j), exact)| (a(i, j) - exact).abs() / size(i, j)).fold(0.0, f64::max)
}
