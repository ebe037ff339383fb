// Edit, apply and delete: always a dry run and what it would change first.

import * as api from "./api.js";
import { h, name, swap, button, dialog, note } from "./dom.js";
import { apiVersion, each, link, typed } from "./kinds.js";
import { diffView } from "./text.js";
import { editable, lines, without } from "./yaml.js";

// draft: an object to begin with, in place of the one that is there.
export function edit({ kind, namespace, name: called, object, draft, title, done }) {
  const area = h("textarea", { class: "yaml", spellcheck: "false", autocapitalize: "off", "aria-label": "YAML", value: lines(editable(draft || object)).join("\n") + "\n" });
  const out = h("div", { "aria-live": "polite" });
  const way = h("select", { "aria-label": "How" },
    h("option", { value: "apply" }, "Apply (server-side)"), h("option", { value: "replace", disabled: !object }, "Replace (update)"));
  const review = button("Review changes", () => look(false), { class: "first" });
  const body = h("div", {}, area, h("div", { class: "actions" }, review, way, h("span", { class: "grow" })), out);
  const box = dialog(title || "Edit " + typed(kind, called), body, { wide: true });
  area.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) look(false); });
  let busy = false;
  // What is written is what was reviewed: a text that changes is to be reviewed anew.
  const entered = () => ({ text: area.value, how: way.value });
  for (const one of [area, way]) one.addEventListener("input", () => swap(out));

  function replacing(text) {
    // What was read is what is replaced: a write between makes a conflict.
    return text.replace(/^metadata:[^\n]*$/m, (head) => head + "\n  resourceVersion: " + JSON.stringify(object.metadata.resourceVersion));
  }
  function write({ text, how }, dryRun, force, warn) {
    if (how === "replace") return api.replace(kind, namespace, called, replacing(text), { dryRun, warn });
    return api.apply(kind, namespace, called, text, { dryRun, force, warn });
  }
  async function look(force) {
    if (busy) return;
    busy = review.disabled = true;
    const warned = [], input = entered();
    try {
      const result = await write(input, true, force, (text) => warned.push(text));
      let now = object;
      try { now = await api.get(api.objectPath(kind, namespace, called)); } catch (error) { if (error.code !== 404) throw error; now = null; }
      if (area.value !== input.text || way.value !== input.how) { swap(out); return; }
      const plain = (one) => without(one, "metadata.managedFields", "metadata.resourceVersion", "metadata.generation");
      const diff = diffView(now && plain(now), plain(result), { label: "What would change" });
      const go = button(now ? "Make these changes" : "Create it", () => make(input, force), { class: "first" });
      swap(out, warned.map((text) => note("warn", text)),
        diff ? [h("h3", {}, "A dry run of the server says that this would change:"), diff] : note("good", "Nothing would change.",
          input.how === "apply" ? " Fields that other managers own stay when they are left out; use Replace to remove them." : ""),
        diff && h("div", { class: "actions" }, go, force && h("span", { class: "warn" }, "Fields are taken over from their managers.")));
      if (diff) go.focus({ preventScroll: true });
      go.scrollIntoView({ block: "nearest" });
    } catch (error) { fail(error); } finally { busy = review.disabled = false; }
  }
  async function make(input, force) {
    if (busy) return;
    busy = true;
    try {
      const result = await write(input, false, force, () => {});
      box.close();
      if (done) done(result);
    } catch (error) { fail(error); } finally { busy = false; }
  }
  function fail(error) {
    const conflicts = error.conflicts || [];
    if (!conflicts.length) {
      swap(out, note("bad", error.code === 409 ? "The object changed meanwhile: " + error.message : error.message));
      return;
    }
    swap(out, h("div", { class: "note bad", role: "alert" }, h("strong", {}, "Other managers own what you changed:"),
      h("ul", { class: "list" }, conflicts.map((one) => h("li", {}, h("code", {}, name(one.field || "")), " – ", name(one.message.replace(/^conflict with /, "")))))),
    h("div", { class: "actions" }, button("Take these fields over", () => look(true), { class: "danger" }), h("span", { class: "dim" }, "You own them then; their managers may write them again.")));
  }
}

// ---------------------------------------------------------------- what belongs to an object

// Owners and dependents by uid, of all kinds that can be listed where dependents can be.
export async function dependents({ kinds, kind, namespace, object, signal, told }) {
  const space = object.metadata.namespace || namespace;
  const asked = kinds.listable.filter((one) => one.namespaced || !space);
  const byOwner = new Map(), refused = [];
  await each(asked.filter((one) => one.verbs.includes("get")), async (one) => {
    try {
      for (const item of await api.metadata(api.collection(one, space), {}, signal)) {
        for (const owner of item.metadata.ownerReferences || []) {
          if (!byOwner.has(owner.uid)) byOwner.set(owner.uid, []);
          byOwner.get(owner.uid).push({ kind: one, meta: item.metadata });
        }
      }
    } catch (error) {
      if (error.name === "AbortError") throw error;
      refused.push(one.resource);
    }
    if (told) told();
  }, signal, 4);
  void kind;
  const seen = new Set([object.metadata.uid]);
  const below = (uid) => (byOwner.get(uid) || []).filter(({ meta }) => !seen.has(meta.uid) && seen.add(meta.uid))
    .map(({ kind: one, meta }) => ({ kind: one, meta, below: below(meta.uid) }));
  return { tree: below(object.metadata.uid), refused };
}

export function tree(nodes) {
  if (!nodes.length) return null;
  return h("ul", {}, nodes.map((one) => h("li", {}, h("a", { href: link(one.kind, one.meta.namespace, one.meta.name) },
    one.kind.kind + "/", name(one.meta.name)), tree(one.below))));
}
function size(nodes) { return nodes.reduce((all, one) => all + 1 + size(one.below), 0); }

const POLICIES = [["Background", "The object first, its dependents after it"], ["Foreground", "Its dependents first, the object after them"], ["Orphan", "The object alone; its dependents stay"]];

export function remove({ kinds, kind, namespace, name: called, object, signal, done }) {
  const found = h("div", {}, h("p", { class: "dim" }, "Looking for what will go along …"));
  const policies = h("fieldset", {}, h("legend", { class: "hide" }, "Dependents"), POLICIES.map(([value, words], i) =>
    h("label", {}, h("input", { type: "radio", name: "policy", value, checked: i === 0 }), h("span", {}, value, " – ", h("span", { class: "dim" }, words)))));
  const out = h("div", { "aria-live": "polite" });
  const go = button("Delete", async () => {
    go.disabled = true;
    try {
      const policy = policies.querySelector("input:checked").value;
      await api.remove(kind, namespace, called, { policy, uid: object.metadata.uid, dryRun: true });
      await api.remove(kind, namespace, called, { policy, uid: object.metadata.uid });
      box.close();
      done();
    } catch (error) { swap(out, note("bad", error.message)); go.disabled = false; }
  }, { class: "danger" });
  const held = object.metadata.finalizers || [];
  const box = dialog("Delete " + typed(kind, called), h("div", {}, found,
    held.length ? note("warn", "It waits for finalizers: " + held.join(", ")) : null, policies, out,
    h("div", { class: "actions" }, go, button("Cancel", () => box.close(), { "data-first": true }))));
  preview({ kinds, kind, namespace, object, signal }).then((shown) => swap(found, shown),
    (error) => { if (error.name !== "AbortError") swap(found, note("bad", error.message)); });
}

async function preview({ kinds, kind, namespace, object, signal }) {
  if (kind.kind === "Namespace" && !kind.group) return counted(kinds, (one) => one.namespaced, object.metadata.name, signal, "Everything in the namespace goes with it:");
  if (kind.kind === "CustomResourceDefinition") {
    const { group, names } = object.spec;
    return counted(kinds, (one) => one.group === group && one.resource === names.plural, "", signal, "All objects of the kind go with it:");
  }
  const all = await dependents({ kinds, kind, namespace, object, signal });
  const count = size(all.tree);
  return h("div", {}, h("p", {}, count ? count + (count === 1 ? " dependent goes along:" : " dependents go along:") : "Nothing depends on it."),
    h("div", { class: "tree" }, tree(all.tree)), unlisted(all.refused));
}
async function counted(kinds, which, space, signal, words) {
  const rows = [], refused = [];
  await each(kinds.listable.filter(which), async (one) => {
    try {
      const n = await api.count(api.collection(one, space), {}, signal);
      if (n) rows.push([one, n]);
    } catch (error) { if (error.name === "AbortError") throw error; refused.push(one.resource); }
  }, signal);
  rows.sort(([a], [b]) => a.kind.localeCompare(b.kind));
  return h("div", {}, h("p", {}, rows.length ? words : "Nothing is there that would go along."),
    h("ul", { class: "list" }, rows.map(([one, n]) => h("li", {}, n + " × " + one.kind))), unlisted(refused));
}
export function unlisted(refused) {
  return refused.length ? note("warn", "Not allowed to list, so there may be more: " + refused.sort().join(", ")) : null;
}
export function full(kind, object) { return { apiVersion: apiVersion(kind), kind: kind.kind, ...object }; }
