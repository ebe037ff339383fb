"""The flags of ``kubetrio serve``, and every flag of kube-apiserver that it does not have."""
