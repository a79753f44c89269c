"""The archive of a release: `archive.py PROGRAM TARGET FOLDER`. The command with completions, man pages, readme and licences; beside it
a file with its SHA-256. A ZIP file for Windows, elsewhere a compressed tar file."""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "site"))

import command
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


    # The command's own pages, or, of a version without them, its help.
    if subprocess.run([program, "man", folder / "man"], capture_output=True).returncode == 0:
        return
    version = output(program, "--version").strip()
    for name in ["", *command.names(program)]:
        page = f"mahala-{name}" if name else "mahala"
        help_ = command.help_of(program, *([name] if name else []))
        (folder / "man" / f"{page}.1").write_text(manual(page, help_, version), encoding="utf-8", newline="\n")


def manual(page, help_, version):
    """A page for man(1) from a command's help: its first line is the summary, its headings are sections, its options stay as they are set."""
    lines = [line.replace("\\", "\\e").replace("-", "\\-") for line in help_.splitlines()]
    text = [f'.TH "{page.upper()}" 1 "" "{version}"', ".SH NAME", f"{page} \\- {lines[0]}", ".SH DESCRIPTION", ".nf"]
    for line in lines[1:]:
        if found := re.fullmatch(r"(\w[\w ,]*):", line):
            text += [".fi", f'.SH "{found[1].upper()}"', ".nf"]
        else:
            # A line that begins with a point or an apostrophe would be a request.
            text.append("\\&" + line if line.startswith((".", "'")) else line)
    return "\n".join([*text, ".fi"]) + "\n"


def output(*arguments):
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
