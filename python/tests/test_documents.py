"""The examples of the documents run: docstrings, user guide, README. The types check."""

import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import mahala
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ["mahala", *(module.name for module in pkgutil.walk_packages(mahala.__path__, "mahala."))]


#: Blocks that need another environment: Spark's.
ELSEWHERE = re.compile("mahala.spark")
#: What these modules need beyond the package's own dependencies.
ENGINES = {"mahala.dask": "dask", "mahala.river": "river", "mahala.spark": "pyspark"}


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    public = {"mahala.distributed._spark_rows": "mahala.spark"}.get(name, name)
    if public in ENGINES:
        engine = ENGINES[public]
        pytest.importorskip(engine, reason=f"{engine} is not installed: pip install '{public.replace('.', '[')}]'")
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


#: What numpydoc asks for beyond whole docstrings: sections in another style, extended summaries, See Also and Examples
#: everywhere, names of single return values.
STYLE = {"GL01", "GL02", "GL03", "ES01", "SA01", "SA04", "EX01", "RT02", "YD01", "SS06", "PR06"}


def documented():
    """Every public name, and every public method and property of the package's own."""
    for name in mahala.__all__:
        thing = getattr(mahala, name)
        if name == "__version__" or inspect.ismodule(thing):
            continue
        yield f"mahala.{name}"
        for member, value in inspect.getmembers(thing) if inspect.isclass(thing) else ():
            owner = getattr(value.fget if isinstance(value, property) else value, "__module__", None)
            if not member.startswith("_") and str(owner).startswith("mahala"):
                yield f"mahala.{name}.{member}"


def test_docstrings_are_whole():
    validate = pytest.importorskip("numpydoc.validate").validate
    wrong = {f"{name}: {code} {text}" for name in documented() for code, text in validate(name)["errors"] if code not in STYLE}
    assert not wrong, "\n".join(sorted(wrong))
    for path in pathlib.Path(mahala.__path__[0]).glob("*.py"):
        vague = re.search(r"^ +As (for|everywhere|in) .*$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert vague is None, f"{path.name}: {vague}"


#: Where the code of these documents runs instead: the gallery by its program, stores each in an environment of its own.
RUN_ELSEWHERE = ("docs/gallery/", "docs/embeddings/")
DOCUMENTS = [
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "python" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python\n" in path.read_text(encoding="utf-8")
    and (path.relative_to(ROOT).as_posix() == "docs/embeddings/index.md" or not path.relative_to(ROOT).as_posix().startswith(RUN_ELSEWHERE))
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_blocks_of_code_run_from_top_to_bottom(document, tmp_path, monkeypatch):
    text = (ROOT / document).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for package in ("faiss", "pandas", "safetensors"):
        if re.search(rf"^(import|from) {package}", text, re.MULTILINE):
            pytest.importorskip(package)
    if "mahala.dask" in text:
        pytest.importorskip("dask", reason="dask is not installed: pip install 'mahala[dask]'")
    names = {}
    blocks = [block for block in re.finditer(r"```python\n(.*?)```", text, re.DOTALL) if not ELSEWHERE.search(block[1])]
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        # Blank lines before, so that errors name the line of the document.
        exec(compile("\n" * line + block[1], str(ROOT / document), "exec"), names)
    assert blocks


def test_every_public_name_has_a_docstring():
    for name in mahala.__all__:
        thing = getattr(mahala, name)
        assert name == "__version__" or thing.__doc__, name
        if isinstance(thing, type):
            for method, function in vars(thing).items():
                if not method.startswith("_") and callable(function):
                    assert function.__doc__, f"{name}.{method}"


def test_the_import_loads_nothing_beyond_its_own_and_scikit_learn():
    """Engines, drawing and data frames cost seconds at import; they are loaded where they are used."""
    program = (
        "import sys, sklearn.base, sklearn.neighbors\n"
        "before = set(sys.modules)\n"
        "import mahala\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) <= {"joblib", "mahala", "numpy", "scipy", "sklearn"}, run.stdout


@pytest.mark.parametrize("name", ENGINES)
def test_without_its_engine_a_module_says_what_to_install(name):
    block = f"import sys; sys.modules[{ENGINES[name]!r}] = None; import {name}"
    run = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True)
    assert run.returncode == 1 and f"pip install '{name.replace('.', '[')}]'" in run.stderr, run.stderr


def test_the_types_check(tmp_path):
    pytest.importorskip("mypy")
    use = tmp_path / "use.py"
    use.write_text(
        "import numpy as np\n"
        "from mahala import GMML, GMMLPairs, MahalanobisKNN, Moments, geometric_mean, load, save\n"
        "X, y = np.ones((4, 2)), np.array([0, 0, 1, 1])\n"
        "gmml: GMML = GMML(t=0.5, reg=0.1, prior=np.eye(2)).fit(X, y)\n"
        "shape: tuple[int, ...] = gmml.transform(X).shape\n"
        "matrix: np.ndarray = gmml.get_mahalanobis_matrix() + geometric_mean(np.eye(2), np.eye(2))\n"
        "save(gmml, 'model.safetensors')\n"
        "knn: MahalanobisKNN = MahalanobisKNN(metric=load('model.safetensors')).fit(X, y)\n"
        "decided: np.ndarray = GMMLPairs().fit(np.ones((4, 2, 2)), y).predict(np.ones((4, 2, 2)))\n"
        "bytes_: bytes = Moments(2).update(X, y).to_bytes()\n"
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from mahala import GMML\nGMML(n_neighbors='five')\nGMML().transform(1).shapes\n")
    check = lambda *files: subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "python" / "pyproject.toml",
         "--cache-dir", tmp_path / "cache", *files],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    good = check("-p", "mahala")
    assert good.returncode == 0, good.stdout + good.stderr
    assert check(use).returncode == 0, check(use).stdout
    bad = check(wrong)
    assert bad.returncode == 1 and "2 errors" in bad.stdout, bad.stdout


def test_the_stub_names_what_the_compiled_part_has():
    from mahala import _mahala

    stub = (pathlib.Path(mahala.__path__[0]) / "_mahala.pyi").read_text(encoding="utf-8")
    named = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    assert named == {name for name in dir(_mahala) if not name.startswith("__")}
    methods = set(re.findall(r"^    def (\w+)", stub, re.MULTILINE)) - {"__new__", "__len__"}
    classes = [one for one in vars(_mahala).values() if isinstance(one, type)]
    compiled = {name for one in classes for name in dir(one)}
    assert methods == {name for name in compiled if not name.startswith("__")}


#: Pages of the gallery that take seconds; `./test --full` runs them all.
QUICK = ["wine_before_after", "geodesic", "imbalance", "triplets", "stream"]


@pytest.mark.parametrize("program", ["build_gallery.py", "run_notebooks.py"])
def test_the_gallery_and_the_tutorials_say_what_comes_out(program):
    pytest.importorskip("matplotlib")
    names = QUICK if program == "build_gallery.py" and not os.environ.get("MAHALA_FULL") else []
    run = subprocess.run([sys.executable, ROOT / "examples" / program, "--check", *names], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_program_of_the_gallery_has_a_page_and_a_figure():
    programs = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    pages, figures = ({path.stem for path in (ROOT / "docs" / "gallery").glob(form)} for form in ("*.md", "*.svg"))
    assert len(programs) >= 20 and pages == programs | {"index"} and figures == programs
