//! Software prefetch.

/// Asks for the line of the cache that holds a number, ahead of its use. Nothing happens if there is no such number.
#[inline(always)]
#[allow(unsafe_code, reason = "one instruction, which reads nothing")]
#[allow(clippy::inline_always, reason = "it is a single instruction")]
pub fn prefetch<T>(numbers: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(number) = numbers.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this kind has the instruction; it reads nothing, and the address is one of a number.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, at);
}
