//! Panics of a library on damaged files, turned into values.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic on this thread is expected, and not to be reported.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; `None` if it panics, which is then not reported on stderr.
///
/// What `work` has changed before it panicked must not be used afterwards.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                report(panic);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::catch;

    #[test]
    fn a_panic_becomes_none_and_a_result_is_kept() {
        assert_eq!(catch(|| 7), Some(7));
        let empty: Vec<u8> = Vec::new();
        assert_eq!(catch(|| empty[0]), None);
    }
}
