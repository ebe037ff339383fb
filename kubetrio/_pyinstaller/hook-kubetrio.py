"""What a bundle needs that PyInstaller does not see: modules found by name, and ``_schemas``."""

from importlib.util import find_spec

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

# Commands, controllers and the rules of kinds are imported by name when they are first needed.
hiddenimports = collect_submodules(
    "kubetrio",
    filter=lambda name: not name.startswith(("kubetrio.testing", "kubetrio._pyinstaller")),
)
# RE2's bindings are loaded when a client first sends a pattern.
hiddenimports += ["re2", "re2._re2"] if find_spec("re2") else []
datas = collect_data_files("kubetrio", excludes=["**/*.pyi", "py.typed"])
