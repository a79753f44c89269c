"""What mkdocs does beyond its own: documents that live elsewhere become pages, and links between files of the repository lead on.

The documents link to each other as files, so that they can be read in the repository too. Here a link to a file that is a page of
the site becomes a link to the page, and a link to any other file a link to the repository.
"""

import ast
import json
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/mahala-rs/mahala/blob/main/"
#: Documents outside docs/, and their place in the site.
ELSEWHERE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "data/README.md": "data.md",
}
#: The results of the experiments, with their figures and tables.
RESULTS = {".md", ".svg", ".csv", ".json", ".html"}
# [words](target) and [words](target#anchor), not within code.
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
HREF = re.compile(r'(href=")([^"#]+)(["#])')
SHIM = "https://unpkg.com/iframe-worker/shim"
FENCE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def on_files(files, config):
    for path in notebooks():
        place = f"tutorials/{path.stem}"
        text, figures = page_of_notebook(path)
        files.append(File.generated(config, f"{place}.md", content=text))
        for name, figure in figures.items():
            files.append(File.generated(config, f"tutorials/{name}", content=figure))
    for source, place in places().items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for source, place in places().items():
        if place.endswith(".html"):
            files.remove(files.get_file_from_path(place))
            text = (ROOT / source).read_text(encoding="utf-8")
            text = HREF.sub(lambda link: link[1] + built(led_on(link[2], source, place, files)) + link[3], text)
            files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri == "reference/python.md":
        markdown += more_names(markdown)
    source = {place: source for source, place in places().items()}.get(page.file.src_uri, "docs/" + page.file.src_uri)
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lambda link: link[1] + led_on(link[2], source, page.file.src_uri, files) + (link[3] or "") + link[4], part) for part in parts[::2]]
    return "".join(parts)


def public_names():
    """What the package and its public modules export, as they say in `__all__`."""
    package = ROOT / "python" / "mahala"
    modules = {"mahala": package / "__init__.py"}
    for name in ["constraints", "embeddings", "online", "retrieval"]:
        file = package / f"{name}.py"
        modules[f"mahala.{name}"] = file if file.exists() else package / name / "__init__.py"
    found = []
    for module, file in modules.items():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        listed = [node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"]
        names = ast.literal_eval(listed[0]) if listed else []
        found += [f"{module}.{name}" for name in names if name != "__version__" and f"{module}.{name}" not in modules]
    return found


def more_names(markdown):
    """The names that the page of the reference does not place itself."""
    missing = [name for name in public_names() if f"::: {name}\n" not in markdown + "\n"]
    return "\n\n## More\n\n" + "".join(f"::: {name}\n" for name in missing) if missing else ""


def notebooks():
    return sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def page_of_notebook(path):
    """A notebook as a page, and the files of its figures."""
    parts, figures = [], {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        for output in cell.get("outputs", []):
            if drawn := output.get("data", {}).get("image/svg+xml"):
                name = f"{path.stem}-{len(figures) + 1}.svg"
                figures[name] = "".join(drawn)
                parts.append(f"![{cell['metadata']['alt']}]({name})")
            else:
                text = "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
                parts.append(f"```text\n{text.rstrip()}\n```")
    parts.append(f"This page as a notebook: [{path.name}]({REPOSITORY}docs/tutorials/{path.name})")
    return "\n\n".join(parts) + "\n", figures


def places():
    """The path in the repository and in the site of each document outside docs/."""
    found = dict(ELSEWHERE)
    for path in sorted((ROOT / "experiments" / "results").iterdir()):
        if path.suffix in RESULTS:
            found[f"experiments/results/{path.name}"] = f"results/{path.name}"
    return found


def on_post_page(output, page, config):
    """Nothing is fetched: neither the theme's help for a search without a server, nor the repository's stars."""
    output = output.replace(' data-md-component="source"', "")
    return output.replace(SHIM, posixpath.relpath("worker.js", posixpath.dirname(page.file.dest_uri) or "."))


def built(target):
    """The name a page has when it is built."""
    return target if "://" in target else re.sub(r"\.md$", ".html", target)


def led_on(target, source, place_of_page, files):
    """The target of a link in a document of the repository, from its page of the site."""
    if "://" in target or target.startswith(("mailto:", "/")):
        return target
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if path.endswith(".ipynb") and (ROOT / path).exists():
        path = path.removesuffix(".ipynb") + ".md"
    place = places().get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    if place and files.get_file_from_path(place):
        return posixpath.relpath(place, posixpath.dirname(place_of_page) or ".")
    return REPOSITORY + path if (ROOT / path).exists() else target
