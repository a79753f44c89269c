"""The reference of the command, from its own help: `command.py PROGRAM` writes docs/reference/command.md, `--check` compares it."""

import difflib
import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference" / "command.md"
HEAD = """# The command

What `mahala COMMAND --help` prints, for every command; `python site/command.py PROGRAM` writes this page.
Data go to stdout, messages to stderr. [Exit codes](exit-codes.md) · [files](files.md) · [first steps](../shell.md)

"""


def main():
    program = sys.argv[1]
    text = page(program)
    if "--check" in sys.argv[2:]:
        committed = PAGE.read_text(encoding="utf-8")
        same = committed == text
        sys.stdout.writelines(difflib.unified_diff(committed.splitlines(True), text.splitlines(True), str(PAGE.name), "the command's help", n=1))
        print("ok     the reference of the command is current" if same else f"FAILED {PAGE.name}: run site/command.py {program}")
        print(f"{int(same)} passed, {int(not same)} failed")
        sys.exit(not same)
    PAGE.write_text(text, encoding="utf-8")


def page(program):
    parts = [HEAD, f"```text\n{help_of(program)}```\n"]
    for name in names(program):
        parts.append(f"\n## mahala {name}\n\n```text\n{help_of(program, name)}```\n")
    return "".join(parts)


def names(program):
    """The commands, in the order of the help."""
    listed = help_of(program).split("Commands:\n")[1].split("\n\n")[0]
    return [name for name in re.findall(r"^  ([\w-]+) ", listed, re.MULTILINE) if name != "help"]


def help_of(program, *command):
    """The help at its greatest width, whatever terminal and language this runs in."""
    surroundings = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    asked = [program, *command, "--help"]
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=True, env=surroundings)
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines()) + "\n"


if __name__ == "__main__":
    main()
