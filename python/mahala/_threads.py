"""Threads as joblib and threadpoolctl set them."""

from __future__ import annotations

import os
from typing import Any

from joblib import effective_n_jobs, parallel
from joblib.parallel import get_active_backend

from . import _mahala

try:
    from threadpoolctl import LibController, register
except ImportError:  # before threadpoolctl 3.2 there is nothing to register with
    LibController, register = object, None


def threads(n_jobs: int | None) -> int | None:
    """How many threads; None leaves it to threadpoolctl's limit, RAYON_NUM_THREADS, OMP_NUM_THREADS or the machine.

    Inside ``joblib.parallel_config(n_jobs=...)`` None is that number, as everywhere in scikit-learn. A worker of joblib's has
    one thread, unless the environment says otherwise, as joblib has it say for its loky workers.
    """
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    given = os.environ.get("RAYON_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")
    backend, configured = get_active_backend()
    if getattr(backend, "nesting_level", 0):
        return None if given else 1
    config = getattr(getattr(parallel, "_backend", None), "config", None)
    if config is not None and isinstance(config.get("n_jobs"), int):
        return int(effective_n_jobs(configured))
    return None


class MahalaController(LibController):  # type: ignore[misc, unused-ignore]
    """What ``threadpoolctl.threadpool_limits`` and ``threadpool_info`` need to know of this package."""

    user_api = "mahala"
    internal_api = "mahala"
    filename_prefixes = ("_mahala",)
    check_symbols = ("PyInit__mahala",)

    def get_num_threads(self) -> int:
        """Return the threads that a call without ``n_jobs`` takes."""
        return _mahala.thread_count()

    def set_num_threads(self, num_threads: int) -> Any:
        """Limit the threads of calls without ``n_jobs``."""
        _mahala.limit_threads(num_threads)

    def get_version(self) -> str:
        """Return the version of the package."""
        return _mahala.__version__


if register is not None:
    register(MahalaController)
