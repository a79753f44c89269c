// The canvas: points, the selected row with its neighbours, and pointers.
const canvas = byId("points"), pen = canvas.getContext("2d");
const screen = new Float32Array(2 * n);
const camera = { zoom: 1, x: 0, y: 0 };
// A class has a colour and a shape; the two cycles have no common divisor.
const COLOURS = 8, SHAPES = 7;
const hiddenClasses = new Set();
let size = { width: 0, height: 0, ratio: 1 };

const colourOf = code => getComputedStyle(document.documentElement).getPropertyValue(`--class-${code % COLOURS}`).trim();
const inkOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function polygon(pen, points, x, y, r) {
  points.forEach(([a, b], i) => i ? pen.lineTo(x + a * r, y + b * r) : pen.moveTo(x + a * r, y + b * r));
  pen.closePath();
}
const star = corners => Array.from({ length: 2 * corners }, (_, i) => {
  const angle = Math.PI * i / corners - Math.PI / 2, r = i % 2 ? 0.5 : 1.25;
  return [r * Math.cos(angle), r * Math.sin(angle)];
});
const CORNERS = [
  null,
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  star(4),
  [[0, 1.2], [-1.1, -0.8], [1.1, -0.8]],
  star(6),
];

function drawMark(pen, code, x, y, r) {
  pen.beginPath();
  const corners = CORNERS[code % SHAPES];
  if (corners) polygon(pen, corners, x, y, r);
  else pen.arc(x, y, r, 0, 2 * Math.PI);
  pen.fill();
}

// A picture of each class's mark, for the many points that are drawn each frame.
let sprites = [];
const radius = () => (n > 3000 ? 2.3 : n > 800 ? 3.2 : 4.5) * Math.min(2, Math.max(1, Math.sqrt(camera.zoom)));
function makeSprites() {
  const r = radius(), edge = Math.ceil(3.2 * r + 2);
  sprites = page.classes.slice(0, COLOURS * SHAPES).map((_, code) => {
    const sprite = make("canvas", { width: edge * size.ratio, height: edge * size.ratio });
    const pen = sprite.getContext("2d");
    pen.scale(size.ratio, size.ratio);
    pen.fillStyle = colourOf(code);
    drawMark(pen, code, edge / 2, edge / 2, r);
    return { sprite, edge };
  });
}

function markElement(code) {
  const ratio = window.devicePixelRatio || 1;
  const element = make("canvas", { className: "mark", width: 18 * ratio, height: 18 * ratio });
  const pen = element.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = colourOf(code);
  drawMark(pen, code, 9, 9, 5.5);
  element.setAttribute("aria-hidden", "true");
  return element;
}

function fitCanvas() {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  size = { width: box.width, height: box.height, ratio };
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  makeSprites();
}

// One scale for both axes: what is near on the screen is near in the two directions shown.
function placeOnScreen() {
  let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
  for (let i = 0; i < n; i++) {
    const x = places[2 * i], y = places[2 * i + 1];
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < low) low = y;
    if (y > high) high = y;
  }
  const fit = 0.92 * Math.min(size.width / (right - left || 1), size.height / (high - low || 1)) * camera.zoom;
  const cx = (left + right) / 2, cy = (low + high) / 2;
  for (let i = 0; i < n; i++) {
    screen[2 * i] = size.width / 2 + (places[2 * i] - cx) * fit + camera.x;
    screen[2 * i + 1] = size.height / 2 - (places[2 * i + 1] - cy) * fit + camera.y;
  }
}

const isVisible = i => !hiddenClasses.has(codes[i]);

function draw(selected, before, after) {
  pen.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
  pen.clearRect(0, 0, size.width, size.height);
  pen.globalAlpha = selected === null ? (n > 3000 ? 0.7 : 0.85) : 0.4;
  for (let i = 0; i < n; i++) {
    if (!isVisible(i)) continue;
    const { sprite, edge } = sprites[codes[i] % sprites.length];
    pen.drawImage(sprite, screen[2 * i] - edge / 2, screen[2 * i + 1] - edge / 2, edge, edge);
  }
  pen.globalAlpha = 1;
  if (selected !== null) drawSelection(selected, before, after);
}

function drawSelection(selected, before, after) {
  const [x, y] = [screen[2 * selected], screen[2 * selected + 1]], r = radius() + 2;
  const spokes = (rows, ink, dash, width) => {
    pen.strokeStyle = inkOf(ink);
    pen.lineWidth = width;
    pen.setLineDash(dash);
    for (const { row } of rows) {
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(screen[2 * row], screen[2 * row + 1]);
      pen.stroke();
    }
    pen.setLineDash([]);
  };
  spokes(after, "--after", [], 2);
  spokes(before, "--before", [2, 4], 2);
  for (const { row } of [...before, ...after]) {
    pen.fillStyle = colourOf(codes[row]);
    drawMark(pen, codes[row], screen[2 * row], screen[2 * row + 1], r);
  }
  pen.fillStyle = colourOf(codes[selected]);
  drawMark(pen, codes[selected], x, y, r + 2);
  pen.strokeStyle = inkOf("--text");
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(x, y, r + 7, 0, 2 * Math.PI);
  pen.stroke();
}

// The visible row nearest to a place of the canvas, if it is within reach.
function rowAt(x, y, reach) {
  let best = null, least = reach * reach;
  for (let i = 0; i < n; i++) {
    if (!isVisible(i)) continue;
    const square = (screen[2 * i] - x) ** 2 + (screen[2 * i + 1] - y) ** 2;
    if (square < least) [best, least] = [i, square];
  }
  return best;
}

function zoomAt(factor, x = size.width / 2, y = size.height / 2) {
  const zoom = Math.min(200, Math.max(0.5, camera.zoom * factor)), change = zoom / camera.zoom;
  camera.x = (camera.x - (x - size.width / 2)) * change + (x - size.width / 2);
  camera.y = (camera.y - (y - size.height / 2)) * change + (y - size.height / 2);
  camera.zoom = zoom;
  makeSprites();
}

// Pointers: one drags or clicks, two pinch.
function listenToPointers({ clicked, hovered, moved }) {
  const down = new Map();
  let dragged = false, apart = 0;
  const at = event => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const distance = () => {
    const [a, b] = [...down.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  };
  canvas.addEventListener("pointerdown", event => {
    down.set(event.pointerId, at(event));
    canvas.setPointerCapture(event.pointerId);
    dragged = down.size > 1;
    if (down.size === 2) apart = distance();
  });
  canvas.addEventListener("pointermove", event => {
    const now = at(event), last = down.get(event.pointerId);
    if (!last) return hovered(rowAt(...now, 12), now);
    if (down.size === 2) {
      down.set(event.pointerId, now);
      const [a, b] = [...down.values()], wide = distance();
      if (apart > 0) zoomAt(wide / apart, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      apart = wide;
      moved();
    } else if (down.size === 1 && (dragged || Math.hypot(now[0] - last[0], now[1] - last[1]) > 5)) {
      dragged = true;
      camera.x += now[0] - last[0];
      camera.y += now[1] - last[1];
      down.set(event.pointerId, now);
      moved();
    }
  });
  const up = event => {
    if (!down.delete(event.pointerId)) return;
    if (!dragged && event.type === "pointerup") clicked(rowAt(...at(event), event.pointerType === "touch" ? 28 : 14));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => hovered(null));
  canvas.addEventListener("wheel", event => {
    // A bare wheel scrolls the document; with Ctrl, or as a pinch on a touch pad, it zooms.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomAt(Math.exp(-0.01 * event.deltaY), ...at(event));
    moved();
  }, { passive: false });
}
