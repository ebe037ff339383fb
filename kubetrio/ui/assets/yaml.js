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
// The lines of a value that stands behind its key or dash; null for one that begins on the next line.
function leaf(value, start, indent) {
  if (typeof value === "string") return value.includes("\n") && !NO_BLOCK.test(value) ? block(value, start, indent) : [start + scalar(value)];
  if (value === null || typeof value !== "object") return [start + String(value)];
  if (Array.isArray(value)) return value.length ? null : [start + "[]"];
  for (const key in value) if (Object.hasOwn(value, key)) return null;
  return [start + "{}"];
}
function block(text, start, indent) {
  const end = text.endsWith("\n\n") ? "+" : text.endsWith("\n") ? "" : "-";
  const all = (end === "-" ? text : text.slice(0, -1)).split("\n");
  for (let i = 0; i < all.length; i++) if (all[i]) all[i] = indent + all[i];
  all.unshift(start + "|" + end);
  return all;
}
// lead: what the first line begins with, in place of the indent.
function nested(out, value, indent, lead) {
  const deeper = indent + "  ", list = Array.isArray(value);
  let begin = lead;
  for (const key of list ? value : Object.keys(value)) {
    const inner = list ? key : value[key], start = begin + (list ? "-" : scalar(key) + ":"), flat = leaf(inner, start + " ", deeper);
    begin = indent;
    if (flat !== null) for (const line of flat) out.push(line);
    else if (list) nested(out, inner, deeper, start + " ");
    else {
      out.push(start);
      const within = Array.isArray(inner) ? indent : deeper;
      nested(out, inner, within, within);
    }
  }
  return out;
}

// The lines of an object; identity first.
export function lines(object) {
  if (!object) return [];
  const first = {};
  for (const key of FIRST) if (key in object) first[key] = object[key];
  return nested([], { ...first, ...object }, "", "");
}
export function valueLines(value) {
  return leaf(value, "", "") || nested([], value, "", "");
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
    for (const line of a) out.push(["-", line]);
    for (const line of b) out.push(["+", line]);
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
  for (const line of before.slice(before.length - end)) out.push([" ", line]);
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
