"""Functions that Kubernetes adds: what they return, and what they say of what they cannot read."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.cel.authorizing import authorizer
from kubetrio.cel.declarations import LIBRARY
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import admission_scope, check
from kubetrio.cel.functions import FORMATS, RENAMED, ROWS
from kubetrio.cel.programs import Inputs, Outcome, Program

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")
SCOPE = admission_scope(params=False, authorizer=True, composed=False, patches=True)
QUANTITY_ERROR = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
IP_ERROR = (
    'IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP'
)
CIDR_ERROR = (
    "network address parse error during conversion from string: "
    'netip.ParsePrefix("1.2.3.4"): invalid'
)


def evaluated(source: str, **values: Any) -> Outcome:
    return Program(check(source, SCOPE)).evaluate(Inputs({"object": {"n": 1}, **values}))


@pytest.mark.parametrize(
    "source",
    [
        # lists
        "[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()",
        "[1, 2].sum() == 3 && [1.5, 2.5].sum() == 4.0 && [1u].sum() == 1u",
        "[duration('1h'), duration('30m')].sum() == duration('90m')",
        "[3, 1].min() == 1 && ['a', 'c', 'b'].max() == 'c'",
        "[timestamp('2020-01-01T00:00:00Z')].min() == timestamp('2020-01-01T00:00:00Z')",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1",
        "[[1], [2]].indexOf([2]) == 1 && [{'a': 1}].indexOf({'a': 1}) == 0",
        "[dyn(1), dyn(true)].indexOf(dyn(true)) == 1",
        "[object.n, dyn(2)].lastIndexOf(2) == 1",
        "[dyn(1), dyn('a')].isSorted() && [dyn(1), dyn('a')].max() == 1",
        "'hello'.indexOf('l', 9) == -1 && 'hello'.indexOf('', 9) == 9",
        "'hello'.lastIndexOf('l', 9) == -1 && 'hello'.lastIndexOf('', 3) == 3",
        "'123 abc 456'.findAll('[0-9]*') == ['123', '', '', '', '', '456']",
        # sets
        "sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [2])",
        "sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])",
        # strings
        "'hello'.charAt(1) == 'e' && 'a,b'.split(',') == ['a', 'b']",
        "'abcabc'.indexOf('c') == 2 && 'abcabc'.indexOf('c', 3) == 5",
        "'abcabc'.lastIndexOf('a') == 3 && 'abcabc'.lastIndexOf('a', 2) == 0",
        "['a', 'b'].join('-') == 'a-b' && ' x '.trim() == 'x' && 'aX'.upperAscii() == 'AX'",
        "'aa'.replace('a', 'b', 1) == 'ba' && 'abc'.substring(1, 2) == 'b'",
        "strings.quote('a\"b') == '\"a\\\\\"b\"'",
        # regular expressions
        "'abc123def45'.find('[0-9]+') == '123' && 'abc'.find('[0-9]') == ''",
        "'1a2b'.findAll('[0-9]') == ['1', '2'] && '1a2b'.findAll('[0-9]', 1) == ['1']",
        "'aaa'.findAll('a', 0) == [] && 'abc'.matches('^a.c$')",
        # URLs
        "url('https://u:p@example.com:80/a%20b/c?x=1&x=2&y=').getHost() == 'example.com:80'",
        "url('https://[::1]:80/').getHostname() == '::1' && url('http://h/').getPort() == ''",
        "url('https://h/a b?x=1&x=2').getQuery() == {'x': ['1', '2']}",
        "url('https://h/a b').getEscapedPath() == '/a%20b' && url('/p').getScheme() == ''",
        "isURL('https://h') && isURL('/path') && !isURL('h') && !isURL('https://a:b:c/')",
        # quantities
        "quantity('1.5Gi').add(quantity('512Mi')) == quantity('2Gi')",
        "quantity('1k').sub(1) == quantity('999') && quantity('1k').asInteger() == 1000",
        "quantity('100m').isLessThan(quantity('1')) && quantity('2').isGreaterThan(quantity('1'))",
        "quantity('1').compareTo(quantity('1000m')) == 0 && sign(quantity('-3')) == -1",
        "quantity('1Ki') == quantity('1024') && quantity('1') != quantity('2')",
        "isQuantity('5M') && !isQuantity('5X') && !quantity('1.5').isInteger()",
        "quantity('500m').asApproximateFloat() == 0.5",
        # versions
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2",
        "semver('1.2.3').patch() == 3",
        "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10'))",
        "semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
        "semver('1.0.0+a') == semver('1.0.0+b')",
        "semver('v1.02', true) == semver('1.2.0') && !isSemver('v1.2') && isSemver('v1', true)",
        "semver('1.0.0').compareTo(semver('2.0.0')) == -1 && !isSemver('1.0.0-01')",
        # addresses
        "ip('192.168.0.1').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback()",
        "ip('10.0.0.1').isGlobalUnicast() && !ip('224.0.0.1').isGlobalUnicast()",
        "ip('224.0.0.1').isLinkLocalMulticast() && ip('fe80::1').isLinkLocalUnicast()",
        "ip('0.0.0.0').isUnspecified() && string(ip('2001:DB8::0')) == '2001:db8::'",
        "ip.isCanonical('::1') && !ip.isCanonical('0:0::1') && ip('::1') == ip('0::1')",
        "isIP('1.2.3.4') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4') && !isIP('01.2.3.4')",
        "cidr('10.0.0.0/8').containsIP('10.9.8.7')",
        "!cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.1.2.3/8').prefixLength() == 8",
        "string(cidr('10.1.2.3/8').ip()) == '10.1.2.3' && isCIDR('::/0') && !isCIDR('1.2.3.4/33')",
        "string(cidr('10.1.2.3/8')) == '10.1.2.3/8'",
        # formats
        "!format.dns1123Label().validate('a-b').hasValue()",
        "format.dns1123Label().validate('A').value()[0].startsWith('a lowercase RFC 1123 label')",
        "format.named('uuid').value().validate('x').value() == ['does not match the UUID format']",
        "!format.named('nothing').hasValue() && !format.date().validate('2021-01-31').hasValue()",
        "format.date().validate('2021-13-31').hasValue() && format.byte().validate('%').hasValue()",
        "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue()",
        "!format.uri().validate('https://a').hasValue() && format.uri().validate('a').hasValue()",
        "format.labelValue().validate('-').hasValue()",
        "!format.dns1035LabelPrefix().validate('a-').hasValue()",
        # patches
        "jsonpatch.escapeKey('k8s.io/my~label') == 'k8s.io~1my~0label'",
    ],
)  # fmt: skip
def test_holds(source: str) -> None:
    """Statements about the functions."""
    assert evaluated(source) == Outcome(True)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("quantity('x') == quantity('1')", QUANTITY_ERROR),
        ("quantity('1.5').asInteger() == 1", "cannot convert value to integer"),
        ("ip('x').family() == 4", IP_ERROR),
        ("ip('::ffff:1.2.3.4').family() == 4",
         'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("ip('fe80::1%eth0').family() == 4",
         'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("cidr('1.2.3.4').prefixLength() == 1", CIDR_ERROR),
        ("url('').getHost() == ''",
         'URL parse error during conversion from string: parse "": empty url'),
        ("semver('1.2').major() == 1", "invalid semver version: 1.2"),
        ("'a'.find('(') == ''", "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("[].min() == 1", "min called on empty list"),
        ("[1].slice(0, 2) == []", "cannot slice(0, 2), list is length 1"),
        ("[1].slice(-1, 2) == []", "cannot slice(-1, 2), negative indexes not supported"),
        (
            "[1].slice(1, 0) == []",
            "cannot slice(1, 0), start index must be less than or equal to end index",
        ),
        ("[[1]].flatten(-1) == []", "level must be non-negative"),
        ("[dyn({})].sortBy(x, x) == []", "list elements must be comparable"),
        ("[dyn(1), dyn('a')].sortBy(x, x) == []", "list elements must have the same type"),
        ("[object].max() == object", "no such overload: max(list)"),
        ("[dyn(1), dyn(2.5)].sum() == 3", "no such overload"),
        ("[dyn('a')].sum() == 'a'", "no such overload: sum(list)"),
        ("[9223372036854775807, 1].sum() == 0", "integer overflow"),
        ("'abc'.indexOf('a', -1) == 0", "index out of range: -1"),
        ("dyn(quantity('1')).isLessThan(dyn(semver('1.0.0')))", "no such overload"),
        ("authorizer.path('').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
    ],
)  # fmt: skip
def test_fails(source: str, error: str) -> None:
    """What cannot be read is told."""
    assert evaluated(source, authorizer=authorizer()) == Outcome(error=error)


def test_every_declared_function_runs() -> None:
    """What the checker accepts has an implementation, here or in the engine."""
    theirs = {"join", "strings.quote", "format", "replace", "split", "substring", "charAt"}
    theirs |= {"unwrapOpt", "optional.unwrap"}
    theirs |= {"lowerAscii", "upperAscii", "trim", "string", "_<_", "_<=_", "_>_", "_>=_"}
    names = {name for name, _, _, _ in ROWS}
    wanted = {RENAMED.get(name, name) for _, name, _, _ in LIBRARY} - theirs
    assert wanted <= names
    for name in FORMATS:
        assert not evaluated(f"format.{name}().validate('').hasValue()").error
