//! Where the work runs: threads, Ctrl-C, and errors on their way to Python.

use mahala::Error;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often Python is asked whether Ctrl-C was pressed.
const POLL: Duration = Duration::from_millis(50);

/// The pool of this process, with the process it belongs to: threads do not survive a fork.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Runs `work` on `threads` threads (`None`: as many as `RAYON_NUM_THREADS` or the machine says) with the
/// interpreter free for others. Ctrl-C is heard at once: the work is told by the flag, and left to end by
/// itself.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&AtomicBool) -> mahala::Result<T> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = cancelled.clone();
    let (sender, mut receiver) = channel();
    pool.spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&flag)));
        // Nobody listens any more after Ctrl-C.
        let _ = sender.send(outcome);
    });
    loop {
        let (message, back) = py.detach(move || (receiver.recv_timeout(POLL), receiver));
        receiver = back;
        match message {
            Ok(outcome) => return finished(outcome),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work ended without an answer"));
            }
        }
        if let Err(interrupt) = py.check_signals() {
            cancelled.store(true, Ordering::Relaxed);
            return Err(interrupt);
        }
    }
}

/// Runs `work` to its end with the interpreter free for others: for work that borrows an array.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> mahala::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    finished(py.detach(|| catch_unwind(AssertUnwindSafe(|| pool.install(work)))))
}

/// How many threads work when nothing else is said.
#[pyfunction]
pub(crate) fn thread_count() -> PyResult<usize> {
    Ok(pool(None)?.current_num_threads())
}

/// The library's error as Python's.
pub(crate) fn to_python(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Memory { .. } => PyMemoryError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

fn finished<T>(outcome: Result<mahala::Result<T>, Box<dyn Any + Send>>) -> PyResult<T> {
    match outcome {
        Ok(result) => result.map_err(|error| to_python(&error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(PyRuntimeError::new_err(format!("internal error in mahala, please report it: {text}")))
        }
    }
}

fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let build = |threads: usize| {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        builder.build().map_err(|error| PyRuntimeError::new_err(format!("no threads to work on: {error}")))
    };
    if let Some(threads) = threads {
        return Ok(Arc::new(build(threads)?));
    }
    let mut shared = POOL.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, pool)) = shared.as_ref()
        && *owner == process
    {
        return Ok(pool.clone());
    }
    let pool = Arc::new(build(0)?);
    // The pool of a parent process is not dropped: its threads are not here to be joined.
    std::mem::forget(shared.replace((process, pool.clone())));
    Ok(pool)
}
