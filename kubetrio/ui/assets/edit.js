// Edit and apply: always a dry run and what it would change first.

import * as api from "./api.js";
import { h, name, swap, button, busy, dialog, note, refocus } from "./dom.js";
import { typed } from "./kinds.js";
import { stayingView } from "./owners.js";
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
  let working = false;
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
    if (working) return;
    working = true;
    busy(review, true);
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
        input.how === "apply" && now && stayingView(result),
        diff && h("div", { class: "actions" }, go, force && h("span", { class: "warn" }, "Fields are taken over from their managers.")));
      if (diff) go.focus({ preventScroll: true });
      go.scrollIntoView({ block: "nearest" });
    } catch (error) { fail(error); } finally {
      working = false;
      busy(review, false);
      refocus(review);
    }
  }
  async function make(input, force) {
    if (working) return;
    working = true;
    try {
      const result = await write(input, false, force, () => {});
      box.close();
      if (done) done(result);
    } catch (error) { fail(error); } finally {
      working = false;
      if (box.isConnected) refocus(review);
    }
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
