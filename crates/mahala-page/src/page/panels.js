// The panels beside the points. Text from the data is set as text, never as markup.
const nameOf = code => page.classes[code];
const rowName = i => "row " + numbers[i];

function fillLegend(toggled) {
  const counts = new Map();
  codes.forEach(code => counts.set(code, (counts.get(code) || 0) + 1));
  const legend = byId("legend");
  legend.replaceChildren(...[...counts.keys()].sort((a, b) => a - b).slice(0, 200).map(code => {
    const button = make("button", { type: "button", title: nameOf(code) }, markElement(code), make("bdi", { textContent: nameOf(code) }),
      make("span", { className: "quiet", textContent: counts.get(code).toLocaleString("en") }));
    button.setAttribute("aria-pressed", String(!hiddenClasses.has(code)));
    button.addEventListener("click", () => {
      if (!hiddenClasses.delete(code)) hiddenClasses.add(code);
      button.setAttribute("aria-pressed", String(!hiddenClasses.has(code)));
      toggled();
    });
    return button;
  }));
}

// Lists stay the same elements while t moves, so that focus is not lost.
function fillNeighbours(list, found, others, own, choose) {
  while (list.children.length > found.length) list.lastChild.remove();
  while (list.children.length < found.length) {
    const button = make("button", { type: "button" }, make("span"), make("span"), make("span", { className: "far" }));
    button.addEventListener("click", () => choose(Number(button.dataset.row)));
    list.append(make("li", {}, button));
  }
  found.forEach(({ row, distance }, place) => {
    const item = list.children[place], button = item.firstChild, same = codes[row] === own;
    const both = others.some(other => other.row === row);
    item.className = (same ? "same" : "other") + (both ? " both" : "");
    button.children[2].textContent = short(+distance.toPrecision(3));
    if (button.dataset.row === String(row) && button.dataset.both === String(both) && button.dataset.own === String(own)) return;
    button.dataset.row = row;
    button.dataset.both = both;
    button.dataset.own = own;
    button.children[0].replaceChildren(markElement(codes[row]));
    button.children[1].replaceChildren(`${same ? "✓" : "✗"} `, make("bdi", { textContent: nameOf(codes[row]) }), make("small", { textContent: rowName(row) }));
    button.title = `${rowName(row)}, ${nameOf(codes[row])}${same ? "" : ", another class"}${both ? ", in both lists" : ""}`;
    button.setAttribute("aria-label", button.title);
  });
}

function fillCells(row) {
  byId("cells").hidden = row === null;
  if (row === null) return;
  const cells = Array.from({ length: columnCount }, (_, j) => make("tr", {},
    make("th", { scope: "row", textContent: columnNames[j] }), make("td", { textContent: short(values[row * columnCount + j]) })));
  byId("cells").querySelector("tbody").replaceChildren(...cells);
}

function fillTip(row, shares, place) {
  const tip = byId("tip");
  tip.hidden = row === null;
  if (row === null) return;
  const order = shares.map((share, j) => j).sort((a, b) => shares[b] - shares[a]).slice(0, 6);
  tip.replaceChildren(make("b", { textContent: `${rowName(row)}: ${nameOf(codes[row])}` }),
    ...order.map(j => make("span", { textContent: `${columnNames[j]} ${short(values[row * columnCount + j])}` })));
  const [x, y] = place, room = tip.getBoundingClientRect();
  tip.style.left = Math.max(0, Math.min(x + 14, size.width - room.width - 4)) + "px";
  tip.style.top = Math.max(0, y + 14 + room.height > size.height ? y - 14 - room.height : y + 14) + "px";
}

function fillBars(shares) {
  const list = byId("bars"), order = shares.map((_, j) => j).sort((a, b) => shares[b] - shares[a]).slice(0, 20);
  while (list.children.length < order.length) list.append(make("li", {}, make("bdi"), make("div", {}, make("i")), make("span")));
  const most = Math.max(...shares, Number.MIN_VALUE);
  order.forEach((j, place) => {
    const [name, bar, share] = list.children[place].children;
    name.textContent = name.title = columnNames[j];
    bar.firstChild.style.width = `${100 * shares[j] / most}%`;
    share.textContent = percent(shares[j]);
  });
  const rest = columnCount - order.length, out = page.allColumns - columnCount;
  byId("columns-note").textContent = "The share of each column in the sum of the diagonal of A at this t"
    + (rest > 0 ? `; ${many(rest, "lighter column")} not listed` : "") + (out > 0 ? `; ${many(out, "column")} of ${page.allColumns} left out of the page.` : ".");
}

// The error over t, drawn once; the marker moves.
const SVG = "http://www.w3.org/2000/svg";
function vector(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
const CURVE = { left: 44, right: 340, top: 10, low: 150 };
const acrossCurve = t => CURVE.left + t * (CURVE.right - CURVE.left);
let upCurve = null, marker = null;

function errorAt(t) {
  const points = measured.curve, after = points.findIndex(point => point[0] >= t);
  if (after <= 0) return points[Math.max(after, 0)][1];
  const [[a, e], [b, f]] = [points[after - 1], points[after]];
  return e + (f - e) * (t - a) / (b - a);
}

function drawCurve(setT) {
  if (!measured) {
    byId("error-now").textContent = "The rows are too few to hold some out: there is no curve.";
    return;
  }
  const top = Math.min(1, 1.08 * measured.curve.reduce((most, point) => Math.max(most, point[1]), Math.max(measured.plain, 0.01)));
  upCurve = error => CURVE.low - error / top * (CURVE.low - CURVE.top);
  const svg = vector("svg", { viewBox: "0 0 360 185", role: "img", "aria-label": "Error on held-out rows over t; press it to move t" });
  for (let part = 0; part <= 2; part++) {
    const y = upCurve(top * part / 2);
    svg.append(vector("line", { class: "axis", x1: CURVE.left, x2: CURVE.right, y1: y, y2: y }));
    svg.append(vector("text", { x: CURVE.left - 5, y: y + 4, "text-anchor": "end" }, (100 * top * part / 2).toFixed(top < 0.1 ? 1 : 0) + " %"));
  }
  for (const t of [0, 0.5, 1]) svg.append(vector("text", { x: acrossCurve(t), y: CURVE.low + 16, "text-anchor": "middle" }, "t = " + t));
  svg.append(vector("line", { class: "plain", x1: CURVE.left, x2: CURVE.right, y1: upCurve(measured.plain), y2: upCurve(measured.plain) }));
  svg.append(vector("polyline", { class: "curve", points: measured.curve.map(([t, e]) => `${acrossCurve(t)},${upCurve(e)}`).join(" ") }));
  marker = [vector("line", { class: "now", y1: CURVE.top, y2: CURVE.low }), vector("circle", { class: "dot", r: 4 })];
  svg.append(...marker, vector("circle", { class: "chosen", cx: acrossCurve(chosenT), cy: upCurve(errorAt(chosenT)), r: 6 }));
  svg.append(vector("text", { x: CURVE.left, y: 183 }, `○ t ${page.heldOut.given ? "given" : "chosen"}   · · ·  plain distance`));
  const toT = event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * 360;
    setT(Math.min(1, Math.max(0, (x - CURVE.left) / (CURVE.right - CURVE.left))));
  };
  svg.addEventListener("pointerdown", event => { svg.setPointerCapture(event.pointerId); toT(event); });
  svg.addEventListener("pointermove", event => { if (event.buttons) toT(event); });
  byId("curve").append(svg);
  byId("error-note").textContent = `${many(measured.folds, "fold")} of ${many(measured.rows, "row")}, each voted on by its ${many(page.k, "nearest neighbour")} `
    + `among the rows of the others${measured.balanced ? "; every class counts the same" : ""}. Between the values tried the line is straight.`;
}

function markCurve(t) {
  if (!measured) return;
  const error = errorAt(t), x = acrossCurve(t);
  for (const end of ["x1", "x2"]) marker[0].setAttribute(end, x);
  marker[1].setAttribute("cx", x);
  marker[1].setAttribute("cy", upCurve(error));
  byId("error-now").textContent = `${percent(error)} wrong at t = ${showT(t)}, ${percent(measured.plain)} by the plain distance.`;
}

function fillVotes() {
  const note = byId("votes-note");
  if (!measured) {
    note.textContent = "The rows are too few to hold some out.";
    return;
  }
  const shown = [...new Set(measured.votes.flatMap(([truth, voted]) => [truth, voted]))].sort((a, b) => a - b);
  const total = new Map();
  measured.votes.forEach(([truth, , count]) => total.set(truth, (total.get(truth) || 0) + count));
  const count = (a, b) => (measured.votes.find(([truth, voted]) => truth === a && voted === b) || [0, 0, 0])[2];
  const heat = (cell, share) => { cell.style.background = `rgba(var(--heat), ${0.35 * share})`; return cell; };
  const about = `Votes on held-out rows at t = ${showT(chosenT)} (${page.heldOut.given ? "given" : "chosen"}), wherever the slider is`;
  if (shown.length > 14) {
    const worst = measured.votes.filter(([a, b]) => a !== b).sort((a, b) => b[2] - a[2]).slice(0, 20);
    const lines = worst.map(([a, b, c]) => make("tr", {}, make("th", { scope: "row", textContent: nameOf(a), title: nameOf(a) }),
      make("th", { textContent: nameOf(b), title: nameOf(b) }), make("td", { textContent: `${c} of ${total.get(a)}` })));
    const head = ["class", "taken for", "rows"].map(text => make("th", { scope: "col", textContent: text }));
    byId("votes").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines)));
    note.textContent = `${about}: the ${many(worst.length, "most frequent confusion")} among ${shown.length} classes.`;
    return;
  }
  const head = [make("th", { scope: "col", textContent: "class ╲ vote" }), ...shown.map(code => make("th", { scope: "col", textContent: nameOf(code), title: nameOf(code) }))];
  const lines = shown.map(a => make("tr", {}, make("th", { scope: "row", textContent: nameOf(a), title: nameOf(a) }),
    ...shown.map(b => heat(make("td", { textContent: count(a, b) }), count(a, b) / (total.get(a) || 1)))));
  byId("votes").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines)));
  note.textContent = `${about}. Each line is a true class, each column the class voted for.`;
}

function fillAbout() {
  const all = logLambda.length, lines = [];
  lines.push(n < page.total
    ? `${many(n, "row")} of ${page.total.toLocaleString("en")}, drawn at random with seed ${page.seed}. The metric is learned on all; neighbours are those among the rows drawn.`
    : `All ${many(n, "row")}.`);
  lines.push(m < all ? `${m} of ${all} coordinates in which t is a weight, those with the largest share of the squared distances; `
    + "learned neighbours are found by them." : `All ${many(all, "coordinate")} in which t is a weight, in single precision.`);
  lines.push(`The ${listed} nearest neighbours of each row by the plain distance, computed when the page was made, in all ${many(page.allColumns, "column")}${page.standardized ? ", each divided by its standard deviation" : " as they are"}.`);
  lines.push(columnCount < page.allColumns ? `Values and weights of ${columnCount} of ${page.allColumns} columns: those that weigh most.` : "Values and weights of every column.");
  if (plane === null) lines.push(`No picture by the plain distance: ${page.allColumns} columns are too many for their principal axes.`);
  const beyond = page.classes.length - COLOURS * SHAPES;
  if (beyond > 0) lines.push(`${page.classes.length} classes share ${COLOURS * SHAPES} marks.`);
  byId("about").replaceChildren(...lines.map(text => make("li", { textContent: text })));
  byId("summary").textContent = `${many(page.total, "row")}, ${many(page.allColumns, "column")}, ${many(page.classes.length, "class", "classes")}. `
    + `Distances learned by geometric means (GMML)${page.standardized ? ", in standardised columns" : ""}: move t and see them change.`;
}
