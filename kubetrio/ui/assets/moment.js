// A moment of the cluster, by the clock and by revision: both are shown, and either chooses it.

import * as api from "./api.js";
import { h, moment, put } from "./dom.js";

const known = new Map();
// The revision `at`, or the newest, with its time, and the bounds of what is kept.
export function momentOf(at) {
  if (!at) return api.get("/ui/moment");
  if (!known.has(at)) {
    const asked = api.get("/ui/moment", { query: { revision: at } });
    asked.catch(() => known.delete(at));
    known.set(at, asked);
  }
  return known.get(at);
}
function local(text) {
  const when = new Date(text), zone = when.getTimezoneOffset() * 60000;
  return Number.isNaN(+when) ? "" : new Date(when - zone).toISOString().slice(0, 19);
}

// go(revision): shows the cluster then.
export function momentForm({ at, go }) {
  const time = h("input", { type: "datetime-local", step: "1" }), revision = h("input", { type: "number", min: "1", class: "revision" });
  const said = h("span", { class: "bad", role: "alert" });
  momentOf(at).then((found) => {
    time.value = local(found.time);
    revision.value = found.revision;
    if (found.oldestTime) time.min = local(found.oldestTime);
    if (found.newestTime && at) time.max = local(found.newestTime);
  }, (error) => put(said, error.message));
  const byTime = async () => {
    const when = new Date(time.value);
    if (Number.isNaN(+when)) return;
    try { go(String((await api.get("/ui/moment", { query: { time: when.toISOString().slice(0, 19) + "Z" } })).revision)); } catch (error) { put(said, error.message); }
  };
  let last = null;
  for (const one of [time, revision]) one.addEventListener("input", () => { last = one; put(said, ""); });
  const show = () => { if (last === revision) { if (revision.value) go(revision.value); } else byTime(); };
  const form = h("form", { class: "moment", onsubmit: (event) => { event.preventDefault(); show(); } },
    h("label", {}, h("span", { class: "dim" }, "Time "), time), h("label", {}, h("span", { class: "dim" }, "Revision "), revision),
    h("button", {}, "Show"), said);
  return form;
}
// A revision in words, its time when that is known.
export function momentWords(at) {
  const words = h("span", { class: "when" });
  momentOf(at).then((found) => { if (found.time) put(words, ", " + moment(found.time)); }, () => { /* the form says why */ });
  return ["revision " + at, words];
}
