"""What a bundle needs that PyInstaller does not see: modules found by name, and ``_schemas``."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

# Commands, controllers and the rules of kinds are imported by name when they are first needed.
hiddenimports = collect_submodules(
    "kubetrio",
    filter=lambda name: not name.startswith(("kubetrio.testing", "kubetrio._pyinstaller")),
)
datas = collect_data_files("kubetrio", excludes=["**/*.pyi", "py.typed"])
