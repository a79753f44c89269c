"""Threads, processes, Ctrl-C and the caller's own functions. No test here depends on how fast anything is."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
from mahala import GMML, LMNN, AutoGMML, FlatGeo, _mahala
from mahala._common import threads


class Endless(FlatGeo):
    """A fit that never ends by itself, and calls a function at its first iteration."""

    def __init__(self, on_progress=None, *, verbose=True, n_jobs=None):
        super().__init__(min_iter=10**9, max_iter=10**9, verbose=verbose, n_jobs=n_jobs)
        self.on_progress = on_progress

    def _plan(self):
        return FlatGeo(**{name: getattr(self, name) for name in FlatGeo._get_param_names()})._plan() | {
            "progress": self._progress
        }

    def _progress(self, iteration, total, objective, trying=None):
        if self.on_progress is not None:
            self.on_progress()


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return random.normal(size=(2000, 40)), random.integers(10, size=2000)


@contextlib.contextmanager
def ctrl_c_heard():
    """Python's own handler: a parent that ignores SIGINT (nohup, background jobs) leaves it ignored here."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_ctrl_c_ends_a_fit_and_nothing_holds_the_rows_any_more(rows):
    X, y = rows
    held = sys.getrefcount(X)
    with ctrl_c_heard(), pytest.raises(KeyboardInterrupt):
        Endless(lambda: os.kill(os.getpid(), signal.SIGINT)).fit(X, y)
    # References that a thread without the interpreter let go of are dropped at the next call.
    _mahala.thread_count()
    assert sys.getrefcount(X) == held
    # The threads are free for the next fit.
    assert np.isfinite(GMML(t=0.5).fit(X, y).components_).all()


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
@pytest.mark.parametrize("estimator", ["GMML(max_samples=20_000)", "AutoGMML()"])
def test_ctrl_c_is_heard_while_something_is_chosen(estimator):
    program = (
        "import numpy as np, os, signal, sys, threading\n"
        "from mahala import GMML, AutoGMML, _mahala\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "random = np.random.default_rng(0)\n"
        "X, y = random.normal(size=(20_000, 60)), random.integers(10, size=20_000)\n"
        "held = sys.getrefcount(X)\n"
        "def interrupted_at_work(work):\n"
        "    def run(*arguments):\n"
        "        # Python lets this thread run when the work lets go of the interpreter.\n"
        "        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()\n"
        "        return work(*arguments)\n"
        "    return run\n"
        "_mahala.fit_labels, _mahala.learn = map(interrupted_at_work, (_mahala.fit_labels, _mahala.learn))\n"
        "try:\n"
        f"    {estimator}.fit(X, y)\n"
        "    print('finished')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "_mahala.thread_count()\n"
        "print(sys.getrefcount(X) - held)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stdout == "interrupted\n0\n", (ended.stdout, ended.stderr)


def test_what_the_callers_function_raises_comes_out(rows):
    def fail():
        raise LookupError("the display is gone")

    X, y = rows
    with pytest.raises(LookupError, match="the display is gone"):
        Endless(fail).fit(X, y)


def test_a_closed_output_is_an_error_not_a_shorter_fit(iris, monkeypatch):
    with open(os.devnull, "w") as closed:
        pass
    monkeypatch.setattr(sys, "stdout", closed)
    with pytest.raises(ValueError, match="closed file"):
        LMNN(verbose=True).fit(*iris)


def test_other_threads_run_during_a_fit(rows):
    begun, go_on = threading.Event(), threading.Event()

    class Stopped(Exception):
        pass

    def wait():
        begun.set()
        # Set by the thread that waits for the fit to have begun, while the fit goes on.
        assert go_on.wait(timeout=120)
        raise Stopped

    def fit():
        with pytest.raises(Stopped):
            Endless(wait).fit(*rows)

    fitting = threading.Thread(target=fit)
    fitting.start()
    assert begun.wait(timeout=120)
    go_on.set()
    fitting.join()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(wine):
    # Threads of a pool do not survive a fork; waiting for them would be for ever.
    GMML().fit(*wine)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        fits = [pool.apply_async(fit_components, wine) for _ in range(2)]
        components = [fit.get(timeout=120) for fit in fits]
    assert all((other == fit_components(*wine)).all() for other in components)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_forked_during_a_fit_can_fit(rows, wine):
    """The pool is at work in the parent, and is not there in the child."""
    found = []

    class Stopped(Exception):
        pass

    def fork():
        child = multiprocessing.get_context("fork").Process(target=fit_components, args=wine)
        child.start()
        child.join(120)
        found.append(child.exitcode)
        raise Stopped

    with pytest.raises(Stopped):
        Endless(fork).fit(*rows)
    assert found == [0]


def fit_components(X, y):
    return GMML().fit(X, y).components_


def test_threads_follow_the_environment():
    program = "from mahala import _mahala; print(_mahala.thread_count())"
    unset = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    for set_to, seen in [
        ({"RAYON_NUM_THREADS": "1"}, "1"),
        ({"RAYON_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "3", "RAYON_NUM_THREADS": "2"}, "2"),
    ]:
        run = subprocess.run([sys.executable, "-c", program], env=unset | set_to, capture_output=True, text=True)
        assert run.stdout.strip() == seen, (set_to, run.stderr)
    assert _mahala.thread_count() >= 1


def threads_used():
    chosen = threads(None)
    return _mahala.thread_count() if chosen is None else chosen


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_a_worker_of_joblibs_takes_its_share_of_the_cores(backend, monkeypatch):
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    cores = joblib.cpu_count()
    with joblib.parallel_config(backend=backend, n_jobs=cores):
        used = joblib.Parallel()(joblib.delayed(threads_used)() for _ in range(cores))
    assert sum(used) <= cores or cores == 1
    # Said aloud, the number of threads is what is said.
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(threads)(3) for _ in range(2)) == [3, 3]


def test_the_automatic_mode_in_a_worker_finds_what_it_finds_alone(wine):
    alone = AutoGMML(budget=2.0).fit(*wine).components_
    both = joblib.Parallel(n_jobs=2)(joblib.delayed(automatic)(*wine) for _ in range(2))
    assert all((components == alone).all() for components in both)


def automatic(X, y):
    return AutoGMML(budget=2.0).fit(X, y).components_
