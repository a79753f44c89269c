//! Plain loops compiled a second time for AVX2 and FMA, and some written once more for AVX-512; chosen at run time.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "other processors run the portable build")
)]

use pulp::{NullaryFnOnce, Simd, WithSimd};

/// A loop to be compiled for more than one processor; `FUSED` if that has fused multiplication and addition.
pub(crate) trait Work {
    type Output;
    fn call<const FUSED: bool>(self) -> Self::Output;
}

/// Whether the build for AVX2 and FMA is the one that runs.
pub(crate) fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return pulp::x86::V3::try_new().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Runs the build for AVX2 and FMA if the processor has them.
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(Build::<W, true>(work));
    }
    work.call::<{ cfg!(target_arch = "aarch64") }>()
}

/// The same work, written for registers of eight numbers, of which there are 32.
pub(crate) trait Widest: Work {
    fn call_widest<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs the build for AVX-512 if the processor has it, otherwise as [`run`].
pub(crate) fn run_widest<W: Widest>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return Simd::vectorize(simd, WidestBuild(work));
    }
    run(work)
}

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
