//! Panics of a library on damaged files, turned into values; our own stay panics.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether a panic on this thread is expected, and not to be reported.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Whether the last panic on this thread came from this program's own code.
    static OWN: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; `None` if a library panics in it, which is then not reported on stderr. A panic of this program's own code
/// is a fault of ours, not of the file: it is reported and goes on.
///
/// What `work` has changed before it panicked must not be used afterwards.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            OWN.set(is_own(panic));
            if !QUIET.get() || OWN.get() {
                report(panic);
            }
        }));
    });
    QUIET.set(true);
    OWN.set(false);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    match result {
        Ok(value) => Some(value),
        Err(panic) if OWN.get() => resume_unwind(panic),
        Err(_) => None,
    }
}

/// Whether the place of a panic is in the sources of this program; an index out of range names its caller's.
fn is_own(panic: &PanicHookInfo<'_>) -> bool {
    let sources = file!().strip_suffix("catch_panic.rs").unwrap_or(file!());
    panic.location().is_some_and(|place| place.file().starts_with(sources))
}

#[cfg(test)]
mod tests {
    use super::catch;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_of_a_library_becomes_none_and_a_result_is_kept() {
        assert_eq!(catch(|| 7), Some(7));
        assert_eq!(catch(|| bytes::Bytes::new().slice(3..4)), None);
    }

    #[test]
    fn a_panic_of_our_own_is_no_damage_of_a_file() {
        let empty: Vec<u8> = Vec::new();
        let ended = catch_unwind(AssertUnwindSafe(|| catch(|| empty[0])));
        assert!(ended.is_err());
    }
}
