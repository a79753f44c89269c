"""What is published: `packages.py`. Every crate packs, carries licence and readme, and says where it comes from; the source archive and the
wheel of the Python package hold what they should and nothing else. Wants the wheel in target/wheels, as python/test leaves it."""

import email.parser
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ["mahala-kernels", "mahala-plot", "mahala", "mahala-baselines", "mahala-io", "mahala-cli"]
LICENCES = ["LICENSE-APACHE", "LICENSE-MIT"]
MATURIN = os.environ.get("MATURIN", ROOT / "target" / "python-venv" / "bin" / "maturin")


def main():
    tests = [
        copies_are_the_same,
        crates_have_one_version_and_say_where_they_come_from,
        crates_pack_with_licences_and_readme,
        the_source_archive_builds_alone,
        the_wheel_holds_the_package_and_nothing_else,
        the_wheel_declares_what_it_imports,
    ]
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


main()
