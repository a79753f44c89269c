//! Function multiversioning: one loop compiled for several instruction sets, the build chosen at run time.
//!
//! A [`Kernel`] is a plain loop that is compiled a second time for AVX2 and FMA. An [`Avx512Kernel`] has a second body,
//! written for the 32 registers of AVX-512.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "other processors run the portable build")
)]

use pulp::{NullaryFnOnce, Simd, WithSimd};

/// A loop that is compiled for several instruction sets; `FMA` says whether fused multiply-add is one of them.
pub trait Kernel {
    /// The loop's result.
    type Output;
    /// Runs the loop.
    fn call<const FMA: bool>(self) -> Self::Output;
}

/// Whether the processor has AVX2 and FMA, so that [`dispatch`] selects the build for them.
pub fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return pulp::x86::V3::try_new().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Runs the build for AVX2 and FMA if the processor has them, otherwise the portable one.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(Build::<K, true>(kernel));
    }
    kernel.call::<{ cfg!(target_arch = "aarch64") }>()
}

/// A [`Kernel`] with a second body for AVX-512: 32 registers of eight doubles.
pub trait Avx512Kernel: Kernel {
    /// Runs the AVX-512 body.
    fn call_avx512<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs the AVX-512 body if the processor has AVX-512, otherwise falls back to [`dispatch`].
pub fn dispatch_avx512<K: Avx512Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return Simd::vectorize(simd, Avx512Build(kernel));
    }
    dispatch(kernel)
}

/// Lanes of a reduction: partial sums that are added independently. A register of eight doubles holds all of them, narrower
/// registers share them, so that the order of additions, and every bit of the result, does not depend on the vector width.
pub const LANES: usize = 8;

/// A slice in 8-lane groups, each of `R` registers `F`, and the remainder of fewer than eight numbers.
pub type Lanes<'a, F, const R: usize> = (&'a [[F; R]], &'a [f64]);

/// Views a slice as [`Lanes`].
#[inline(always)]
pub fn as_lanes<S: Simd, const R: usize>(x: &[f64]) -> Lanes<'_, S::f64s, R> {
    let (groups, rest) = x.split_at(x.len() / LANES * LANES);
    (S::as_simd_f64s(groups).0.as_chunks().0, rest)
}

/// Views a mutable slice as 8-lane groups of registers and the remainder; see [`as_lanes`].
#[inline(always)]
pub fn as_lanes_mut<S: Simd, const R: usize>(x: &mut [f64]) -> (&mut [[S::f64s; R]], &mut [f64]) {
    let (groups, rest) = x.split_at_mut(x.len() / LANES * LANES);
    (S::as_mut_simd_f64s(groups).0.as_chunks_mut().0, rest)
}

/// Reduces eight lanes to their sum, pairwise: halves are added to each other until one number is left.
#[inline(always)]
pub fn sum_lanes<S: Simd, const R: usize>(simd: S, mut sums: [S::f64s; R]) -> f64 {
    let mut half = R / 2;
    while half > 0 {
        for r in 0..half {
            sums[r] = simd.add_f64s(sums[r], sums[r + half]);
        }
        half /= 2;
    }
    simd.reduce_sum_f64s(sums[0])
}

/// Calls a function with the number `R` of registers that hold eight lanes: `with_lanes!(S, function(simd, x))` is
/// `function::<S, R>(simd, x)`.
macro_rules! with_lanes {
    ($simd:ident, $function:ident($($argument:expr),*)) => {
        match $crate::simd::LANES / $simd::F64_LANES {
            1 => $function::<$simd, 1>($($argument),*),
            2 => $function::<$simd, 2>($($argument),*),
            4 => $function::<$simd, 4>($($argument),*),
            _ => $function::<$simd, 8>($($argument),*),
        }
    };
}
pub(crate) use with_lanes;

struct Avx512Build<K>(K);

impl<K: Avx512Kernel> WithSimd for Avx512Build<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> K::Output {
        self.0.call_avx512(simd)
    }
}

struct Build<K, const FMA: bool>(K);

impl<K: Kernel, const FMA: bool> NullaryFnOnce for Build<K, FMA> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.0.call::<FMA>()
    }
}
