//! What the machine can do at most: fused multiplications and additions in registers, and a matrix product.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::time::Times;
use faer::{Accum, Mat, Par};
use pulp::{Arch, Simd, WithSimd};
use serde_json::{Value, json};

/// Registers of sums that do not wait for each other: more than two units times a latency of four.
const CHAINS: usize = 12;
const TURNS: u64 = 20_000_000;

struct Fma;

impl WithSimd for Fma {
    /// Flops done.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let splat = |x: f64| simd.splat_f64s(std::hint::black_box(x));
        let (a, b) = (splat(0.999_999), splat(1e-7));
        let mut sums = [splat(0.5); CHAINS];
        for _ in 0..TURNS {
            for sum in &mut sums {
                *sum = simd.mul_add_f64s(*sum, a, b);
            }
        }
        std::hint::black_box(sums.map(|sum| simd.reduce_sum_f64s(sum)));
        (2 * CHAINS * size_of::<S::f64s>() / size_of::<f64>()) as f64 * TURNS as f64
    }
}

/// Flops per second of fused multiplications and additions in AVX2 registers, where there are wider ones.
fn fma_in_avx2() -> f64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, Fma);
    }
    Arch::new().dispatch(Fma)
}

/// The best seen so far of each on one thread, in flops per second and double precision, by CPU time.
#[derive(Default)]
pub(crate) struct Rates {
    fma: f64,
    avx2: f64,
    gemm: f64,
}

impl Rates {
    /// Measures each once more.
    pub(crate) fn measure(&mut self) {
        let n = 1024;
        let a = Mat::from_fn(n, n, |i, j| ((i * 31 + j * 17) % 101) as f64 / 101.0);
        // A memory that was written before.
        let mut c = a.clone();
        raise(&mut self.fma, || Arch::new().dispatch(Fma));
        raise(&mut self.avx2, fma_in_avx2);
        raise(&mut self.gemm, || {
            faer::linalg::matmul::matmul(c.as_mut(), Accum::Replace, a.as_ref(), a.as_ref(), 1.0, Par::Seq);
            2.0 * (n as f64).powi(3)
        });
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "fma": self.fma, "avx2": self.avx2, "gemm": self.gemm })
    }
}

/// Raises a rate to that of some work, which tells its flops.
fn raise(rate: &mut f64, work: impl FnOnce() -> f64) {
    let mut time = Times::default();
    let flops = time.add(work);
    *rate = rate.max(flops / time.cpu_min());
}
