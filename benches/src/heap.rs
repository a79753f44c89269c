//! The most memory a piece of work asks for: exact, where resident memory also counts pages of the program and stacks.
#![allow(
    unsafe_code,
    reason = "an allocator cannot be written without; every call goes to the system's unchanged"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

#[global_allocator]
static COUNTED: Counted = Counted;

static COUNTING: AtomicBool = AtomicBool::new(false);
static HELD: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// The system's allocator; it counts only when told to, so that times are those without.
struct Counted;

/// Does the work, and tells the peak of what it held beyond what was there before, in bytes.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, i64) {
    HELD.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    COUNTING.store(true, Relaxed);
    let result = work();
    COUNTING.store(false, Relaxed);
    (result, PEAK.load(Relaxed))
}

fn count(bytes: i64) {
    if COUNTING.load(Relaxed) {
        let held = HELD.fetch_add(bytes, Relaxed) + bytes;
        PEAK.fetch_max(held, Relaxed);
    }
}

fn size(layout: Layout) -> i64 {
    // A layout holds at most as many bytes as a signed number counts.
    layout.size().cast_signed() as i64
}

// SAFETY: each call is passed on as it came; counting touches nothing but counters.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-size(layout));
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes.cast_signed() as i64 - size(layout));
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::peak_of;
    use crate::time::{generated, with_threads};
    use mahala::{Gmml, TChoice};

    /// The only test here, as there is one count.
    #[test]
    fn more_rows_ask_for_no_more_memory_than_the_bound() {
        let (few, many) = (generated(40_000, 64, 10).unwrap(), generated(80_000, 64, 10).unwrap());
        let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
        let [few, many] = with_threads(1, || {
            // The matrix product reserves room for a thread once, and touches what it needs of it.
            gmml.fit(&few).unwrap();
            [&few, &many].map(|data| peak_of(|| gmml.fit(data).unwrap()).1)
        })
        .unwrap();
        // Six matrices, and a block of 513 rows of 72 numbers.
        assert!(many <= 8 * (6 * 64 * 64 + 513 * 72), "{many}");
        // The starts of five more runs.
        assert!(many - few <= 100, "{few} {many}");
    }
}
