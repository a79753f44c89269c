"""The documentation as a site: `site.py PROGRAM`. Wants the packages of docs/requirements.txt; PROGRAM is the built command.

Builds it with warnings as errors, then reads what was built as a browser would that has no network.
"""

import html.parser
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE = ROOT / "target" / "site"
#: Documents whose commands run from top to bottom on files that are in the repository.
RUN = ["README.md", "docs/index.md", "docs/start.md", "docs/shell.md"]


def main():
    tests = [
        it_is_built_without_a_warning,
        every_link_leads_somewhere,
        nothing_is_fetched_from_elsewhere,
        every_image_has_words_in_its_place,
        every_page_has_one_title,
        the_reference_of_python_has_every_public_name,
        the_reference_of_the_command_is_current,
        options_named_in_documents_exist,
        commands_of_the_first_pages_run,
        the_readme_is_short,
    ]
    failed = 0
    for test in tests:
        try:
            test()
            print("ok     " + test.__name__.replace("_", " "), flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAILED {test.__name__.replace('_', ' ')}: {error}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


class Page(html.parser.HTMLParser):
    """The links, anchors, images and titles of one file."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.fetched, self.images, self.titles = [], {""}, [], [], 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        self.titles += tag == "h1"
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.fetched.append(found["src"])
        if tag == "link" and found.get("href") and found.get("rel") not in ("canonical",):
            self.fetched.append(found["href"])
        if tag == "img":
            self.images.append((found.get("src"), found.get("alt")))


def pages():
    return {path: Page(path) for path in sorted(SITE.rglob("*.html")) if path.name != "404.html"}


def it_is_built_without_a_warning():
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stdout + done.stderr


def every_link_leads_somewhere():
    read = pages()
    problems = []
    for path, page in read.items():
        for link in page.links + page.fetched:
            to = urllib.parse.urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
            if not target.is_file():
                problems.append(f"{path.relative_to(SITE)}: {link} does not exist")
            elif target in read and urllib.parse.unquote(to.fragment) not in read[target].anchors:
                problems.append(f"{path.relative_to(SITE)}: {link} has no such anchor")
    assert len(read) > 20 and not problems, "\n".join(problems)


def nothing_is_fetched_from_elsewhere():
    problems = [f"{path.relative_to(SITE)}: {link}" for path, page in pages().items() for link in page.fetched if "//" in link]
    assert not problems, "\n".join(problems)


def every_image_has_words_in_its_place():
    problems = [f"{path.relative_to(SITE)}: {source}" for path, page in pages().items() for source, words in page.images if not words]
    assert not problems, "\n".join(problems)


def every_page_has_one_title():
    problems = [f"{path.relative_to(SITE)}: {page.titles} titles" for path, page in pages().items() if page.titles != 1]
    assert not problems, "\n".join(problems)


def the_reference_of_python_has_every_public_name():
    sys.path.insert(0, str(ROOT / "site"))
    import pages as hooks

    anchors = Page(SITE / "reference" / "python.html").anchors
    names = hooks.public_names()
    missing = [name for name in names if name not in anchors]
    assert len(names) > 50 and not missing, missing


def the_reference_of_the_command_is_current():
    # A narrow terminal and another language change nothing.
    surroundings = {**os.environ, "COLUMNS": "40", "LC_ALL": "C"}
    command = [sys.executable, ROOT / "site" / "command.py", sys.argv[1], "--check"]
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    assert done.returncode == 0, done.stdout + done.stderr


def options_named_in_documents_exist():
    """Of every `mahala COMMAND …` in a block, an indented line or a phrase of any document: the command and its options."""
    sys.path.insert(0, str(ROOT / "site"))
    import command

    program = pathlib.Path(sys.argv[1]).resolve()
    known = {name: command.help_of(program, name) for name in command.names(program)}
    every = command.help_of(program)
    documents = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "crates").glob("*/README.md")]
    problems, seen = [], 0
    for path in documents:
        if path == command.PAGE:
            continue
        for line in re.findall(r"(?:^ *|`)mahala ([a-z]+(?: [^`\n]*)?)", path.read_text(encoding="utf-8"), re.MULTILINE):
            name = line.split()[0]
            options = re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)
            seen += bool(options) and name in known
            # Prose begins with the name, too; with an option it is a command.
            wrong = [option for option in options if option + " " not in known.get(name, "") + every and option + "\n" not in known.get(name, "")]
            problems += [f"{path.relative_to(ROOT)}: mahala {name} has no {option}" for option in wrong]
    assert seen > 30 and not problems, "\n".join(problems)


def commands_of_the_first_pages_run():
    program = pathlib.Path(sys.argv[1]).resolve()
    for document in RUN:
        ran = 0
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "data", pathlib.Path(folder) / "data", symlinks=False)
            # The reader's own file of docs/start.md.
            shutil.copy(ROOT / "data" / "breast-cancer-wdbc.csv", pathlib.Path(folder) / "patients.csv")
            for line in shell_lines(document):
                words = shlex.split(line, comments=True)
                # Files of the reader's own stand in examples too; those named so are not in the repository.
                if words[:1] != ["mahala"] or {"rows.csv", "completions"} & set(words) or words[-2:-1] == [">"]:
                    continue
                # Forty runs show nothing here that two do not; a model that is judged has none.
                if words[1] == "evaluate" and not words[2].endswith(".safetensors"):
                    words += ["--runs", "2"]
                done = subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True)
                assert done.returncode == 0, f"{document}: {line}\n{done.stderr}"
                ran += 1
        assert ran >= 2, f"{document}: {ran} commands ran"


def shell_lines(document):
    inside = False
    for line in (ROOT / document).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```sh"
        elif inside and line.strip():
            yield line


def the_readme_is_short():
    lines = len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    assert lines < 120, f"{lines} lines"


main()
