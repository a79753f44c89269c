"""The built site in a real browser, as a folder and without the network: `site_browser.py`. Wants Chromium, and target/site as tests/site.py
leaves it. Screenshots of every page it opens are in target/screenshots."""

import base64
import pathlib
import sys
import time

import chromium

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE, SHOTS = ROOT / "target" / "site", ROOT / "target" / "screenshots"
#: One page of each kind.
PAGES = ["index", "which-method", "gallery/index", "gallery/reduction", "tutorials/pairs", "guides/scaling", "reference/python", "reference/command"]
PAGES += ["results/paper", "science/paper", "changelog", "benchmarks", "results/report"]
WIDTHS = [1200, 400]
#: Text whose contrast with what is behind it is too low, by WCAG 2: 4.5, or 3 if it is large. Pictures are not looked into.
CONTRAST = """
(() => {
  const parse = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const f = [r, g, b].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2];
  };
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]); };
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => top.length >= 3 ? over(top, below) : below, [255, 255, 255]);
  };
  const found = [];
  for (const e of document.querySelectorAll(".md-content *, .md-header *, .md-tabs *, .md-footer *")) {
    const own = [...e.childNodes].filter(n => n.nodeType === 3 && n.textContent.trim());
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!own.length || !box.width || style.visibility === "hidden" || style.opacity === "0" || e.closest("[hidden], svg, .headerlink")) continue;
    const back = behind(e), front = over(parse(style.color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) found.push(`${own[0].textContent.trim().slice(0, 40)} (${e.className || e.tagName}) ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)].slice(0, 12);
})()
"""
#: Headings that skip a level.
SKIPPED = """
(() => {
  const levels = [...document.querySelectorAll(".md-content h1, .md-content h2, .md-content h3, .md-content h4, .md-content h5, .md-content h6")];
  return levels.filter((h, i) => i && h.tagName[1] - levels[i - 1].tagName[1] > 1).map(h => h.textContent.slice(0, 60));
})()
"""


def main():
    if chromium.program() is None:
        sys.exit("FAILED no Chromium\n0 passed, 1 failed")
    SHOTS.mkdir(parents=True, exist_ok=True)
    failed = ran = 0
    for scheme in ("light", "dark"):
        for name in PAGES:
            problems = look_at(name, scheme)
            ran += 1
            failed += bool(problems)
            print(f"{'FAILED' if problems else 'ok    '} {name} in the {scheme} scheme" + "".join(f"\n       {problem}" for problem in problems), flush=True)
    problems = the_search_finds("shrinkage")
    ran, failed = ran + 1, failed + bool(problems)
    print(f"{'FAILED' if problems else 'ok    '} the search finds pages {problems or ''}")
    print(f"{ran - failed} passed, {failed} failed")
    sys.exit(failed > 0)


def look_at(name, scheme):
    problems = []
    with chromium.Page(SITE / f"{name}.html", scheme) as page:
        for width in WIDTHS:
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=width < 600)
            wide = page.value("document.documentElement.scrollWidth")
            if wide > width:
                problems.append(f"{wide} pixels wide in a window of {width}")
            shot = base64.b64decode(page.call("Page.captureScreenshot", format="png")["data"])
            (SHOTS / f"{name.replace('/', '-')}-{scheme}-{width}.png").write_bytes(shot)
        problems += [f"contrast: {text}" for text in page.value(CONTRAST)]
        problems += [f"a heading skips a level: {text}" for text in page.value(SKIPPED)]
        problems += page.problems + [f"asks for {address}" for address in page.requests if not address.startswith("file:")]
    return problems


def the_search_finds(word):
    """Typed into the box, without a server: pages that have the word are listed."""
    with chromium.Page(SITE / "index.html") as page:
        page.value("document.querySelector('[data-md-toggle=search]').click()")
        page.value("document.querySelector('.md-search__input').focus()")
        page.call("Input.insertText", text=word)
        for _ in range(600):
            time.sleep(0.1)
            found = page.value("[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)")
            if found:
                return [] if len(found) >= 3 else [f"only {found}"]
    return ["nothing within a minute"]


main()
