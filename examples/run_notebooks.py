"""Runs the tutorials: `run_notebooks.py [--check] [NAME ...]`. Needs matplotlib and the package, and nothing of Jupyter.

Every notebook of docs/tutorials is run from top to bottom in one namespace, in an empty folder, and what its cells print, show and draw is
written into it. With --check nothing is written: the text must be what the notebook says.
"""

import ast
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import time

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tutorials"
STYLE = {"axes.spines.right": False, "axes.spines.top": False, "legend.frameon": False, "svg.fonttype": "none", "svg.hashsalt": "mahala"}


def main():
    check = "--check" in sys.argv[1:]
    names = [name for name in sys.argv[1:] if name != "--check"] or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    plt.rcParams.update(STYLE)
    plt.show = lambda: None
    failed = 0
    for name in names:
        begin, path = time.perf_counter(), FOLDER / f"{name}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        before = texts(notebook)
        run(notebook)
        same = not check or texts(notebook) == before
        failed += not same
        if not check:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{'ok    ' if same else 'FAILED'} {name}, {time.perf_counter() - begin:.1f} s", flush=True)
        for old, new in zip(before, texts(notebook)):
            if check and old != new:
                print(f"the notebook says\n{old}\nand it is\n{new}")
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def texts(notebook):
    """What each cell printed or showed."""
    return [
        "".join("".join(output.get("text", output.get("data", {}).get("text/plain", ""))) for output in cell.get("outputs", []))
        for cell in notebook["cells"]
    ]


def run(notebook):
    names, back = {"__name__": "__main__"}, pathlib.Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            count = 0
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    count += 1
                    cell["execution_count"] = count
                    cell["outputs"] = outputs(compiled("".join(cell["source"]), count), names, count)
        finally:
            os.chdir(back)


def compiled(source, count):
    """The statements of a cell, and its last expression if it ends with one."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    place = f"cell {count}"
    return compile(tree, place, "exec"), last and compile(last, place, "eval")


def outputs(code, names, count):
    printed, (statements, last) = io.StringIO(), code
    with contextlib.redirect_stdout(printed):
        exec(statements, names)
        value = eval(last, names) if last else None
    found = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    for number in plt.get_fignums():
        drawn = io.StringIO()
        plt.figure(number).savefig(drawn, format="svg", metadata={"Date": None}, bbox_inches="tight", facecolor="white")
        found.append({"data": {"image/svg+xml": drawn.getvalue().splitlines(True)}, "metadata": {}, "output_type": "display_data"})
    drawn_any = bool(plt.get_fignums())
    plt.close("all")
    if value is not None and not drawn_any:
        data = {"text/plain": repr(value).splitlines(True)}
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


main()
