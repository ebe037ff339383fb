"""Kubeconfig files: made, written and merged into the user's.

Names follow kind: cluster and context are ``kubetrio-<name>``.  In a file of its own the user is
``kubernetes-admin``, as the certificate says.  In a file shared with other clusters that name
would collide with the next server's and with kubeadm's, so `merge` names the user after the
context, as kind does.

A merged file is edited as a tree of YAML nodes and not as values: every scalar of an entry that
is kept is written with the quotes it had, so that no reader sees another type than before.
Comments do not survive, as they do not survive kubectl.

Source: Kubernetes documentation "Organizing Cluster Access Using kubeconfig Files" and the
``kubectl config`` reference for the loading rules; client-go's lock file convention.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubetrio.runtime.files import write_atomic

if TYPE_CHECKING:
    import yaml

Json = dict[str, Any]

USER = "kubernetes-admin"
"""User entry of a file that describes one server."""

_LISTS = ("clusters", "contexts", "users")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_/+.:@=\[\]-]*[A-Za-z0-9_/+=\]]")
_NULL = "tag:yaml.org,2002:null"
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null"})


class KubeconfigError(Exception):
    """A kubeconfig cannot be read or written; one line that names the file and the next step."""


class KubeconfigLockedError(KubeconfigError):
    """Another program holds the lock; trying again shortly may help."""


def context_name(name: str) -> str:
    """Name of a server's context and cluster."""
    return f"kubetrio-{name}"


def build(
    name: str,
    server_url: str,
    ca_pem: bytes,
    cert_pem: bytes,
    key_pem: bytes,
    server_name: str = "",
) -> Json:
    """A kubeconfig for one server with everything inline.

    Args:
        name: the server's name, without prefix.
        server_url: such as ``https://127.0.0.1:6443``.
        ca_pem: certificates of the authorities that verify the server's.
        cert_pem: client certificate.
        key_pem: its private key.
        server_name: name that the server's certificate is checked for, where its address is not
            in it.
    """
    context = context_name(name)
    cluster = {"certificate-authority-data": _base64(ca_pem), "server": server_url}
    if server_name:
        cluster["tls-server-name"] = server_name
    user = {"client-certificate-data": _base64(cert_pem), "client-key-data": _base64(key_pem)}
    return {
        "apiVersion": "v1",
        "clusters": [{"cluster": cluster, "name": context}],
        "contexts": [{"context": {"cluster": context, "user": USER}, "name": context}],
        "current-context": context,
        "kind": "Config",
        "preferences": {},
        "users": [{"name": USER, "user": user}],
    }


def dump(config: Mapping[str, Any]) -> str:
    """Print a kubeconfig as YAML without importing a YAML library."""
    return "".join(f"{line}\n" for line in _block(config))


def default_path(environ: Mapping[str, str]) -> Path:
    """The kubeconfig to change: first entry of ``$KUBECONFIG``, else ``~/.kube/config``.

    Raises:
        KubeconfigError: neither ``$KUBECONFIG`` nor a home directory is set.
    """
    for entry in environ.get("KUBECONFIG", "").split(os.pathsep):
        if entry:
            return Path(entry)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if not home:
        raise KubeconfigError("there is no $HOME to keep .kube/config in; set $KUBECONFIG")
    return Path(home, ".kube", "config")


def write(path: Path, config: Mapping[str, Any]) -> None:
    """Write a kubeconfig with mode 0600, replacing what is there.  Blocking.

    Args:
        path: in a directory that exists.
        config: as `build` returns it.

    Raises:
        KubeconfigError: the file cannot be written.
    """
    _write(path, dump(config))


def check_place(path: Path) -> None:
    """See that a kubeconfig can be written, without writing it.

    Raises:
        KubeconfigError: its directory is missing or not writable.
    """
    directory = path.parent
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not directory.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(path, error) from error


def check_merge(path: Path, name: str, url: str) -> None:
    """See that `merge` can be done later, without doing it.  Blocking.

    Args:
        path: the file.
        name: of the server, without prefix.
        url: where a server without certificates yet will listen; nothing if it has them, for then
            these tell whose an entry is.

    Raises:
        KubeconfigError: as `merge`.
    """
    text = _read(path)
    if text.strip():
        added = _qualified(build(name, url, b"", b"", b""))
        _compose(path, text)
        if url:
            import yaml

            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            there = yaml.load(text, Loader=loader)  # noqa: S506  (it is safe)
            _refuse_another(path, there or {}, added)


def merge(path: Path, config: Mapping[str, Any]) -> str:
    """Add a built kubeconfig to the one at `path` and make its context current.  Blocking.

    Entries of the same names are replaced in place where they are of the same server (of its
    address or its authority), all others stay as they are.  The user entry is renamed to the
    context's name.  The file has mode 0600 afterwards; a symbolic link is followed.

    Args:
        path: made when missing, with its directory.
        config: as `build` returns it.

    Returns:
        The context that was current, or nothing.

    Raises:
        KubeconfigLockedError: ``<path>.lock`` exists.
        KubeconfigError: `path` is not a kubeconfig, cannot be read or written, or has an entry of
            another server under the same name.
    """
    added = _qualified(config)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    with _locked(path):
        text = _read(path)
        merged, former = _merged(path, text, added) if text.strip() else (dump(added), "")
        _write(path, merged)
        return former


def remove(path: Path, name: str, ca_pem: bytes) -> bool:
    """Take a server's entries out of a kubeconfig, and its context if it is current.  Blocking.

    Args:
        path: the file; nothing is done where it is missing.
        name: of the context, cluster and user that `merge` has added.
        ca_pem: the server's authority; entries with another one are another server's and stay.

    Returns:
        Whether there was an entry to remove.

    Raises:
        KubeconfigLockedError: ``<path>.lock`` exists.
        KubeconfigError: `path` is not a kubeconfig, or cannot be read or written.
    """
    if not path.is_file():
        return False
    import yaml

    with _locked(path):
        root = _compose(path, text := _read(path))
        if root is None:
            return False
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        there = yaml.load(text, Loader=loader)  # noqa: S506  (it is safe)
        cluster = _entry(there, "clusters", name)
        if cluster.get("certificate-authority-data") != _base64(ca_pem):
            return False
        for key, node in root.value:
            if key.value in _LISTS and isinstance(node, yaml.SequenceNode):
                node.value = [each for each in node.value if _name(each) != name]
                node.flow_style = node.flow_style or not node.value
        if there.get("current-context") == name:
            root.value = [(k, v) for k, v in root.value if k.value != "current-context"]
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        out = yaml.serialize(root, Dumper=dumper, allow_unicode=True, width=1 << 30)
        _write(path, str(out))
        return True


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise KubeconfigError(
            f"cannot read {path}: {error}; mend or move it, or set $KUBECONFIG to another"
        ) from error


def _compose(path: Path, text: str) -> yaml.MappingNode | None:
    """The tree of a file's text, None if it says nothing.

    Raises:
        KubeconfigError: it is no YAML, or no mapping.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise _malformed(path, f"is not YAML ({reason})") from error
    if root is None or root.tag == _NULL:
        return None
    if not isinstance(root, yaml.MappingNode):
        raise _malformed(path, "holds no mapping")
    return root


def _qualified(config: Mapping[str, Any]) -> Json:
    """Return the configuration with the user named after the context."""
    name = config["current-context"]
    (context,), (user,) = config["contexts"], config["users"]
    return {
        **config,
        "contexts": [{**context, "context": {**context["context"], "user": name}}],
        "users": [{**user, "name": name}],
    }


def _merged(path: Path, text: str, added: Json) -> tuple[str, str]:
    """The text of an existing file with a configuration added, and the context it had."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    root, news = _compose(path, text), yaml.compose(dump(added), Loader=yaml.SafeLoader)
    if root is None or not isinstance(news, yaml.MappingNode):
        return dump(added), ""
    current = _refuse_another(path, yaml.load(text, Loader=loader), added)  # noqa: S506  (it is safe)
    for key, node in news.value:
        at = next((i for i, (k, _) in enumerate(root.value) if k.value == key.value), None)
        if at is None:
            root.value.append((key, node))
        elif key.value == "current-context":
            root.value[at] = (root.value[at][0], node)
        elif key.value in _LISTS:
            former = root.value[at][1]
            if former.tag == _NULL:
                root.value[at] = (root.value[at][0], node)
            elif isinstance(former, yaml.SequenceNode):
                _replace(former, node.value[0])
            else:
                raise _malformed(path, f"has {key.value} that are no list")
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    out = yaml.serialize(root, Dumper=dumper, allow_unicode=True, width=1 << 30)
    return str(out), current


def _refuse_another(path: Path, there: Mapping[str, Any], added: Json) -> str:
    """See that no entry of another server would be replaced; returns the current context.

    Raises:
        KubeconfigError: one would be.
    """
    name, ours = added["current-context"], added["clusters"][0]["cluster"]
    cluster = _entry(there, "clusters", name)
    context, user = _entry(there, "contexts", name), _entry(there, "users", name)
    same = any(cluster.get(key) == ours[key] for key in ours)
    if not cluster:  # nothing says whose the others are
        same = not (context or user)
    if not same or context.get("cluster", name) != name:
        where = cluster.get("server")
        raise KubeconfigError(
            f"{path} has {name}{f' for {where}' if where else ''}, which is another server; start "
            f"with another --name, or remove it: kubectl config delete-context {name}; "
            f"kubectl config delete-cluster {name}; kubectl config delete-user {name}"
        )
    return str(there.get("current-context") or "")


def _entry(there: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    """What a kubeconfig says under a name in one of its lists; empty if nothing."""
    entries = there.get(key)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and str(entry.get("name")) == name:
            found = entry.get(key.removesuffix("s"))
            return found if isinstance(found, Mapping) else {}
    return {}


def _replace(entries: yaml.SequenceNode, entry: yaml.Node) -> None:
    """Put a named entry in the place of the first of its name, or at the end."""
    name = _name(entry)
    kept: list[yaml.Node] = []
    placed = False
    for each in entries.value:
        if _name(each) != name:
            kept.append(each)
        elif not placed:
            kept.append(entry)
            placed = True
    entries.value = kept if placed else [*kept, entry]
    if not entries.flow_style:
        return
    # ``clusters: []`` is how kubectl writes an empty list; nothing else is worth one long line.
    entries.flow_style = len(kept) > 0


def _name(entry: yaml.Node) -> str | None:
    if not isinstance(entry.value, list):
        return None
    pairs = (pair for pair in entry.value if isinstance(pair, tuple))
    return next((str(v.value) for k, v in pairs if k.value == "name"), None)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file that kubectl and kind use too."""
    lock = Path(f"{path}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0))
    except FileExistsError as error:
        raise KubeconfigLockedError(
            f"{path} is being changed by another program; if none is running, remove {lock}"
        ) from error
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            lock.unlink()


def _write(path: Path, text: str) -> None:
    try:
        target = path.resolve()  # a link, as dotfile managers make, stays a link
        write_atomic(target, text.encode())
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before 3.13
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: Exception) -> KubeconfigError:
    return KubeconfigError(
        f"cannot write {path}: {getattr(error, 'strerror', None) or error}; make its directory, "
        "writable for this user, or choose another --write-kubeconfig or $KUBECONFIG"
    )


def _malformed(path: Path, what: str) -> KubeconfigError:
    return KubeconfigError(f"{path} {what}; mend or move it, or set $KUBECONFIG to another")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _block(value: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a mapping; lists hold mappings and everything else is text."""
    for key, member in value.items():
        if isinstance(member, Mapping):
            yield f"{key}:" if member else f"{key}: {{}}"
            yield from (f"  {line}" for line in _block(member))
        elif isinstance(member, list):
            yield f"{key}:" if member else f"{key}: []"
            for entry in member:
                for number, line in enumerate(_block(entry)):
                    yield f"{'- ' if number == 0 else '  '}{line}"
        else:
            yield f"{key}: {_scalar(member)}"


def _scalar(text: str) -> str:
    """A text as a YAML scalar; a JSON text is one too, and says that it is a text."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return json.dumps(text, ensure_ascii=False)
