// Delete an object: what goes along is shown first, and followed until it is gone.

import * as api from "./api.js";
import { h, name, put, swap, button, busy, dialog, note, refocus } from "./dom.js";
import { dependents, tree, unlisted } from "./family.js";
import { each, typed } from "./kinds.js";
import { refusals } from "./rights.js";

const POLICIES = [["Background", "The object first, its dependents after it"], ["Foreground", "Its dependents first, the object after them"], ["Orphan", "The object alone; its dependents stay"]];
const TURN_MS = 1000, MOST = 200;  // that are asked for in one turn

export function remove({ kinds, kind, namespace, name: called, object, signal }) {
  const leave = new AbortController(), stop = () => leave.abort();
  signal.addEventListener("abort", stop, { signal: leave.signal });
  const found = h("div", {}, h("p", { class: "dim" }, "Looking for what will go along …"));
  // What is in a namespace, and the objects of a kind, go with it under each policy: it is about ownerReferences alone.
  const contains = isNamespace(kind) || isDefinition(kind);
  const policies = contains ? h("div") : h("fieldset", {}, h("legend", { class: "hide" }, "Dependents"), POLICIES.map(([value, words], i) =>
    h("label", {}, h("input", { type: "radio", name: "policy", value, checked: i === 0 }), h("span", {}, value, " – ", h("span", { class: "dim" }, words)))));
  const out = h("div", { "aria-live": "polite" });
  let along = null;  // what goes along, when that is known
  const itself = { words: [kind.kind + "/", name(called)], check: () => left(api.collection(kind, namespace), called, object.metadata.uid, leave.signal) };
  let working = false;
  const go = button("Delete", async () => {
    if (working) return;
    working = true;
    busy(go, true);
    try {
      const chosen = policies.querySelector("input:checked"), policy = chosen ? chosen.value : "Background";
      await api.remove(kind, namespace, called, { policy, uid: object.metadata.uid, dryRun: true });
      await api.remove(kind, namespace, called, { policy, uid: object.metadata.uid });
      if (cancel.contains(document.activeElement) || go.contains(document.activeElement)) cancel.focus();
      put(cancel, "Close");
      go.remove();
      policies.remove();
      follow({ itself, along: policy === "Orphan" ? null : along, signal: leave.signal, found, out, orphans: policy === "Orphan" });
    } catch (error) { swap(out, note("bad", error.message)); working = false; busy(go, false); refocus(go); }
  }, { class: "danger" });
  const held = object.metadata.finalizers || [], cancel = button("Cancel", () => box.close(), { "data-first": true });
  const box = dialog("Delete " + typed(kind, called), h("div", {}, found,
    held.length ? note("warn", "It waits for finalizers: " + held.join(", ")) : null, policies, out,
    h("div", { class: "actions" }, go, cancel)), { onclose: stop });
  preview({ kinds, kind, namespace, object, signal: leave.signal }).then((seen) => {
    along = seen;
    if (go.isConnected) swap(found, seen.element);
  }, (error) => { if (error.name !== "AbortError") swap(found, note("bad", error.message)); });
}

function isNamespace(kind) { return kind.kind === "Namespace" && !kind.group; }
function isDefinition(kind) { return kind.kind === "CustomResourceDefinition" && kind.group === "apiextensions.k8s.io"; }

// What goes along: { element, parts } with { at, check } for each, `check` says what is left of it, nothing when it is gone.
async function preview({ kinds, kind, namespace, object, signal }) {
  if (isNamespace(kind)) return counted(kinds, (one) => one.namespaced, object.metadata.name, signal, "Everything in the namespace goes with it:");
  if (isDefinition(kind)) {
    const { group, names } = object.spec;
    return counted(kinds, (one) => one.group === group && one.resource === names.plural, "", signal, "All objects of the kind go with it:");
  }
  const all = await dependents({ kinds, namespace, object, signal }), parts = [];
  const beside = ({ kind: one, meta }) => {
    const at = h("span", { class: "dim" });
    parts.push({ at, check: () => left(api.collection(one, meta.namespace), meta.name, meta.uid, signal) });
    return at;
  };
  const shown = tree(all.tree, { beside }), count = parts.length;
  return { parts, element: h("div", {}, h("p", {}, count ? count + (count === 1 ? " dependent goes along:" : " dependents go along:") : "Nothing depends on it."),
    h("div", { class: "tree" }, shown), unlisted(all.refused)) };
}
async function counted(kinds, which, space, signal, words) {
  const rows = [], refused = [], denied = await refusals(space);
  await each(kinds.listable.filter(which), async (one) => {
    if (denied[one.key]) { refused.push(one.resource); return; }
    try {
      const n = await api.count(api.collection(one, space), {}, signal);
      if (n) rows.push([one, n]);
    } catch (error) { if (error.name === "AbortError") throw error; refused.push(one.resource); }
  }, signal);
  rows.sort(([a], [b]) => a.kind.localeCompare(b.kind));
  const parts = [], lines = rows.map(([one, n]) => {
    const at = h("span", { class: "dim" });
    parts.push({ at, check: () => remaining(api.collection(one, space), signal) });
    return h("li", {}, n + " × " + one.kind + " ", at);
  });
  return { parts, element: h("div", {}, h("p", {}, rows.length ? words : "Nothing is there that would go along."),
    h("ul", { class: "list" }, lines), unlisted(refused)) };
}

// ---------------------------------------------------------------- until it is gone

async function remaining(path, signal) {
  try {
    const n = await api.count(path, {}, signal);
    return n ? n + " left" : "";
  } catch (error) {
    if (error.code === 404) return "";  // the kind itself has gone
    throw error;
  }
}
// What is left of an object; one of its name that was made anew is another one.
async function left(path, called, uid, signal) {
  const [one] = await api.metadata(path, { fieldSelector: api.named(called) }, signal);
  if (!one || one.metadata.uid !== uid) return "";
  const { deletionTimestamp, finalizers = [] } = one.metadata;
  return deletionTimestamp ? "being deleted" + (finalizers.length ? ", waits for " + finalizers.join(", ") : "") : "still there";
}
async function follow({ itself, along, signal, found, out, orphans }) {
  const own = h("span", { class: "dim" }), sum = h("p", { role: "status" });
  const parts = [{ at: own, check: itself.check }, ...(along ? along.parts : [])];
  if (!along && !orphans) swap(found);
  if (orphans) swap(found, h("p", {}, "Its dependents stay."));
  found.prepend(h("p", {}, itself.words, " ", own));
  swap(out, sum);
  let waiting = parts, gone = 0;
  const tell = (part, words) => {
    put(part.at, words || "gone");
    part.at.className = words ? "dim" : "good";
  };
  while (waiting.length && !signal.aborted) {
    const turn = waiting.slice(0, MOST), still = [];
    try {
      await each(turn, async (part) => {
        const words = await part.check();
        tell(part, words);
        if (words) still.push(part); else gone++;
      }, signal);
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      swap(out, note("bad", error.message), sum);
      const done = new Set(still);
      for (const part of turn) if (!done.has(part) && part.at.className !== "good") still.push(part);
    }
    waiting = [...waiting.slice(MOST), ...still];  // those that were not asked for yet are next
    put(sum, waiting.length ? gone + " of " + parts.length + " are gone." : parts.length === 1 ? "It is gone." : "All " + parts.length + " are gone.");
    document.body.dataset.left = waiting.length;
    if (waiting.length) try { await api.pause(TURN_MS, signal); } catch { return; }
  }
}
