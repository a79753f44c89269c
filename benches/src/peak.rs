//! What the machine can do at most: fused multiplications and additions in registers, and a matrix product.

use crate::time::{Times, with_threads};
use anyhow::Result;
use faer::{Accum, Mat, Par};
use pulp::NullaryFnOnce;
use serde_json::{Value, json};

/// Chains of additions that do not wait for each other: enough for two units with a latency of four.
const CHAINS: usize = 10;
const LANES: usize = 4;

struct Fma(u64);

impl NullaryFnOnce for Fma {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut sums = [[0.5f64; LANES]; CHAINS];
        let (a, b): (f64, f64) = (std::hint::black_box(0.999_999), std::hint::black_box(1e-7));
        for _ in 0..self.0 {
            for sums in &mut sums {
                for sum in sums {
                    *sum = sum.mul_add(a, b);
                }
            }
        }
        sums.iter().flatten().sum()
    }
}

/// Flops per second of both, in double precision, one thread each or as many as asked.
pub(crate) fn run(threads: usize) -> Result<Value> {
    const TURNS: u64 = 20_000_000;
    let (mut fma, mut gemm) = (Times::default(), Times::default());
    let n = 1024;
    let a = Mat::from_fn(n, n, |i, j| ((i * 31 + j * 17) % 101) as f64 / 101.0);
    let mut c = Mat::zeros(n, n);
    let par = if threads == 1 { Par::Seq } else { Par::rayon(threads) };
    with_threads(threads, || {
        for _ in 0..5 {
            fma.add(|| {
                rayon::broadcast(|_| std::hint::black_box(vectorized(Fma(TURNS))));
            });
            gemm.add(|| {
                faer::linalg::matmul::matmul(c.as_mut(), Accum::Replace, a.as_ref(), a.as_ref(), 1.0, par);
            });
        }
    })?;
    let fma_flops = (2 * CHAINS * LANES * threads) as f64 * TURNS as f64;
    Ok(json!({
        "what": "peak", "threads": threads, "fma_flops_per_second": fma_flops / fma.wall_min(),
        "gemm_flops_per_second": 2.0 * (n as f64).powi(3) / gemm.wall_min(),
    }))
}

/// Compiled for AVX2 and FMA where the processor has them.
fn vectorized<W: NullaryFnOnce>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(work);
    }
    work.call()
}
