//! What the machine can do at most: fused multiplications and additions in registers, and a matrix product.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::time::{Times, with_threads};
use anyhow::Result;
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

/// The same in the registers of AVX2, where there are wider ones.
fn fma_in_avx2() -> f64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return Simd::vectorize(simd, Fma);
    }
    Arch::new().dispatch(Fma)
}

/// Flops per second of both in double precision, by CPU time: of all threads together.
pub(crate) fn run(threads: usize) -> Result<Value> {
    let [mut fma, mut avx2, mut gemm] = [(); 3].map(|()| Times::default());
    let n = 1024;
    let a = Mat::from_fn(n, n, |i, j| ((i * 31 + j * 17) % 101) as f64 / 101.0);
    let mut c = Mat::zeros(n, n);
    let par = if threads == 1 { Par::Seq } else { Par::rayon(threads) };
    let (mut flops, mut avx2_flops) = (0.0, 0.0);
    with_threads(threads, || {
        for _ in 0..5 {
            flops = fma.add(|| rayon::broadcast(|_| Arch::new().dispatch(Fma))).iter().sum();
            avx2_flops = avx2.add(|| rayon::broadcast(|_| fma_in_avx2())).iter().sum();
            gemm.add(|| {
                faer::linalg::matmul::matmul(c.as_mut(), Accum::Replace, a.as_ref(), a.as_ref(), 1.0, par);
            });
        }
    })?;
    Ok(json!({
        "what": "peak", "threads": threads,
        "fma_flops_per_second": flops / (fma.cpu_min() / threads as f64),
        "avx2_flops_per_second": avx2_flops / (avx2.cpu_min() / threads as f64),
        "gemm_flops_per_second": 2.0 * (n as f64).powi(3) / (gemm.cpu_min() / threads as f64),
    }))
}
