"""Importing this module gives `df.tclose` to the frames of pandas.

`import tclose` does so by itself when pandas is loaded, too.
"""

from tclose.integrations.namespace import Namespace, register_pandas

try:
    register_pandas()
except ImportError as missing:
    raise ImportError("tclose.pandas needs pandas: pip install pandas") from missing

__all__ = ["Namespace"]
