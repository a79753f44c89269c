"""The part that docstrings of learners share, put in its place as `mahala._learner` does it at import."""

import ast
import pathlib

import griffe

LEARNER = pathlib.Path(__file__).resolve().parent.parent / "python" / "mahala" / "_learner.py"


class Shared(griffe.Extension):
    def __init__(self):
        module = ast.parse(LEARNER.read_text(encoding="utf-8"))
        shared = (node.value for node in module.body if isinstance(node, ast.Assign) and node.targets[0].id == "SHARED")
        # Griffe has taken the indentation away already.
        self.text = "\n".join(line.removeprefix("    ") for line in ast.literal_eval(next(shared)).splitlines())

    def on_class(self, *, cls, **_):
        if cls.docstring and "{shared}" in cls.docstring.value:
            cls.docstring.value = cls.docstring.value.replace("{shared}", self.text)
