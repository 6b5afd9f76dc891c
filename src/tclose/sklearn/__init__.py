"""tclose in a scikit-learn pipeline. Needs `pip install 'tclose[learn]'`."""

from tclose.errors import MissingExtra

try:
    from sklearn.utils.validation import validate_data  # noqa: F401 - since scikit-learn 1.6
except ImportError as missing:
    raise MissingExtra("scikit-learn 1.6 or later", "learn", "tclose.sklearn") from missing

from tclose.sklearn.anonymizer import Anonymizer

__all__ = ["Anonymizer"]
