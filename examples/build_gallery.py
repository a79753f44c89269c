"""Runs the examples of the gallery and writes their pages: `build_gallery.py [--check] [NAME ...]`. Needs matplotlib and the package.

Each program of examples/gallery is a docstring (title, text, and the words for its figure), a few lines, and one figure. Its page in
docs/gallery has the text, the figure, what it printed and the program. With --check nothing is written: what each program prints must be
what its page says, and every program must have a page.
"""

import ast
import contextlib
import io
import pathlib
import re
import sys
import time

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS, PAGES = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery"
#: Okabe and Ito's colours can be told apart by everyone; text stays text, so that files are small and can be searched.
STYLE = {
    "axes.prop_cycle": matplotlib.cycler(color=["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "font.size": 11,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "mahala",
}
#: The order of the pages, by what they show.
PARTS = {
    "First looks": ["wine_before_after", "error_over_t", "geodesic", "columns_that_count", "neighbours_as_explanation", "map_of_digits"],
    "Choosing": ["automatic_mode", "when_it_does_not_help", "grid_search", "units", "groups_and_leakage", "learning_curve", "noisy_labels"],
    "Few rows, many columns, unequal classes": ["shrinkage", "more_columns_than_rows", "imbalance", "reduction"],
    "Pairs, triplets, numbers": ["pairs_roc", "probabilities", "triplets", "regression"],
    "Beyond one linear metric": ["kernel", "local_metrics"],
    "Search, clusters, streams": ["embeddings", "unseen_classes", "clustering", "stream"],
}


def main():
    check = "--check" in sys.argv[1:]
    names = [name for part in PARTS.values() for name in part]
    assert sorted(names) == sorted(path.stem for path in PROGRAMS.glob("*.py")), "PARTS and the programs differ"
    wanted = [name for name in sys.argv[1:] if name != "--check"] or names
    failed = 0
    for name in wanted:
        begin = time.perf_counter()
        text, figure = page(name)
        path = PAGES / f"{name}.md"
        if not check:
            PAGES.mkdir(exist_ok=True)
            figure.savefig(PAGES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
            path.write_text(text, encoding="utf-8")
        same = path.read_text(encoding="utf-8") == text
        failed += not same
        plt.close("all")
        print(f"{'ok    ' if same else 'FAILED'} {name}, {time.perf_counter() - begin:.1f} s", flush=True)
        if not same:
            print(text)
    if not check and len(wanted) == len(names):
        (PAGES / "index.md").write_text(index(), encoding="utf-8")
    print(f"{len(wanted) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def parts_of(name):
    """Title, text, words for the figure, and the lines of a program."""
    source = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    title, text, words = re.fullmatch(r"(.*?)\n\n(.*)\n\nFigure: (.*)", ast.get_docstring(ast.parse(source)), re.DOTALL).groups()
    return title, text, " ".join(words.split()), source.split('"""\n', 1)[1].strip()


def page(name):
    """The page of one program, and its figure."""
    title, text, words, lines = parts_of(name)
    printed = io.StringIO()
    plt.rcParams.update(STYLE)
    plt.show = lambda: None
    with contextlib.redirect_stdout(printed):
        exec(compile(lines, f"{name}.py", "exec"), {"__name__": "__main__"})
    figure = plt.gcf()
    assert figure.axes, f"{name} drew nothing"
    said = f"```text\n{printed.getvalue().rstrip()}\n```\n\n" if printed.getvalue() else ""
    text = text.replace("``", "`")
    source = f"[examples/gallery/{name}.py](../../examples/gallery/{name}.py)"
    return f"# {title}\n\n{text}\n\n![{words}]({name}.svg)\n\n{said}```python\n{lines}\n```\n\nThe program: {source}\n", figure


def index():
    """All pages, with their figures."""
    lines = [
        "# Gallery",
        "",
        "Short programs with one figure each. Every one runs as it stands; what it prints is on its page. All data come with scikit-learn or are",
        "generated. `python examples/build_gallery.py` writes these pages.",
    ]
    for part, names in PARTS.items():
        lines += ["", f"## {part}", "", '<div class="gallery" markdown>', ""]
        for name in names:
            title, _, words, _ = parts_of(name)
            lines += [f"[![{words}]({name}.svg) {title}]({name}.md)", ""]
        lines += ["</div>"]
    return "\n".join(lines) + "\n"


main()
