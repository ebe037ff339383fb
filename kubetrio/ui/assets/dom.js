// Elements without markup: whatever a name or a value holds becomes text, never HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.setAttribute("class", value);
    else if (key === "value" || key === "checked" || key === "disabled" || key === "hidden") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  return add(node, children);
}
// One after the other: there may be more than a call takes arguments.
export function add(node, ...children) {
  for (const one of children.flat(Infinity)) if (one !== null && one !== undefined && one !== false) node.append(one);
  return node;
}
export function h(tag, props, ...children) { return fill(document.createElement(tag), props, children); }
export function s(tag, props, ...children) { return fill(document.createElementNS(SVG, tag), props, children); }

// Text of unknown direction beside other text.
export function name(text, props) { return h("bdi", props, String(text)); }
export function put(node, text) { if (node.textContent !== text) node.textContent = text; return node; }
export function swap(node, ...children) {
  const all = children.flat(Infinity);
  node.replaceChildren();
  return add(node, all);
}
// The first of a list as elements, and how many more there are.
export function few(list, most, draw, more = (words) => h("span", { class: "dim" }, words)) {
  const shown = list.slice(0, most).map(draw);
  return list.length > most ? [shown, more("and " + (list.length - most) + " more")] : shown;
}
// A row of a plain table, whose cells have the names of their columns where a narrow window shows them below each other.
export function tableRow(heads, props, ...cells) {
  const row = h("tr", props, ...cells);
  [...row.children].forEach((cell, i) => { cell.dataset.label = heads[i]; });
  return row;
}
// Draws; what cannot be drawn is said in its place, and is no fault of the connection.
export function drawing(node, work) {
  try { return work(); } catch (error) {
    swap(node, note("bad", "This cannot be drawn: " + error.message));
    node.dataset.undrawn = "yes";
    return null;
  }
}
// A list, whatever stands in its place.
export function listOf(value) { return Array.isArray(value) ? value : []; }
export function objectOf(value) { return value !== null && typeof value === "object" ? value : {}; }
// The focus goes to a control when what had it is gone.
export function refocus(control) {
  if (document.activeElement === document.body || document.activeElement === null) control.focus({ preventScroll: true });
}
// A control that is busy keeps the focus, which one that is disabled loses.
export function busy(control, is) { control.setAttribute("aria-disabled", String(is)); }
export function button(label, onclick, props) {
  return h("button", { type: "button", onclick, ...props }, label);
}

const ICONS = {
  objects: "M4 5h16M4 12h16M4 19h16", history: "M12 7v5l3 2M4 12a8 8 0 1 0 2.6-5.9L4 8.5M4 4v4.5h4.5",
  script: "M9 6h11M9 12h11M9 18h11M4 6h.1M4 12h.1M4 18h.1", load: "M4 19V5m0 14h16M8 15l4-5 3 3 5-7", menu: "M4 6h16M4 12h16M4 18h16", close: "M6 6l12 12M18 6L6 18",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z", back: "M15 5l-7 7 7 7", sun: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
};
export function icon(which) {
  return s("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, s("path", { d: ICONS[which] }));
}

// ---------------------------------------------------------------- words for numbers

export function bytes(n) {
  if (n >= 1e9) return (n / 1e9).toFixed(2) + " GB";
  if (n >= 1e6) return (n / 1e6).toFixed(1) + " MB";
  return n >= 1e3 ? (n / 1e3).toFixed(1) + " kB" : Math.round(n) + " B";
}
export function seconds(n) {
  if (n < 0.001) return (n * 1e6).toFixed(0) + " µs";
  return n < 1 ? (n * 1e3).toFixed(n < 0.01 ? 1 : 0) + " ms" : n.toFixed(n < 10 ? 1 : 0) + " s";
}
export function number(n) {
  if (n >= 1e6) return (n / 1e6).toFixed(1) + "M";
  return n >= 1e4 ? (n / 1e3).toFixed(1) + "k" : n.toFixed(n < 10 && n % 1 ? 1 : 0);
}

// How long ago, in the words of kubectl.
export function age(from, now = Date.now()) {
  const all = Math.max(0, Math.floor((now - from) / 1000));
  const minutes = Math.floor(all / 60), hours = Math.floor(all / 3600), days = Math.floor(all / 86400);
  if (all < 120) return all + "s";
  if (minutes < 10) return minutes + "m" + (all % 60 ? (all % 60) + "s" : "");
  if (minutes < 180) return minutes + "m";
  if (hours < 8) return hours + "h" + (minutes % 60 ? (minutes % 60) + "m" : "");
  if (hours < 48) return hours + "h";
  if (days < 8) return days + "d" + (hours % 24 ? (hours % 24) + "h" : "");
  if (days < 730) return days + "d";
  const years = Math.floor(days / 365);
  return years < 8 && days % 365 ? years + "y" + (days % 365) + "d" : years + "y";
}
export function moment(text) {
  if (!text) return "–";
  const when = new Date(text);
  return Number.isNaN(+when) ? text : when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}
export function stamp(text) {
  return text ? h("time", { datetime: text, title: text }, moment(text)) : h("span", { class: "dim" }, "–");
}

// ---------------------------------------------------------------- dialogs and notes

export function dialog(title, body, { wide, onclose } = {}) {
  const id = "dialog-" + Math.floor(performance.now() * 1000);
  const close = button(icon("close"), () => box.close(), { class: "quiet", "aria-label": "Close" });
  const box = h("dialog", { class: wide ? "wide" : "", "aria-labelledby": id },
    h("header", {}, h("h2", { id }, title), close), h("div", { class: "body" }, body));
  const leave = new AbortController();
  box.addEventListener("close", () => { leave.abort(); box.remove(); if (onclose) onclose(); });
  addEventListener("hashchange", () => box.close(), { signal: leave.signal });  // a link in it leads to another page
  document.body.append(box);
  box.showModal();
  const first = box.querySelector("textarea, [data-first]");
  if (first) { first.focus(); if (first.setSelectionRange) first.setSelectionRange(0, 0); }
  return box;
}
export function note(kind, ...words) {
  return h("p", { class: "note " + kind, role: kind === "bad" ? "alert" : "status" }, ...words);
}
