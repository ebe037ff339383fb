// Members that an apply leaves as they are because other managers own them.
// Source: KEP-555, fieldsV1: f: a field, k: an item of a list by its keys, v: an item of a set by its value.

import { MANAGER } from "./api.js";
import { h, few, listOf, name, note, objectOf } from "./dom.js";

const MOST = 50, SERVERS = /^f:(?:status|metadata)$/, OF_METADATA = new Set(["f:labels", "f:annotations", "f:finalizers", "f:ownerReferences"]);

function step(key) {
  const kind = key.slice(0, 2), rest = key.slice(2);
  if (kind === "f:") return /^[\w-]+$/.test(rest) ? "." + rest : "[" + JSON.stringify(rest) + "]";
  try {
    const value = JSON.parse(rest);
    if (kind === "k:") return "[" + Object.entries(value).map(([one, is]) => one + "=" + JSON.stringify(is)).join(",") + "]";
    return "[" + JSON.stringify(value) + "]";
  } catch { return "[" + rest + "]"; }
}
// Calls `found` with the path of each outermost member that `theirs` has and `ours` has not.
function beyond(theirs, ours, path, found) {
  for (const [key, inside] of Object.entries(objectOf(theirs))) {
    if (key === ".") continue;
    if (!path && key === "f:status") continue;
    if (path === ".metadata" && !OF_METADATA.has(key)) continue;
    const at = path + step(key), own = objectOf(ours)[key];
    if (own === undefined && !(SERVERS.test(key) && !path)) found(at);
    else beyond(inside, own, at, found);
  }
}

// result: what the server says that an apply of MANAGER makes.  Returns [path, managers], as many as there are.
export function staying(result) {
  const entries = listOf(result.metadata.managedFields).filter((one) => !one.subresource);
  const applied = entries.find((one) => one.manager === MANAGER && one.operation === "Apply");
  const stays = new Map();
  for (const one of entries) {
    if (one === applied) continue;
    const who = one.manager === MANAGER ? one.manager + " (" + one.operation + ")" : one.manager;
    beyond(one.fieldsV1, applied && applied.fieldsV1, "", (path) => stays.set(path, (stays.get(path) || new Set()).add(who)));
  }
  return [...stays].map(([path, managers]) => [path, [...managers].sort().join(", ")]).sort(([a], [b]) => (a < b ? -1 : 1));
}
export function stayingView(result) {
  const found = staying(result);
  if (!found.length) return null;
  return h("div", { class: "stays" }, note("warn", "An apply leaves what it does not name and others own. These stay as they are; Replace removes them:"),
    h("ul", { class: "list" }, few(found, MOST, ([path, managers]) => h("li", {}, h("code", {}, name(path)), " – owned by ", name(managers)), (words) => h("li", { class: "dim" }, words))));
}
