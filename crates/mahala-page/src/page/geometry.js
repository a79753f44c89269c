// Every t is a weight on the coordinates of z: w_k² = λ_kᵗ·variance_k, for z has variance 1.

// Logarithms of the weights of the kept coordinates.
function logWeights(t) {
  return Float64Array.from(kept, k => 0.5 * (t * logLambda[k] + Math.log(variance[k])));
}

// Weights relative to the largest, so that none overflows, and the logarithm of the largest.
function weightsAt(t) {
  const logs = logWeights(t);
  let top = -Infinity;
  for (const x of logs) if (x > top) top = x;
  if (top === -Infinity) top = 0;
  return { weights: logs.map(x => Math.exp(x - top)), top };
}

// The share of the mean squared distance that the kept coordinates hold at t.
function shareKept(t) {
  const all = Array.from(logLambda, (l, k) => t * l + Math.log(variance[k]));
  const top = all.reduce((a, b) => Math.max(a, b), -Infinity);
  const part = k => Math.exp(all[k] - top);
  const total = all.reduce((sum, _, k) => sum + part(k), 0);
  return total > 0 ? Math.min(1, kept.reduce((sum, k) => sum + part(k), 0) / total) : 1;
}

// Second moments of z, once.
const moments = (() => {
  const c = new Float64Array(m * m);
  for (let i = 0; i < n; i++) {
    const at = i * m;
    for (let a = 0; a < m; a++) {
      const x = z[at + a];
      for (let b = 0; b <= a; b++) c[a * m + b] += x * z[at + b];
    }
  }
  for (let a = 0; a < m; a++) for (let b = 0; b <= a; b++) c[b * m + a] = c[a * m + b] /= n;
  return c;
})();

// The eigenvectors found last, one a column: the next t begins with them, so that axes turn slowly and keep their signs.
let basis = null;

// Principal components of the weighted coordinates: two directions, and the share of the spread along them.
function principal(weights) {
  if (basis === null) {
    basis = new Float64Array(m * m);
    for (let a = 0; a < m; a++) basis[a * m + a] = 1;
  }
  const b = inBasis(weights), size = diagonalSum(b);
  for (let sweep = 0; sweep < 30 && rotateAll(b, 1e-15 * size) > 0; sweep++);
  const order = Array.from({ length: m }, (_, k) => k).sort((p, q) => b[q * m + q] - b[p * m + p]);
  const axis = k => Float64Array.from({ length: m }, (_, a) => k === undefined ? 0 : basis[a * m + k]);
  const spread = k => k === undefined ? 0 : b[k * m + k];
  return { axes: [axis(order[0]), axis(order[1])], share: size > 0 ? (spread(order[0]) + spread(order[1])) / size : 1 };
}

function diagonalSum(b) {
  let sum = 0;
  for (let a = 0; a < m; a++) sum += b[a * m + a];
  return sum;
}

// Vᵀ diag(w) C diag(w) V
function inBasis(weights) {
  const product = new Float64Array(m * m), b = new Float64Array(m * m);
  for (let a = 0; a < m; a++) {
    for (let c = 0; c < m; c++) {
      const x = weights[a] * weights[c] * moments[a * m + c];
      if (x !== 0) for (let k = 0; k < m; k++) product[a * m + k] += x * basis[c * m + k];
    }
  }
  for (let a = 0; a < m; a++) {
    for (let k = 0; k < m; k++) {
      const v = basis[a * m + k];
      if (v !== 0) for (let l = 0; l < m; l++) b[k * m + l] += v * product[a * m + l];
    }
  }
  return b;
}

// One sweep of Jacobi rotations over the entries that are not small beside their diagonals; how many there were.
function rotateAll(b, tolerance) {
  let turned = 0;
  for (let p = 0; p < m; p++) {
    for (let q = p + 1; q < m; q++) {
      const x = b[p * m + q];
      if (Math.abs(x) <= Math.max(tolerance, 1e-7 * Math.sqrt(Math.abs(b[p * m + p] * b[q * m + q])))) continue;
      turned++;
      const theta = (b[q * m + q] - b[p * m + p]) / (2 * x);
      const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
      const c = 1 / Math.hypot(t, 1), s = t * c;
      rotate(b, p, q, c, s, 1, m);
      rotate(b, p, q, c, s, m, 1);
      rotate(basis, p, q, c, s, 1, m);
    }
  }
  return turned;
}

function rotate(a, p, q, c, s, step, stride) {
  for (let k = 0; k < m; k++) {
    const i = p * step + k * stride, j = q * step + k * stride, x = a[i], y = a[j];
    a[i] = c * x - s * y;
    a[j] = s * x + c * y;
  }
}

// Where rows lie, two numbers a row; and the share of the spread that these two directions hold, if that is known.
const places = new Float64Array(2 * n);
function project(view, t, pair) {
  if (view === "plain") {
    for (let i = 0; i < 2 * n; i++) places[i] = plane[i];
    return null;
  }
  const { weights } = weightsAt(t);
  if (view === "pair") {
    const [a, b] = pair;
    for (let i = 0; i < n; i++) {
      places[2 * i] = z[i * m + a] * weights[a];
      places[2 * i + 1] = z[i * m + b] * weights[b];
    }
    const all = weights.reduce((sum, w) => sum + w * w, 0);
    return (weights[a] ** 2 + (a === b ? 0 : weights[b] ** 2)) / all;
  }
  const { axes: [first, second], share } = principal(weights);
  for (let i = 0; i < n; i++) {
    let x = 0, y = 0;
    for (let k = 0; k < m; k++) {
      const w = z[i * m + k] * weights[k];
      x += w * first[k];
      y += w * second[k];
    }
    places[2 * i] = x;
    places[2 * i + 1] = y;
  }
  return share;
}

// The count nearest other rows at t, by the coordinates kept; of equal distances the first row.
function nearest(row, t, count) {
  const { weights, top } = weightsAt(t), found = [];
  for (let i = 0; i < n; i++) {
    if (i === row) continue;
    let square = 0;
    for (let k = 0; k < m; k++) {
      const difference = weights[k] * (z[i * m + k] - z[row * m + k]);
      square += difference * difference;
    }
    if (found.length === count && square >= found[count - 1].square) continue;
    let place = found.length;
    while (place > 0 && found[place - 1].square > square) place--;
    found.splice(place, 0, { row: i, square });
    if (found.length > count) found.pop();
  }
  return found.map(({ row, square }) => ({ row, distance: Math.sqrt(square) * Math.exp(top) }));
}

// The neighbours by the plain distance, as they were written.
function nearestPlain(row, count) {
  return Array.from({ length: Math.min(count, listed) }, (_, place) => {
    const at = row * listed + place;
    return { row: plainNear[at], distance: plainFar[at] };
  });
}

// The share of each shown column in the diagonal of A at t, in raw units or in standard deviations.
function columnShares(t, standard) {
  const r = logLambda.length, sums = standard ? standardSums : columnSums;
  let top = -Infinity;
  for (const l of logLambda) top = Math.max(top, t * l);
  const lambda = logLambda.map(l => Math.exp(t * l - top));
  let total = 0;
  for (let k = 0; k < r; k++) total += lambda[k] * sums[k];
  return Array.from({ length: columnCount }, (_, j) => {
    let own = 0;
    for (let k = 0; k < r; k++) own += lambda[k] * columnSquares[j * r + k];
    return own * (standard ? deviations[j] ** 2 : 1) / total;
  });
}
