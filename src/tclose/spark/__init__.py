"""tclose on Spark: tables are judged where they lie. Needs `pip install 'tclose[spark]'`.

Every function takes your frame or your session, in a cluster or through Spark Connect, and gives the results that the
functions of the same name in `tclose` give.
"""

from tclose.errors import MissingExtra

try:
    import pyarrow  # noqa: F401
    import pyspark.sql  # noqa: F401
except ImportError as missing:
    raise MissingExtra("pyspark", "spark", "tclose.spark") from missing

from tclose.spark.rows import SparkRelease, anonymize
from tclose.spark.verification import check, verify

__all__ = ["SparkRelease", "anonymize", "check", "verify"]
