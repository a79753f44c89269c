// What the page was written with, as typed arrays.
const page = JSON.parse(document.getElementById("data").textContent);

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}
const doubles = text => new Float64Array(bytes(text));
const singles = text => new Float32Array(bytes(text));
const whole = text => new Uint32Array(bytes(text));

const n = page.rows.count;
const numbers = doubles(page.rows.numbers), codes = whole(page.rows.codes);
const logLambda = doubles(page.logLambda), variance = doubles(page.rows.variance);
const kept = page.rows.kept, m = kept.length, z = singles(page.rows.z);
const listed = page.rows.listed, plainNear = whole(page.rows.near), plainFar = singles(page.rows.distances);
const plane = page.rows.plane === null ? null : singles(page.rows.plane);
const columnNames = page.columns.names, columnCount = columnNames.length;
const columnSquares = doubles(page.columns.squares), deviations = doubles(page.columns.deviations);
const columnSums = doubles(page.columns.sums), standardSums = doubles(page.columns.standardSums);
const values = singles(page.columns.values);
const chosenT = page.heldOut.t, measured = page.heldOut.measured;

const byId = id => document.getElementById(id);
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
const percent = x => (100 * x).toFixed(x < 0.1 ? 2 : 1) + " %";
const short = x => x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? String(+x.toPrecision(5)) : x.toExponential(3);
const showT = t => t === 0 || t >= 0.0005 ? String(+t.toFixed(4)) : t.toExponential(0);
const many = (count, one, several) => count.toLocaleString("en") + " " + (count === 1 ? one : several || one + "s");
