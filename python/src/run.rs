//! Where the work runs: threads, Ctrl-C, and errors on their way to Python.

use mahala::Error;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

/// The library's names of parameters, and Python's where they differ.
const NAMES: [(&str, &str); 15] = [
    ("lambda", "reg"),
    ("rank", "n_components"),
    ("tolerance", "tol"),
    ("folds", "cv"),
    ("splits", "cv"),
    ("seed", "random_state"),
    ("max_iterations", "max_iter"),
    ("max_projections", "max_iter"),
    ("min_iterations", "min_iter"),
    ("start", "init"),
    ("targets", "n_neighbors"),
    ("clusters", "n_clusters"),
    ("k", "n_neighbors"),
    ("selection_rows", "max_samples"),
    ("balance", "class_weight"),
];

/// How often Python is asked whether Ctrl-C was pressed.
const POLL: Duration = Duration::from_millis(50);

/// Pools of threads by process and size: threads do not survive a fork.
static POOLS: Mutex<Vec<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(Vec::new());

/// How many pools are kept.
const KEPT: usize = 4;

/// The most threads, as threadpoolctl sets it; 0 for no limit.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Runs `work` on `threads` threads (`None`: as many as the environment or the machine says) with the interpreter free
/// for others. Ctrl-C is noticed at once and passed on to the work by the flag; the call returns when the work has ended, so
/// that nothing reads the caller's arrays any more.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&AtomicBool) -> mahala::Result<T> + Send + 'static,
) -> PyResult<T> {
    interruptible_until(py, threads, None, work)
}

/// Runs `work` as [`interruptible`] does; the first Ctrl-C sets the flag `enough`, if there is one, and the work goes on until it
/// returns what it has or Ctrl-C is pressed again.
pub(crate) fn interruptible_until<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    enough: Option<&AtomicBool>,
    work: impl FnOnce(&AtomicBool) -> mahala::Result<T> + Send + 'static,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = cancelled.clone();
    let (sender, mut receiver) = channel();
    pool.spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&flag)));
        // The caller waits for it, whatever happens.
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
            if interrupt.is_instance_of::<PyKeyboardInterrupt>(py)
                && enough.as_ref().is_some_and(|enough| !enough.swap(true, Ordering::Relaxed))
            {
                continue;
            }
            cancelled.store(true, Ordering::Relaxed);
            let _ = py.detach(move || receiver.recv());
            return Err(interrupt);
        }
    }
}

/// Runs small work on the caller's thread.
pub(crate) fn inline_work<T>(work: impl FnOnce(&AtomicBool) -> mahala::Result<T>) -> PyResult<T> {
    finished(catch_unwind(AssertUnwindSafe(|| work(&AtomicBool::new(false)))))
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

/// The library's error as Python's, with Python's names of parameters.
pub(crate) fn to_python(error: &Error) -> PyErr {
    let text = match error {
        Error::Parameter { name, value, allowed } => {
            let name = NAMES.iter().find(|(ours, _)| ours == name).map_or(*name, |(_, theirs)| theirs);
            Error::Parameter { name, value: value.clone(), allowed }.to_string()
        }
        other => other.to_string(),
    };
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

/// The limit on threads where a call says nothing of them; `None` for none.
#[pyfunction]
#[pyo3(signature = (threads))]
pub(crate) fn limit_threads(threads: Option<usize>) {
    LIMIT.store(threads.unwrap_or(0), Ordering::Relaxed);
}

fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let threads = threads.unwrap_or_else(default_threads);
    let build = || {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map(Arc::new).map_err(|error| PyRuntimeError::new_err(format!("no threads to work on: {error}")))
    };
    let mut pools = match POOLS.try_lock() {
        Ok(pools) => pools,
        Err(TryLockError::Poisoned(pools)) => pools.into_inner(),
        // Held by another thread: in a forked process it may be one that is not here to let go of it.
        Err(TryLockError::WouldBlock) => return build(),
    };
    let process = std::process::id();
    if let Some((_, _, pool)) = pools.iter().find(|pool| pool.0 == process && pool.1 == threads) {
        return Ok(pool.clone());
    }
    let pool = build()?;
    if pools.len() == KEPT {
        let oldest = pools.remove(0);
        if oldest.0 != process {
            // The pool of a parent process is not dropped: its threads are not here to be joined.
            std::mem::forget(oldest);
        }
    }
    pools.push((process, threads, pool.clone()));
    Ok(pool)
}

/// The limit that was set, else `RAYON_NUM_THREADS`, else `OMP_NUM_THREADS`, as other numerical packages have it and joblib and
/// dask set it for their workers; 0, all cores, without them.
fn default_threads() -> usize {
    let limit = LIMIT.load(Ordering::Relaxed);
    if limit > 0 {
        return limit;
    }
    let set = |name| std::env::var(name).ok()?.trim().parse().ok().filter(|&threads: &usize| threads > 0);
    set("RAYON_NUM_THREADS").or_else(|| set("OMP_NUM_THREADS")).unwrap_or(0)
}
