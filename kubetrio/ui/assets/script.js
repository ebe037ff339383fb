// The steps of a script: what was sent, what was answered, and the cluster at each of them.

import * as api from "./api.js";
import { h, button, name, put, stamp, swap, note, tableRow } from "./dom.js";
import { Grid } from "./grid.js";
import { link } from "./kinds.js";
import { showKinds } from "./objects.js";
import { bodyView, diffView, folded } from "./text.js";

const WAY = "kubetrio.bodies", SECOND = 19;  // of a time, without its zone
let asked = null;
function steps() { asked = asked || api.get("/ui/steps"); return asked; }

function words(step) {
  if (step.do === "request") return step.method + " " + step.path;
  if (step.do === "watch") return "watch " + step.path;
  if (step.do === "move") return "move the clock by " + step.seconds + " s";
  if (step.do === "fault") return step.rule ? "fault " + step.rule.fault : "end all faults";
  return step.do;
}
function ended(step) {
  const said = [step.status || "", step.do === "watch" && step.status === 200 ? step.events + " events" : "", step.error, step.otherwise ? "answered otherwise" : ""];
  return said.filter(Boolean).join(", ");
}
function about(step) { const one = step.object; return one ? (one.namespace ? one.namespace + "/" : "") + one.name : ""; }
function tone(text) { return /^[45]|otherwise|^no/.test(text) ? "bad" : /^2/.test(text) ? "good" : ""; }
const COLUMNS = [
  { name: "Step", number: true, key: (row) => row.step.number, text: (row) => String(row.step.number) },
  { name: "Time", key: (row) => row.step.time, text: (row) => row.step.time.slice(0, SECOND).replace("T", " ") },
  { name: "Answer", tone, key: (row) => ended(row.step), text: (row) => ended(row.step) },
  { name: "What", link: true, key: (row) => words(row.step), text: (row) => words(row.step) },
  { name: "Object", key: (row) => about(row.step), text: (row) => about(row.step) },
  { name: "Revision", number: true, key: (row) => row.step.revision, text: (row) => String(row.step.revision) },
  { name: "User", key: (row) => row.step.user || "", text: (row) => row.step.user || "" },
];

export function scriptPage(context) {
  const number = Number(context.parts[1]);
  if (!context.parts[1]) return listPage(context);
  if (number >= 1 && number <= context.about.steps && Number.isInteger(number)) return stepPage(context, number);
  showKinds(context, null, "", String(context.about.at));
  return h("section", { class: "page" }, note("bad", "The script has no such step: " + context.parts[1]), h("p", {}, h("a", { href: "#/script" }, "Script")));
}

function listPage(context) {
  const { signal, about: server } = context;
  showKinds(context, null, "", String(server.at));
  const grid = new Grid({ open: (row) => { location.hash = "#/script/" + row.uid; }, href: (row) => "#/script/" + row.uid, label: "Steps" });
  signal.addEventListener("abort", () => grid.close());
  const total = h("span", { class: "dim", role: "status" }), search = h("input", { type: "search", placeholder: "part of a path, an answer or a name", autocomplete: "off", spellcheck: "false" });
  const said = h("div", {}, note("", "Reading …")), seed = h("span", { class: "kind" });
  let rows = new Map();
  const match = () => {
    const wanted = search.value.trim().toLowerCase();
    return wanted ? (row) => COLUMNS.some((column) => column.text(row).toLowerCase().includes(wanted)) : null;
  };
  grid.setColumns(COLUMNS);
  grid.element.hidden = true;  // until what stands above it has its height, and its columns their widths
  grid.arranged = (shown) => { grid.element.hidden = false; put(total, shown + (shown === rows.size ? "" : " of " + rows.size) + " steps"); document.body.dataset.steps = shown; };
  search.addEventListener("input", () => grid.setRows(rows, { filter: match() }));
  search.addEventListener("keydown", (event) => { if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); grid.focus(0); } });
  steps().then((script) => {
    rows = new Map(script.items.map((step) => [String(step.number), { uid: String(step.number), order: String(step.number).padStart(9, "0"), step }]));
    put(seed, "seed " + script.seed + (Object.keys(script.server).length ? ", " + JSON.stringify(script.server) : ""));
    swap(said, overall(script));
    grid.setRows(rows);
  }, (error) => swap(said, note("bad", error.message)));
  return h("section", { class: "page", "aria-label": "Script" },
    h("div", { class: "heading" }, h("h1", {}, "Script"), seed, total),
    h("div", { class: "tools" }, h("label", { class: "field" }, "Search", search)), said, grid.element);
}
function overall(script) {
  if (!script.answers) return note("", "The script has no recorded answers: these are those of now.");
  const other = script.items.filter((step) => step.otherwise);
  if (!other.length) return note("good", "All steps are answered as recorded.");
  return note("warn", other.length + " of " + script.items.length + " steps are answered otherwise now than recorded, the first is step ",
    h("a", { href: "#/script/" + other[0].number }, String(other[0].number)), ". The cluster at each step is that of now.");
}

function stepPage(context, number) {
  const { signal } = context, slot = h("div", {}), count = context.about.steps;
  const way = h("select", { "aria-label": "Bodies as" }, h("option", { value: "yaml" }, "YAML"), h("option", { value: "json" }, "JSON"));
  way.value = sessionStorage.getItem(WAY) || "yaml";
  const go = (to) => { if (to > 0 && to <= count) location.hash = "#/script/" + to; };
  const turn = (words, to) => button(words, () => go(to), { disabled: to < 1 || to > count });
  addEventListener("keydown", (event) => {
    const typing = /^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") go(number + 1);
    if (event.key === "k") go(number - 1);
  }, { signal });
  const heading = h("h1", {}, "Step " + number);
  api.get("/ui/steps/" + number, { signal }).then(async (step) => {
    showKinds(context, null, "", String(step.revision));
    const changes = await changed(step, signal);  // before all is drawn, so that nothing moves
    const draw = () => swap(slot, drawn(context, step, changes, way.value));
    way.addEventListener("change", () => { sessionStorage.setItem(WAY, way.value); draw(); });
    draw();
    document.body.dataset.step = number;
  }).catch((error) => { if (error.name !== "AbortError") swap(slot, note("bad", error.message)); });
  return h("section", { class: "page scrolls", "aria-label": "Step " + number },
    h("div", { class: "heading" }, h("a", { href: "#/script" }, "Script"), heading, h("span", { class: "kind" }, "of " + count), h("span", { class: "grow" }),
      h("label", { class: "as" }, h("span", { class: "dim" }, "Bodies as "), way), turn("Previous", number - 1), turn("Next", number + 1)), slot);
}

function drawn(context, step, changes, how) {
  const { kinds } = context, answer = step.answer, sent = step.sent;
  const card = (title, ...inside) => h("section", { class: "card all" }, h("h2", {}, title), inside);
  const object = step.object && kinds.named(step.object.group, step.object.resource);
  const facts = [["What", h("code", {}, name(words(step)))], ["Answer", h("span", { class: tone(ended(step)) }, name(ended(step) || "–"))],
    ["Clock", [stamp(step.time), step.until !== step.time && [" to ", stamp(step.until)]]],
    step.user && ["User", [name(step.user), step.groups.length ? [" in ", name(step.groups.join(", "))] : ""]],
    object && ["Object", h("a", { href: link(object, step.object.namespace, step.object.name) + "?at=" + step.revision }, object.kind + "/", name(step.object.name))],
    ["Revision", [step.before === step.revision ? String(step.revision) : step.before + " to " + step.revision, " ", h("a", { href: "#/objects?at=" + step.revision }, "the cluster then")]]].filter(Boolean);
  const earlier = step.earlier && diffView(step.earlier.object, answer.json, { label: "Difference" });
  return h("div", { class: "cards" },
    h("section", { class: "card" }, h("h2", {}, "Step"), h("dl", { class: "facts" }, facts.map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]))),
    h("section", { class: "card" }, h("h2", {}, "Changes"), changes),
    step.differences && card("Answered otherwise now", otherwise(step)),
    step.rule && card("Rule", bodyView({ json: step.rule }, how)),
    sent && (full(sent) || sent.headers.length > 0) && card("Sent", headers(sent.headers), full(sent) && bodyView(sent, how)),
    step.earlier && card("What differs from the answer of step " + step.earlier.number, earlier || note("good", "Nothing that is shown differs.")),
    (full(answer) || answer.lines || Object.keys(answer.headers).length > 0) && card("Answered", headers(Object.entries(answer.headers)), full(answer) && bodyView(answer, how),
      (answer.lines || []).map((event, i) => folded(eventWords(event, i), (fold) => fold.append(bodyView(event, how))))));
}
const OTHERWISE = ["Where", "Recorded", "Now"];
// Bodies that are objects as a difference, all else as it is.
function otherwise(step) {
  const { answer, now, differences } = step, object = (body) => body.json && typeof body.json === "object" && !Array.isArray(body.json);
  const both = object(answer) && object(now) ? diffView(answer.json, now.json, { managed: true, label: "Recorded and now" }) : null;
  const rows = differences.filter((one) => !both || !/^answer\.(?:json|jsonLine|text|base64)\b/.test(one.where));
  return [rows.length > 0 && h("div", { class: "wide-table" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, OTHERWISE.map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, rows.map((one) => tableRow(OTHERWISE, {}, [one.where, one.script, one.now].map((text) => h("td", {}, name(text)))))))),
  step.otherwise > differences.length && h("p", { class: "dim" }, "and " + (step.otherwise - differences.length) + " more"), both];
}
function full(body) { return ["json", "text", "base64"].some((form) => form in body); }
function headers(list) {
  return list.length ? h("details", {}, h("summary", {}, list.length + (list.length === 1 ? " header" : " headers")), h("dl", { class: "facts" }, list.map(([key, value]) => [h("dt", {}, name(key)), h("dd", {}, name(value))]))) : null;
}
function eventWords(event, i) {
  const value = event.json || {}, meta = (value.object && value.object.metadata) || {};
  return [i + 1 + ". " + (value.type || "") + " ", name([value.object && value.object.kind, meta.name].filter(Boolean).join("/"))];
}

// What the step and all that followed from it wrote.
async function changed(step, signal) {
  if (step.before === step.revision) return h("p", { class: "dim" }, "None.");
  try {
    const found = await api.get("/ui/history/", { query: { after: step.before, before: step.revision + 1 }, signal });
    return [h("ul", { class: "list" }, found.items.reverse().map((item) => {
      const kind = { group: item.group, resource: item.resource };
      return h("li", {}, h("span", { class: "badge " + item.verb }, item.verb), " ", h("a", { href: link(kind, item.namespace, item.name, "history") }, item.kind + "/", name(item.name)),
        h("span", { class: "dim" }, item.namespace ? [" in ", name(item.namespace)] : "", item.manager ? [" by ", name(item.manager)] : ""));
    })), found.after > step.before ? note("", "Those up to revision " + found.after + " are on the page History.") : null];
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return note("bad", error.message);
  }
}
