"""Sums of rows that lie on a cluster, for ``mahala.spark`` and ``mahala.dask``."""
