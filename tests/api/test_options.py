"""Query parameters of the verbs, in kube-apiserver's words."""

from __future__ import annotations

import pytest

from kubetrio.api import options
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError
from kubetrio.resources.listing import ListOptions
from kubetrio.resources.watching import WatchOptions
from kubetrio.schema.kind import Kind
from kubetrio.wire.negotiate import APPLY_PATCH, MERGE_PATCH

CONFIGMAPS = registry().resources["", "v1", "configmaps"]
PATH = "/api/v1/namespaces/ns/configmaps"


def request(query: str = "", path: str = PATH, agent: str = "tool/1.0 x") -> Request:
    headers = {b"user-agent": agent.encode()}
    made = Request("GET", path, query, headers, list(headers.items()))
    made.query = parse_query(query)
    made.info = resolve("GET", path, made.query)
    return made


@pytest.mark.parametrize(("text", "value"), [("7", 7), ("-7", -7), ("+7", 7), ("007", 7)])
def test_integers(text: str, value: int) -> None:
    """As Go's strconv reads them."""
    assert options.integer(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ten", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("٣", "invalid syntax"),
        ("", "invalid syntax"),
        ("99999999999999999999", "value out of range"),
    ],
)
def test_what_is_no_integer(text: str, why: str) -> None:
    """400 in Go's words."""
    with pytest.raises(ApiError) as caught:
        options.integer(text)
    assert caught.value.message == f'strconv.ParseInt: parsing "{text}": {why}'


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ListOptions()),
        ("limit=2", ListOptions(limit=2)),
        ("limit=-1", ListOptions()),
        ("limit=2&resourceVersion=0", ListOptions(resource_version="0")),
        ("limit=2&continue=abc", ListOptions(limit=2, continue_token="abc")),
        (
            "resourceVersion=5&resourceVersionMatch=Exact",
            ListOptions(resource_version="5", match="Exact"),
        ),
        ("labelSelector=&fieldSelector=", ListOptions()),
    ],
)
def test_lists(query: str, expected: ListOptions) -> None:
    """What they ask for; version zero does not page."""
    assert options.list_options(request(query), CONFIGMAPS) == expected


@pytest.mark.parametrize("group", ["", "events.k8s.io"])
def test_events_are_paged_whatever_version_is_named(group: str) -> None:
    """There is no memory to answer from."""
    events = registry().resources[group, "v1", "events"]
    for query in ("", "&resourceVersionMatch=NotOlderThan"):
        found = options.list_options(request(f"limit=2&resourceVersion=0{query}"), events)
        assert (found.limit, found.resource_version) == (2, "0")


FORBIDDEN = "resourceVersionMatch: Forbidden: resourceVersionMatch "


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("resourceVersionMatch=Exact", "is forbidden unless resourceVersion is provided"),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            'forbidden for resourceVersion "0"',
        ),
        (
            "resourceVersion=5&resourceVersionMatch=Sloppy",
            'Unsupported value: "Sloppy": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            "continue=x&resourceVersion=5&resourceVersionMatch=Exact",
            "is forbidden when continue is provided",
        ),
        ("sendInitialEvents=true", "sendInitialEvents is forbidden for list"),
    ],
)
def test_lists_that_contradict_themselves(query: str, words: str) -> None:
    """422 with the member at fault."""
    with pytest.raises(ApiError) as caught:
        options.list_options(request(query), CONFIGMAPS)
    assert caught.value.code == 422
    assert words in caught.value.message


@pytest.mark.parametrize(
    "query",
    [
        "labelSelector=a===b",
        "fieldSelector=spec.foo=bar",
        "limit=ten",
        "timeoutSeconds=x",
        "limit=",
        "limit&limit=1",
        "timeoutSeconds=",
    ],
)
def test_what_does_not_parse_is_400(query: str) -> None:
    """Selectors and numbers."""
    with pytest.raises(ApiError) as caught:
        options.list_options(request(query), CONFIGMAPS)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("query", "start", "begin_now", "mark", "wait"),
    [
        ("watch=1", None, False, False, 0),
        ("watch=1&resourceVersion=0", None, False, False, 0),
        ("watch=1&resourceVersion=5", 5, False, False, 0),
        (
            ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
            "&resourceVersion=5&allowWatchBookmarks=true"),
            None, False, True, 5,
        ),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            None, False, False, 0,
        ),
        (
            "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            None, True, False, 0,
        ),
        (
            "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=5",
            5, False, False, 0,
        ),
        ("watch=1&allowWatchBookmarks=true", None, False, True, 0),
        ("watch=1&allowWatchBookmarks=true&resourceVersion=0", None, False, True, 0),
        ("watch=1&allowWatchBookmarks=true&resourceVersion=00", None, False, False, 0),
        ("watch=1&allowWatchBookmarks=true&resourceVersion=5", 5, False, False, 0),
        (
            "watch=1&allowWatchBookmarks=true&sendInitialEvents=0&resourceVersionMatch=NotOlderThan",
            None, True, False, 0,
        ),
    ],
)  # fmt: skip
def test_where_watches_begin(
    query: str, start: int | None, begin_now: bool, mark: bool, wait: int
) -> None:
    """With the state, after a version, or now; who takes bookmarks hears the end of the state."""
    found = options.watch_options(request(query), CONFIGMAPS, "ns", 60.0)
    assert (found.start, found.begin_now) == (start, begin_now)
    assert (found.initial_bookmark, found.not_older_than) == (mark, wait)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("sendInitialEvents=true", 422),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=NotOlderThan", 422),
        ("continue=abc", 422),
        ("resourceVersion=abc", 500),
        ("timeoutSeconds=abc", 400),
        ("timeoutSeconds=", 400),
        ("limit=", 400),
    ],
)
def test_watches_that_are_refused(query: str, code: int) -> None:
    """With the codes that were recorded."""
    with pytest.raises(ApiError) as caught:
        options.watch_options(request("watch=1&" + query), CONFIGMAPS, "ns", 60.0)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("query", "seconds"),
    [("", 60.0), ("timeoutSeconds=7", 7.0), ("timeoutSeconds=0", 60.0), ("timeoutSeconds=-1", 0.0)],
)
def test_how_long_a_watch_lasts(query: str, seconds: float) -> None:
    """As long as the client says, else the server's time."""
    found = options.watch_options(request(query), CONFIGMAPS, "ns", 60.0)
    assert found.timeout_s == seconds


def _refusal(query: str, path: str = PATH) -> ApiError:
    asked = request(query, path)
    is_watch = asked.info.verb == "watch"
    with pytest.raises(ApiError) as caught:
        (_watched if is_watch else options.list_options)(asked, CONFIGMAPS)
    return caught.value


def _watched(asked: Request, kind: Kind) -> WatchOptions:
    return options.watch_options(asked, kind, "ns", 60.0)


@pytest.mark.parametrize(
    "query",
    [
        "fieldSelector=a%3Db&resourceVersion=abc&resourceVersionMatch=Foo",
        "watch=1&fieldSelector=metadata.nope%3Dx&sendInitialEvents=true",
    ],
)
def test_options_are_checked_before_fields(query: str) -> None:
    """Of both mistakes the options are told."""
    assert _refusal(query).code == 422


def test_a_selector_that_does_not_parse_is_told_first() -> None:
    assert _refusal("labelSelector=!!&resourceVersionMatch=Foo").code == 400


def test_fields_are_checked_before_the_version_of_a_watch() -> None:
    assert _refusal("watch=1&fieldSelector=a%3Db&resourceVersion=abc").code == 400


def test_a_watch_from_a_version_ignores_a_token() -> None:
    """Only where it asks for its initial events, if by default, is one forbidden."""
    found = options.watch_options(
        request("watch=1&resourceVersion=5&continue=abc"), CONFIGMAPS, "ns", 60.0
    )
    assert found.start == 5
    assert (
        "resourceVersionMatch is forbidden when continue"
        in _refusal("watch=1&continue=abc").message
    )


def test_the_options_of_a_watch_path_are_those_of_a_list() -> None:
    """The path says that it is a watch, the options do not."""
    path = "/api/v1/watch/namespaces/ns/configmaps"
    text = "sendInitialEvents is forbidden for list"
    assert text in _refusal("sendInitialEvents=true", path).message
    found = options.watch_options(request("allowWatchBookmarks=1", path), CONFIGMAPS, "ns", 60.0)
    assert found.initial_bookmark is False


def test_a_watch_of_one_object() -> None:
    """By the deprecated path."""
    path = "/api/v1/watch/namespaces/ns/configmaps/one"
    found = options.watch_options(request("", path), CONFIGMAPS, "ns", 60.0)
    assert found.prefix == CONFIGMAPS.key("ns", "one")
    for query in ("fieldSelector=metadata.name%3Dtwo", "fieldSelector=metadata.namespace%3Dns"):
        with pytest.raises(ApiError) as caught:
            options.watch_options(request(query, path), CONFIGMAPS, "ns", 60.0)
        assert caught.value.message == "fieldSelector metadata.name doesn't match requested name"
    same = request("fieldSelector=metadata.name%3Done", path)
    assert options.watch_options(same, CONFIGMAPS, "ns", 60.0).prefix == found.prefix


def test_a_client_that_names_no_manager() -> None:
    """Is called by its user agent, up to the slash."""
    assert options.write_options(request(), "CreateOptions").field_manager == "tool"
    named = options.write_options(request("fieldManager=me"), "CreateOptions")
    assert named.field_manager == "me"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ("dryRun=", 'dryRun: Unsupported value: [""]'),
        ("fieldValidation=Maybe", 'supported values: "", "Ignore", "Strict", "Warn"'),
        ("fieldManager=" + "x" * 129, "may not be more than 128 bytes"),
        ("fieldManager=a%01", "invalid character U+0001 (at position 1)"),
    ],
)
def test_writes_that_are_refused(query: str, words: str) -> None:
    """422 about the options, not the object."""
    with pytest.raises(ApiError) as caught:
        options.write_options(request(query), "CreateOptions")
    assert caught.value.code == 422
    assert caught.value.message.startswith('CreateOptions.meta.k8s.io "" is invalid: ')
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("media", "query", "words"),
    [
        (APPLY_PATCH, "force=true", "fieldManager: Required value: is required for apply patch"),
        (MERGE_PATCH, "force=true", "force: Forbidden: may not be specified for non-apply patch"),
    ],
)
def test_patches_that_are_refused(media: str, query: str, words: str) -> None:
    """Apply needs a manager; only apply can be forced."""
    made = request(query)
    made.patch_type = media
    with pytest.raises(ApiError) as caught:
        options.patch_options(made)
    assert words in caught.value.message


def test_delete_options_in_the_query() -> None:
    """For clients that send no body."""
    query = "gracePeriodSeconds=5&propagationPolicy=Orphan&dryRun=All&orphanDependents=false"
    assert options.delete_query(request(query)) == {
        "gracePeriodSeconds": 5,
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
        "orphanDependents": False,
    }
    assert options.delete_query(request()) == {}
    with pytest.raises(ApiError) as caught:
        options.delete_query(request("gracePeriodSeconds="))
    assert caught.value.message == 'strconv.ParseInt: parsing "": invalid syntax'


def test_preconditions_in_the_query() -> None:
    """Those that are empty are none, other than in a body."""
    made = options.delete_query(request("uid=u&resourceVersion=5"))
    assert made == {"preconditions": {"uid": "u", "resourceVersion": "5"}}
    assert options.delete_query(request("uid=&resourceVersion=")) == {}


def causes_of(query: str, media: str = MERGE_PATCH) -> list[str]:
    """What is wrong with the options of a patch."""
    made = request(query)
    made.patch_type = media
    with pytest.raises(ApiError) as caught:
        options.patch_options(made)
    assert caught.value.details is not None
    return [f"{cause['field']}: {cause['message']}" for cause in caught.value.details["causes"]]


def test_everything_that_is_wrong_with_a_patch_is_told() -> None:
    """Not only the first."""
    assert causes_of("force=true&dryRun=x&fieldValidation=y") == [
        "force: Forbidden: may not be specified for non-apply patch",
        'dryRun: Unsupported value: ["x"]: supported values: "All"',
        'fieldValidation: Unsupported value: "y": supported values: "", "Ignore", "Strict", "Warn"',
    ]
    assert causes_of("dryRun=x", APPLY_PATCH) == [
        "fieldManager: Required value: is required for apply patch",
        'dryRun: Unsupported value: ["x"]: supported values: "All"',
    ]


def test_managers_are_measured_in_bytes() -> None:
    """Length and positions; each character that cannot be printed is a cause."""
    assert causes_of("fieldManager=" + "%C3%A9" * 65) == [
        "fieldManager: Too long: may not be more than 128 bytes"
    ]
    assert causes_of("fieldManager=%C3%A9%01x%0A") == [
        'fieldManager: Invalid value: "é\\x01x\\n": invalid character U+0001 (at position 2)',
        'fieldManager: Invalid value: "é\\x01x\\n": invalid character U+000A (at position 4)',
    ]


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        (b"", ""),
        (b"/1.0", ""),
        (b"kubectl/v1.36.0 (linux/amd64)", "kubectl"),
        (b"no slash", "no slash"),
        (b"a\tb\x7fc\xc2\xa0d/1", "abcd"),
        ("ä€😀/1".encode(), "ä€😀"),
        (b"a\xff\xc3/1", "a\ufffd\ufffd"),
        (b"x" * 129, "x" * 128),
        (b"x" * 127 + "ä".encode() + b"y", "x" * 127),
        (b"\x01" * 300 + b"x" * 200, "x" * 128),
    ],
)
def test_the_manager_of_a_client_that_names_none(agent: bytes, manager: str) -> None:
    """What the user agent has in front of a slash, made fit for a field manager."""
    asked = request()
    asked.headers = {b"user-agent": agent}
    assert [options.default_manager(asked) for _ in range(2)] == [manager] * 2
    assert options.write_options(asked, "CreateOptions").field_manager == manager
    asked.headers = {}
    assert options.default_manager(asked) == ""
