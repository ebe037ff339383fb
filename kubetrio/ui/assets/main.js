// The frame: what is above and beside each page, and which page the address names.

import * as api from "./api.js";
import { h, icon, name, put, swap, button, note, drawing } from "./dom.js";
import { basics } from "./kinds.js";
import { objectsPage } from "./objects.js";
import { objectPage } from "./object.js";
import { historyPage } from "./history.js";
import { momentForm, momentWords } from "./moment.js";
import { loadPage } from "./load.js";
import { rightsOf } from "./rights.js";
import { scriptPage } from "./script.js";

const THEME = "kubetrio.theme";
const TABS = [["objects", "Objects", "#/objects"], ["history", "History", "#/history"], ["load", "Load", "#/load"]];
const SCRIPT = ["script", "Script", "#/script"];

export function start() {
  theme(localStorage.getItem(THEME));
  new Frame().run();
}

function theme(chosen) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = () => { document.documentElement.dataset.theme = chosen || (dark.matches ? "dark" : "light"); };
  set();
  if (!chosen) dark.addEventListener("change", set);
}

// The address of a page: parts of its path, and what stands behind the question mark.
export function where() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map((one) => { try { return decodeURIComponent(one); } catch { return one; } });
  return { parts, query: new URLSearchParams(query || "") };
}

class Frame {
  constructor() {
    this.tabs = TABS;
    this.nav = h("nav", { "aria-label": "Pages" }, TABS.map(tab));
    this.side = h("aside", { class: "side", id: "side", "aria-label": "Kinds" });
    this.main = h("main", { class: "main", id: "main", tabindex: "-1" });
    this.who = h("div", { class: "who" });
    this.cluster = h("bdi", {}, "kubetrio");
    const menu = button(icon("menu"), () => this.fold(!this.side.classList.contains("open")),
      { class: "quiet menu", "aria-label": "Kinds", "aria-controls": "side", "aria-expanded": "false" });
    this.menu = menu;
    const brand = h("a", { class: "brand", href: "#/objects" }, mark(), this.cluster);
    this.top = h("header", { class: "top" }, menu, brand, this.nav, this.who);
    this.away = h("div", { class: "banner away", role: "alert", hidden: true });
    const skip = button("Skip to the page", () => this.main.focus(), { class: "skip" });
    document.body.replaceChildren(skip, h("div", { class: "frame" }, this.top, this.side, this.main));
    this.side.addEventListener("click", (event) => { if (event.target.closest("a")) this.fold(false); });
    addEventListener("keydown", (event) => this.key(event));
  }
  fold(open) {
    this.side.classList.toggle("open", open);
    this.menu.setAttribute("aria-expanded", String(open));
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") this.fold(false);
    if (/^(?:INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || document.querySelector("dialog[open]")) return;
    const search = this.main.querySelector("input[type=search]");
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); search.select(); }
    const chosen = /^[1-9]$/.test(event.key) && this.tabs[event.key - 1];
    if (chosen) location.hash = chosen[2];
  }
  async run() {
    try {
      [this.about, this.kinds] = await basics();
      rightsOf(this.about);
    } catch (error) {
      this.main.append(h("div", { class: "page" }, note("bad", error.message), button("Try again", () => location.reload())));
      if (api.signedIn()) this.main.firstChild.append(button("Sign out", api.signOut));
      return;
    }
    put(this.cluster, this.about.cluster);
    if (this.about.steps) { this.tabs = [...TABS, SCRIPT]; this.nav.append(tab(SCRIPT)); }
    const dark = document.documentElement.dataset.theme === "dark";
    swap(this.who, name(this.about.user, { title: this.about.groups.join(", ") }),
      button(icon("sun"), () => {
        const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
        localStorage.setItem(THEME, next);
        document.documentElement.dataset.theme = next;
      }, { class: "quiet", "aria-label": "Dark and light", "aria-pressed": String(dark) }),
      api.signedIn() && button("Sign out", api.signOut, { class: "quiet" }));
    addEventListener("hashchange", () => {
      this.show();
      // What had the focus is gone with the page before: the next key is for this one.
      if (document.activeElement === document.body) this.main.focus({ preventScroll: true });
    });
    // A page that the browser keeps for "back" would keep its connections: there are six for all pages.
    addEventListener("pagehide", () => this.leave.abort());
    addEventListener("pageshow", (event) => { if (event.persisted) this.show(); });
    this.show();
  }
  show() {
    const { parts, query } = where(), { at } = this.about;
    if (at && !query.has("at")) query.set("at", at);  // what the server has written since is its own
    if (!parts[0] && this.about.steps) parts[0] = "script";
    const tab = this.tabs.some(([id]) => id === parts[0]) ? parts[0] : "objects";
    if (this.leave) this.leave.abort();
    this.leave = new AbortController();
    for (const link of this.nav.children) {
      if (link.dataset.tab === tab) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    document.title = this.tabs.find(([id]) => id === tab)[1] + " · " + this.about.cluster;
    const context = { frame: this, kinds: this.kinds, about: this.about, side: this.side, query, parts, signal: this.leave.signal };
    const pages = { "": objectsPage, objects: objectsPage, object: objectPage, history: historyPage, load: loadPage, script: this.about.steps ? scriptPage : unknownPage };
    const page = Object.hasOwn(pages, parts[0]) ? pages[parts[0]] : unknownPage;
    document.body.dataset.state = "";
    swap(this.main, this.banner(query), drawing(this.main, () => page(context)));
    document.body.dataset.page = parts[0] || "objects";
  }
  // What is shown is not what is now.
  banner(query) {
    const at = query.get("at"), { kept, at: last } = this.about;
    if (kept && at === String(last)) return h("div", { class: "banner", role: "status" }, "Read-only: " + kept);
    if (!at) return null;
    const there = (revision) => {
      const now = where();
      if (revision) now.query.set("at", revision); else now.query.delete("at");
      return "#/" + now.parts.map(encodeURIComponent).join("/") + (String(now.query) ? "?" + now.query : "");
    };
    return h("div", { class: "banner", role: "status" }, h("span", {}, "Read-only: the cluster as it was at ", momentWords(at), "."),
      momentForm({ at, go: (revision) => { location.hash = there(revision); } }), h("a", { href: there("") }, kept ? "Back to its last state" : "Back to now"));
  }
}

function unknownPage({ parts }) {
  return h("section", { class: "page" }, note("bad", "There is no page " + parts[0] + " here."), h("p", {}, h("a", { href: "#/objects" }, "All objects")));
}

function tab([id, words, href]) { return h("a", { href, "data-tab": id }, icon(id), h("span", {}, words)); }

// Drawn here: what is signed in to with a token has no address for a picture.
function mark() {
  const svg = icon("objects");
  svg.setAttribute("viewBox", "0 0 32 32");
  svg.firstChild.setAttribute("d", "M16 6.5 7 22.5h18zM16 6.5v.1M7 22.5h.1M25 22.5h.1");
  svg.style.color = "var(--accent)";
  svg.style.width = svg.style.height = "1.6rem";
  return svg;
}
