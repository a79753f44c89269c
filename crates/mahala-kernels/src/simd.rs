//! Plain loops compiled a second time for AVX2 and FMA, and some written once more for AVX-512; chosen at run time.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "other processors run the portable build")
)]

use pulp::{NullaryFnOnce, Simd, WithSimd};

/// A loop to be compiled for more than one processor; `FUSED` if that has fused multiplication and addition.
pub trait Work {
    /// What the loop returns.
    type Output;
    /// The loop.
    fn call<const FUSED: bool>(self) -> Self::Output;
}

/// Whether the build for AVX2 and FMA is the one that runs.
pub fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return pulp::x86::V3::try_new().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Runs the build for AVX2 and FMA if the processor has them.
pub fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(Build::<W, true>(work));
    }
    work.call::<{ cfg!(target_arch = "aarch64") }>()
}

/// The same work, written for registers of eight numbers, of which there are 32.
pub trait Widest: Work {
    /// The loop in these registers.
    fn call_widest<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs the build for AVX-512 if the processor has it, otherwise as [`run`].
pub fn run_widest<W: Widest>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return Simd::vectorize(simd, WidestBuild(work));
    }
    run(work)
}

/// Partial sums of a reduction. Registers of eight numbers hold them in one, narrower ones in several, so that the order
/// of additions, and with it every bit of the result, does not depend on the width of the registers.
pub const SUMS: usize = 8;

/// Registers `F`, `R` of them for eight numbers, and what is left at the end of the numbers.
pub type Eights<'a, F, const R: usize> = (&'a [[F; R]], &'a [f64]);

/// The numbers as [`Eights`].
#[inline(always)]
pub fn as_eights<S: Simd, const R: usize>(x: &[f64]) -> Eights<'_, S::f64s, R> {
    let (eights, rest) = x.split_at(x.len() / SUMS * SUMS);
    (S::as_simd_f64s(eights).0.as_chunks().0, rest)
}

/// [`as_eights`], to be written to.
#[inline(always)]
pub fn as_eights_mut<S: Simd, const R: usize>(x: &mut [f64]) -> (&mut [[S::f64s; R]], &mut [f64]) {
    let (eights, rest) = x.split_at_mut(x.len() / SUMS * SUMS);
    (S::as_mut_simd_f64s(eights).0.as_chunks_mut().0, rest)
}

/// The sum of eight partial sums: halves are added to each other until one number is left.
#[inline(always)]
pub fn sum_of_eight<S: Simd, const R: usize>(simd: S, mut sums: [S::f64s; R]) -> f64 {
    let mut half = R / 2;
    while half > 0 {
        for r in 0..half {
            sums[r] = simd.add_f64s(sums[r], sums[r + half]);
        }
        half /= 2;
    }
    simd.reduce_sum_f64s(sums[0])
}

/// Calls a function with the number of registers that hold eight numbers: `in_eights!(S, function(simd, x))` is
/// `function::<S, R>(simd, x)`.
macro_rules! in_eights {
    ($simd:ident, $function:ident($($argument:expr),*)) => {
        match $crate::simd::SUMS / $simd::F64_LANES {
            1 => $function::<$simd, 1>($($argument),*),
            2 => $function::<$simd, 2>($($argument),*),
            4 => $function::<$simd, 4>($($argument),*),
            _ => $function::<$simd, 8>($($argument),*),
        }
    };
}
pub(crate) use in_eights;

struct WidestBuild<W>(W);

impl<W: Widest> WithSimd for WidestBuild<W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> W::Output {
        self.0.call_widest(simd)
    }
}

struct Build<W, const FUSED: bool>(W);

impl<W: Work, const FUSED: bool> NullaryFnOnce for Build<W, FUSED> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.0.call::<FUSED>()
    }
}
