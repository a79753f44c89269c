// What is shown now, and how it changes.
const state = { t: chosenT, view: "principal", pair: [0, Math.min(1, m - 1)], row: null, k: Math.min(page.k, listed), standard: true };
const slider = byId("t");
let waiting = false, frames = 0, before = [], after = [], shares = [];

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    frames++;
    show();
  });
}

function show() {
  const share = project(state.view, state.t, state.pair);
  placeOnScreen();
  before = state.row === null ? [] : nearestPlain(state.row, state.k);
  after = state.row === null ? [] : nearest(state.row, state.t, state.k);
  draw(state.row, before, after);
  byId("t-now").textContent = showT(state.t);
  slider.setAttribute("aria-valuetext", "t = " + showT(state.t));
  byId("t-chosen").setAttribute("aria-pressed", String(state.t === chosenT));
  shares = columnShares(state.t, state.standard);
  fillBars(shares);
  markCurve(state.t);
  sayWhatIsShown(share);
  showNeighbours();
}

function sayWhatIsShown(share) {
  const kept = shareKept(state.t);
  const held = m < logLambda.length ? ` The page keeps ${percent(kept)} of the squared distances at this t, in ${m} of ${logLambda.length} coordinates.` : "";
  byId("kept").textContent = share === null
    ? "Where rows lie by the plain distance: t moves nothing here."
    : `These two directions show ${percent(share * kept)} of the squared distances at this t.${held}`;
}

function showNeighbours() {
  byId("near").hidden = byId("near-k").hidden = byId("near-means").hidden = state.row === null;
  const own = state.row === null ? 0 : codes[state.row];
  fillNeighbours(byId("before"), before, after, own, select);
  fillNeighbours(byId("after"), after, before, own, select);
  const wrong = found => found.filter(({ row }) => codes[row] !== own).length;
  byId("row").textContent = state.row === null ? "Click a point, or go through the rows with the arrow keys."
    : `Row ${numbers[state.row]} is of class “${nameOf(own)}”. Of its ${before.length} nearest neighbours, ${wrong(before)} by the plain distance and ${wrong(after)} by the learned one are of another class.`;
}

function setT(t) {
  state.t = t;
  slider.value = t;
  redraw();
}

function select(row) {
  state.row = row;
  fillCells(row);
  byId("said").textContent = row === null ? "" : `${rowName(row)}, ${nameOf(codes[row])}`;
  redraw();
}

// The next visible row, in the order of the table.
function step(by) {
  let row = state.row === null ? (by > 0 ? -1 : n) : state.row;
  for (let tries = 0; tries < n; tries++) {
    row = (row + by + n) % n;
    if (isVisible(row)) return select(row);
  }
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const zoom = factor => { zoomAt(factor); redraw(); };
  const keys = {
    ArrowRight: () => step(1), ArrowDown: () => step(1), ArrowLeft: () => step(-1), ArrowUp: () => step(-1),
    Home: () => { state.row = null; step(1); }, End: () => { state.row = null; step(-1); },
    Enter: () => { if (after.length) select(after[0].row); },
    Escape: () => select(null), "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: showAll,
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

function showAll() {
  Object.assign(camera, { zoom: 1, x: 0, y: 0 });
  makeSprites();
  redraw();
}

// From the present t to 1 and again from 0, in eight seconds.
let playing = null;
function play(on) {
  playing = on ? { since: null, from: state.t >= 1 ? 0 : state.t } : null;
  byId("play").setAttribute("aria-pressed", String(on));
  byId("play").textContent = on ? "Stop" : "Play";
  if (on) requestAnimationFrame(tick);
}
function tick(now) {
  if (!playing) return;
  playing.since ??= now;
  setT((playing.from + (now - playing.since) / 8000) % 1);
  requestAnimationFrame(tick);
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(dark));
  makeSprites();
  fillLegend(redraw);
  document.querySelectorAll("#near button").forEach(button => delete button.dataset.row);
  redraw();
}

function listen() {
  slider.addEventListener("input", () => { play(false); state.t = Number(slider.value); redraw(); });
  byId("t-chosen").addEventListener("click", () => { play(false); setT(chosenT); });
  byId("play").addEventListener("click", () => play(!playing));
  byId("view").addEventListener("change", event => {
    state.view = event.target.value;
    byId("pair").hidden = state.view !== "pair";
    showAll();
  });
  ["across", "up"].forEach((id, place) => byId(id).addEventListener("change", event => {
    state.pair[place] = Number(event.target.value);
    redraw();
  }));
  byId("in").addEventListener("click", () => { zoomAt(1.4); redraw(); });
  byId("out").addEventListener("click", () => { zoomAt(1 / 1.4); redraw(); });
  byId("whole").addEventListener("click", showAll);
  byId("k").addEventListener("input", event => {
    const k = Math.round(Number(event.target.value));
    if (k >= 1 && k <= listed) { state.k = k; redraw(); }
  });
  document.querySelectorAll("input[name=unit]").forEach(input => input.addEventListener("change", () => {
    state.standard = document.querySelector("input[name=unit]:checked").value === "standard";
    redraw();
  }));
  canvas.addEventListener("keydown", pressed);
  byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", event => setTheme(event.matches));
  // At once: a canvas of a new size is empty.
  new ResizeObserver(() => { fitCanvas(); show(); }).observe(byId("frame"));
  listenToPointers({ clicked: row => { canvas.focus(); select(row); }, hovered: (row, place) => fillTip(row, shares, place), moved: redraw });
}

function begin() {
  slider.value = state.t;
  byId("t-chosen").textContent = `t ${page.heldOut.given ? "given" : "chosen"}: ${showT(chosenT)}`;
  const k = byId("k");
  Object.assign(k, { max: listed, value: state.k });
  const option = (a, place) => make("option", { value: a, textContent: `coordinate ${kept[a] + 1}`, selected: a === state.pair[place] });
  ["across", "up"].forEach((id, place) => byId(id).append(...kept.map((_, a) => option(a, place))));
  if (plane === null) byId("view").querySelector("[value=plain]").remove();
  canvas.setAttribute("aria-label", `${many(n, "row")} as points`);
  fitCanvas();
  drawCurve(setT);
  fillVotes();
  fillAbout();
  listen();
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  show();
  // For programs that look at the page.
  const weighted = t => { const { weights } = weightsAt(t); return Array.from(z, (x, at) => x * weights[at % m]); };
  window.explorer = { state, camera, setT, select, screen, places, codes, numbers, weighted, frames: () => frames, neighbours: () => ({ before, after }) };
}

begin();
