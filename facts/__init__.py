"""Make the facts of ``schemas/`` again, from a Kubernetes release and a running kube-apiserver.

``python -m facts --help`` says how; ``schemas/README.md`` says what is made from what.
"""
