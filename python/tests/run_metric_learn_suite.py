"""Runs metric-learn 0.7.0's own tests on mahala.metric_learn: `run_metric_learn_suite.py FOLDER [pytest's options]`.

FOLDER is where its source distribution was unpacked. Of it only the tests are used: `import metric_learn` in them
is `import mahala.metric_learn`, and metric-learn itself must not be importable. GMML is added to their lists of
learners. Ends with pytest's summary line; the status is 0 if the failures are those of
`metric_learn_failures.txt`, each of which has its reason there.
"""

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

CONFTEST = """
import importlib, sys, types
import mahala.metric_learn as stand_in

sys.modules["metric_learn"] = stand_in
for name in ("_util", "base_metric", "constraints", "exceptions", "sdml"):
    sys.modules["metric_learn." + name] = importlib.import_module("mahala.metric_learn." + name)

# The helpers that metric-learn takes from whichever scikit-learn there is.
import inspect
from sklearn.metrics import get_scorer
from sklearn.utils._testing import assert_allclose_dense_sparse, ignore_warnings, set_random_state

shims = types.ModuleType("metric_learn.sklearn_shims")
shims.SKLEARN_AT_LEAST_0_22 = True
shims.get_scorer, shims.ignore_warnings, shims.set_random_state = get_scorer, ignore_warnings, set_random_state
shims.assert_allclose_dense_sparse = assert_allclose_dense_sparse
shims.is_public_parameter = lambda name: not (name.startswith("_") or name.endswith("_"))


def arguments(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return []
    return [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


shims._get_args = arguments
sys.modules["metric_learn.sklearn_shims"] = shims

import test.test_utils as lists

weak = (stand_in.GMML(), lists.build_pairs)
supervised = (stand_in.GMML_Supervised(), lists.build_classification)
for kind, learner in (("pairs_learners", weak), ("tuples_learners", weak), ("classifiers", supervised),
                      ("supervised_learners", supervised), ("metric_learners", weak),
                      ("metric_learners", supervised), ("metric_learners_pipeline", weak),
                      ("metric_learners_pipeline", supervised)):
    getattr(lists, kind).append(learner)
    getattr(lists, "ids_" + kind).append(type(learner[0]).__name__)
"""


def expected_failures() -> dict[str, str]:
    """The tests that fail, each with its reason: lines `test: reason`."""
    lines = (HERE / "metric_learn_failures.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def main() -> int:
    if importlib.util.find_spec("metric_learn") is not None:
        print("metric_learn is importable here: its tests would not be those of mahala.metric_learn")
        return 1
    source = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        shutil.copytree(source / "test", place / "test")
        # Python has a module `test` of its own, which only a package of that name hides.
        (place / "test" / "__init__.py").touch()
        (place / "conftest.py").write_text(CONFTEST)
        arguments = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "-rf", *sys.argv[2:], "test"]
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments], cwd=place, capture_output=True, text=True
        )
    print(run.stdout or run.stderr)
    failed = {
        line.split(" ", 1)[1].split(" - ")[0]
        for line in run.stdout.splitlines()
        if line.startswith(("FAILED", "ERROR"))
    }
    expected = expected_failures()
    for test in sorted(failed & set(expected)):
        print(f"expected to fail: {test}: {expected[test]}")
    surprises = sorted(failed - set(expected))
    for test in surprises:
        print(f"not expected to fail: {test}")
    gone = sorted(set(expected) - failed) if len(sys.argv) == 2 else []
    for test in gone:
        print(f"expected to fail, but passed: {test}")
    return int(bool(surprises or gone) or " passed" not in run.stdout)


if __name__ == "__main__":
    sys.exit(main())
