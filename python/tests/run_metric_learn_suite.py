"""Runs metric-learn 0.7.0's own tests on GMML: `run_metric_learn_suite.py FOLDER`.

FOLDER is where its source distribution was unpacked. Its tests are written over lists of learners; here the
lists hold GMML as a supervised learner and as a learner of pairs, and every test that takes a learner from a
list runs. Ends with pytest's summary line; the status is 0 if only the failures listed below happened.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# Tests that assert metric-learn's private classes, and why each cannot pass.
EXPECTED: dict[str, str] = {}

CONFTEST = """
import test.test_utils as lists
from metric_learn_adapter import GMML_, GMML_Supervised

names = lambda learners: [type(learner).__name__ for learner, _ in learners]
lists.pairs_learners = [(GMML_(), lists.build_pairs)]
lists.classifiers = [(GMML_Supervised(), lists.build_classification)]
lists.triplets_learners, lists.quadruplets_learners, lists.regressors = [], [], []
lists.tuples_learners = lists.pairs_learners
lists.supervised_learners = lists.classifiers
lists.metric_learners = lists.metric_learners_pipeline = lists.pairs_learners + lists.classifiers
for kind in ("pairs_learners", "classifiers", "triplets_learners", "quadruplets_learners", "regressors",
             "tuples_learners", "supervised_learners", "metric_learners", "metric_learners_pipeline"):
    setattr(lists, "ids_" + kind, names(getattr(lists, kind)))
"""


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        shutil.copytree(source / "test", place / "test")
        # Python has a module `test` of its own, which only a package of that name hides.
        (place / "test" / "__init__.py").touch()
        (place / "conftest.py").write_text(CONFTEST)
        shutil.copy(HERE / "metric_learn_adapter.py", place)
        arguments = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "-k", "GMML", *sys.argv[2:], "test"]
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments], cwd=place, capture_output=True, text=True
        )
    print(run.stdout or run.stderr)
    failed = {line.split(" ")[1] for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))}
    surprises = sorted(failed - set(EXPECTED))
    for test, reason in EXPECTED.items():
        print(f"expected to fail: {test}: {reason}")
    for test in surprises:
        print(f"not expected to fail: {test}")
    return int(bool(surprises) or " passed" not in run.stdout)


if __name__ == "__main__":
    sys.exit(main())
