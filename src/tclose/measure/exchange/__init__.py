"""What an adversary learns who knows the algorithm: a random field over who has which value (docs/method.md)."""

from tclose.measure.exchange.inference import AttributeInference, Inference, inference_of
from tclose.measure.exchange.knowledge import AttackedRows, PublishedRows, attacked_rows

__all__ = ["AttackedRows", "AttributeInference", "Inference", "PublishedRows", "attacked_rows", "inference_of"]
