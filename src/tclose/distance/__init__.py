"""Ground distances and the earth mover's distance on counts, exact for any number of rows."""

from tclose.distance.base import Distance, Geometry, Line, LineWithLeaf, Metric, Move, Tree, TupleMetric
from tclose.distance.counts import Counts, Ratios
from tclose.distance.ground import Equal, Hierarchical, Ordered, Value
from tclose.distance.registry import DISTANCES, DomainFacts
from tclose.distance.transport import JOINT_NEAR, Matrix, Product

__all__ = [
    "DISTANCES",
    "JOINT_NEAR",
    "Counts",
    "Distance",
    "DomainFacts",
    "Equal",
    "Geometry",
    "Hierarchical",
    "Line",
    "LineWithLeaf",
    "Matrix",
    "Metric",
    "Move",
    "Ordered",
    "Product",
    "Ratios",
    "Tree",
    "TupleMetric",
    "Value",
]
