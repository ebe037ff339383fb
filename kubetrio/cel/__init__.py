"""The Common Expression Language as Kubernetes uses it: compile with types, evaluate with limits.

The engine is Google's cel-cpp, from the optional extra ``cel``; no other package imports it.
"""
