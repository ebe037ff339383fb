// YAML and differences of it, drawn.

import { h } from "./dom.js";
import { difference, lines, near, valueLines, without } from "./yaml.js";

const MANAGED = "  managedFields:";

function line(text) {
  const found = /^(\s*(?:- )*)("(?:[^"\\]|\\.)*"|[^\s":#][^":#]*?):( .*)?$/.exec(text);
  if (!found) return h("span", { class: "l" }, text || "\u200b");
  const [, lead, key, rest] = found;
  return h("span", { class: "l" }, lead, h("span", { class: "key" }, key), ":", rest ? h("span", { class: /^ "/.test(rest) ? "text" : "" }, rest) : "");
}

// An object as YAML, with managedFields folded.
export function yamlView(object) {
  const all = lines(object), box = h("pre", { class: "yaml", tabindex: "0", "aria-label": "YAML", role: "region" });
  const start = all.indexOf(MANAGED);
  if (start < 0) { box.append(...all.map(line)); return box; }
  let end = start + 1;
  while (end < all.length && (all[end].startsWith("  - ") || all[end].startsWith("    "))) end++;
  const managers = ((object.metadata && object.metadata.managedFields) || []).map((one) => one.manager);
  box.append(...all.slice(0, start).map(line),
    h("details", {}, h("summary", {}, "managedFields: " + [...new Set(managers)].join(", ")), all.slice(start, end).map(line)),
    ...all.slice(end).map(line));
  return box;
}

// A body of any kind: json is a value, text and base64 are texts.
export function bodyView(body, how) {
  const value = body.json, parsed = "json" in body;
  if (parsed && how !== "json" && value && typeof value === "object" && !Array.isArray(value)) return yamlView(value);
  const text = "text" in body ? body.text.split("\n") : "base64" in body ? ["base64: " + body.base64] : how === "json" ? JSON.stringify(value, null, 2).split("\n") : valueLines(value);
  return h("pre", { class: "yaml", tabindex: "0", role: "region", "aria-label": "Body" }, text.map((one) => h("span", { class: "l" }, one || "\u200b")));
}

const CLASSES = { "+": "l plus", "-": "l minus", " ": "l" };
const SAID = { "+": "added: ", "-": "removed: " };
// What is different between two objects; null where nothing is.
export function diffView(before, after, { managed, label } = {}) {
  const bare = (object) => lines(managed ? object : without(object, "metadata.managedFields", "metadata.resourceVersion"));
  const found = difference(bare(before), bare(after));
  if (!found.some(([sign]) => sign !== " ")) return null;
  return h("pre", { class: "yaml diff", tabindex: "0", role: "region", "aria-label": label || "Difference" },
    near(found).map((one) => (one ? h("span", { class: CLASSES[one[0]] }, SAID[one[0]] && h("span", { class: "hide" }, SAID[one[0]]), one[1]) : h("span", { class: "l gap" }, "⋯"))));
}
