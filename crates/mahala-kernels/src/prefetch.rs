//! Software prefetch.

/// Prefetches the cache line of `numbers[at]` into L1. Does nothing if the index is out of bounds.
#[inline(always)]
#[allow(unsafe_code, reason = "one instruction, which has no architectural effect")]
#[allow(clippy::inline_always, reason = "it is a single instruction")]
pub fn prefetch<T>(numbers: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(number) = numbers.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64; a prefetch has no architectural effect, and the address is that of a live element.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, at);
}
