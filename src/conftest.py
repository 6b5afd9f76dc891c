"""Doctests of `tclose.spark` can be loaded only where pyspark is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") and find_spec("pyarrow") else ["tclose/spark"]
