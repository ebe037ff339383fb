// Objects of a kind, live; and the kinds there are, with counts.

import * as api from "./api.js";
import { create } from "./create.js";
import { h, icon, name, note, put, swap, button } from "./dom.js";
import { Grid, columnsOf } from "./grid.js";
import { each, link, refresh } from "./kinds.js";
import { momentOf } from "./moment.js";
import { refusal, refusals } from "./rights.js";

const COUNTS_MS = 30000, SOON_MS = 150, LATE_MS = 5000, SPACE = "kubetrio.namespace";
const WORDS = { live: "live", away: "not connected", refused: "not allowed", failed: "failed", kept: "as it was", list: "loading", undrawn: "not drawn", unwatched: "not live" };

export function address(kind, query) {
  const text = query.toString();
  return "#/objects/" + encodeURIComponent(kind.group || "core") + "/" + encodeURIComponent(kind.resource) + (text ? "?" + text : "");
}

export function objectsPage(context) {
  const { kinds, parts, query, signal } = context;
  const group = parts[1] === "core" ? "" : parts[1];
  const kind = parts[1] ? kinds.named(group, parts[2] || "") : kinds.named("", "pods") || kinds.listable[0];
  if (!kind) return nowhere(context, "The server has no kind " + (parts[2] || "") + " in the group " + parts[1] + ".");
  const at = query.get("at") || "";
  const namespace = query.has("ns") ? query.get("ns") : at ? "" : sessionStorage.getItem(SPACE) || "";
  let settled = () => {};
  showKinds(context, kind, namespace, at, new Promise((done) => { settled = done; }));

  const state = h("span", { class: "state", role: "status" }, WORDS.list);
  const total = h("span", { class: "dim", role: "status" });
  const search = h("input", { type: "search", placeholder: "part of a name", value: query.get("name") || "", autocomplete: "off", spellcheck: "false" });
  const labels = selector("app=web,tier!=test", query.get("labels"));
  const fields = selector("status.phase=Running", query.get("fields"));
  const wide = h("input", { type: "checkbox", checked: query.get("wide") === "1" });
  const spaces = kind.namespaced ? namespaces(namespace, at, signal) : null;
  const go = (changes) => {
    const next = new URLSearchParams(query);
    for (const [key, value] of Object.entries(changes)) if (value) next.set(key, value); else next.delete(key);
    location.hash = address(kind, next);
  };
  if (spaces) spaces.addEventListener("change", () => {
    sessionStorage.setItem(SPACE, spaces.value);
    go({ ns: spaces.value || null, name: search.value });
  });
  for (const [input, key] of [[labels, "labels"], [fields, "fields"]]) {
    input.addEventListener("change", () => go({ [key]: input.value.trim(), name: search.value }));
  }
  wide.addEventListener("change", () => go({ wide: wide.checked ? "1" : "", name: search.value }));

  const open = (row) => { location.hash = href(row).slice(1); };
  const href = (row) => link(kind, row.namespace, row.name) + (at ? "?at=" + encodeURIComponent(at) : "");
  const grid = new Grid({ open, href, label: kind.kind });
  signal.addEventListener("abort", () => grid.close());
  const match = () => {
    const wanted = search.value.trim().toLowerCase();
    return wanted ? (row) => row.name.toLowerCase().includes(wanted) : null;
  };
  let rows = new Map(), loading = true;
  grid.arranged = (shown) => {
    const all = rows.size;
    put(total, (shown === all ? String(all) : shown + " of " + all) + (loading ? " …" : ""));
    grid.say(shown || loading ? "" : all ? "No name has “" + search.value.trim() + "” in it." : "There are none here.");
    document.body.dataset.rows = shown;
    if (!loading && !performance.getEntriesByName("kubetrio-table").length) performance.mark("kubetrio-table");
    document.body.dataset.drawn = 1 + Number(document.body.dataset.drawn || 0);
  };
  search.addEventListener("input", () => grid.setRows(rows, { filter: match() }));
  search.addEventListener("keydown", (event) => { if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); grid.focus(0); } });
  search.addEventListener("blur", () => {
    const next = new URLSearchParams(query);
    if (search.value) next.set("name", search.value); else next.delete("name");
    history.replaceState(null, "", address(kind, next));
  });

  const asked = {};
  if (labels.value) asked.labelSelector = labels.value;
  if (fields.value) asked.fieldSelector = fields.value;
  document.body.dataset.drawn = 0;
  document.body.dataset.rows = "";
  const following = () => api.follow({
    path: api.collection(kind, namespace), query: asked, at, signal,
    columns: (definitions) => grid.setColumns(columnsOf(definitions, { namespaces: kind.namespaced && !namespace, wide: wide.checked })),
    changed(found, more) { rows = found; loading = more; grid.setRows(rows, { filter: match() }); },
    state: told,
  });
  function told(which, text) {
    state.className = "state " + which;
    put(state, WORDS[which]);
    state.title = text;
    loading = false;
    settled();
    document.body.dataset.state = which;
    if (which === "refused" || which === "failed") { rows = new Map(); grid.setRows(rows); grid.arranged = () => {}; grid.say(text); put(total, ""); }
    else grid.setRows(rows, { filter: match() });
  }
  (async () => {
    if (at) {  // that there is no such revision; a list would wait for it
      const found = await momentOf(at);
      grid.moment = Date.parse(found.time) + 999;
    }
    const refused = await refusal(kind, namespace);
    if (signal.aborted) return;
    if (refused) told("refused", refused); else await following();
  })().catch((error) => { if (error.name !== "AbortError") told(error.code === 403 ? "refused" : "failed", error.message); });
  return h("section", { class: "page", "aria-label": kind.kind },
    h("div", { class: "heading" }, h("h1", {}, kind.kind), kind.group && h("span", { class: "kind" }, kind.group), total, h("span", { class: "grow" }), state,
      !at && button("Create", () => create({ kinds, kind, namespace }))),
    h("div", { class: "tools" },
      spaces && h("label", { class: "field" }, "Namespace", spaces),
      h("label", { class: "field" }, "Name", search), h("label", { class: "field" }, "Label selector", labels), h("label", { class: "field" }, "Field selector", fields),
      h("label", { class: "field check" }, wide, "All columns")),
    grid.element);
}

// A page in place of one that the address does not lead to; its kind may have come since the kinds were asked for.
export function nowhere(context, words) {
  const { kinds, parts, query, frame, signal } = context, [, group, resource] = parts;
  showKinds(context, null, "", query.get("at") || "");
  const found = () => kinds.named(group === "core" ? "" : group, resource || "");
  if (!found()) refresh(kinds).then((changed) => { if (changed && found() && !signal.aborted) frame.show(); }, () => { /* it stays unknown */ });
  return h("section", { class: "page" }, note("bad", words), h("p", {}, h("a", { href: "#/objects" }, "All objects")));
}

function selector(example, value) {
  return h("input", { type: "text", placeholder: example, value: value || "", autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
}

function namespaces(chosen, at, signal) {
  const select = h("select", {}, h("option", { value: "" }, "all namespaces"));
  if (chosen) select.append(h("option", { value: chosen }, chosen));
  select.value = chosen;
  const fixed = at ? { resourceVersion: at, resourceVersionMatch: "Exact" } : {};
  const listed = async () => {
    const refused = (await refusals(""))["/namespaces"];
    if (refused) throw new Error(refused);
    if (at) await momentOf(at);
    return api.metadata("/api/v1/namespaces", fixed, signal, 5000);
  };
  const fill = () => listed().then((items) => {
    const there = new Set([...select.options].map((one) => one.value));
    for (const { metadata } of items) if (!there.has(metadata.name)) select.append(h("option", { value: metadata.name }, metadata.name));
  }, (error) => { if (error.name !== "AbortError") select.title = error.message; });
  fill();
  if (!at) select.addEventListener("focus", fill);  // there may be more now
  return select;
}

// ---------------------------------------------------------------- kinds beside the table

let kept = null;  // the list of kinds stays as it is while pages change

// ready: when what the page itself asks for is there; the counts come after it.
export function showKinds({ kinds, side }, chosen, namespace, at, ready) {
  if (!kept || kept.all !== kinds.all || kept.namespace !== namespace || kept.at !== at) {
    const before = kept;
    if (before) before.leave.abort();
    kept = build(kinds, namespace, at, ready, () => showKinds({ kinds, side }, kept.chosen, namespace, at));
    if (before) kept.resemble(before);
    swap(side, kept.element);
  } else if (!kept.element.isConnected) swap(side, kept.element);
  kept.chosen = chosen;
  const query = new URLSearchParams();
  if (namespace) query.set("ns", namespace);
  if (at) query.set("at", at);
  for (const [key, { anchor, kind }] of kept.links) {
    anchor.setAttribute("href", address(kind, kind.namespaced ? query : at ? new URLSearchParams({ at }) : new URLSearchParams()));
    if (chosen && key === chosen.key) anchor.setAttribute("aria-current", "page"); else anchor.removeAttribute("aria-current");
  }
}

// renew: called when the server serves other kinds than these.
function build(kinds, namespace, at, ready, renew) {
  const leave = new AbortController(), links = new Map();
  const groups = [...kinds.groups()].map(([group, list]) => {
    const items = list.map((kind) => {
      const count = h("span", { class: "count" });
      const anchor = h("a", { title: [kind.resource, ...kind.short].join(", ") }, name(kind.kind), count);
      const item = h("li", {}, anchor);
      links.set(kind.key, { anchor, count, kind, item });
      return item;
    });
    return h("section", {}, h("h3", {}, group || "core"), h("ul", {}, items));
  });
  const filter = h("input", { type: "text", placeholder: "Kinds", "aria-label": "Filter kinds", autocomplete: "off", spellcheck: "false" });
  const narrow = () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const { item, kind } of links.values()) {
      item.hidden = wanted !== "" && ![kind.kind, kind.resource, kind.group, ...kind.short].some((one) => one.toLowerCase().includes(wanted));
    }
    for (const section of groups) section.hidden = [...section.querySelectorAll("li")].every((one) => one.hidden);
  };
  filter.addEventListener("input", narrow);
  // What another list of kinds shows is shown here until it is known better.
  const resemble = (other) => {
    filter.value = other.filter.value;
    narrow();
    if (other.namespace !== namespace || other.at !== at) return;
    for (const [key, { count, item }] of links) {
      const old = other.links.get(key);
      if (old) { swap(count, ...old.count.childNodes); item.className = old.item.className; }
    }
  };
  const fixed = at ? { resourceVersion: at, resourceVersionMatch: "Exact" } : {};
  const counting = async () => {
    if (document.hidden) return;
    let away = false;
    const refused = await refusals(namespace);
    const lock = ({ count, item, anchor }, said) => {
      swap(count, icon("lock"), h("span", { class: "hide" }, "not allowed"));
      anchor.title = said;
      item.classList.add("none");
    };
    await each(links.values(), async (link) => {
      const { kind, count, item } = link;
      if (away) return;
      if (refused[kind.key]) { lock(link, refused[kind.key]); return; }
      try {
        const found = await api.count(api.collection(kind, namespace), fixed, leave.signal);
        put(count, String(found));
        item.classList.toggle("none", found === 0);
      } catch (error) {
        away = away || error.code === 0;
        if (error.name !== "AbortError" && error.code === 403) lock(link, error.message);
      }
    }, leave.signal, 3);
    document.body.dataset.counted = "yes";
  };
  (async () => {
    try {
      await Promise.race([ready || api.pause(SOON_MS, leave.signal), api.pause(LATE_MS, leave.signal)]);
      if (at) await momentOf(at);  // lists at a revision that is not there yet would wait for it
      for (;;) {
        await counting();
        if (at) return;
        await api.pause(COUNTS_MS, leave.signal);
        if (!document.hidden && await refresh(kinds).catch(() => false)) { renew(); return; }
      }
    } catch { /* another namespace is shown, or there is no such revision */ }
  })();
  return { all: kinds.all, namespace, at, leave, links, filter, resemble, element: h("nav", { "aria-label": "Kinds by group" }, filter, groups) };
}
