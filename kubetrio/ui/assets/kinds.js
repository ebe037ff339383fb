// What the server serves, from its discovery documents: kinds by group, custom ones alike.

import * as api from "./api.js";

const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const WORKLOADS = ["Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ConfigMap", "Secret",
  "Service", "Ingress", "PersistentVolumeClaim", "PersistentVolume", "Namespace", "Node", "ServiceAccount", "Event"];

export class Kinds {
  constructor(list) { this.take(list); }
  take(list) {
    this.all = list;
    this.byKey = new Map(list.map((kind) => [kind.key, kind]));
  }
  of(apiVersion, kindName) {
    const [version, group] = apiVersion.includes("/") ? apiVersion.split("/").reverse() : [apiVersion, ""];
    return this.all.find((one) => one.group === group && one.kind === kindName)
      || this.all.find((one) => one.group === group && one.version === version && one.kind === kindName);
  }
  named(group, resource) { return this.byKey.get(group + "/" + resource); }
  get listable() { return this.all.filter((kind) => kind.verbs.includes("list")); }
  groups() {
    const groups = new Map();
    for (const kind of this.listable) {
      if (!groups.has(kind.group)) groups.set(kind.group, []);
      groups.get(kind.group).push(kind);
    }
    return groups;
  }
}

let asked = null;
// What every page needs, asked for once: what the server says of itself, and its kinds.
export function basics() {
  asked = asked || Promise.all([api.get("/ui/about"), discover()]);
  return asked;
}

const known = new Map();  // discovery documents and their entity tags, by path
async function read(path) {
  const before = known.get(path) || {}, answer = await api.send("GET", path, { accept: DISCOVERY, tag: before.tag });
  if (answer.status === 304) return false;
  known.set(path, { tag: answer.headers.get("ETag"), document: await answer.json() });
  return true;
}
async function discover() {
  await Promise.all(["/api", "/apis"].map(read));
  return new Kinds(listed());
}
// Whether the server serves other kinds than before; those that are known are brought up to date then.
export async function refresh(kinds) {
  const changes = await Promise.all(["/api", "/apis"].map(read));
  if (!changes.includes(true)) return false;
  kinds.take(listed());
  return true;
}
function listed() {
  const found = new Map(), documents = ["/api", "/apis"].map((path) => known.get(path).document);
  for (const document of documents) for (const group of document.items) {
    const groupName = (group.metadata && group.metadata.name) || "";
    for (const version of group.versions || []) for (const resource of version.resources || []) {
      if (!resource.responseKind) continue;
      const key = groupName + "/" + resource.resource;
      if (found.has(key)) continue;  // the preferred version comes first
      found.set(key, {
        key, group: groupName, version: version.version, resource: resource.resource, kind: resource.responseKind.kind,
        namespaced: resource.scope === "Namespaced", verbs: resource.verbs, short: resource.shortNames || [],
        singular: resource.singularResource || resource.responseKind.kind.toLowerCase(),
        subresources: (resource.subresources || []).map((one) => one.subresource),
      });
    }
  }
  const rank = (kind) => { const at = WORKLOADS.indexOf(kind.kind); return at < 0 ? WORKLOADS.length : at; };
  const list = [...found.values()];
  const groups = [...new Set(list.map((kind) => kind.group))];
  list.sort((a, b) => groups.indexOf(a.group) - groups.indexOf(b.group) || rank(a) - rank(b) || a.kind.localeCompare(b.kind));
  return list;
}

export function apiVersion(kind) { return kind.group ? kind.group + "/" + kind.version : kind.version; }
// As kubectl writes it: cm/settings, deployment.apps/web.
export function typed(kind, name) {
  const word = kind.short[0] || kind.singular;
  return (kind.group && !kind.short.length ? word + "." + kind.group : word) + "/" + name;
}
export function link(kind, namespace, name, tab) {
  const parts = ["object", kind.group || "core", kind.resource, namespace || "-", name].map(encodeURIComponent);
  return "#/" + parts.join("/") + (tab ? "?tab=" + tab : "");
}

// Calls `work` with each of `list`, a few at a time.
export async function each(list, work, signal, most = 4) {
  const waiting = [...list];
  await Promise.all(Array.from({ length: most }, async () => {
    while (waiting.length && !(signal && signal.aborted)) await work(waiting.shift());
  }));
}
