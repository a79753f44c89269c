//! Signals that end the command: nothing half-written stays behind, and the exit code tells which it was.

use mahala_io::remove_unfinished;

/// Removes temporary files and ends with 128 + the signal: 130 at Ctrl-C, 143 at SIGTERM, 129 at SIGHUP.
///
/// SIGHUP stays ignored where the parent ignores it (`nohup`). A file above the limit of its size is an error to be told,
/// rather than the end of the process.
#[cfg(unix)]
pub(crate) fn handle() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let ending = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let ending = ending.filter(|&signal| signal != SIGHUP || !crate::system::ignores(signal.unsigned_abs()));
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(ending) {
        // Where there is no room for a thread, the limit of memory is told in words soon after.
        let _ = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
            if let Some(signal) = signals.forever().next() {
                remove_unfinished();
                std::process::exit(128 + signal);
            }
        });
    }
}

/// Removes temporary files at Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn handle() {
    let _ = ctrlc::set_handler(|| {
        remove_unfinished();
        std::process::exit(130);
    });
}
