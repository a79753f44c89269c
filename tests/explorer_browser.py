"""The page of `mahala explore` in a real browser: `explorer_browser.py [PROGRAM]`. Wants Chromium and the built command.
Screenshots are in target/screenshots."""

import base64
import csv
import io
import pathlib
import subprocess
import sys
import tempfile
import time

import chromium

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOTS = ROOT / "target" / "screenshots"
WINE = ROOT / "data" / "wine.csv"
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "Enter": 13, "Escape": 27, "Tab": 9, "Home": 36, "End": 35}
#: Text whose contrast with what is behind it is below 4.5, by WCAG 2.
CONTRAST = """
(() => {
  const parse = color => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = rgb => {
    const f = rgb.slice(0, 3).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2];
  };
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]); };
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => top.length >= 3 ? over(top, below) : below, [255, 255, 255]);
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].filter(n => n.nodeType === 3 && n.textContent.trim());
    if (!own.length || !e.getBoundingClientRect().width || e.closest("[hidden], svg, script, .unseen")) continue;
    const back = behind(e), front = over(parse(getComputedStyle(e).color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${own[0].textContent.trim().slice(0, 40)} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return [...new Set(found)].slice(0, 8);
})()
"""


class Explorer(chromium.Page):
    def settle(self):
        """Waits until what was asked for has been drawn."""
        before = self.value("explorer.frames()")
        for _ in range(100):
            time.sleep(0.02)
            now = self.value("explorer.frames()")
            if now == before:
                return
            before = now
        raise AssertionError("the page never comes to rest")

    def mouse(self, kind, x, y, buttons=0):
        button = "left" if kind != "mouseMoved" or buttons else "none"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y)
        self.settle()

    def key(self, name, modifiers=0):
        code = KEYS.get(name, ord(name[0]))
        text = {"text": "\r"} if name == "Enter" else {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, modifiers=modifiers, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code, modifiers=modifiers)
        self.settle()

    def box(self, selector):
        return self.value(f"(() => {{ const r = document.querySelector({selector!r}).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})()")

    def screen(self, count):
        return self.value(f"[...explorer.screen.slice(0, {2 * count})]")

    def click_row(self, row):
        x, y, _, _ = self.box("#points")
        at = self.value(f"[explorer.screen[{2 * row}], explorer.screen[{2 * row + 1}]]")
        self.click(x + at[0], y + at[1])

    def window(self, width, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.settle()

    def shot(self, name, whole=False):
        SHOTS.mkdir(parents=True, exist_ok=True)
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        (SHOTS / f"explorer-{name}.png").write_bytes(base64.b64decode(picture["data"]))

    def close_without_problems(self, path):
        assert not self.problems, self.problems
        assert self.requests == [path.as_uri()], self.requests


def the_slider_moves_the_points(page):
    x, y, width, height = page.box("#t")
    before = page.screen(178)
    page.mouse("mousePressed", x + 0.5 * width, y + height / 2, 1)
    middle = page.value("explorer.state.t")
    page.mouse("mouseMoved", x + 0.75 * width, y + height / 2, 1)
    page.mouse("mouseReleased", x + 0.75 * width, y + height / 2)
    page.settle()
    now = page.value("explorer.state.t")
    assert 0.45 < middle < 0.55 and 0.7 < now < 0.8, (middle, now)
    moved = sum(abs(a - b) > 1 for a, b in zip(before, page.screen(178)))
    assert moved > 178, moved
    page.value("document.getElementById('t').focus()")
    page.key("ArrowRight")
    assert abs(page.value("explorer.state.t") - now - 0.001) < 1e-9


def a_click_shows_the_neighbours_that_the_command_finds(page, program, folder):
    for t in ("0.02", "0.5", "1"):
        page.value(f"explorer.setT({t})")
        page.settle()
        for row in (0, 77, 170):
            page.value("explorer.select(null)")
            page.settle()
            page.click_row(row)
            chosen = page.value("explorer.state.row")
            # Another point may lie on top of it.
            close = page.value(f"Math.hypot(explorer.screen[{2 * chosen}] - explorer.screen[{2 * row}], explorer.screen[{2 * chosen} + 1] - explorer.screen[{2 * row} + 1])")
            assert close < 3, (row, chosen)
            shown = page.value("[...document.querySelectorAll('#after button')].map(b => Number(b.dataset.row) + 1)")
            assert shown == found(program, folder, t)[chosen + 1], (t, chosen, shown)
            plain = page.value("[...document.querySelectorAll('#before button')].map(b => Number(b.dataset.row) + 1)")
            assert plain == found(program, folder, "plain")[chosen + 1], (chosen, plain)


def found(program, folder, t, known={}):
    """The five neighbours of every row of Wine, by the command."""
    if t not in known:
        model = folder / f"{t}.safetensors"
        method = ["--method", "euclidean"] if t == "plain" else ["--method", "gmml", "--t", t]
        run(program, "fit", WINE, "--label", "label", *method, "-o", model)
        rows = csv.DictReader(io.StringIO(run(program, "neighbors", model, WINE, "-k", "5")))
        known[t] = {}
        for row in rows:
            known[t].setdefault(int(row["row"]), []).append(int(row["neighbor"]))
    return known[t]


def the_keyboard_goes_everywhere(page):
    page.value("explorer.select(null); document.getElementById('points').focus()")
    page.settle()
    for key, row in [("ArrowRight", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("End", 177), ("Home", 0)]:
        page.key(key)
        assert page.value("explorer.state.row") == row, (key, row)
    nearest = page.value("explorer.neighbours().after[0].row")
    page.key("Enter")
    assert page.value("explorer.state.row") == nearest
    assert page.value("document.getElementById('said').textContent").startswith(f"row {nearest + 1}, ")
    before = page.screen(178)
    page.key("+")
    assert before != page.screen(178)
    page.key("0")
    page.key("Escape")
    assert page.value("explorer.state.row") is None
    page.value("document.getElementById('theme').focus()")
    seen = ["theme"]
    for _ in range(20):
        page.key("Tab")
        seen.append(page.value("document.activeElement.id || document.activeElement.name || document.activeElement.tagName"))
    # In the order in which they stand.
    places = [seen.index(name) for name in ("theme", "t", "t-chosen", "play", "view", "out", "points", "unit")]
    assert places == sorted(places), seen
    outline = page.value("document.getElementById('t').focus() || getComputedStyle(document.getElementById('t')).outlineStyle")
    assert outline == "solid", outline


def classes_can_be_hidden_and_views_chosen(page):
    page.value("document.querySelector('#legend button').click()")
    page.settle()
    page.click_row(0)
    assert page.value("document.querySelector('#legend button').getAttribute('aria-pressed')") == "false"
    assert page.value("explorer.state.row === null || explorer.codes[explorer.state.row] !== explorer.codes[0]")
    page.value("document.querySelector('#legend button').click(); explorer.select(null)")
    for view in ("pair", "plain"):
        page.value(f"(v => {{ v.value = '{view}'; v.dispatchEvent(new Event('change')); }})(document.getElementById('view'))")
        page.settle()
        before = page.screen(178)
        page.value("explorer.setT(explorer.state.t > 0.5 ? 0.1 : 0.9)")
        page.settle()
        assert (before == page.screen(178)) == (view == "plain"), view
    page.value("(v => { v.value = 'principal'; v.dispatchEvent(new Event('change')); })(document.getElementById('view'))")
    page.settle()


def principal_components_are_those_of_the_weighted_coordinates(page):
    """The spread along the axes shown is that of power iteration on the same second moments."""
    for t in (0.0, 0.3, 0.9):
        page.value(f"explorer.setT({t})")
        page.settle()
        shown = page.value("""(() => { let x = 0, y = 0, xy = 0; const n = explorer.codes.length;
          for (let i = 0; i < n; i++) { const a = explorer.places[2 * i], b = explorer.places[2 * i + 1]; x += a * a; y += b * b; xy += a * b; }
          return [x / n, y / n, xy / n]; })()""")
        expected = spread(*page.value("[explorer.weighted(explorer.state.t), explorer.codes.length]"))
        assert abs(shown[0] / expected[0] - 1) < 1e-6 and abs(shown[1] / expected[1] - 1) < 1e-6, (t, shown, expected)
        assert abs(shown[2]) < 1e-6 * shown[0]


def spread(cells, n):
    """The two largest eigenvalues of the second moments of n rows, by power iteration and deflation."""
    m = len(cells) // n
    rows = [cells[i * m:(i + 1) * m] for i in range(n)]
    moments = [[sum(row[a] * row[b] for row in rows) / n for b in range(m)] for a in range(m)]
    values = []
    for _ in range(2):
        v, value = [1.0 + 0.1 * a for a in range(m)], 0.0
        for _ in range(3000):
            w = [sum(x * y for x, y in zip(line, v)) for line in moments]
            value = sum(x * x for x in w) ** 0.5
            v = [x / value for x in w]
        values.append(value)
        moments = [[moments[a][b] - value * v[a] * v[b] for b in range(m)] for a in range(m)]
    return values


def touch_selects_and_two_fingers_zoom(page):
    page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    page.value("explorer.select(null); document.getElementById('whole').click()")
    page.settle()
    page.value("document.getElementById('points').scrollIntoView({block: 'center'})")
    x, y, width, height = page.box("#points")
    at = page.screen(1)
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x + at[0], "y": y + at[1], "id": 1}])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.settle()
    assert page.value("explorer.state.row") is not None
    page.value("explorer.select(null)")
    before = page.value("explorer.camera.zoom")
    two = lambda apart: [{"x": x + width / 2 - apart, "y": y + height / 2, "id": 1}, {"x": x + width / 2 + apart, "y": y + height / 2, "id": 2}]
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=two(30))
    for apart in (40, 60, 80):
        page.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=two(apart))
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.settle()
    assert page.value("explorer.camera.zoom") > 1.5 * before
    page.call("Emulation.setTouchEmulationEnabled", enabled=False)
    page.value("document.getElementById('whole').click()")
    page.settle()


def it_fits_every_window(page, scheme):
    page.value("explorer.setT(0.02); explorer.select(70)")
    for width in (1400, 1000, 390):
        page.window(width, 1000)
        wide = page.value("document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} pixels wide in a window of {width}"
        page.value("scrollTo(0, 0)")
        page.shot(f"{scheme}-{width}")
        page.shot(f"{scheme}-{width}-whole", whole=True)
    low = page.value(CONTRAST)
    assert not low, low
    page.window(1400)


def the_theme_can_be_turned(page):
    back = "getComputedStyle(document.body).backgroundColor"
    before = page.value(back)
    page.value("document.getElementById('theme').click()")
    page.settle()
    assert page.value(back) != before
    page.value("document.getElementById('theme').click()")
    page.settle()
    assert page.value(back) == before


def ten_thousand_points_are_drawn(program, folder):
    table, path = folder / "many.csv", folder / "many.html"
    table.write_text(many_rows(12_000))
    run(program, "explore", table, "--label", "y", "--t", "0.4", "--steps", "4", "--selection-rows", "400", "-o", path)
    with Explorer(path) as page:
        page.window(1400)
        assert page.value("explorer.codes.length") == 10_000
        assert "10,000 rows of 12,000" in page.value("document.getElementById('about').textContent")
        before, frames = page.screen(10_000), page.value("explorer.frames()")
        # Each frame of the browser moves t a little.
        page.value("window.done = false; (function go(i) { explorer.setT(i / 30); i < 30 ? requestAnimationFrame(() => go(i + 1)) : window.done = true; })(0)")
        for _ in range(600):
            if page.value("window.done"):
                break
            time.sleep(0.05)
        page.settle()
        assert page.value("explorer.frames()") - frames >= 15, page.value("explorer.frames()") - frames
        assert before != page.screen(10_000)
        inked = """(() => { const c = document.getElementById('points');
          const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
          let inked = 0; for (let i = 3; i < d.length; i += 4) inked += d[i] > 0; return inked; })()"""
        assert page.value(inked) > 20_000
        page.shot("many")
        page.close_without_problems(path)


def many_rows(n):
    """Rows of four classes in eight columns."""
    state, lines = 7, [",".join("abcdefgh") + ",y"]
    for i in range(n):
        cells = []
        for j in range(8):
            total = 0.0
            for _ in range(4):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                total += (state >> 11) / 2**53
            cells.append(f"{(1 + 3 * (j % 3)) * (total - 2) + 0.5 * (i % 4) * (j % 2):.4f}")
        lines.append(",".join(cells) + f",class {i % 4}")
    return "\n".join(lines) + "\n"


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / "mahala").resolve()
    if chromium.program() is None:
        sys.exit("FAILED no Chromium\n0 passed, 1 failed")
    passed = failed = 0

    def tried(check, *given):
        nonlocal passed, failed
        try:
            check(*given)
        except (AssertionError, TypeError, ValueError, OSError, KeyError) as error:
            failed += 1
            print(f"FAILED {check.__name__.replace('_', ' ')}\n       {type(error).__name__}: {error}", flush=True)
        else:
            passed += 1
            print(f"ok     {check.__name__.replace('_', ' ')}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "wine.html"
        run(program, "explore", WINE, "--label", "label", "-o", path)
        for scheme in ("light", "dark"):
            with Explorer(path, scheme) as page:
                page.window(1400)
                if scheme == "light":
                    tried(the_slider_moves_the_points, page)
                    tried(a_click_shows_the_neighbours_that_the_command_finds, page, program, folder)
                    tried(the_keyboard_goes_everywhere, page)
                    tried(classes_can_be_hidden_and_views_chosen, page)
                    tried(principal_components_are_those_of_the_weighted_coordinates, page)
                    tried(touch_selects_and_two_fingers_zoom, page)
                tried(the_theme_can_be_turned, page)
                tried(it_fits_every_window, page, scheme)
                tried(page.close_without_problems, path)
        tried(ten_thousand_points_are_drawn, program, folder)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
