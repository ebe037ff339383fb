// Requests to the server: the Kubernetes API itself, and the few paths below /ui/.
// The token, where there is one, is in this tab's memory and session storage alone.

const KEY = "kubetrio.token";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const META = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const PAGE = 1000, FURTHER = 2000;
export const MANAGER = "kubetrio-ui";

let token = sessionStorage.getItem(KEY) || "";
const base = location.pathname.replace(/\/ui\/[^/]*$/, "");  // where a proxy has put the server

export function signedIn() { return token !== ""; }
export function signOut() {
  sessionStorage.removeItem(KEY);
  token = "";
  location.reload();
}

// What the server refused, or that it did not answer (code 0).
export class Refused extends Error {
  constructor(code, message, status) {
    super(message);
    this.code = code;
    this.status = status || null;
  }
  get conflicts() {
    const causes = (this.status && this.status.details && this.status.details.causes) || [];
    return causes.filter((cause) => cause.reason === "FieldManagerConflict");
  }
}

// tag: an entity tag; the answer may be 304 then.
export async function send(method, path, { query, body, type, accept, signal, warn, tag } = {}) {
  const headers = { Accept: accept || "application/json" };
  if (token) headers.Authorization = "Bearer " + token;
  if (tag) headers["If-None-Match"] = tag;
  if (body !== undefined) headers["Content-Type"] = type || "application/json";
  const asked = new URLSearchParams(query || {}).toString();
  let answer;
  try {
    answer = await fetch(base + path + (asked ? "?" + asked : ""), {
      method, headers, body, signal, cache: "no-store", credentials: "same-origin",
      redirect: "error", referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer.");
  }
  if (warn) for (const text of warnings(answer.headers.get("Warning"))) warn(text);
  if (answer.ok || answer.status === 304) return answer;
  const text = await answer.text();
  let status = null;
  try { status = JSON.parse(text); } catch { /* not every error is a Status */ }
  const said = (status && status.message) || text.trim() || "The server answered " + answer.status + ".";
  throw new Refused(answer.status, said, status);
}

function warnings(header) {
  const found = [];
  for (const [, text] of (header || "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)) {
    found.push(text.replace(/\\(.)/g, "$1"));
  }
  return found;
}

const BROKEN = "The answer of the server broke off.";
export async function get(path, options) {
  const answer = await send("GET", path, options);
  try { return await answer.json(); } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, BROKEN);
  }
}

// ---------------------------------------------------------------- paths

export function collection(kind, namespace) {
  const root = kind.group ? "/apis/" + kind.group : "/api";
  const inside = kind.namespaced && namespace ? "/namespaces/" + encodeURIComponent(namespace) : "";
  return root + "/" + kind.version + inside + "/" + kind.resource;
}
// A field selector for a name.  Source: apimachinery, fields.EscapeValue.
export function named(name) { return "metadata.name=" + name.replace(/[\\,=]/g, "\\$&"); }
export function objectPath(kind, namespace, name) {
  return collection(kind, namespace) + "/" + encodeURIComponent(name);
}

// ---------------------------------------------------------------- lists and watches

export function tablePage(path, query, signal) {
  return get(path, { query, accept: TABLE, signal });
}

// All metadata of a collection, page by page.
export async function metadata(path, query, signal, most = Infinity) {
  const items = [];
  let next = "";
  do {
    const page = await get(path, { query: next ? { limit: FURTHER, continue: next } : { ...query, limit: PAGE }, accept: META, signal });
    items.push(...(page.items || []));
    next = page.metadata.continue || "";
  } while (next && items.length < most);
  return items;
}

export async function count(path, query, signal) {
  const page = await get(path, { query: { ...query, limit: 1 }, accept: META, signal });
  return (page.items || []).length + (page.metadata.remainingItemCount || 0);
}

// Calls back with arrays of events, as many as came together, until the stream ends.
export function watch(path, query, { signal, table, take }) {
  return lines(path, {
    query: { ...query, watch: "1", allowWatchBookmarks: "true" },
    accept: table ? TABLE : "application/json", signal, take,
  });
}

// Why the server refuses the watch of what may be listed: that stays as it was listed.
async function watchIfAllowed(path, query, options) {
  try { await watch(path, query, options); } catch (error) {
    if (error.code === 403) return error.message;
    throw error;
  }
  return "";
}

// Calls back with arrays of what the lines of a stream say, as many as came together, until it ends.
export async function lines(path, { query, accept, signal, take }) {
  const answer = await send("GET", path, { query, accept, signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let said;
    try {
      const { value, done } = await reader.read();
      if (done) return;
      const whole = (rest + value).split("\n");
      rest = whole.pop();
      said = whole.filter(Boolean).map((line) => JSON.parse(line));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused(0, BROKEN);
    }
    if (said.length) take(said);
  }
}

// What a page does with what came is its own matter: a mistake there is not one of the connection.
function lost(state, error) {
  if (error instanceof Refused) state("away", error.message);
  else state("undrawn", "This cannot be drawn: " + error.message);
}

// A row with what the table needs of its object; managedFields would be most of the memory of 10,000 rows.
function known(row) {
  const { uid, name, namespace = "", creationTimestamp } = row.object.metadata;
  return { cells: row.cells, uid, name, namespace, born: Date.parse(creationTimestamp) || 0, order: namespace + "/" + name };
}

const AGAIN_MS = [500, 1000, 2000, 4000], SHORT_MS = 500;
export function pause(ms, signal) {
  return new Promise((done, fail) => {
    const stop = () => { clearTimeout(timer); fail(new DOMException("", "AbortError")); };
    const timer = setTimeout(() => { if (signal) signal.removeEventListener("abort", stop); done(); }, ms);
    if (signal) signal.addEventListener("abort", stop, { once: true });
  });
}

// A collection as a Table that follows the server: lists, watches, and begins anew when it must.
//   columns(definitions), changed(rows by uid, whether more come), state(name, words)
export async function follow({ path, query, at, signal, columns, changed, state }) {
  let tries = 0, heads = "", listed = false;
  while (!signal.aborted) {
    try {
      const rows = new Map();
      const fixed = at ? { resourceVersion: at, resourceVersionMatch: "Exact" } : {};
      let next = "", version = "";
      do {
        const asked = next ? { ...query, limit: FURTHER, continue: next } : { ...query, ...fixed, limit: PAGE };
        const page = await tablePage(path, asked, signal);
        const defined = JSON.stringify(page.columnDefinitions);
        if (!next && defined !== heads) { heads = defined; columns(page.columnDefinitions); }
        for (const row of page.rows || []) { const one = known(row); rows.set(one.uid, one); }
        version = page.metadata.resourceVersion;
        next = page.metadata.continue || "";
        if (!listed || !next) changed(rows, next !== "");  // a list that is read anew comes whole
      } while (next);
      listed = true;
      if (at) { state("kept", ""); return; }
      state("live", "");
      tries = 0;
      for (;;) {
        let gone = false;
        const begun = performance.now();
        const ended = await watchIfAllowed(path, { ...query, resourceVersion: version }, {
          signal, table: true,
          take(events) {
            let any = false;
            for (const event of events) {
              if (event.type === "ERROR") { gone = true; continue; }
              for (const row of event.object.rows || []) {
                const meta = row.object.metadata;
                version = meta.resourceVersion || version;
                if (event.type === "BOOKMARK") continue;
                any = true;
                if (event.type === "DELETED") rows.delete(meta.uid); else rows.set(meta.uid, known(row));
              }
            }
            if (any) changed(rows, false);
          },
        });
        if (ended) { state("unwatched", ended); return; }
        if (performance.now() - begun < SHORT_MS) await pause(SHORT_MS, signal);  // do not ask in a circle
        if (gone) break;  // what it watched from is not kept any more: list again
      }
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      if (error.code === 410 && !at) continue;
      if (error.code && (at || (error.code !== 429 && error.code < 500))) {
        state(error.code === 403 ? "refused" : "failed", error.message);
        return;
      }
      lost(state, error);
      try { await pause(AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)], signal); } catch { return; }
    }
  }
}

// One object, and what becomes of it.
export async function followObject(kind, namespace, name, { signal, take, state }) {
  const path = objectPath(kind, namespace, name);
  const all = collection(kind, namespace);
  let tries = 0;
  while (!signal.aborted) {
    try {
      const object = await get(path, { signal });
      take(object, false);
      tries = 0;
      if (!kind.verbs.includes("watch")) return;
      const query = { fieldSelector: named(name), resourceVersion: object.metadata.resourceVersion };
      const begun = performance.now();
      const ended = await watchIfAllowed(all, query, {
        signal,
        take(events) {
          for (const event of events) {
            if (event.type === "ADDED" || event.type === "MODIFIED") take(event.object, false);
            if (event.type === "DELETED") take(event.object, true);
          }
        },
      });
      if (ended) { state("unwatched", ended); return; }
      if (performance.now() - begun < SHORT_MS) await pause(SHORT_MS, signal);  // do not ask in a circle
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      if (error.code === 404) { take(null, true, error.message); return; }
      if (error.code && error.code !== 429 && error.code !== 410 && error.code < 500) {
        state(error.code === 403 ? "refused" : "failed", error.message);
        return;
      }
      lost(state, error);
      try { await pause(AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)], signal); } catch { return; }
    }
  }
}

// The objects of a small collection by uid, as they are and as they change.  Fails where the server refuses.
export async function followItems({ path, query, signal, changed }) {
  while (!signal.aborted) {
    try {
      const list = await get(path, { query, signal }), items = new Map((list.items || []).map((one) => [one.metadata.uid, one]));
      changed(items);
      const ended = await watchIfAllowed(path, { ...query, resourceVersion: list.metadata.resourceVersion }, {
        signal,
        take(events) {
          for (const { type, object } of events) {
            if (type === "ADDED" || type === "MODIFIED") items.set(object.metadata.uid, object);
            if (type === "DELETED") items.delete(object.metadata.uid);
          }
          changed(items);
        },
      });
      if (ended) return;
    } catch (error) {
      if (error.name === "AbortError" || (error.code && error.code !== 410 && error.code !== 429 && error.code < 500)) throw error;
    }
    await pause(AGAIN_MS[1], signal);
  }
}

// ---------------------------------------------------------------- writes

export async function apply(kind, namespace, name, text, { dryRun, force, warn }) {
  const query = { fieldManager: MANAGER, fieldValidation: "Strict" };
  if (dryRun) query.dryRun = "All";
  if (force) query.force = "true";
  const path = objectPath(kind, namespace, name);
  return (await send("PATCH", path, { query, body: text, type: "application/apply-patch+yaml", warn })).json();
}
export async function create(kind, namespace, text, { dryRun, warn }) {
  const query = { fieldManager: MANAGER, fieldValidation: "Strict" };
  if (dryRun) query.dryRun = "All";
  return (await send("POST", collection(kind, namespace), { query, body: text, type: "application/yaml", warn })).json();
}
export async function replace(kind, namespace, name, text, { dryRun, warn }) {
  const query = { fieldManager: MANAGER, fieldValidation: "Strict" };
  if (dryRun) query.dryRun = "All";
  return (await send("PUT", objectPath(kind, namespace, name), { query, body: text, type: "application/yaml", warn })).json();
}
export async function remove(kind, namespace, name, { policy, uid, dryRun }) {
  const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: policy, preconditions: { uid } };
  if (dryRun) body.dryRun = ["All"];
  return (await send("DELETE", objectPath(kind, namespace, name), { body: JSON.stringify(body) })).json();
}
