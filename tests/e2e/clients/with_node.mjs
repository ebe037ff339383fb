// @kubernetes/client-node, asked in lines of JSON as clients/worker.py says.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.cwd()}/`);
const k8s = require("@kubernetes/client-node");
const [kubeconfig, namespace] = process.argv.slice(2);
const LABEL = "made", VALUE = "here", MANAGER = "scenario", PAGE = 2;
const labelSelector = `${LABEL}=${VALUE}`;

const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const events = [];
const waiting = [];

function seen(type, object) {
  const event = [type, object.metadata.name, object.data ?? {}];
  const next = waiting.shift();
  if (next) next(event);
  else events.push(event);
}

function configmap(name, data) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { [LABEL]: VALUE } }, data };
}

const as = (strategy) => k8s.setHeaderOptions("Content-Type", strategy);

const client = {
  create: (name, data) =>
    core.createNamespacedConfigMap({ namespace, body: configmap(name, data) }),
  read: (name) => core.readNamespacedConfigMap({ namespace, name }),
  patch: (name, data) =>
    core.patchNamespacedConfigMap({ namespace, name, body: { data } }, as(k8s.PatchStrategy.MergePatch)),
  apply: (name, data) =>
    core.patchNamespacedConfigMap(
      {
        namespace, name, fieldManager: MANAGER,
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data },
      },
      as(k8s.PatchStrategy.ServerSideApply),
    ),
  replace: (body) =>
    core.replaceNamespacedConfigMap({ namespace, name: body.metadata.name, body }),
  async names() {
    const found = [];
    let _continue;
    do {
      const page = await core.listNamespacedConfigMap({ namespace, labelSelector, limit: PAGE, _continue });
      found.push(...page.items.map((item) => item.metadata.name));
      _continue = page.metadata._continue;
    } while (_continue);
    return found;
  },
  async watch() {
    const { metadata } = await core.listNamespacedConfigMap({ namespace });
    await new k8s.Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { labelSelector, resourceVersion: metadata.resourceVersion },
      seen,
      (error) => error && console.error(error),
    );
  },
  event: () => events.shift() ?? new Promise((resolve) => waiting.push(resolve)),
  delete: (name) => core.deleteNamespacedConfigMap({ namespace, name }),
};

console.log(JSON.stringify({ is: [] }));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...words] = JSON.parse(line);
  let answer;
  try {
    answer = { is: (await client[name](...words)) ?? null };
  } catch (error) {
    answer = error instanceof k8s.ApiException ? { refused: error.code } : { failed: String(error.stack) };
  }
  console.log(JSON.stringify(answer));
}
