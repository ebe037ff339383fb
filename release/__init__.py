"""Make everything that a release consists of; `python -m release.build` is the command."""
