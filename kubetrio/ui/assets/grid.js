// A table of many rows: only those that are seen are in the page, and each keeps its element.
// Rows are values: one that changed is another row with the same `uid`.

import { h, age, put } from "./dom.js";

const ROW = 34, SPARE = 8, SAMPLE = 300, FRAME_MS = 100;

export class Grid {
  // open(row): what Enter and a click do.  label: what a screen reader calls the table.
  constructor({ open, label, href }) {
    this.open = open;
    this.href = href;
    this.columns = [];
    this.all = new Map();
    this.sorted = [];  // all rows in the order of the table, whether the filter shows them or not
    this.rows = [];
    this.pool = [];
    this.sort = { column: 0, down: false };
    this.at = 0;
    this.moment = 0;  // milliseconds of what is shown, in place of now
    this.drawn = 0;
    this.head = h("div", { class: "grid-head", role: "row" });
    this.headGroup = h("div", { role: "rowgroup", class: "grid-headgroup" }, this.head);
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.empty = h("p", { class: "grid-empty", hidden: true });
    this.table = h("div", { class: "grid", role: "grid", "aria-label": label }, this.headGroup, this.body);
    this.element = h("div", { class: "grid-scroll", tabindex: "-1" }, this.table, this.empty);
    this.element.addEventListener("scroll", () => this.paint(), { passive: true });
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("click", (event) => {
      const line = event.target.closest(".grid-row");
      if (!line || event.target.closest("a") || getSelection().toString()) return;
      this.open(line.row);
    });
    this.resizing = new ResizeObserver(() => this.paint());
    this.resizing.observe(this.element);
    this.clock = setInterval(() => { if (!document.hidden) this.paint(); }, 1000);
  }
  close() { clearInterval(this.clock); this.resizing.disconnect(); }

  // [{ name, key(row) for sorting, text(row, now), ages: whether the text depends on `now`, number, tone(text), link }]
  setColumns(columns) {
    this.columns = columns;
    this.widths = null;
    this.sorted = [];
    this.head.replaceChildren(...columns.map((column, i) => {
      const click = () => {
        this.sort = { column: i, down: this.sort.column === i && !this.sort.down };
        this.mark();
        this.sorted = [];
        this.arrange(true);
      };
      const sorter = h("button", { type: "button", onclick: click, title: column.hint || null }, column.name);
      return h("div", { role: "columnheader", class: this.kindOf(i) }, sorter);
    }));
    for (const line of this.pool) line.remove();
    this.pool = [];
    this.mark();
  }
  mark() {
    [...this.head.children].forEach((cell, i) => {
      const on = this.sort.column === i;
      cell.setAttribute("aria-sort", on ? (this.sort.down ? "descending" : "ascending") : "none");
    });
  }
  // Rows by uid as they are now; drawn ten times a second at most.
  setRows(rows, { filter } = {}) {
    this.all = rows;
    this.filter = filter;
    if (this.waiting) return;
    const wait = Math.max(0, FRAME_MS - (performance.now() - this.drawn));
    this.waiting = setTimeout(() => requestAnimationFrame(() => { this.waiting = null; this.arrange(); }), wait);
  }
  arrange(jump) {
    const column = this.columns[this.sort.column];
    if (!column) return;
    this.sorted = this.order(column);
    this.rows = this.filter ? this.sorted.filter(this.filter) : this.sorted;
    if (!this.widths && this.rows.length) this.measure();
    if (jump) this.element.scrollTop = 0;
    this.at = Math.min(this.at, Math.max(0, this.rows.length - 1));
    this.paint();
    this.drawn = performance.now();
    if (this.arranged) this.arranged(this.rows.length);
  }
  // All rows in order.  Most rows stay where they were: only those that are new, or have another key, are compared with others.
  order(column) {
    const way = this.sort.down ? -1 : 1, keyed = (row) => { if (row.by !== column) { row.by = column; row.key = column.key(row); } return row.key; };
    const before = (a, b) => way * compare(keyed(a), keyed(b)) || compare(a.order, b.order);
    const stay = [], moved = [], placed = new Set();
    for (const old of this.sorted) {
      const row = this.all.get(old.uid);
      if (!row) continue;
      placed.add(row.uid);
      (row === old || keyed(row) === keyed(old) ? stay : moved).push(row);
    }
    if (placed.size < this.all.size) for (const row of this.all.values()) if (!placed.has(row.uid)) moved.push(row);
    if (!moved.length) return stay;
    if (moved.length > stay.length / 4) return [...stay, ...moved].sort(before);
    moved.sort(before);
    const all = [];
    let from = 0;
    for (const row of moved) {
      let low = from, high = stay.length;
      while (low < high) { const middle = (low + high) >> 1; if (before(stay[middle], row) <= 0) low = middle + 1; else high = middle; }
      for (; from < low; from++) all.push(stay[from]);
      all.push(row);
    }
    for (; from < stay.length; from++) all.push(stay[from]);
    return all;
  }
  measure() {
    const step = Math.max(1, Math.floor(this.rows.length / SAMPLE));
    this.widths = this.columns.map((column) => {
      let most = column.name.length + 2;
      for (let i = 0; i < this.rows.length; i += step) most = Math.max(most, Math.min(column.text(this.rows[i], this.moment || Date.now()).length, 64));
      return `minmax(${Math.min(most, 42) * 0.58 + 1.6}rem, ${most}fr)`.replace(/([\d.]+)rem/, (_, n) => (Number(n)).toFixed(2) + "em");
    });
    this.table.style.setProperty("--columns", this.widths.join(" "));
  }
  paint() {
    const count = this.rows.length, from = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE);
    const upto = Math.min(count, from + Math.ceil(this.element.clientHeight / ROW) + 2 * SPARE);
    if (count !== this.count) {
      this.count = count;
      this.table.setAttribute("aria-rowcount", String(count + 1));
      this.body.style.height = count * ROW + "px";
    }
    const size = Math.max(0, upto - from);
    while (this.pool.length < size) this.pool.push(this.line());
    const now = this.moment || Date.now();
    this.pool.forEach((line, slot) => {
      const i = size ? from + ((slot - from) % this.pool.length + this.pool.length) % this.pool.length : count;
      if (i >= upto) { if (line.isConnected) line.remove(); line.row = null; line.index = -1; return; }
      this.fill(line, i, now);
      if (!line.isConnected) this.body.append(line);
    });
  }
  line() {
    const link = h("a", { tabindex: "-1" }, h("bdi"));
    const cells = this.columns.map((_, i) => h("div", { role: "gridcell", class: this.kindOf(i) }, i === this.linked() ? link : h("bdi")));
    const line = h("div", { class: "grid-row", role: "row", tabindex: "-1" }, cells);
    line.cells = cells.map((cell) => { const text = cell.querySelector("bdi"); text.append(""); return text; });
    line.link = link;
    return line;
  }
  kindOf(i) { return i === this.linked() ? "named" : this.columns[i].number ? "number" : ""; }
  linked() { return Math.max(0, this.columns.findIndex((column) => column.link)); }
  fill(line, i, now) {
    const row = this.rows[i], same = line.row === row && line.index === i;
    if (line.index !== i) {
      line.style.transform = `translateY(${i * ROW}px)`;
      line.setAttribute("aria-rowindex", String(i + 2));
    }
    if (!line.row || line.row.uid !== row.uid) line.link.setAttribute("href", this.href(row));
    const focus = i === this.at ? "0" : "-1";
    if (line.tab !== focus) line.setAttribute("tabindex", (line.tab = focus));
    line.index = i;
    line.row = row;
    for (let k = 0; k < this.columns.length; k++) {
      const column = this.columns[k];
      if (same && !column.ages) continue;
      const text = column.text(row, now), cell = line.cells[k];
      if (text === cell.said) continue;
      cell.said = text;
      cell.firstChild.nodeValue = text;
      const title = text.length > 24 ? text : "", tone = column.tone ? column.tone(text) : "";
      if (cell.parentNode.title !== title) cell.parentNode.title = title;
      if (cell.className !== tone) cell.className = tone;
    }
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2), last = this.rows.length - 1;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && event.target.row) { event.preventDefault(); this.open(event.target.row); return; }
    if (!(event.key in moves) || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.focus(Math.min(last, Math.max(0, this.at + moves[event.key])));
  }
  focus(i) {
    if (!this.rows.length) return;
    this.at = i;
    const top = i * ROW, box = this.element, head = this.headGroup.offsetHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + ROW + head > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW + head - box.clientHeight;
    this.paint();
    const line = this.pool.find((one) => one.row && one.index === i);
    if (line) line.focus({ preventScroll: true });
  }
  say(text) {
    this.empty.hidden = !text;
    put(this.empty, text || "");
  }
}

const WORDS = new Intl.Collator(undefined, { numeric: true });
function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return a === b ? 0 : WORDS.compare(String(a), String(b));
}

// ---------------------------------------------------------------- columns of a Table

const GOOD = /^(?:Running|Active|Bound|Ready|True|Available|Succeeded|Completed|Complete|Normal)$/;
const BAD = /^(?:Failed|Error|CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|Evicted|Lost|NotReady|Warning)/;
const WAIT = /^(?:Pending|Terminating|ContainerCreating|Released|Unknown|PodInitializing|Init:)/;
export function tone(text) {
  if (GOOD.test(text)) return "good";
  return BAD.test(text) ? "bad" : WAIT.test(text) ? "warn" : "";
}

// Columns of the server's own table; ages go on by themselves.
export function columnsOf(definitions, { namespaces, wide }) {
  const shown = definitions.map((column, i) => [column, i]).filter(([column]) => wide || column.priority === 0);
  const made = shown.map(([column, i]) => {
    const created = column.name === "Age" && /creat/i.test(column.description || "created");
    const number = column.type === "integer" || column.type === "number";
    return {
      name: column.name, hint: column.description, number, link: i === 0, tone: i === 0 ? null : tone, ages: created,
      text: created ? (row, now) => age(row.born, now) : (row) => words(row.cells[i]),
      key: created ? (row) => -row.born : (row) => (number ? amount(row.cells[i]) : words(row.cells[i])),
    };
  });
  if (namespaces) {
    const of = (row) => row.namespace;
    made.unshift({ name: "Namespace", text: of, key: of });
  }
  return made;
}
function amount(value) { const n = Number(value); return Number.isNaN(n) ? -1 : n; }
function words(value) { return value === null || value === undefined ? "" : Array.isArray(value) ? value.join(",") : String(value); }
