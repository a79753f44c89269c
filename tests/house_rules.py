"""What the project keeps to, checked over every file git knows: `house_rules.py`.

- no absolute path of somebody's machine, no host of a package registry outside Cargo.lock's fixed form;
- Rust files have at most 450 lines, so that each can be read in one sitting;
- a doc comment of Rust says itself what it means, and refers nobody to the comment of a neighbour;
- links between the documents lead somewhere; the README's commands exist;
- files, types and functions that the map and the way of a row name are there, each function with its type.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 450
# Written apart, so that this file keeps its own rules.
HOSTS = ["py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js.org", "deb.deb" + "ian.org", "static.crates" + ".io"]
PATHS = re.compile(r"(?<![\w.])/(?:" + "ho" + r"me|ro" + r"ot|wo" + r"rk|Us" + r"ers)/\w")
TEXT = {".rs", ".py", ".md", ".toml", ".yml", ".cff", ".sh", ".json", ".txt", ".lock", ".svg", ""}


def main():
    checks = [
        no_foreign_places,
        rust_files_are_short,
        doc_comments_stand_alone,
        links_lead_somewhere,
        readme_commands_exist,
        names_in_documents_exist,
    ]
    failed = 0
    for check in checks:
        problems = check()
        failed += bool(problems)
        print(("FAILED " if problems else "ok     ") + check.__name__.replace("_", " "))
        for problem in problems:
            print("       " + problem)
    print(f"{len(checks) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def files():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and path.suffix in TEXT:
            yield name, path.read_text(encoding="utf-8", errors="replace")


def no_foreign_places():
    problems = []
    for name, text in files():
        for number, line in enumerate(text.splitlines(), 1):
            if PATHS.search(line) or any(host in line for host in HOSTS):
                problems.append(f"{name}:{number}: {line.strip()[:100]}")
    return problems


def rust_files_are_short():
    return [
        f"{name}: {len(text.splitlines())} lines"
        for name, text in files()
        if name.endswith(".rs") and len(text.splitlines()) > MAX_LINES
    ]


# What a doc comment begins with that leans on the comment before it: documentation is sorted by name, not by place.
LEANING = re.compile(
    r"(?:The same|Same|Likewise|Ditto|And|Its|Their|Those (?:of|that|not)|As (?:above|before))\b|The others?\.|(?:As|Like|See) \[?`"
)


def doc_comments_stand_alone():
    problems = []
    for name, text in files():
        if not name.endswith(".rs") or "/tests/" in name:
            continue
        lines = [line.strip() for line in text.splitlines()]
        for number, (before, line) in enumerate(zip([""] + lines, lines), 1):
            begins = line.startswith("///") and not before.startswith("///")
            if begins and LEANING.match(line[3:].lstrip()):
                problems.append(f"{name}:{number}: {line[:100]}")
    return problems


def links_lead_somewhere():
    problems = []
    for name, text in files():
        if not name.endswith(".md"):
            continue
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target and not (ROOT / name).parent.joinpath(target).exists():
                problems.append(f"{name}: {target} does not exist")
    return problems


def readme_commands_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    wanted = ["cargo run --release -- demo", "./test"]
    return [f"the README does not show `{command}`" for command in wanted if command not in readme]


# Rust's own words.
KEYWORDS = {"use", "unsafe"}


def names_in_documents_exist():
    sources = {name: text for name, text in files() if name.endswith(".rs")}
    code = "\n".join(sources.values())
    defined = set(re.findall(r"\b(?:fn|struct|enum|trait|type|mod|const|static|macro_rules!) (\w+)", code))
    defined |= set(re.findall(r"^\s+(?:pub(?:\([\w ]+\))? )?(\w+)(?:: |,$| \{$|\()", code, re.M))
    # Crates and features.
    defined |= {word for name, text in files() if name.endswith("Cargo.toml") for word in re.findall(r"^[\w-]+|[\w-]+", text)}
    problems = []
    for document in ["ARCHITECTURE.md", "docs/internals/walk.md"]:
        prose = re.sub(r"```.*?```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.S)
        for quoted in re.findall(r"`([^`]+)`", prose):
            if not is_known(quoted, sources, defined):
                problems.append(f"{document}: `{quoted}` is nowhere in the code")
        for path, name in re.findall(r"`([\w/-]+\.rs)`, `(\w+(?:::\w+)*)`", prose):
            texts = [text for source, text in sources.items() if source.endswith("/" + path)]
            definition = re.compile(rf"\b(?:fn|struct|enum|trait|type|const) {name.split('::')[-1]}\b")
            if not any(definition.search(text) for text in texts):
                problems.append(f"{document}: `{name}` is not in `{path}`")
    return problems


def is_known(quoted, sources, defined):
    """Whether a file, a type or a function that a document names is there; what is none of them is left alone."""
    if re.fullmatch(r"[\w/-]+\.rs", quoted):
        return any(("/" + name).endswith("/" + quoted) for name in sources)
    if method := re.fullmatch(r"([A-Z]\w+)::([a-z]\w+)", quoted):
        of_type, function = re.compile(rf"\bimpl\b[^{{]*\b{method[1]}\b"), re.compile(rf"\bfn {method[2]}\b")
        return any(of_type.search(text) and function.search(text) for text in sources.values())
    if re.fullmatch(r"\w+(?:::\w+)*", quoted) and re.search(r"[a-z]{2}", quoted):
        return quoted in KEYWORDS or all(part in defined for part in quoted.split("::"))
    return True


main()
