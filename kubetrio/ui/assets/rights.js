// What the user may do, asked for before the request itself: browsers note each refused request as an error.
// Where the question has no answer, the request is made, and says itself whether it is refused.

import * as api from "./api.js";

const REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const FRESH_MS = 20000;

let everything = false;
const known = new Map();  // refused lists by namespace, and when they were asked for

export function rightsOf({ groups, kept }) { everything = kept !== "" || groups.includes("system:masters"); }

// The server's refusals of lists in a namespace, by the key of the kind.
export function refusals(namespace) {
  if (everything) return Promise.resolve({});
  const before = known.get(namespace);
  if (before && performance.now() - before.at < FRESH_MS) return before.items;
  const items = api.get("/ui/refused", { query: namespace ? { namespace } : {} }).then((found) => found.items, () => { known.delete(namespace); return {}; });
  known.set(namespace, { at: performance.now(), items });
  return items;
}
// Why a kind may not be listed; nothing where that is allowed.
export async function refusal(kind, namespace) {
  return (await refusals(kind.namespaced ? namespace : ""))[kind.key] || "";
}

// Why the user may not do something; nothing where that is allowed.  spec: of a SelfSubjectAccessReview.
export async function denial(spec, words) {
  if (everything) return "";
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
  try {
    const { status } = await (await api.send("POST", REVIEW, { body: JSON.stringify(review) })).json();
    return status.allowed ? "" : "Forbidden: " + words + (status.reason ? ": " + status.reason : "") + ".";
  } catch { return ""; }
}
export function getDenial(kind, namespace, name) {
  const resourceAttributes = { verb: "get", group: kind.group, version: kind.version, resource: kind.resource, name, namespace };
  return denial({ resourceAttributes }, "you may not get " + kind.resource + " \"" + name + "\"" + (namespace ? " in the namespace \"" + namespace + "\"" : ""));
}
export function pathDenial(path) {
  return denial({ nonResourceAttributes: { verb: "get", path } }, "you may not get " + path);
}
