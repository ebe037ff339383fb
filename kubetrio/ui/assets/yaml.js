// Objects as YAML.  Nothing here reads YAML: the server does, and says what is wrong with it.

const WORD = "[A-Za-z0-9_./@+()-]|:(?=[A-Za-z0-9_./@+-])";
const PLAIN = new RegExp(`^[A-Za-z_/](?:${WORD})*(?: [A-Za-z0-9_./@+(](?:${WORD})*)*$`);
const MEANS_ELSE = /^(?:true|false|yes|no|on|off|null|y|n)$/i;
const UNSEEN = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const NO_BLOCK = /^\s|[^\t\n\x20-\x7e\u00a1-\u00ac\u00ae-\u1fff\u2030-\u205e\u2070-\ud7ff]/;
const FIRST = ["apiVersion", "kind", "metadata"];

function scalar(text) {
  if (PLAIN.test(text) && !MEANS_ELSE.test(text)) return text;
  return JSON.stringify(text).replace(UNSEEN, (one) => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}
function block(text, indent) {
  const end = text.endsWith("\n\n") ? "+" : text.endsWith("\n") ? "" : "-";
  const all = (end === "-" ? text : text.slice(0, -1)).split("\n");
  return "|" + end + "\n" + all.map((line) => (line ? indent + line : "")).join("\n");
}
// A value that begins behind its key or dash; null for one that begins on the next line.
function leaf(value, indent) {
  if (typeof value === "string") return value.includes("\n") && !NO_BLOCK.test(value) ? block(value, indent) : scalar(value);
  if (value === null || typeof value !== "object") return String(value);
  if (Object.keys(value).length) return null;
  return Array.isArray(value) ? "[]" : "{}";
}
function nested(value, indent) {
  const deeper = indent + "  ";
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const flat = leaf(item, deeper);
      if (flat !== null) return (indent + "- " + flat).split("\n");
      const inner = nested(item, deeper);
      inner[0] = indent + "- " + inner[0].slice(deeper.length);
      return inner;
    });
  }
  return Object.keys(value).flatMap((key) => {
    const start = indent + scalar(key) + ":";
    const flat = leaf(value[key], deeper);
    if (flat !== null) return (start + " " + flat).split("\n");
    return [start, ...nested(value[key], Array.isArray(value[key]) ? indent : deeper)];
  });
}

// The lines of an object; identity first.
export function lines(object) {
  if (!object) return [];
  const first = {};
  for (const key of FIRST) if (key in object) first[key] = object[key];
  return nested({ ...first, ...object }, "");
}
export function valueLines(value) {
  const flat = leaf(value, "");
  return flat === null ? nested(value, "") : flat.split("\n");
}
export function without(object, ...paths) {
  if (!object) return object;
  const copy = { ...object, metadata: { ...object.metadata } };
  for (const path of paths) {
    const [head, tail] = path.split(".");
    if (tail) delete copy[head][tail]; else delete copy[head];
  }
  return copy;
}
// What may be sent back: without what the server alone writes.
export function editable(object) {
  return without(object, "metadata.managedFields", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
    "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.selfLink", "status");
}

// ---------------------------------------------------------------- differences

const MOST = 4_000_000;  // cells of the table of common subsequences
// Lines of both, each with " ", "-" or "+"; the longest common subsequence stays.
export function difference(before, after) {
  let start = 0, end = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  while (end < before.length - start && end < after.length - start
    && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const a = before.slice(start, before.length - end), b = after.slice(start, after.length - end);
  const out = before.slice(0, start).map((line) => [" ", line]);
  if (a.length * b.length > MOST) {
    out.push(...a.map((line) => ["-", line]), ...b.map((line) => ["+", line]));
  } else {
    const width = b.length + 1, table = new Uint32Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
    let i = 0, j = 0;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) { out.push([" ", a[i]]); i++; j++; }
      else if (j >= b.length || (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) out.push(["-", a[i++]]);
      else out.push(["+", b[j++]]);
    }
  }
  out.push(...before.slice(before.length - end).map((line) => [" ", line]));
  return out;
}
// Only what is near a change; null stands for lines that are left out.
export function near(found, around = 3) {
  const keep = new Array(found.length).fill(false);
  found.forEach(([sign], i) => {
    if (sign !== " ") for (let k = Math.max(0, i - around); k <= Math.min(found.length - 1, i + around); k++) keep[k] = true;
  });
  const out = [];
  found.forEach((one, i) => { if (keep[i]) out.push(one); else if (out.length === 0 || out[out.length - 1] !== null) out.push(null); });
  return out;
}
