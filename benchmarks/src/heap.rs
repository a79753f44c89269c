//! The peak memory a piece of work allocates: exact, where resident memory also counts pages of the program and stacks.
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

/// The system's allocator; it counts only when switched on, so that times are those without.
struct Counted;

/// Does the work, and returns its peak memory above what was allocated before, in bytes.
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
    use mahala::Gmml;
    use mahala::footprint::Shape;
    use mahala::gmml::TChoice;
    use mahala::learner::Training;
    use mahala::progress::silent;
    use mahala_baselines::named;
    use serde_json::{Value, json};

    /// The only test here, as there is one count.
    #[test]
    fn memory_is_what_the_bounds_say() {
        more_rows_ask_for_no_more_memory_than_the_bound();
        estimates_are_above_what_is_held_and_of_its_order();
    }

    fn estimates_are_above_what_is_held_and_of_its_order() {
        // Enough iterations for L-BFGS to remember as many steps as it ever does.
        let iterations = json!({"max_iterations": 25, "tolerance": 0.0});
        let methods: [(&str, Value); 7] = [
            ("covariance", json!({})),
            ("recipe", json!({"rounds": [[3, 0.2]]})),
            ("itml", json!({"max_projections": 500})),
            ("lmnn", iterations.clone()),
            ("nca", iterations.clone()),
            ("mcml", iterations),
            ("mmc", json!({"max_iterations": 5})),
        ];
        for (n, d, classes) in [(200, 120, 3), (2000, 30, 4)] {
            let data = generated(n, d, classes).unwrap();
            let training = Training::Labelled(&data);
            for (name, parameters) in &methods {
                let method = named(name, parameters.clone()).unwrap();
                let held = with_threads(1, || {
                    let learn = || method.learn(&training, &mut silent).unwrap();
                    // The matrix product reserves room for a thread once.
                    learn();
                    peak_of(learn).1 as f64
                })
                .unwrap();
                let estimate = 8.0 * method.numbers(&Shape::of(&training));
                // Estimates count the sums of every piece of work and the longest lists of near rows there may be.
                assert!(held <= estimate && estimate <= 16.0 * held, "{name} {n} x {d}: {held} {estimate}");
            }
        }
    }

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
