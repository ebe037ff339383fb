// The load of the server: numbers of the last hour, and who waits now.

import * as api from "./api.js";
import { h, s, bytes, moment, name, number, put, seconds, swap, note } from "./dom.js";
import { showKinds } from "./objects.js";

const HOUR_MS = 10000, FLOW_MS = 2000, RATES_S = 5, WAITS_S = 10;
const FLOW = "/debug/api_priority_and_fairness/state";

export function loadPage(context) {
  const { signal } = context;
  showKinds(context, null, "", "");
  const out = h("div", {}), hour = new Hour(), flow = new Flow();
  const state = h("span", { class: "state", role: "status" }, "loading");
  repeat(signal, HOUR_MS, out, async () => { hour.show(await api.get("/ui/lasthour", { signal })); }, () => {});
  repeat(signal, FLOW_MS, flow.trouble, async () => { flow.show(await api.get(FLOW, { signal })); },
    (live) => { state.className = "state " + (live ? "live" : "away"); put(state, live ? "live" : "not connected"); });
  return h("section", { class: "page scrolls", "aria-label": "Load" },
    h("div", { class: "heading" }, h("h1", {}, "Load"), h("span", { class: "kind" }, "of the last hour"), h("span", { class: "grow" }), state),
    out, hour.element, flow.element);
}

// Runs `work` again and again while the page is open and seen.
async function repeat(signal, period, out, work, told) {
  while (!signal.aborted) {
    if (!document.hidden) {
      try { await work(); swap(out); told(true); } catch (error) {
        if (error.name === "AbortError") return;
        swap(out, note("bad", error.message));
        told(false);
        if (error.code === 403 || error.code === 404) return;
      }
    }
    try { await api.pause(period, signal); } catch { return; }
  }
}

// ---------------------------------------------------------------- the last hour

function rates(of) { return (data, i) => { const d = data.time[i] - data.time[i - 1]; return i && d > 0 ? Math.max(0, data[of][i] - data[of][i - 1]) / d : NaN; }; }
function plain(of) { return (data, i) => data[of][i]; }
function mean(data, i) {
  const n = i ? data.requests[i] - data.requests[i - 1] : 0;
  return n > 0 ? Math.max(0, data.seconds[i] - data.seconds[i - 1]) / n : NaN;
}
const CHARTS = [
  { title: "Requests a second", of: rates("requests"), show: number, second: rates("refused"), words: "refused" },
  { title: "Time of a request", of: mean, show: seconds, second: plain("slowest"), words: "99 of 100 within", hidden: true },
  { title: "Writes a second", of: rates("revision"), show: number },
  { title: "Watches", of: plain("watches"), show: number },
  { title: "Memory", of: plain("memory"), show: bytes, zero: false },
  { title: "Database", of: plain("size"), show: bytes, zero: false },
  { title: "Bytes written to disk a second", of: rates("written"), show: bytes },
];

class Hour {
  constructor() {
    this.charts = CHARTS.map((one) => new Chart(one));
    this.element = h("div", { class: "charts" }, this.charts.map((one) => one.element));
  }
  show(data) { for (const chart of this.charts) chart.show(data); document.body.dataset.hour = data.time.length; }
}

const WIDTH = 300, HEIGHT = 80, SPAN_S = 3600, SHORTEST_S = 300;
class Chart {
  constructor(what) {
    this.what = what;
    this.now = h("div", { class: "now" });
    this.left = h("span", {});
    this.right = h("span", {});
    this.area = s("path", { class: "area" });
    this.path = s("path", { class: "path" });
    this.second = s("path", { class: "path second" });
    this.cross = s("path", { class: "cross" });
    this.plot = s("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
      s("path", { class: "base", d: `M0 ${HEIGHT}H${WIDTH}` }), this.area, this.path, this.second, this.cross);
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => { this.cross.setAttribute("d", ""); this.rest(); });
    this.element = h("section", { class: "card chart" }, h("h2", {}, what.title), this.now, this.plot, h("div", { class: "under" }, this.left, this.right));
  }
  show(data) {
    const { of, second, show } = this.what, count = data.time.length;
    this.points = data.time.map((time, i) => [time, of(data, i), second ? second(data, i) : NaN]);
    this.end = count ? data.time[count - 1] : 0;
    this.span = count ? Math.min(SPAN_S, Math.max(SHORTEST_S, this.end - data.time[0])) : SPAN_S;
    const values = this.points.map(([, y]) => y).filter((y) => !Number.isNaN(y));
    this.most = Math.max(...values, 0);
    this.top = (this.most || 1) * 1.08;
    const line = (column) => this.points.map(([x, ...ys]) => [this.x(x), this.y(ys[column])]).filter(([, y]) => !Number.isNaN(y));
    const main = line(0), other = this.what.hidden ? [] : line(1);
    this.path.setAttribute("d", drawn(main));
    this.area.setAttribute("d", main.length ? drawn(main) + `L${main[main.length - 1][0]} ${HEIGHT}L${main[0][0]} ${HEIGHT}Z` : "");
    this.second.setAttribute("d", drawn(other.filter(([, y]) => y >= 0)));
    this.rest();
    const now = values.length ? show(values[values.length - 1]) : "–";
    this.plot.setAttribute("aria-label", `${this.what.title}: now ${now}, at most ${values.length ? show(this.most) : "–"}`);
  }
  x(time) { return +(WIDTH - Math.min(1, (this.end - time) / this.span) * WIDTH).toFixed(2); }
  y(value) { return +(HEIGHT - (value / this.top) * HEIGHT).toFixed(2); }
  rest() {
    const last = this.points && this.points[this.points.length - 1];
    this.say(last, "at most " + (this.points && this.points.length > 1 ? this.what.show(this.most) : "–"));
  }
  say(point, right) {
    const { show, words } = this.what;
    put(this.now, point && !Number.isNaN(point[1]) ? show(point[1]) : "–");
    put(this.left, words && point && !Number.isNaN(point[2]) && point[2] > 0 ? words + " " + show(point[2]) : "");
    put(this.right, right);
  }
  point(event) {
    if (!this.points || !this.points.length) return;
    const box = this.plot.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * WIDTH;
    const near = this.points.reduce((best, one) => (Math.abs(this.x(one[0]) - x) < Math.abs(this.x(best[0]) - x) ? one : best));
    this.cross.setAttribute("d", `M${this.x(near[0])} 0V${HEIGHT}`);
    this.say(near, moment(new Date(near[0] * 1000).toISOString()));
  }
}
function drawn(points) { return points.map(([x, y], i) => (i ? "L" : "M") + x + " " + y).join(""); }

// ---------------------------------------------------------------- flow control

const FIELDS = [["waiting", "waiting"], ["oldest", "oldest"], ["p99", "p99 wait"], ["rate", "started/s"], ["refused", "refused/s"]];
const total = (map) => Object.values(map).reduce((a, b) => a + b, 0);

class Flow {
  constructor() {
    this.past = [];
    this.cards = new Map();
    this.trouble = h("div", {});
    this.sum = h("span", { class: "dim", role: "status" });
    this.levels = h("div", { class: "levels" });
    const box = (style) => { const made = h("i"); made.style.background = style; return made; };
    const frame = box("var(--run)");
    this.element = h("section", { "aria-label": "Who waits now" },
      h("div", { class: "heading" }, h("h1", {}, "Who waits now"), h("span", { class: "kind" }, "API Priority and Fairness"), this.sum),
      h("ul", { class: "legend", "aria-label": "Key" }, h("li", {}, box("var(--run)"), "seats in use"), h("li", {}, box("color-mix(in srgb,var(--edge) 35%,var(--card))"), "own seats"),
        h("li", {}, box("color-mix(in srgb,#8f6ad8 40%,var(--card))"), "borrowed"), h("li", {}, box("var(--wait)"), "requests waiting"), h("li", {}, frame, "a queue that executes")),
      h("p", { class: "dim" }, "What members of system:masters do is exempt: it never waits, and shows in that line alone."),
      this.trouble, this.levels);
  }
  show(state) {
    const last = this.past[this.past.length - 1];
    if (last && (state.time <= last.time || state.levels.some((one) => { const old = find(last, one.name); return old && one.dispatched < old.dispatched; }))) this.past = [];
    this.past.push(state);
    this.past = this.past.filter((one) => state.time - one.time <= WAITS_S);
    for (const [level, card] of this.cards) if (!find(state, level)) { card.box.remove(); this.cards.delete(level); }
    for (const level of state.levels) {
      if (!this.cards.has(level.name)) { const made = this.card(level.name); this.cards.set(level.name, made); this.levels.append(made.box); }
      this.draw(this.cards.get(level.name), level, state);
    }
    const all = (key) => state.levels.reduce((a, level) => a + level[key], 0);
    put(this.sum, `${all("executing")} executing, ${all("waiting")} waiting, ${state.serverSeats} seats`);
    document.body.dataset.flow = 1 + Number(document.body.dataset.flow || 0);
  }
  card(level) {
    const use = h("b", { class: "use" }), own = h("b", { class: "own" }), borrowed = h("b", { class: "borrowed" }), nominal = h("u");
    const bar = h("div", { class: "bar", role: "img" }, own, borrowed, use, nominal);
    const state = h("div", { class: "dim" }), seats = h("div", { class: "dim" }), advice = h("div", { class: "advice" }), queues = h("div", { class: "queues" });
    const cells = Object.fromEntries(FIELDS.map(([id]) => [id, h("dd")]));
    const box = h("section", { class: "level", "data-level": level, "aria-label": "Priority level " + level }, h("div", {}, h("h3", {}, name(level)), state), h("div", {}, bar, seats),
      h("dl", {}, FIELDS.map(([id, words]) => h("div", {}, h("dt", {}, words), cells[id]))), advice, queues);
    return { box, use, own, borrowed, nominal, bar, state, seats, advice, cells, queues };
  }
  draw(card, level, state) {
    const old = [...this.past].find((one) => state.time - one.time <= RATES_S) || state, before = find(old, level.name) || level;
    const span = Math.max(state.time - old.time, 1e-9), limited = level.kind !== "Exempt";
    const rate = (level.dispatched - before.dispatched) / span, refused = (total(level.rejected) - total(before.rejected)) / span;
    const busy = level.waiting > 0, idle = !level.executing && !busy && rate === 0 && refused <= 0;
    card.box.className = "level " + (refused > 0 ? "refusing" : busy ? "busy" : idle ? "idle" : "running");
    const words = refused > 0 ? "refusing" : busy ? "requests wait" : idle ? "idle" : "running";
    put(card.state, level.quiescing ? words + ", quiescing" : words);
    const most = limited ? Math.max(level.limit, level.nominal, 1) : Math.max(state.serverSeats, 1), share = (n) => Math.min(100, (100 * n) / most) + "%";
    card.own.style.width = limited ? share(Math.min(level.limit, level.nominal)) : "0";
    card.borrowed.style.insetInlineStart = share(Math.min(level.limit, level.nominal));
    card.borrowed.style.width = limited && level.limit > level.nominal ? share(level.limit - level.nominal) : "0";
    card.use.style.width = share(level.seatsInUse);
    card.nominal.style.insetInlineStart = limited ? share(level.nominal) : "-10px";
    const text = limited ? `${level.seatsInUse} of ${level.limit} seats in use` : `${level.seatsInUse} seats in use, no limit`;
    put(card.seats, text + (limited && level.limit !== level.nominal ? `, ${level.nominal} nominal` : ""));
    card.bar.setAttribute("aria-label", text);
    const first = find(this.past[0], level.name) || level;
    const cells = { waiting: [number(level.waiting), busy ? "warn" : "none"], oldest: [busy ? seconds(level.oldest) : "–", busy ? "warn" : "none"],
      p99: [quantile(level.waited, first.waited), ""], rate: [number(rate), rate ? "" : "none"], refused: [number(Math.max(0, refused)), refused > 0 ? "bad" : "none"] };
    for (const [id, [value, tone]] of Object.entries(cells)) { put(card.cells[id], value); card.cells[id].className = value === "–" ? "none" : tone; }
    put(card.advice, advice(level, refused, limited));
    while (card.queues.children.length > level.queues.length) card.queues.lastChild.remove();
    const used = level.queues.some(([, waiting, executing]) => waiting || executing);
    card.queues.hidden = !used;
    level.queues.forEach(([index, waiting, executing], i) => {
      const queue = card.queues.children[i] || card.queues.appendChild(h("i", {}, h("b")));
      queue.className = executing ? "run" : "";
      queue.title = `queue ${index}: ${waiting} waiting, ${executing} executing`;
      queue.firstChild.style.height = waiting ? Math.min(100, 20 + waiting * 4) + "%" : "0";
    });
  }
}
function find(state, level) { return state.levels.find((one) => one.name === level); }

function advice(level, refused, limited) {
  const who = level.flows.filter((one) => one.waiting).slice(0, 2).map((one) => `${one.flow || one.schema} (${one.waiting})`).join(", ");
  if (refused > 0) return "Refusing: its queues are full, or requests waited too long. Raise nominalConcurrencyShares, or have clients ask less." + (who ? " Waiting most: " + who + "." : "");
  if (!level.waiting) return "";
  const full = limited && level.seatsInUse >= level.limit;
  return (full ? "Waiting for seats: the level uses all it has. Raise nominalConcurrencyShares, or let others lend more (lendablePercent)."
    : "Waiting for the event loop: seats are free; more seats would not help.") + (who ? " Waiting most: " + who + "." : "");
}
// Upper end of the bucket that 99 of 100 waits of the last seconds are within.
function quantile(now, then) {
  const counts = now.counts.map((n, i) => n - (then.counts[i] || 0)), all = counts.reduce((a, b) => a + b, 0);
  if (all <= 0) return "–";
  let left = all * 0.99;
  for (let i = 0; i < counts.length; i++) { left -= counts[i]; if (left <= 0) return i < now.bounds.length ? "≤ " + seconds(now.bounds[i]) : "> " + seconds(now.bounds[now.bounds.length - 1]); }
  return "–";
}
