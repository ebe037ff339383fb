// What belongs to an object: its dependents, of all kinds.

import * as api from "./api.js";
import { few, h, name, note } from "./dom.js";
import { each, link } from "./kinds.js";
import { refusals } from "./rights.js";

const MOST = 500;  // of one owner that are drawn

// Dependents by the uid of their owner, of all kinds that can be listed where dependents can be; at: as they were at a revision.
export async function dependents({ kinds, namespace, object, at, signal }) {
  const space = object.metadata.namespace || namespace;
  const asked = kinds.listable.filter((one) => one.namespaced || !space);
  const byOwner = new Map(), refused = [], fixed = at ? { resourceVersion: at, resourceVersionMatch: "Exact" } : {};
  const denied = await refusals(space || "");
  await each(asked.filter((one) => one.verbs.includes("get")), async (one) => {
    if (denied[one.key]) { refused.push(one.resource); return; }
    try {
      for (const item of await api.metadata(api.collection(one, space), fixed, signal)) {
        for (const owner of item.metadata.ownerReferences || []) {
          if (!byOwner.has(owner.uid)) byOwner.set(owner.uid, []);
          byOwner.get(owner.uid).push({ kind: one, meta: item.metadata });
        }
      }
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (error.code === 403 || !at) refused.push(one.resource);  // not every kind has a past
    }
  }, signal, 4);
  const seen = new Set([object.metadata.uid]);
  const below = (uid) => (byOwner.get(uid) || []).filter(({ meta }) => !seen.has(meta.uid) && seen.add(meta.uid))
    .map(({ kind: one, meta }) => ({ kind: one, meta, below: below(meta.uid) }));
  return { tree: below(object.metadata.uid), refused };
}

// beside(node): what stands behind the name of one.  then: of an address, the moment.
export function tree(nodes, { beside, then = "" } = {}) {
  if (!nodes.length) return null;
  const draw = (one) => h("li", {}, h("a", { href: link(one.kind, one.meta.namespace, one.meta.name) + then },
    one.kind.kind + "/", name(one.meta.name)), beside && [" ", beside(one)], tree(one.below, { beside, then }));
  if (beside) for (const one of nodes.slice(MOST)) eachBelow(one, beside);  // they are followed, too
  return h("ul", {}, few(nodes, MOST, draw, (words) => h("li", { class: "dim" }, words)));
}
function eachBelow(node, work) {
  work(node);
  for (const one of node.below) eachBelow(one, work);
}
export function unlisted(refused) {
  return refused.length ? note("warn", "Not allowed to list, so there may be more: " + refused.sort().join(", ")) : null;
}
