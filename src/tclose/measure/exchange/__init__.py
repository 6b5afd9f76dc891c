"""What an adversary learns who knows the algorithm: a random field over who has which value (docs/method.md)."""

from tclose.measure.exchange.attacked import AttackedRows
from tclose.measure.exchange.findings import AttributeFigures, Inference, inferred
from tclose.measure.exchange.membership import PublishedRows, attacked_rows

__all__ = ["AttackedRows", "AttributeFigures", "Inference", "PublishedRows", "attacked_rows", "inferred"]
