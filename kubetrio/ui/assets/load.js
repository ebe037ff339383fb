// The load of the server: numbers of the last hour, and who waits now.

import * as api from "./api.js";
import { h, s, bytes, moment, number, put, seconds, swap, note } from "./dom.js";
import { Flow, PATH } from "./flow.js";
import { showKinds } from "./objects.js";
import { pathDenial } from "./rights.js";

const HOUR_MS = 10000, WORDS = { refused: "not allowed" };

export function loadPage(context) {
  const { signal, about } = context;
  showKinds(context, null, "", about.kept ? String(about.at) : "");
  if (about.kept) return h("section", { class: "page", "aria-label": "Load" }, h("h1", {}, "Load"), note("", "A stopped server has no load: its objects and their history are here."));
  const out = h("div", {}), hour = new Hour();
  const state = h("span", { class: "state", role: "status" }, "loading");
  const told = (which, words) => { state.className = "state " + which; state.title = words; put(state, WORDS[which] || words); document.body.dataset.state = which; };
  const title = document.title, flow = new Flow({ told, title: (words) => { document.title = words + title; } });
  repeat(signal, HOUR_MS, out, async () => { hour.show(await api.get("/ui/lasthour", { signal })); });
  pathDenial(PATH).then((denied) => flow.run(signal, denied));
  return h("section", { class: "page scrolls", "aria-label": "Load" },
    h("div", { class: "heading" }, h("h1", {}, "Load"), h("span", { class: "kind" }, "of the last hour"), h("span", { class: "grow" }), state),
    out, hour.element, flow.element);
}

// Runs `work` again and again while the page is open and seen.
async function repeat(signal, period, out, work) {
  while (!signal.aborted) {
    if (!document.hidden) {
      try { await work(); swap(out); } catch (error) {
        if (error.name === "AbortError") return;
        swap(out, note("bad", error.message));
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
  { title: "Bytes written a second", of: rates("written"), show: bytes },
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
