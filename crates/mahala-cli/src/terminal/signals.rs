//! Signals that end the command: nothing half-written stays behind, and the exit code tells which it was.

use mahala_io::remove_unfinished;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the first Ctrl-C stops the work rather than the command.
static STOPS: AtomicBool = AtomicBool::new(false);
/// Whether it came.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C stops the work with the best so far.
pub(crate) fn stop_at_interrupt() {
    STOPS.store(true, Ordering::Relaxed);
}

/// Whether the work is to stop with the best so far.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Whether a Ctrl-C is the one that stops the work alone.
fn stops_work() -> bool {
    STOPS.load(Ordering::Relaxed) && !STOPPED.swap(true, Ordering::Relaxed)
}

/// Removes temporary files and ends with 128 + the signal: 130 at Ctrl-C, 143 at SIGTERM, 129 at SIGHUP.
///
/// SIGHUP stays ignored where the parent ignores it (`nohup`). A file above the limit of its size is an error to be told,
/// rather than the end of the process.
#[cfg(unix)]
pub(crate) fn handle() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use std::sync::Arc;

    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let ending = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let ending = ending.filter(|&signal| signal != SIGHUP || !crate::system::ignores(signal.unsigned_abs()));
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(ending) {
        // Where there is no room for a thread, the limit of memory is told in words soon after.
        let _ = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
            for signal in signals.forever() {
                if signal != SIGINT || !stops_work() {
                    remove_unfinished();
                    std::process::exit(128 + signal);
                }
            }
        });
    }
}

/// Removes temporary files at Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn handle() {
    let _ = ctrlc::set_handler(|| {
        if !stops_work() {
            remove_unfinished();
            std::process::exit(130);
        }
    });
}
