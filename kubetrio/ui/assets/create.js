// Create objects from YAML of one or several documents: a dry run of the server says first what each will be.
// What is found in a text here is only where it goes to; the server reads it, and refuses what was found wrongly.

import * as api from "./api.js";
import { h, name, put, swap, button, busy, dialog, note, refocus } from "./dom.js";
import { apiVersion, link, refresh } from "./kinds.js";
import { diffView, yamlView } from "./text.js";
import { without } from "./yaml.js";

const TRIES = 10, TRY_MS = 200;  // for kinds that an earlier document defines

export function documents(text) {
  const found = [];
  let lines = [], first = 1;
  const end = (next) => {
    if (lines.some((line) => line.trim() && !/^\s*#/.test(line))) found.push({ text: lines.join("\n") + "\n", line: first });
    lines = [];
    first = next;
  };
  text.split(/\r?\n/).forEach((line, i) => {
    if (/^(?:---|\.\.\.)(?:\s|$)/.test(line)) {
      const rest = line.startsWith("---") ? line.slice(3).trim() : "";
      end(rest ? i + 1 : i + 2);
      if (rest) lines.push(rest);
    } else lines.push(line);
  });
  end(0);
  return found;
}
function plain(text) {
  const quoted = /^\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')/.exec(text);
  if (quoted) return quoted[1] !== undefined ? quoted[1] : quoted[2].replace(/''/g, "'");
  return text.replace(/\s#.*$/, "").trim();
}
// apiVersion, kind, name, namespace of a document, as far as its lines tell them.
export function identity(text) {
  try {
    const { apiVersion: version, kind, metadata } = JSON.parse(text);
    return { apiVersion: String(version || ""), kind: String(kind || ""), ...(metadata && { name: metadata.name, namespace: metadata.namespace }) };
  } catch { /* most YAML is no JSON */ }
  const found = { apiVersion: "", kind: "", name: "", namespace: "" };
  let inside = false, indent = "";
  for (const line of text.split("\n")) {
    if (!line.trim() || /^\s*#/.test(line)) continue;
    const [, lead, key, rest] = /^(\s*)["']?([\w.-]+)["']?\s*:(?:\s+(.*)|\s*)$/.exec(line) || [null, null, "", ""];
    if (/^\S/.test(line)) {
      inside = key === "metadata";
      indent = "";
      if (key === "apiVersion" || key === "kind") found[key] = plain(rest || "");
      if (inside && rest) for (const [, one, value] of rest.matchAll(/["']?\b(name|namespace)["']?\s*:\s*("[^"]*"|'[^']*'|[^\s,}]+)/g)) found[one] = plain(value);
    } else if (inside && key) {
      indent = indent || lead;
      if (lead === indent && (key === "name" || key === "namespace")) found[key] = plain(rest || "");
    }
  }
  return found;
}

export function create({ kinds, kind, namespace }) {
  const space = namespace || "default";
  const begin = "apiVersion: " + apiVersion(kind) + "\nkind: " + kind.kind + "\nmetadata:\n  name: \n" + (kind.namespaced ? "  namespace: " + space + "\n" : "");
  const area = h("textarea", { class: "yaml", spellcheck: "false", autocapitalize: "off", "aria-label": "YAML", value: begin });
  const out = h("div", { "aria-live": "polite" });
  const way = h("select", { "aria-label": "How" }, h("option", { value: "create" }, "Create"), h("option", { value: "apply" }, "Apply (server-side)"));
  const review = button("Review", () => look(), { class: "first" });
  const box = dialog("Create", h("div", {}, h("p", { class: "dim" }, "Documents are separated by lines of ---. Without a namespace they go to " + space + "."), area,
    h("div", { class: "actions" }, review, way, h("span", { class: "grow" })), out), { wide: true });
  area.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) look(); });
  let working = false;
  for (const one of [area, way]) one.addEventListener("input", () => { if (!working) swap(out); });

  async function send(part, how, dryRun, warn) {
    const { known, space: into, id, text } = part;
    if (how === "apply") return api.apply(known, into, id.name, text, { dryRun, warn });
    return api.create(known, into, text, { dryRun, warn });
  }
  // Finds where a document goes; says why it cannot go anywhere.
  async function place(part, how) {
    const { id } = part;
    if (!id.apiVersion || !id.kind) return "apiVersion and kind are to be at the beginning of lines.";
    if (how === "apply" && !id.name) return "metadata.name is needed to apply.";
    let known = kinds.of(id.apiVersion, id.kind);
    if (!known) { await refresh(kinds); known = kinds.of(id.apiVersion, id.kind); }
    if (!known) return "The server has no kind " + id.kind + " in " + id.apiVersion + ".";
    part.known = { ...known, version: id.apiVersion.split("/").pop() };
    part.space = known.namespaced ? id.namespace || space : "";
    return "";
  }
  // The document before a part that makes what the part needs; 0 where none does.
  function maker(part, parts, error) {
    const before = parts.slice(0, parts.indexOf(part));
    const details = (error && error.status && error.status.details) || {};
    const makes = error ? (one) => details.kind === "namespaces" && one.id.kind === "Namespace" && one.id.name === details.name
      : (one) => one.id.kind === "CustomResourceDefinition" && one.text.includes(part.id.kind);
    return before.findIndex(makes) + 1;
  }
  async function check(part, parts, how) {
    const warned = [];
    part.error = await place(part, how);
    if (part.error) { part.after = part.id.kind ? maker(part, parts) : 0; return; }
    try {
      const result = await send(part, how, true, (text) => warned.push(text));
      let now = null;
      if (how === "apply") try { now = await api.get(api.objectPath(part.known, part.space, part.id.name)); } catch (error) { if (error.code !== 404) throw error; }
      part.result = result;
      part.now = now;
      part.id.name = result.metadata.name || part.id.name;
    } catch (error) {
      part.error = error.conflicts && error.conflicts.length ? "Other managers own what it changes: " + error.conflicts.map((one) => one.field + " – " + one.message).join("; ") : error.message;
      part.after = maker(part, parts, error);
    }
    part.warned = warned;
  }
  async function look() {
    if (working) return;
    working = true;
    busy(review, true);
    const how = way.value, text = area.value;
    const parts = documents(text).map((one, i) => ({ ...one, number: i + 1, id: identity(one.text), at: h("div", {}) }));
    try {
      for (const part of parts) await check(part, parts, how);
      if (area.value !== text || way.value !== how) { swap(out); return; }
      const bad = parts.filter((part) => part.error && !part.after).length;
      const go = button((how === "apply" ? "Apply " : "Create ") + (parts.length === 1 ? "it" : "all " + parts.length), () => make(parts, how, go), { class: "first", disabled: bad > 0 });
      swap(out, parts.length ? parts.map((part) => shown(part, how)) : note("bad", "There is no document."),
        parts.length > 0 && h("div", { class: "actions" }, go, bad > 0 && h("span", { class: "dim" }, "Nothing is written while a document has an error.")));
      if (parts.length && !bad) go.focus({ preventScroll: true });
      if (parts.length) (parts.find((part) => part.error) || parts[0]).at.scrollIntoView({ block: "nearest" });
    } catch (error) { swap(out, note("bad", error.message)); } finally {
      working = false;
      busy(review, false);
      refocus(review);
    }
    document.body.dataset.reviewed = parts.length;
  }
  function shown(part, how) {
    const { id, error, after, result, now } = part;
    part.words = h("h3", {}, "Document " + part.number + ", line " + part.line + ": ", name(id.kind || "?"), "/", name(id.name || (result && result.metadata.generateName) || "?"), part.space && [" in ", name(part.space)]);
    const bare = (one) => without(one, "metadata.managedFields", "metadata.resourceVersion", "metadata.generation");
    swap(part.at, (part.warned || []).map((text) => note("warn", text)));
    if (error) part.at.append(after ? note("warn", "It can be checked when document " + after + " is there: " + error) : note("bad", error));
    else if (now) part.at.append(diffView(bare(now), bare(result), { label: "What would change" }) || note("good", "Nothing would change."));
    else part.at.append(note("good", how === "apply" ? "It is not there yet; this would be made." : "This would be made."), yamlView(result));
    return h("section", { class: "document", "data-document": part.number }, part.words, part.at);
  }
  // In order, up to the first that fails: later ones may need it.
  async function make(parts, how, go) {
    if (working) return;
    working = true;
    busy(go, true);
    busy(review, true);
    let count = 0;
    for (const part of parts) {
      try {
        for (let tries = 0; part.error; tries++) {  // what it needs was just made
          await check(part, parts, how);
          if (part.error && tries === TRIES) throw new Error(part.error);
          if (part.error) await api.pause(TRY_MS);
        }
        const result = await send(part, how, false, () => {});
        count++;
        swap(part.at, h("p", { class: "good" }, how === "apply" ? "Applied: " : "Created: ", h("a", { href: link(part.known, part.space, result.metadata.name) }, part.known.kind + "/", name(result.metadata.name))));
      } catch (error) {
        swap(part.at, note("bad", error.message));
        break;
      }
    }
    working = false;
    busy(review, false);
    if (count === parts.length) {
      const close = button("Close", () => box.close(), { class: "first" }), had = document.activeElement === go;
      go.replaceWith(close);
      if (had) close.focus({ preventScroll: true });
    }
    else put(go, count + " of " + parts.length + " done");
    document.body.dataset.created = count;
  }
}
