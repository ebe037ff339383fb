// Flow control as it is now: priority levels, their seats and queues, and whose requests wait.

import * as api from "./api.js";
import { h, s, name, number, put, seconds, swap, button, note } from "./dom.js";

export const PATH = "/debug/api_priority_and_fairness/state";
const RATES_S = 3, WAITS_S = 10, KEPT_OPEN_S = 30, HISTORY = 120, SHOWN_QUEUES = 512;
const SILENT_MS = 5000, AGAIN_MS = 2000;
const FIELDS = [
  ["waiting", "waiting", "Requests in queues now"],
  ["oldest", "oldest", "How long the oldest of them has waited"],
  ["p50", "p50 wait", "Half of the requests of the last 10 s waited no longer"],
  ["p99", "p99 wait", "All but a hundredth of the requests of the last 10 s waited no longer"],
  ["rate", "started/s", "Requests dispatched a second, over 3 s"],
  ["refused", "refused/s", "Requests answered 429 a second, over 3 s"]];
const KEY = [["use", "seats in use"], ["own", "own seats"], ["borrowed", "borrowed"], ["lent", "lent"], ["mark", "nominal limit"],
  ["wait", "requests waiting"], ["run", "a queue that executes"]];
const REFUSALS = { 403: "Not allowed to see flow control: it needs get on /debug/api_priority_and_fairness/*.",
  404: "This server has no priority levels: it was started with --enable-priority-and-fairness=false." };

const total = (map) => Object.values(map).reduce((a, b) => a + b, 0);
const find = (state, level) => state && state.levels.find((one) => one.name === level);
const clock = (wall) => wall.slice(11, 19) + " UTC";

export class Flow {
  // told(which, words): that the numbers are live, held or old.  title(words): what the tab is called.
  constructor({ told, title }) {
    this.told = told;
    this.title = title;
    this.past = [];  // states of the last WAITS_S of one connection, oldest first
    this.last = null;
    this.held = false;
    this.cards = new Map();
    this.trouble = h("div", { "aria-live": "polite" });
    this.sum = h("span", { class: "dim" });
    this.levels = h("div", { class: "levels" });
    this.hold = button("Pause", () => this.pause(), { "aria-pressed": "false", title: "Hold the numbers still (p)" });
    this.element = h("section", { "aria-label": "Who waits now" },
      h("div", { class: "heading" }, h("h2", {}, "Who waits now"), h("span", { class: "kind" }, "API Priority and Fairness"), this.sum,
        h("span", { class: "grow" }), this.hold),
      h("ul", { class: "legend", "aria-label": "Key" }, KEY.map(([id, words]) => h("li", {}, h("i", { class: id }), words))),
      h("p", { class: "dim" }, "Requests of members of system:masters, such as the administrator of the kubeconfig that the server writes, are exempt: "
        + "they never wait, and count in the level exempt alone. The other levels are about all other clients."),
      this.trouble, this.levels);
  }

  // Follows the server while the page is open and seen.
  // denied: why the user may not see it.
  async run(signal, denied) {
    if (denied) { swap(this.trouble, note("bad", REFUSALS[403])); this.told("refused", denied); return; }
    addEventListener("keydown", (event) => {
      const typing = /^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "p" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) this.pause();
    }, { signal });
    while (!signal.aborted) {
      try {
        await seen(signal);
        await this.stream(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error.code in REFUSALS) { swap(this.trouble, note("bad", REFUSALS[error.code])); this.told("refused", error.message); return; }
        this.lost(error.message);
      }
      try { await api.pause(AGAIN_MS, signal); } catch { return; }
    }
  }
  // One connection, until it ends, says nothing for too long, or nobody looks.
  async stream(signal) {
    const leave = new AbortController(), { signal: left } = leave;
    let heard = Date.now(), hidden = false;
    const stop = () => leave.abort();
    signal.addEventListener("abort", stop, { signal: left });
    document.addEventListener("visibilitychange", () => { hidden = document.hidden; if (hidden) stop(); }, { signal: left });
    const watching = setInterval(() => { if (Date.now() - heard > SILENT_MS) stop(); }, 1000);
    this.past = [];  // this connection may be to another server
    try {
      await api.lines(PATH, { query: { watch: "1" }, signal: left, take: (states) => { heard = Date.now(); for (const state of states) this.take(state); } });
    } catch (error) {
      if (hidden || signal.aborted) return;
      throw error.name === "AbortError" ? new Error("The server says nothing any more.") : error;
    } finally { clearInterval(watching); stop(); }
    if (!hidden && !signal.aborted) throw new Error("The server ended the connection.");
  }
  take(state) {
    swap(this.trouble);
    this.element.classList.remove("stale");
    if (this.held) return;
    this.told("live", "live");
    this.show(state);
  }
  lost(why) {
    this.element.classList.add("stale");
    this.told("away", "not connected");
    swap(this.trouble, note("bad", why + (this.last ? " The numbers below are of " + clock(this.last.wall) + "." : "")));
  }
  pause() {
    this.held = !this.held;
    this.hold.setAttribute("aria-pressed", String(this.held));
    if (this.held) this.told("kept", "held"); else this.past = [];
  }

  show(state) {
    // A server that began anew counts from zero.
    const again = (level) => { const old = find(this.last, level.name); return old && level.dispatched < old.dispatched; };
    if (this.last && (state.time <= this.last.time || state.levels.some(again))) this.past = [];
    this.last = state;
    this.past = this.past.filter((one) => state.time - one.time <= WAITS_S);
    this.past.push(state);
    for (const [level, card] of this.cards) if (!find(state, level)) { card.box.remove(); this.cards.delete(level); }
    state.levels.forEach((level, i) => {
      if (!this.cards.has(level.name)) {
        const made = new Level(level.name);
        this.cards.set(level.name, made);
        this.levels.insertBefore(made.box, this.levels.children[i] || null);
      }
      this.cards.get(level.name).draw(level, state, { rates: this.before(RATES_S, level.name), waits: this.before(WAITS_S, level.name) });
    });
    const all = (key) => state.levels.reduce((a, level) => a + level[key], 0), waiting = all("waiting");
    put(this.sum, `${all("executing")} executing, ${waiting} waiting, ${state.serverSeats} seats`);
    this.title(waiting ? waiting + " waiting – " : "");
    document.body.dataset.flow = 1 + Number(document.body.dataset.flow || 0);
  }
  // The oldest state of the last so many seconds that has a level, to compare with; null when there is none.
  before(span, level) {
    return this.past.find((one) => one !== this.last && this.last.time - one.time <= span && find(one, level)) || null;
  }
}

function seen(signal) {
  if (!document.hidden) return null;
  const leave = new AbortController();
  return new Promise((done) => {
    const over = () => { if (!document.hidden || signal.aborted) { leave.abort(); done(); } };
    document.addEventListener("visibilitychange", over, { signal: leave.signal });
    signal.addEventListener("abort", over, { signal: leave.signal });
  });
}

// ---------------------------------------------------------------- one level

let made = 0;
class Level {
  constructor(called) {
    const id = "level-" + ++made;
    this.history = [];
    this.active = -Infinity;  // when something last waited or was refused, by the server's clock
    this.chosen = null;  // whether it is open, where the user has said so
    this.toggle = button(name(called), () => { this.chosen = this.more.hidden; this.unfold(); }, { class: "fold", "aria-controls": id + "-more", "aria-expanded": "false" });
    this.state = h("div", { class: "state-words" });
    this.own = h("b", { class: "own" });
    this.borrowed = h("b", { class: "borrowed" });
    this.use = h("b", { class: "use" });
    this.nominal = h("u");
    this.bar = h("div", { class: "bar", role: "img" }, this.own, this.borrowed, this.use, this.nominal);
    this.seats = h("div", { class: "dim seats-words" });
    this.cells = Object.fromEntries(FIELDS.map(([field]) => [field, h("dd")]));
    this.advice = h("div", { class: "advice" });
    this.details();
    this.more = h("div", { class: "more", id: id + "-more", hidden: true },
      h("div", {}, this.queuesTitle, this.queues), h("div", {}, this.flowsTitle, this.flows), h("div", {}, this.chartTitle, this.chart));
    this.box = h("section", { class: "level", "data-level": called, "aria-labelledby": id },
      h("div", {}, h("h3", { id }, this.toggle), this.state), h("div", {}, this.bar, this.seats),
      h("dl", {}, FIELDS.map(([field, words, title]) => h("div", { title }, h("dt", {}, words), this.cells[field]))), this.advice, this.more);
  }
  details() {
    [this.queuesTitle, this.flowsTitle, this.chartTitle] = [h("h4"), h("h4"), h("h4")];
    this.queues = h("div", { class: "queues", role: "img" });
    this.rows = h("tbody");
    this.flows = h("table", {}, h("thead", {}, h("tr", {}, ["schema / flow", "executing", "waiting"].map((words) => h("th", { scope: "col" }, words)))), this.rows);
    [this.used, this.waited] = [s("path", { class: "use" }), s("path", { class: "wait" })];
    this.chart = s("svg", { class: "minute", viewBox: `0 0 ${HISTORY} 100`, preserveAspectRatio: "none", role: "img" }, this.waited, this.used);
  }

  // before: earlier states to compare with, `rates` for what is over 3 s, `waits` for what is over 10 s.
  draw(level, state, before) {
    const old = find(before.rates, level.name), span = old ? Math.max(state.time - before.rates.time, 1e-3) : 1;
    const use = used(level, old), full = level.kind !== "Exempt" && use >= 0.95 * level.limit;
    const rate = old ? (level.dispatched - old.dispatched) / span : 0;
    const refused = old ? Math.max(0, total(level.rejected) - total(old.rejected)) / span : 0;
    if (level.waiting || refused) this.active = state.time;
    const kind = refused ? "refusing" : level.waiting ? "busy" : rate || level.executing ? "running" : "idle";
    this.box.className = "level " + kind + (level.quiescing ? " quiescing" : "");
    const words = [level.waiting ? "waiting for " + (full ? "seats" : "the event loop") : refused ? "" : kind, refused && "refusing",
      level.quiescing && "quiescing", level.kind !== "Queue" && level.kind];
    put(this.state, words.filter(Boolean).join(", "));
    this.drawBar(level, state, use);
    const waits = find(before.waits, level.name);
    const cells = { waiting: [level.waiting && number(level.waiting), "warn"], oldest: [level.waiting && seconds(level.oldest), ""],
      p50: [waits && quantile(level.waited, waits.waited, 0.5), ""], p99: [waits && quantile(level.waited, waits.waited, 0.99), ""],
      rate: [rate > 0 && number(rate), ""], refused: [refused > 0 && number(refused), "bad"] };
    for (const [field, [text, tone]] of Object.entries(cells)) {
      put(this.cells[field], text || "–");
      this.cells[field].className = text ? tone : "none";
    }
    put(this.advice, advice(level, refused, full));
    this.history.push([use, level.waiting]);
    if (this.history.length > HISTORY) this.history.shift();
    this.level = level;
    this.now = state.time;
    this.unfold();
  }
  // A level without a limit has no seats of its own to draw: what it uses is shown of the server's.
  drawBar(level, state, use) {
    const limited = level.kind !== "Exempt", own = limited ? level.nominal : 0, limit = limited ? level.limit : 0;
    const most = Math.max(own, limit, use, limited ? 1 : state.serverSeats), share = (n) => ((100 * Math.max(0, n)) / most).toFixed(2) + "%";
    this.bar.className = limited ? "bar" : "bar unlimited";
    this.own.style.width = share(Math.min(limit, own));
    this.borrowed.style.insetInlineStart = share(own);
    this.borrowed.style.width = share(limit - own);
    this.use.style.width = share(use);
    this.nominal.style.insetInlineStart = share(own);
    this.nominal.hidden = !own;
    const change = level.limit - level.nominal, many = number(use);
    const text = limited ? `${many} of ${level.limit} seats in use · nominal ${level.nominal}` + (change > 0 ? " · borrows " + change : change < 0 ? " · lends " + -change : "")
      : many + (many === "1" ? " seat" : " seats") + " in use · no limit, never waits";
    put(this.seats, text);
    this.bar.setAttribute("aria-label", text);
  }
  // A level is open while requests wait in it or are refused and half a minute after, or as the user has chosen.
  unfold() {
    const open = this.chosen === null ? this.now - this.active < KEPT_OPEN_S : this.chosen;
    this.more.hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    if (open && this.level) { this.drawQueues(); this.drawFlows(); this.drawChart(); }
  }
  drawQueues() {
    const { queues, used } = this.level, byIndex = new Map(used.map((one) => [one[0], one]));
    const shown = queues > SHOWN_QUEUES ? used.slice(0, SHOWN_QUEUES) : Array.from({ length: Math.max(queues, ...used.map(([i]) => i + 1)) }, (_, i) => byIndex.get(i) || [i, 0, 0]);
    put(this.queuesTitle, queues ? `${used.length} of ${queues} queues in use` : "no queues");
    this.queues.setAttribute("aria-label", this.queuesTitle.textContent);
    while (this.queues.children.length > shown.length) this.queues.lastChild.remove();
    while (this.queues.children.length < shown.length) this.queues.append(h("i", {}, h("b")));
    const most = Math.max(4, ...used.map((one) => one[1]));
    shown.forEach(([index, waiting, executing], i) => {
      const box = this.queues.children[i], height = waiting ? Math.max(15, (100 * waiting) / most) + "%" : "0", run = executing ? "run" : "";
      if (box.className !== run) box.className = run;
      const title = `queue ${index}: ${waiting} waiting, ${executing} executing`;
      if (box.title !== title) box.title = title;
      if (box.firstChild.style.height !== height) box.firstChild.style.height = height;
    });
  }
  drawFlows() {
    const { flows, rejected } = this.level;
    const reasons = Object.entries(rejected).map(([why, n]) => number(n) + " " + why).join(", ");
    put(this.flowsTitle, reasons ? "largest flows · refused so far: " + reasons : "largest flows");
    swap(this.rows, flows.map((one) => h("tr", {}, h("td", {}, name(one.schema + (one.flow ? " / " + one.flow : ""))), h("td", {}, String(one.executing)), h("td", {}, String(one.waiting)))),
      flows.length ? null : h("tr", {}, h("td", { colspan: "3" }, "none now")));
  }
  drawChart() {
    const peak = this.history.reduce((a, [use, waiting]) => Math.max(a, use + waiting), 0), first = HISTORY - this.history.length;
    put(this.chartTitle, "last minute: in use and waiting, at most " + number(Math.ceil(peak)));
    this.chart.setAttribute("aria-label", this.chartTitle.textContent);
    const area = (of) => this.history.map((one, i) => `M${first + i} 100v${(-100 * of(one)) / Math.max(peak, 1)}h1.05V100z`).join("");
    this.waited.setAttribute("d", area(([use, waiting]) => use + waiting));
    this.used.setAttribute("d", area(([use]) => use));
  }
}

// Mean seats in use since an earlier state: most requests are shorter than the time between two states.
function used(level, old) {
  const spent = old ? level.utilization.count - old.utilization.count : 0;
  if (!level.limit || spent <= 0) return level.seatsInUse;
  return ((level.utilization.sum - old.utilization.sum) / spent) * level.limit;
}
function advice(level, refused, full) {
  const most = level.flows.filter((one) => one.waiting).slice(0, 2).map((one) => `${one.flow || one.schema} (${one.waiting})`).join(", ");
  const who = most ? " Waiting most: " + most + "." : "";
  if (refused > 0) return "Refusing: queues are full, or requests waited too long. Raise nominalConcurrencyShares, or have clients ask less." + who;
  if (!level.waiting) return "";
  return (full ? "Waiting for seats: the level uses all it has. Raise nominalConcurrencyShares, or let other levels lend more (lendablePercent)."
    : "Waiting for the event loop: seats are free, but the server has no time to start more. More seats would not help.") + who;
}
// Upper end of the bucket of waiting times that a part of the requests since an earlier histogram are within; null when there were none.
function quantile(now, then, part) {
  const counts = now.counts.map((n, i) => n - (then.counts[i] || 0));
  let left = counts.reduce((a, b) => a + b, 0) * part;
  if (left <= 0) return null;
  for (let i = 0; i < counts.length; i++) {
    left -= counts[i];
    if (left <= 0) return i < now.bounds.length ? (now.bounds[i] ? "≤ " + seconds(now.bounds[i]) : "0") : "> " + seconds(now.bounds[now.bounds.length - 1]);
  }
  return null;
}
