// One object: what it is, its YAML, its history; and what can be done with it.

import * as api from "./api.js";
import { h, name, put, stamp, swap, button, note, drawing, few, listOf, objectOf, tableRow } from "./dom.js";
import { edit } from "./edit.js";
import { dependents, tree, unlisted } from "./family.js";
import { revisions } from "./history.js";
import { apiVersion, link } from "./kinds.js";
import { momentOf } from "./moment.js";
import { address, nowhere, showKinds } from "./objects.js";
import { remove } from "./remove.js";
import { getDenial, refusal } from "./rights.js";
import { yamlView } from "./text.js";

const TABS = [["overview", "Overview"], ["yaml", "YAML"], ["history", "History"]];
const DRAW_MS = 250, SHARE = 8;  // a page that is costly to draw is drawn less often
const MOST = 200;  // labels, conditions, owners and events that are drawn
const WORDS = { live: "live", away: "not connected", refused: "not allowed", failed: "failed", gone: "deleted", kept: "as it was", list: "loading", undrawn: "not drawn", unwatched: "not live" };

export function objectPage(context) {
  const { kinds, parts, query, signal, about } = context;
  const [, group, resource, space, called] = parts;
  const kind = kinds.named(group === "core" ? "" : group, resource);
  const wrong = misled(context, kind);
  if (wrong) return nowhere(context, wrong);
  const namespace = space === "-" ? "" : space, at = query.get("at") || "", fixed = at !== "" || about.kept !== "";
  showKinds(context, kind, namespace, at);
  const view = { context, kind, namespace, called, at, object: null, gone: false, denied: at ? Promise.resolve("") : getDenial(kind, namespace, called) };
  const state = h("span", { class: "state", role: "status" }, WORDS.list);
  const editing = button("Edit", () => edit({ kind, namespace, name: called, object: view.object }), { disabled: true });
  const deleting = button("Delete", () => remove({ kinds, kind, namespace, name: called, object: view.object, signal }), { class: "danger", disabled: true });
  const back = new URLSearchParams();
  if (namespace) back.set("ns", namespace);
  if (at) back.set("at", at);
  const panel = h("div", { role: "tabpanel", tabindex: "0", id: "panel" });
  let chosen = TABS.some(([id]) => id === query.get("tab")) ? query.get("tab") : "overview";
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, TABS.map(([id, words]) =>
    h("button", { type: "button", role: "tab", "data-tab": id, "aria-controls": "panel", onclick: () => choose(id) }, words)));
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const i = (TABS.findIndex(([id]) => id === chosen) + step + TABS.length) % TABS.length;
    choose(TABS[i][0]);
    tabs.children[i].focus();
  });
  function choose(id) {
    chosen = id;
    for (const tab of tabs.children) {
      tab.setAttribute("aria-selected", String(tab.dataset.tab === id));
      tab.tabIndex = tab.dataset.tab === id ? 0 : -1;
    }
    const next = new URLSearchParams(query);
    next.set("tab", id);
    history.replaceState(null, "", link(kind, namespace, called) + "?" + next);
    clear();
    draw(true);
  }
  function clear() {
    if (view.shown) view.shown.abort();
    view.shown = null;
    panel.replaceChildren();
  }
  function draw(fresh) { drawing(panel, () => drawn(fresh)); }
  function drawn(fresh) {
    editing.disabled = deleting.disabled = fixed || !view.object || view.gone;
    if (chosen === "history") { if (fresh) swap(panel, revisions(view)); return; }
    if (!view.object) { if (view.trouble) swap(panel, view.trouble); return; }
    if (chosen === "yaml") {
      const version = view.object.metadata.resourceVersion;
      if (!fresh && panel.version === version && panel.firstChild) return;
      const open = panel.querySelector("details[open]") !== null, top = panel.firstChild && panel.firstChild.scrollTop;
      swap(panel, yamlView(view.object, { open }));
      panel.version = version;
      if (top) panel.firstChild.scrollTop = top;
    } else overview(view, panel, signal);
  }
  // What changes often is drawn a few times a second.
  let waiting = null;
  function later() {
    if (waiting !== null) { waiting = "again"; return; }
    const begun = performance.now();
    draw(false);
    waiting = "drawn";
    setTimeout(() => { const again = waiting === "again"; waiting = null; if (again && !signal.aborted) later(); }, Math.max(DRAW_MS, SHARE * (performance.now() - begun)));
  }
  function told(which, text) {
    state.className = "state " + which;
    put(state, WORDS[which]);
    state.title = text || "";
    document.body.dataset.state = which;
    if (which === "refused" || which === "failed" || (which === "gone" && !view.object)) {
      view.trouble = [note("bad", text), which === "gone" && h("p", {}, "Its history may still be kept: see the tab History.")];
      if (chosen !== "history") swap(panel, view.trouble);
    }
  }
  choose(chosen);
  const take = (object, gone, text) => {
    const before = view.object;
    if (object) view.object = { apiVersion: apiVersion(kind), kind: kind.kind, ...object };
    view.gone = gone;
    // Another object of the same name has other dependents and events.
    if (before && object && before.metadata.uid !== object.metadata.uid && chosen === "overview") clear();
    later();
    told(gone ? "gone" : at ? "kept" : "live", text || "");
  };
  async function begin() {
    if (at) {
      await momentOf(at);  // says that there is no such revision; a list would wait for it
      const refused = await refusal(kind, namespace);
      if (refused) { told("refused", refused); return; }
      const object = await past(kind, namespace, called, at, signal);
      if (object) take(object, false); else told("gone", "It was not there at revision " + at + ".");
      return;
    }
    const refused = await view.denied;
    if (refused) told("refused", refused); else await api.followObject(kind, namespace, called, { signal, take, state: told });
  }
  begin().catch((error) => { if (error.name !== "AbortError") told(error.code === 403 ? "refused" : "failed", error.message); });
  return h("section", { class: "page scrolls", "aria-label": kind.kind + " " + called },
    h("div", { class: "heading" }, h("a", { href: address(kind, back) }, kind.kind), h("h1", {}, name(called)),
      namespace && h("span", { class: "kind" }, "in ", name(namespace)), h("span", { class: "grow" }), state, !fixed && editing, !fixed && deleting),
    tabs, panel);
}

// Why a link leads to no object; nothing where it may.
function misled({ parts }, kind) {
  const [, group, resource, space, called] = parts;
  if (!resource) return "The link names no object: it needs a group, a resource, a namespace or -, and a name.";
  if (!kind) return "The server has no kind " + resource + " in the group " + (group || "core") + ".";
  if (!space || !called) return "The link names no object of the kind " + kind.kind + ": it needs a namespace or -, and a name.";
  if (kind.namespaced && space === "-") return kind.kind + " is a kind with namespaces, and the link names none.";
  if (!kind.namespaced && space !== "-") return kind.kind + " is a kind without namespaces, and the link names one: " + space + ".";
  return "";
}

// An object as it was, over the API: a list of one at a revision.
export async function past(kind, namespace, called, at, signal) {
  const query = { fieldSelector: api.named(called), resourceVersion: at, resourceVersionMatch: "Exact" };
  const found = await api.get(api.collection(kind, namespace), { query, signal });
  return (found.items || [])[0] || null;
}

// ---------------------------------------------------------------- overview

function overview(view, panel, signal) {
  const { object } = view, meta = object.metadata;
  if (!panel.querySelector(".cards")) {
    const slots = Object.fromEntries(["facts", "conditions", "owners", "events"].map((id) => [id, h("div", {})]));
    panel.replaceChildren(h("div", { class: "cards" },
      h("section", { class: "card" }, h("h2", {}, "Metadata"), slots.facts),
      h("section", { class: "card" }, h("h2", {}, "Owners and dependents"), slots.owners),
      h("section", { class: "card all" }, h("h2", {}, "Conditions"), slots.conditions),
      h("section", { class: "card all" }, h("h2", {}, "Events"), slots.events)));
    panel.slots = slots;
    view.shown = new AbortController();
    const { shown } = view, { signal: over } = shown;
    signal.addEventListener("abort", () => shown.abort(), { signal: over });
    family(view, slots.owners, over);
    events(view, slots.events, over);
  }
  const { slots } = panel;
  drawing(slots.facts, () => swap(slots.facts, facts(meta)));
  drawing(slots.conditions, () => swap(slots.conditions, conditions(objectOf(object.status).conditions)));
}

function facts(meta) {
  const chips = (map) => {
    const all = Object.entries(map || {});
    return all.length ? h("div", { class: "chips" }, few(all, MOST, ([key, value]) => h("span", { class: "chip" }, name(value === "" ? key : key + "=" + value)))) : h("span", { class: "dim" }, "–");
  };
  const rows = [["Created", stamp(meta.creationTimestamp)], ["Labels", chips(meta.labels)], ["Annotations", chips(meta.annotations)],
    ["Generation", String(meta.generation || "–")], ["resourceVersion", meta.resourceVersion], ["uid", h("code", {}, meta.uid)]];
  if (meta.deletionTimestamp) rows.unshift(["Deleted", h("span", { class: "bad" }, stamp(meta.deletionTimestamp))]);
  if (meta.finalizers) rows.push(["Finalizers", few(meta.finalizers, MOST, (one, i) => (i ? ", " : "") + one)]);
  return h("dl", { class: "facts" }, rows.map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]));
}

// What stands there is the kind's own matter: custom kinds have conditions of any shape.
function conditions(value) {
  if (value === undefined || value === null || (Array.isArray(value) && !value.length)) return h("p", { class: "dim" }, "It has none.");
  const all = listOf(value), list = all.filter((one) => one !== null && typeof one === "object" && !Array.isArray(one)), odd = all.length - list.length;
  const beside = !Array.isArray(value) ? note("warn", "status.conditions is no list: see the YAML.") : odd ? note("warn", odd + " of " + all.length + " conditions are no objects: see the YAML.") : null;
  return [list.length > 0 && conditionTable(list), beside];
}
const CONDITION = ["Type", "Status", "Reason", "Since", "Message"];
function conditionTable(list) {
  return h("div", { class: "wide-table" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, CONDITION.map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, few(list, MOST, (one) => tableRow(CONDITION, {}, h("td", { class: "tight" }, name(said(one.type))), h("td", { class: { True: "good", False: "bad" }[one.status] || "warn" }, said(one.status)),
      h("td", {}, name(said(one.reason))), h("td", { class: "tight" }, stamp(said(one.lastTransitionTime))), h("td", {}, name(said(one.message)))), row))));
}

function said(value) { return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value); }
function row(words) { return h("tr", {}, h("td", { class: "dim", colspan: "9" }, words)); }

async function family(view, slot, signal) {
  const { object, context, kind, namespace, at } = view;
  const then = at ? "?at=" + encodeURIComponent(at) : "";
  const owners = few(object.metadata.ownerReferences || [], MOST, (one) => {
    const known = context.kinds.of(one.apiVersion, one.kind);
    const words = [one.kind + "/", name(one.name)];
    return h("li", {}, known ? h("a", { href: link(known, known.namespaced ? object.metadata.namespace : "", one.name) + then }, words) : h("span", {}, words), one.controller ? h("span", { class: "dim" }, " controller") : null);
  }, (words) => h("li", { class: "dim" }, words));
  const here = h("li", { class: "here" }, kind.kind + "/", name(object.metadata.name));
  const below = h("div", {}, h("p", { class: "dim" }, "Looking for dependents …"));
  here.append(below);
  swap(slot, h("ul", { class: "tree" }, owners.length ? [owners, h("li", {}, h("ul", {}, here))] : here));
  try {
    const all = await dependents({ kinds: context.kinds, namespace, object, at, signal });
    swap(below, tree(all.tree, { then }) || h("p", { class: "dim" }, "Nothing depends on it."), unlisted(all.refused));
  } catch (error) { if (error.name !== "AbortError") swap(below, note("bad", error.message)); }
  document.body.dataset.family = "yes";
}

async function events(view, slot, signal) {
  const { object, context, namespace, at } = view, kind = context.kinds.named("", "events");
  if (!kind) return;
  const refused = await refusal(kind, namespace || "default");
  if (refused) { swap(slot, note("warn", refused)); return; }
  const path = api.collection(kind, namespace || "default"), query = { fieldSelector: "involvedObject.uid=" + object.metadata.uid };
  try {
    if (at) {
      const found = await api.get(path, { query: { ...query, resourceVersion: at, resourceVersionMatch: "Exact" }, signal });
      swap(slot, eventTable(found.items || []));
    } else await api.followItems({ path, query, signal, changed: (items) => drawing(slot, () => swap(slot, eventTable([...items.values()]))) });
  } catch (error) { if (error.name !== "AbortError") swap(slot, note("bad", error.message)); }
}

const EVENT = ["Last seen", "Type", "Reason", "Count", "From", "Message"];
function eventTable(found) {
  if (!found.length) return h("p", { class: "dim" }, "There are none.");
  const when = (one) => (one.series && one.series.lastObservedTime) || one.lastTimestamp || one.eventTime || one.metadata.creationTimestamp;
  found.sort((a, b) => (when(a) < when(b) ? 1 : -1));
  return h("div", { class: "wide-table" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, EVENT.map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, few(found, MOST, (one) => tableRow(EVENT, {}, h("td", { class: "tight" }, stamp(when(one))), h("td", { class: one.type === "Warning" ? "warn" : "" }, name(one.type || "")), h("td", {}, name(one.reason || "")),
      h("td", { class: "number" }, String(one.count || (one.series && one.series.count) || 1)), h("td", {}, name((one.source && one.source.component) || one.reportingComponent || "")), h("td", {}, name(one.message || ""))), row))));
}
