"""What the project keeps to, checked over every file git knows: `house_rules.py`.

- no absolute path of somebody's machine, no host of a package registry outside Cargo.lock's fixed form;
- Rust files stay below 500 lines, so that each can be read in one sitting;
- a doc comment of Rust says itself what it means, and refers nobody to the comment of a neighbour;
- links between the documents lead somewhere; the README's commands exist.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 500
# Written apart, so that this file keeps its own rules.
HOSTS = ["py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js.org", "deb.deb" + "ian.org", "static.crates" + ".io"]
PATHS = re.compile(r"(?<![\w.])/(?:" + "ho" + r"me|ro" + r"ot|wo" + r"rk|Us" + r"ers)/\w")
TEXT = {".rs", ".py", ".md", ".toml", ".yml", ".cff", ".sh", ".json", ".txt", ".lock", ".svg", ""}


def main():
    checks = [no_foreign_places, rust_files_are_short, doc_comments_stand_alone, links_lead_somewhere, readme_commands_exist]
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


def doc_comments_stand_alone():
    lean = re.compile(r"^\s*//[/!] (?:As|Like|The same as|See) \[?`")
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in files()
        if name.endswith(".rs")
        for number, line in enumerate(text.splitlines(), 1)
        if lean.search(line)
    ]


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


main()
