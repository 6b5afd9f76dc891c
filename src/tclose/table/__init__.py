"""Step 1, read: files and frames in, integer codes out."""

from tclose.table.coded import CodedTable, encode, encode_quietly
from tclose.table.domains import CountedTable
from tclose.table.frames import to_polars
from tclose.table.hierarchies import Hierarchy
from tclose.table.sensitive import JointColumn, SensitiveColumn
from tclose.table.sources import read

__all__ = [
    "CodedTable",
    "CountedTable",
    "Hierarchy",
    "JointColumn",
    "SensitiveColumn",
    "encode",
    "encode_quietly",
    "read",
    "to_polars",
]
