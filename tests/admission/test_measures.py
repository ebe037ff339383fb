"""How long admission takes, under kube-apiserver's names."""

from __future__ import annotations

from kubetrio.testing.client import Client

PATH = "/api/v1/namespaces/default/configmaps"


async def test_steps_and_plugins_are_counted(client: Client) -> None:
    """What passes and what is refused, by the plugin that refused it."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    assert (await client.request("POST", PATH, json=body)).status == 201
    gone = PATH.replace("default", "nowhere")
    assert (await client.request("POST", gone, json=body)).status == 404
    text = (await client.request("GET", "/metrics")).body.decode()
    step = "apiserver_admission_step_admission_duration_seconds_count"
    plugin = "apiserver_admission_controller_admission_duration_seconds_count"
    refused = 'operation="CREATE",rejected="true"'
    assert f'{step}{{operation="CREATE",rejected="true",type="admit"}} 1.0' in text
    assert f'{plugin}{{name="NamespaceLifecycle",{refused},type="admit"}} 1.0' in text
    assert f'{plugin}{{name="MutatingAdmissionWebhook",{refused}' not in text
    passed = 'name="MutatingAdmissionWebhook",operation="CREATE",rejected="false",type="admit"'
    assert f"{plugin}{{{passed}}}" in text
