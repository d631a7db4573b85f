"""The kubernetes runtime: the service on one node of a cluster, the load from others."""
