"""The layers of the workspace, checked from the `use` statements: `layers.py`.

- no import cycle between the top-level modules of any crate;
- each module of the library uses only those before it in LIBRARY, each crate only those before it in CRATES;
- `unsafe` stands in the files of UNSAFE and nowhere else.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["mahala-kernels", "mahala", "mahala-baselines", "mahala-io", "mahala-plot", "mahala-page", "mahala-cli"]
LIBRARY = [
    "error", "progress", "evaluation", "data", "geometry", "neighbors", "retrieval", "pairs", "footprint", "scatter", "metric", "gmml", "local", "kernel",
    "learner", "auto", "model", "embeddings",
]
UNSAFE = {
    "crates/mahala-io/src/mapped.rs",
    "crates/mahala-kernels/src/knn/scan.rs",
    "crates/mahala-kernels/src/prefetch.rs",
    "python/src/array.rs",
}


def code(path):
    """A file without its tests, comments and strings."""
    text = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
    return re.sub(r"//.*", "", text)


def modules(crate):
    """Top-level modules of a crate and those that each uses."""
    source = ROOT / "crates" / crate / "src"
    graph = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).parts
        if parts[0] in ("lib.rs", "main.rs") or "tests" in parts or path.name == "tests.rs":
            continue
        used = graph.setdefault(parts[0].removesuffix(".rs"), set())
        for braced, name in re.findall(r"\bcrate::(?:\{([^}]*)\}|(\w+))", code(path)):
            used.update(re.findall(r"\w+", braced) if braced else [name])
    return {name: {other for other in used if other in graph and other != name} for name, used in graph.items()}


def cycle(graph):
    """The names on one cycle, or nothing."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name) :] + [name]
        if name in done:
            return None
        path.append(name)
        for other in sorted(graph[name]):
            if found := visit(other):
                return found
        done.add(path.pop())
        return None

    return next((found for name in sorted(graph) if (found := visit(name))), None)


def no_cycles():
    found = {crate: cycle(modules(crate)) for crate in CRATES}
    return [f"{crate}: {' -> '.join(names)}" for crate, names in found.items() if names]


def library_layers():
    graph = modules("mahala")
    problems = [f"{name} is not in the list of layers" for name in graph if name not in LIBRARY]
    for name, used in graph.items():
        later = [other for other in used if name in LIBRARY and LIBRARY.index(other) > LIBRARY.index(name)]
        problems += [f"{name} uses {other}, which comes after it" for other in later]
    return problems


def crate_layers():
    problems = []
    for place, crate in enumerate(CRATES):
        manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8")
        dependencies = manifest.split("[dev-dependencies]")[0]
        used = re.findall(r"^(mahala[\w-]*)[. ]", dependencies, re.M)
        problems += [f"{crate} uses {other}" for other in used if other not in CRATES[:place]]
    return problems


def unsafe_is_fenced():
    problems = []
    for path in [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/src/*.rs"), *ROOT.glob("experiments/src/**/*.rs")]:
        name = path.relative_to(ROOT).as_posix()
        if name not in UNSAFE and re.search(r"\bunsafe\b", code(path)):
            problems.append(f"{name} has unsafe code")
    return problems


def main():
    checks = [no_cycles, library_layers, crate_layers, unsafe_is_fenced]
    failed = 0
    for check in checks:
        problems = check()
        failed += bool(problems)
        print(("FAILED " if problems else "ok     ") + check.__name__.replace("_", " "))
        for problem in problems:
            print("       " + problem)
    print(f"{len(checks) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
