"""Templates as Go prints them."""

from __future__ import annotations

import pytest

from kubetrio.controllers.podcontrol.godump import dump


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        ("[]string", None, "([]string)<nil>"),
        ("[]string", ["a", "b"], "([]string)[a b]"),
        ("map[string]string", {"b": "1", "a": "2"}, "(map[string]string)map[a:2 b:1]"),
        ("*int64", None, "(*int64)<nil>"),
        ("*int64", 0, "(*int64)0"),
        ("*bool", False, "(*bool)false"),
        ("v1.DNSPolicy", "Default", "(v1.DNSPolicy)Default"),
        (
            "intstr.IntOrString", "web",
            "(intstr.IntOrString){Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)web}",
        ),
        (
            "intstr.IntOrString", 8,
            "(intstr.IntOrString){Type:(intstr.Type)0 IntVal:(int32)8 StrVal:(string)}",
        ),
        ("*v1.ExecAction", {}, "(*v1.ExecAction){Command:([]string)<nil>}"),
        (
            "v1.Toleration", {"key": "a"},
            (
                "(v1.Toleration){Key:(string)a Operator:(v1.TolerationOperator) Value:(string) "
                "Effect:(v1.TaintEffect) TolerationSeconds:(*int64)<nil>}"
            ),
        ),
    ],
)  # fmt: skip
def test_values(type_name: str, value: object, text: str) -> None:
    """Types stand before values, but not within lists and maps."""
    assert dump(type_name, value) == text


@pytest.mark.parametrize(
    ("quantity", "value", "scale", "kept", "form"),
    [
        ("0", 0, 0, "0", "DecimalSI"),
        ("100m", 100, -3, "100m", "DecimalSI"),
        ("128Mi", 128 << 20, 0, "", "BinarySI"),
        ("100Mi", 100 << 20, 0, "100Mi", "BinarySI"),
        ("-5", -5, 0, "-5", "DecimalSI"),
    ],
)
def test_quantities_keep_some_texts(
    quantity: str, value: int, scale: int, kept: str, form: str
) -> None:
    """Go's parser reuses the text where it surely is the canonical one."""
    assert dump("resource.Quantity", quantity) == (
        f"(resource.Quantity){{i:(resource.int64Amount){{value:(int64){value} "
        f"scale:(resource.Scale){scale}}} d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} "
        f"s:(string){kept} Format:(resource.Format){form}}}"
    )


def test_a_large_quantity_is_a_decimal() -> None:
    """In nanos, in words of 64 bits."""
    nanos = (1 << 60) * 10**9
    words = f"{nanos % (1 << 64)} {nanos >> 64}"
    assert f"abs:(big.nat)[{words}]}} scale:(inf.Scale)9" in dump("resource.Quantity", "1Ei")


def test_what_is_no_quantity_is_told() -> None:
    """And a time in a template."""
    with pytest.raises(ValueError, match="no quantity"):
        dump("resource.Quantity", "a!")
    with pytest.raises(ValueError, match="no time"):
        dump("v1.Time", "2023-11-14T22:13:20Z")
