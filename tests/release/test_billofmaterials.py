"""The bill of materials names each part once, with its licence and what it needs."""

from release_samples import PARTS

from release.billofmaterials import document


def test_each_part_is_a_component() -> None:
    """Expressions are told as such, other words as names; libraries name their files."""
    bill = document(PARTS, 0)
    assert bill["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/kubetrio@0.1.0"
    apsw, zlib = bill["components"]
    assert apsw["licenses"] == [{"expression": "any-OSI"}]
    assert zlib["purl"] == "pkg:deb/debian/zlib1g@1%3A1.2"
    assert zlib["licenses"] == [{"license": {"name": name}} for name in ("Zlib", "other words")]
    assert zlib["properties"] == [{"name": "kubetrio:file", "value": "libz.so.1"}]


def test_dependencies_name_components() -> None:
    bill = document(PARTS, 0)
    refs = {bill["metadata"]["component"]["bom-ref"]} | {
        each["bom-ref"] for each in bill["components"]
    }
    assert {row["ref"] for row in bill["dependencies"]} == refs
    assert {below for row in bill["dependencies"] for below in row["dependsOn"]} <= refs
    assert bill["serialNumber"] == document(PARTS, 9)["serialNumber"]
