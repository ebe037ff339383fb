"""The flags of ``kubetrio serve``: kube-apiserver's names where the meaning is the same.

Booleans follow pflag: ``--x`` and ``--x=false``, never ``--no-x``.  A flag of kube-apiserver that
kubetrio does not need is accepted with a warning, so that existing command lines work; any other
unknown flag is an error.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from kubetrio.config import ADDRESS_TYPES, DURABILITY, MAX_PORT, Config

DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h)", re.ASCII)
DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def boolean(text: str) -> bool:
    """A pflag boolean.

    Raises:
        argparse.ArgumentTypeError: neither true nor false.
    """
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise argparse.ArgumentTypeError(f"invalid boolean value {text!r}: use true or false")


def duration(text: str) -> float:
    """A Go duration such as ``1m30s``, in seconds.

    Raises:
        argparse.ArgumentTypeError: not a duration.
    """
    parts = DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"invalid duration {text!r}: write 500ms, 30s or 1h")
    return sum(float(number) * DURATION_UNITS[unit] for number, unit in parts)


def port(text: str) -> int:
    """A TCP port, 0 for any free one.

    Raises:
        argparse.ArgumentTypeError: not one.
    """
    if text.isascii() and text.isdigit() and int(text) <= MAX_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"invalid port {text!r}: between 0 and {MAX_PORT}")


def path(text: str) -> Path:
    """A path; an empty one is a variable of the shell that is not set.

    Raises:
        argparse.ArgumentTypeError: empty.
    """
    if not text:
        raise argparse.ArgumentTypeError("an empty path; leave the flag out for its default")
    return Path(text)


def names(text: str) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def gates(text: str) -> dict[str, bool]:
    """Feature gates as ``Name=true,Other=false``.

    Raises:
        argparse.ArgumentTypeError: a name kube-apiserver does not have, or no boolean.
    """
    from kubetrio.schema import builtin

    known = builtin.load("flags")["featureGates"]
    chosen: dict[str, bool] = {}
    for entry in filter(None, text.split(",")):
        name, _, value = entry.partition("=")
        if name.strip() not in known:
            raise argparse.ArgumentTypeError(f"unrecognized feature gate: {name}")
        chosen[name.strip()] = boolean(value.strip())
    return chosen


# Where the name of a field is not that of its flag.
FLAGS = {
    "history_window_s": "history-window",
    "compact_interval_s": "etcd-compaction-interval",
    "request_timeout_s": "request-timeout",
    "min_request_timeout_s": "min-request-timeout",
    "priority_and_fairness": "enable-priority-and-fairness",
    "shutdown_delay_s": "shutdown-delay-duration",
    "kubelet_timeout_s": "kubelet-timeout",
    "extra_hosts": "tls-san",
}


def flag_of(field: str) -> str:
    """The flag that sets a field of the configuration."""
    return f"--{FLAGS.get(field) or field.replace('_', '-')}"


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; who wants the whole usage asks for help."""

    def error(self, message: str) -> NoReturn:
        """End the program with 2."""
        about = message.removeprefix("argument ")
        self.exit(2, f"kubetrio: {about} (see {self.prog} --help)\n")


EPILOG = """\
examples:
  kubetrio serve                              a server in ./kubetrio-data on 127.0.0.1:6443
  kubetrio serve --data-dir /var/lib/kubetrio --bind-address 0.0.0.0
  kubetrio serve --secure-port 0 --write-kubeconfig /tmp/kubeconfig

then, in another terminal:
  export KUBECONFIG=./kubetrio-data/kubeconfig
  kubectl get namespaces
"""


def add_serve(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the ``serve`` command and its flags."""
    parser = commands.add_parser(
        "serve",
        help="run the API server",
        description="Run a Kubernetes API server on one data directory.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser)
    data = parser.add_argument_group("data")
    data.add_argument(
        "--data-dir",
        type=path,
        default=Path("kubetrio-data"),
        metavar="DIR",
        help="where everything is kept; made when missing (default: %(default)s)",
    )
    data.add_argument(
        "--durability",
        choices=DURABILITY,
        default="full",
        help="full: an acknowledged write survives power loss; normal: it survives a killed "
        "process, power loss may take the newest writes (default: %(default)s)",
    )
    data.add_argument(
        "--accept-data-loss",
        type=boolean,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="start although writes that were answered are missing, as when the write-ahead log "
        "was removed after a crash (default: false)",
    )
    data.add_argument(
        "--history-window",
        type=duration,
        default=300.0,
        metavar="DURATION",
        help="how long old revisions stay readable (default: 5m)",
    )
    data.add_argument(
        "--etcd-compaction-interval",
        type=duration,
        default=60.0,
        metavar="DURATION",
        help="how often older revisions are dropped, 0s for never (default: 1m)",
    )
    serving = parser.add_argument_group("secure serving")
    serving.add_argument(
        "--bind-address",
        default="127.0.0.1",
        metavar="IP",
        help="address to listen on, 0.0.0.0 or :: for all (default: %(default)s)",
    )
    serving.add_argument(
        "--secure-port",
        type=port,
        default=6443,
        metavar="PORT",
        help="0 takes any free port (default: %(default)s)",
    )
    serving.add_argument(
        "--advertise-address", default="", metavar="IP", help="address that clients are told"
    )
    serving.add_argument(
        "--cert-dir",
        type=path,
        metavar="DIR",
        help="where self-made certificates are (default: DATA_DIR/pki)",
    )
    serving.add_argument(
        "--tls-cert-file",
        type=path,
        metavar="FILE",
        help="serving certificate (PEM, with intermediates) instead of the self-made one",
    )
    serving.add_argument(
        "--tls-private-key-file",
        type=path,
        metavar="FILE",
        help="its key; the two go together",
    )
    serving.add_argument(
        "--tls-san",
        action="append",
        default=[],
        metavar="HOST",
        help="one more name or address for the self-made certificate",
    )
    auth = parser.add_argument_group("authentication")
    auth.add_argument(
        "--client-ca-file",
        type=path,
        metavar="FILE",
        help="authority of client certificates instead of the self-made one",
    )
    auth.add_argument(
        "--token-auth-file",
        type=path,
        metavar="FILE",
        help='static tokens, a line each: token,user,uid,"group1,group2"',
    )
    auth.add_argument(
        "--service-account-issuer",
        default="https://kubernetes.default.svc.cluster.local",
        metavar="URL",
        help="issuer named in service account tokens (default: %(default)s)",
    )
    auth.add_argument(
        "--api-audiences",
        type=names,
        default=(),
        metavar="LIST",
        help="audiences of this API, with commas between them: tokens that name none are for them, "
        "and a TokenReview for others is refused (default: the issuer of service account tokens)",
    )
    auth.add_argument(
        "--allow-privileged",
        type=boolean,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="accept pods with privileged containers (default: false)",
    )
    auth.add_argument(
        "--anonymous-auth",
        type=boolean,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="serve requests without credentials as system:anonymous (default: true)",
    )
    generic = parser.add_argument_group("generic")
    generic.add_argument(
        "--request-timeout",
        type=duration,
        default=60.0,
        metavar="DURATION",
        help="time for requests other than watches (default: 1m)",
    )
    generic.add_argument(
        "--min-request-timeout",
        type=int,
        default=1800,
        metavar="SECONDS",
        help="a watch without a time-out gets between this and twice this",
    )
    for name, what in (
        ("--max-connections", "at a time (default: what the limit of open files allows)"),
        ("--max-connections-per-address", "of them, those from one address (default: all)"),
        (
            "--max-unauthenticated-connections",
            "of them, those without credentials (default: a quarter of all, at most 1024)",
        ),
    ):
        generic.add_argument(name, type=int, default=0, metavar="N", help=f"connections {what}")
    generic.add_argument(
        "--max-requests-inflight",
        type=int,
        default=400,
        metavar="N",
        help="reads at a time; part of the seats of flow control (default: %(default)s)",
    )
    generic.add_argument(
        "--max-mutating-requests-inflight",
        type=int,
        default=200,
        metavar="N",
        help="the same of writes (default: %(default)s)",
    )
    generic.add_argument(
        "--enable-priority-and-fairness",
        type=boolean,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="false: only count requests, and refuse those over the limits",
    )
    generic.add_argument(
        "--shutdown-delay-duration",
        type=duration,
        default=0.0,
        metavar="DURATION",
        help="keep serving for so long after /readyz turned false",
    )
    generic.add_argument(
        "--feature-gates",
        type=gates,
        default={},
        metavar="NAME=BOOL,...",
        help="switch features; CBORServingAndStorage=true speaks CBOR (install it in a checkout "
        "with pip install '.[cbor]')",
    )
    generic.add_argument(
        "--service-cluster-ip-range",
        default="10.0.0.0/24",
        metavar="CIDR",
        help="addresses of Services, one range or two of different families with a comma "
        "(default: %(default)s)",
    )
    kubelets = parser.add_argument_group("kubelets")
    kubelets.add_argument(
        "--kubelet-client-certificate",
        type=path,
        metavar="FILE",
        help="client certificate shown to kubelets (default: made by the server's authority)",
    )
    kubelets.add_argument(
        "--kubelet-client-key", type=path, metavar="FILE", help="its key; the two go together"
    )
    kubelets.add_argument(
        "--kubelet-certificate-authority",
        type=path,
        metavar="FILE",
        help="CA of kubelets' certificates, which are not checked without it",
    )
    kubelets.add_argument(
        "--kubelet-preferred-address-types",
        type=names,
        default=ADDRESS_TYPES,
        metavar="TYPE,...",
        help=f"which of a node's addresses is used (default: {','.join(ADDRESS_TYPES)})",
    )
    kubelets.add_argument(
        "--kubelet-timeout",
        type=duration,
        default=5.0,
        metavar="DURATION",
        help="limit of connecting to a kubelet (default: 5s)",
    )
    kubeconfig = parser.add_argument_group("kubeconfig")
    kubeconfig.add_argument(
        "--name", default="default", help="cluster name; the context is kubetrio-NAME"
    )
    kubeconfig.add_argument(
        "--write-kubeconfig",
        type=path,
        metavar="FILE",
        help="where the admin kubeconfig goes, in a directory that exists "
        "(default: DATA_DIR/kubeconfig)",
    )
    kubeconfig.add_argument(
        "--merge-kubeconfig",
        type=boolean,
        nargs="?",
        const=True,
        default=False,
        metavar="BOOL",
        help="also add the context to $KUBECONFIG or ~/.kube/config and make it the current one",
    )
    logs = parser.add_argument_group("logs")
    logs.add_argument(
        "-v",
        "--v",
        type=int,
        default=0,
        metavar="LEVEL",
        dest="verbosity",
        help="how much is logged, 0 for little (default: %(default)s)",
    )
    logs.add_argument(
        "--logging-format",
        choices=("text", "json"),
        default="text",
        help="text is klog's, to standard error as is json (default: %(default)s)",
    )


def to_config(options: argparse.Namespace) -> Config:
    """The configuration that parsed flags ask for."""
    return Config(
        data_dir=options.data_dir,
        name=options.name,
        bind_address=options.bind_address,
        secure_port=options.secure_port,
        advertise_address=options.advertise_address,
        cert_dir=options.cert_dir,
        tls_cert_file=options.tls_cert_file,
        tls_private_key_file=options.tls_private_key_file,
        client_ca_file=options.client_ca_file,
        token_auth_file=options.token_auth_file,
        allow_privileged=options.allow_privileged,
        anonymous_auth=options.anonymous_auth,
        durability=options.durability,
        accept_data_loss=options.accept_data_loss,
        history_window_s=options.history_window,
        compact_interval_s=options.etcd_compaction_interval,
        request_timeout_s=options.request_timeout,
        min_request_timeout_s=float(options.min_request_timeout),
        max_connections=options.max_connections,
        max_connections_per_address=options.max_connections_per_address,
        max_unauthenticated_connections=options.max_unauthenticated_connections,
        max_requests_inflight=options.max_requests_inflight,
        max_mutating_requests_inflight=options.max_mutating_requests_inflight,
        priority_and_fairness=options.enable_priority_and_fairness,
        shutdown_delay_s=options.shutdown_delay_duration,
        service_cluster_ip_range=options.service_cluster_ip_range,
        service_account_issuer=options.service_account_issuer,
        api_audiences=options.api_audiences,
        kubelet_client_certificate=options.kubelet_client_certificate,
        kubelet_client_key=options.kubelet_client_key,
        kubelet_certificate_authority=options.kubelet_certificate_authority,
        kubelet_preferred_address_types=options.kubelet_preferred_address_types,
        kubelet_timeout_s=options.kubelet_timeout,
        feature_gates=options.feature_gates,
        extra_hosts=tuple(options.tls_san),
    )


def unused(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split arguments nobody took into flags kube-apiserver has, and errors.

    Returns:
        Names that are accepted and ignored, and arguments that are mistakes.
    """
    from kubetrio.schema import builtin

    known = builtin.load("flags")["flags"]
    accepted: list[str] = []
    wrong: list[str] = []
    rest = iter(arguments)
    previous_wants_value = False
    for argument in rest:
        if argument.startswith("--"):
            name, found, _ = argument[2:].partition("=")
            if name in known:
                accepted.append(name)
                previous_wants_value = not found and known[name].get("type") != "bool"
            else:
                wrong.append(argument)
                previous_wants_value = False
        elif previous_wants_value:
            previous_wants_value = False
        else:
            wrong.append(argument)
    return accepted, wrong


def mistakes(wrong: Sequence[str], text: str) -> str:
    """One line about arguments that are mistakes.

    Args:
        wrong: the arguments.
        text: the help, which names the flags there are.
    """
    known = re.findall(r"--[a-z][a-z-]*", text)
    said: list[str] = []
    value_may_follow = False
    for argument in wrong:
        name, given, _ = argument.partition("=")
        if not name.startswith("-"):
            if not value_may_follow:
                said.append(f"unexpected argument: {argument}")
            value_may_follow = False
            continue
        value_may_follow = not given
        near = get_close_matches(f"--{name.lstrip('-').replace('_', '-')}", known, 1)
        said.append(f"unknown flag: {name}{f', did you mean {near[0]}?' if near else ''}")
    return "; ".join(said)
