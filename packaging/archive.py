"""The archive of a release: `archive.py PROGRAM TARGET FOLDER`. The command with completions, man pages, readme and licences; beside it
a file with its SHA-256. A ZIP file for Windows, elsewhere a compressed tar file."""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPLETIONS = {"bash": "mahala.bash", "zsh": "_mahala", "fish": "mahala.fish", "powershell": "_mahala.ps1", "elvish": "mahala.elv"}


def main(program, target, folder):
    program, folder = pathlib.Path(program).resolve(), pathlib.Path(folder)
    version = output(program, "--version").split()[1]
    name = f"mahala-{version}-{target}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        fill(pathlib.Path(place) / name, program)
        form = "zip" if "windows" in target else "gztar"
        archive = pathlib.Path(shutil.make_archive(str(folder.resolve() / name), form, place, name))
    sum_ = hashlib.sha256(archive.read_bytes()).hexdigest()
    (folder / f"{archive.name}.sha256").write_text(f"{sum_}  {archive.name}\n", encoding="ascii")


def fill(folder, program):
    (folder / "completions").mkdir(parents=True)
    (folder / "man").mkdir()
    shutil.copy2(program, folder)
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"]:
        shutil.copy(ROOT / file, folder)
    for shell, file in COMPLETIONS.items():
        (folder / "completions" / file).write_text(output(program, "completions", shell), encoding="utf-8", newline="\n")

    output(program, "man", folder / "man")


def output(*arguments):
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
