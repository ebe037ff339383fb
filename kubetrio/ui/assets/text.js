// YAML and differences of it, drawn.

import { h, listOf } from "./dom.js";
import { drawLines } from "./lines.js";
import { difference, lines, near, valueLines, without } from "./yaml.js";

const MANAGED = "  managedFields:", UNSEEN = "\u200b";
const LONGEST = 20000;  // characters of a line that are searched for a key

function line(text) {
  const found = text.length < LONGEST && /^(\s*(?:- )*)("(?:[^"\\]|\\.)*"|[^\s":#][^":#]*?):( .*)?$/.exec(text);
  if (!found) return h("span", { class: "l" }, text || UNSEEN);
  const [, lead, key, rest] = found;
  return h("span", { class: "l" }, lead, h("span", { class: "key" }, key), ":", rest ? h("span", { class: /^ "/.test(rest) ? "text" : "" }, rest) : "");
}
function plain(text) { return text; }

// An object as YAML, with managedFields folded.
// open: whether they are unfolded at first.
export function yamlView(object, { open } = {}) {
  const all = lines(object), box = h("pre", { class: "yaml", tabindex: "0", "aria-label": "YAML", role: "region" });
  const start = all.indexOf(MANAGED);
  if (start < 0) return drawLines(box, all, line, plain);
  let end = start + 1;
  while (end < all.length && (all[end].startsWith("  - ") || all[end].startsWith("    "))) end++;
  const managers = listOf(object.metadata && object.metadata.managedFields).map((one) => one && one.manager);
  drawLines(box, all.slice(0, start), line, plain);
  box.append(folded("managedFields: " + [...new Set(managers)].join(", "), (fold) => drawLines(fold, all.slice(start, end), line, plain), open));
  return drawLines(box, all.slice(end), line, plain);
}
// Drawn when it is first opened.
export function folded(words, draw, open) {
  const box = h("details", {}, h("summary", {}, words));
  if (open) { draw(box); box.open = true; } else box.addEventListener("toggle", () => draw(box), { once: true });
  return box;
}

// A body of any kind: json is a value, text and base64 are texts.
export function bodyView(body, how) {
  const value = body.json, parsed = "json" in body;
  if (parsed && how !== "json" && value && typeof value === "object" && !Array.isArray(value)) return yamlView(value);
  const text = "text" in body ? body.text.split("\n") : "base64" in body ? ["base64: " + body.base64] : how === "json" ? JSON.stringify(value, null, 2).split("\n") : valueLines(value);
  return drawLines(h("pre", { class: "yaml", tabindex: "0", role: "region", "aria-label": "Body" }), text, (one) => h("span", { class: "l" }, one || UNSEEN), plain);
}

const CLASSES = { "+": "l plus", "-": "l minus", " ": "l" };
const SAID = { "+": "added: ", "-": "removed: " };
function changed(one) {
  return one ? h("span", { class: CLASSES[one[0]] }, SAID[one[0]] && h("span", { class: "hide" }, SAID[one[0]]), one[1]) : h("span", { class: "l gap" }, "⋯");
}
// What is different between two objects; null where nothing is.
export function diffView(before, after, { managed, label } = {}) {
  const bare = (object) => lines(managed ? object : without(object, "metadata.managedFields", "metadata.resourceVersion"));
  const found = difference(bare(before), bare(after));
  if (!found.some(([sign]) => sign !== " ")) return null;
  const box = h("pre", { class: "yaml diff", tabindex: "0", role: "region", "aria-label": label || "Difference" });
  return drawLines(box, near(found), changed, (one) => (one ? one.join(" ") : "⋯"));
}
