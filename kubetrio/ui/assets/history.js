// What happened: to one object, to a namespace, to the whole cluster.

import * as api from "./api.js";
import { h, name, put, stamp, swap, button, busy, note, tableRow } from "./dom.js";
import { edit } from "./edit.js";
import { apiVersion, link } from "./kinds.js";
import { momentForm } from "./moment.js";
import { showKinds } from "./objects.js";
import { refusals } from "./rights.js";
import { diffView, folded, yamlView } from "./text.js";

// ---------------------------------------------------------------- one object

export function revisions(view) {
  const { context, kind, namespace, called } = view, { signal, about } = context;
  const root = "/ui/history" + api.objectPath(kind, namespace, called);
  const out = h("div", { "aria-live": "polite" });
  const list = h("div", {}, h("p", { class: "dim" }, "Reading …"));
  const states = new Map();
  let items = [], from = 0, upto = 0;

  // A deletion has no state: what was before it is the last one.
  const at = (item) => (item.verb === "delete" ? item.revision - 1 : item.revision);
  async function state(revision) {
    if (!states.has(revision)) {
      const found = await api.get(root, { query: { revision }, signal });
      states.set(revision, found.object ? { apiVersion: apiVersion(kind), kind: kind.kind, ...found.object } : null);
    }
    return states.get(revision);
  }
  async function compare() {
    const a = items.find((one) => one.revision === from), b = items.find((one) => one.revision === upto);
    try {
      const before = a ? await state(at(a)) : null, after = b.verb === "delete" ? null : await state(b.revision);
      const diff = diffView(before, after, { label: "Difference" });
      const words = a ? "From revision " + from + " to " + upto : "What revision " + upto + " made";
      const shown = after || before;
      swap(out, h("h2", {}, words), diff || note("good", before && after ? "Nothing that is shown differs; see managedFields in the YAML." : "There is nothing to compare."),
        h("div", { class: "actions" },
          !about.kept && !view.at && button("Put revision " + at(b) + " back", () => edit({ kind, namespace, name: called, object: view.gone ? null : view.object, draft: shown, title: "Put revision " + at(b) + " back" })),
          h("a", { href: "#/objects/" + (kind.group || "core") + "/" + kind.resource + "?at=" + b.revision + (namespace ? "&ns=" + encodeURIComponent(namespace) : "") }, "The cluster at this revision")),
        folded("Revision " + at(b) + " as YAML", (fold) => fold.append(yamlView(shown))));
    } catch (error) { if (error.name !== "AbortError") swap(out, note("bad", error.message)); }
    document.body.dataset.compared = from + "-" + upto;
  }
  function choose(item) {
    upto = item.revision;
    const i = items.indexOf(item);
    from = item.verb === "create" ? 0 : (items[i + 1] || { revision: 0 }).revision;
    mark();
    compare();
  }
  function mark() {
    for (const row of list.querySelectorAll("tbody tr")) {
      const revision = Number(row.dataset.revision);
      row.setAttribute("aria-selected", String(revision === upto));
      const [a, b] = row.querySelectorAll("input");
      a.checked = revision === from;
      b.checked = revision === upto;
    }
  }
  view.denied.then((denied) => {
    if (denied) throw new Error(denied);
    return api.get(root, { signal });
  }).then((found) => {
    items = found.items;
    if (!items.length) { swap(list, note("warn", "Nothing is known of it since revision " + found.compacted + ".")); return; }
    const users = about.users;
    const heads = ["From", "To", "Revision", "Time", "What", "Manager", users && "User", "Generation", ""].filter((one) => one !== false);
    swap(list, h("div", { class: "wide-table" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, heads.map((one) => h("th", { scope: "col" }, one || h("span", { class: "hide" }, "Show"))))),
      h("tbody", {}, items.map((item) => tableRow(heads, { "data-revision": item.revision },
        h("td", {}, pick("from", item, () => { from = item.revision; mark(); compare(); })), h("td", {}, pick("to", item, () => { upto = item.revision; mark(); compare(); })),
        h("td", { class: "tight" }, String(item.revision)), h("td", { class: "tight" }, stamp(item.time)), h("td", { class: "tight" }, h("span", { class: "badge " + item.verb }, item.verb)),
        h("td", {}, item.encrypted ? h("span", { class: "dim" }, "encrypted") : who(item.manager)), users && h("td", {}, who(item.user)), h("td", { class: "number" }, String(item.generation || "–")),
        h("td", { class: "tight" }, button("Changes", () => choose(item), { class: "quiet", "aria-label": "Changes of revision " + item.revision }))))))),
    h("p", { class: "dim" }, "Kept since revision " + found.compacted + ". The manager is the one whose managedFields the write changed."));
    choose(items[0]);
  }, (error) => { if (error.name !== "AbortError") swap(list, note("bad", error.message)); });
  return h("div", { class: "cards" }, h("section", { class: "card all" }, h("h2", {}, "Revisions"), list), h("section", { class: "card all" }, out));
}

function pick(group, item, onchange) {
  return h("input", { type: "radio", name: group, onchange, "aria-label": group + " revision " + item.revision });
}
function who(text) { return text ? name(text) : h("span", { class: "dim" }, "–"); }

// ---------------------------------------------------------------- a namespace, or all of it

const ROUTINE = new Set(["Lease", "Event"]), NEWER_MS = 2000, MOST = 5000;

export function historyPage(context) {
  const { query, signal, about } = context;
  const namespace = query.get("ns") || "";
  showKinds(context, null, namespace, query.get("at") || "");
  const rows = h("tbody"), out = h("div"), warned = h("div"), state = h("span", { class: "state", role: "status" }, about.kept ? "as it was" : "loading"), total = h("span", { class: "dim", role: "status" });
  const filter = h("input", { type: "search", placeholder: "part of a name, kind or manager", autocomplete: "off", spellcheck: "false" });
  const space = h("select", {}, h("option", { value: "" }, "all namespaces"), namespace && h("option", { value: namespace }, namespace));
  space.value = namespace;
  refusals("").then((denied) => { if (denied["/namespaces"]) throw new Error(denied["/namespaces"]); return api.metadata("/api/v1/namespaces", {}, signal, 5000); }).then((items) => {
    for (const item of items) if (item.metadata.name !== namespace) space.append(h("option", { value: item.metadata.name }, item.metadata.name));
  }, () => { space.title = "Namespaces may not be listed."; });
  space.addEventListener("change", () => { location.hash = "#/history" + (space.value ? "?ns=" + encodeURIComponent(space.value) : ""); });
  const routine = h("input", { type: "checkbox" });
  const older = button("Older changes", () => more(), { hidden: true });
  const heads = ["Revision", "Time", "What", "Object", "Namespace", "Manager", about.users && "User", ""].filter((one) => one !== false);
  let before = "", shown = [], refused = new Set(), newest = 0;

  function row(item) {
    const kind = { group: item.group, version: item.version, resource: item.resource, kind: item.kind, namespaced: item.namespace !== "" };
    const line = tableRow(heads, {}, h("td", { class: "tight" }, String(item.revision)), h("td", { class: "tight" }, stamp(item.time)), h("td", { class: "tight" }, h("span", { class: "badge " + item.verb }, item.verb)),
      h("td", {}, h("a", { href: link(kind, item.namespace, item.name, "history") }, item.kind + "/", name(item.name))), h("td", {}, name(item.namespace || "–")), h("td", {}, who(item.manager)),
      about.users && h("td", {}, who(item.user)),
      h("td", { class: "tight" }, h("a", { href: "#/objects?at=" + item.revision + (namespace ? "&ns=" + encodeURIComponent(namespace) : "") }, "cluster then")));
    line.routine = ROUTINE.has(item.kind);
    line.words = [item.kind, item.name, item.manager, item.user, item.verb].join(" ").toLowerCase();
    return line;
  }
  function narrow() {
    const wanted = filter.value.trim().toLowerCase();
    for (const line of shown) line.hidden = (wanted !== "" && !line.words.includes(wanted)) || (line.routine && !routine.checked);
    total.textContent = shown.filter((line) => !line.hidden).length + " changes";
  }
  filter.addEventListener("input", narrow);
  routine.addEventListener("change", narrow);
  const path = "/ui/history/" + (namespace ? "namespaces/" + encodeURIComponent(namespace) : "");
  function warn(found) {
    const known = refused.size;
    for (const one of found.refused) refused.add(one);
    if (refused.size > known) swap(warned, note("warn", "Not allowed to list, so their changes are not shown: " + [...refused].sort().join(", ")));
  }
  async function more() {
    if (older.getAttribute("aria-disabled") === "true") return;
    busy(older, true);
    try {
      const found = await api.get(path, { query: before ? { before } : {}, signal });
      newest = newest || found.revision;
      const lines = found.items.map(row);
      shown.push(...lines);
      rows.append(...lines);
      warn(found);
      before = found.before;
      older.hidden = !before;
      swap(out, before ? null : h("p", { class: "dim" }, "Older changes are not kept (since revision " + found.compacted + "). See --history-window."));
      narrow();
      document.body.dataset.changes = shown.length;
    } catch (error) { if (error.name !== "AbortError") swap(out, note("bad", error.message)); }
    busy(older, false);
  }
  function anew() { before = ""; newest = 0; shown = []; rows.replaceChildren(); return more(); }
  // What has changed since the newest that is shown.
  async function newer() {
    const found = await api.get(path, { query: { after: newest }, signal });
    // Too many at once, or another server, whose revisions begin anew.
    if (found.after > newest || found.revision < newest) { await anew(); return; }
    newest = found.revision;
    if (!found.items.length) return;
    const lines = found.items.map(row), over = [...lines, ...shown].slice(MOST);
    shown = [...lines, ...shown].slice(0, MOST);
    rows.prepend(...lines);
    for (const line of over) line.remove();
    if (over.length) { before = Number(over[0].firstChild.textContent) + 1; older.hidden = false; }
    warn(found);
    narrow();
    document.body.dataset.changes = shown.length;
  }
  (async () => {
    await more();
    while (!signal.aborted && !about.kept) {
      try {
        await api.pause(NEWER_MS, signal);
        if (document.hidden) continue;
        await (newest ? newer() : anew());
        if (!newest) continue;
        state.className = "state live";
        put(state, "live");
      } catch (error) {
        if (error.name === "AbortError") return;
        state.className = "state away";
        put(state, error.code ? error.message : "not connected");
        if (error.code === 401 || error.code === 403) return;
      }
    }
  })();
  return h("section", { class: "page scrolls", "aria-label": "History" },
    h("div", { class: "heading" }, h("h1", {}, "History"), total, h("span", { class: "grow" }), state),
    h("div", { class: "tools" }, h("label", { class: "field" }, "Namespace", space), h("label", { class: "field" }, "Search", filter),
      h("label", { class: "field check" }, routine, "Leases and Events")),
    h("div", { class: "then" }, h("span", {}, "The cluster at"), momentForm({ at: about.kept ? String(about.at) : "", go: (revision) => { location.hash = "#/objects?at=" + revision + (namespace ? "&ns=" + encodeURIComponent(namespace) : ""); } })),
    warned, h("div", { class: "card wide-table" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, heads.map((one) => h("th", { scope: "col" }, one || h("span", { class: "hide" }, "Cluster then"))))), rows)),
    h("div", { class: "actions" }, older), out);
}
