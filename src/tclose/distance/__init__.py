"""Ground distances and the earth mover's distance on counts, exact for any number of rows."""

from tclose.distance.base import Distance
from tclose.distance.counts import Counts
from tclose.distance.equal import Equal
from tclose.distance.geometry import Geometry, Line, LineWithLeaf, Metric, Tree, TupleMetric
from tclose.distance.hierarchical import Hierarchical
from tclose.distance.line import Ordered, Value
from tclose.distance.matrix import Matrix
from tclose.distance.missing import WithMissing
from tclose.distance.moves import Move
from tclose.distance.product import JOINT_NEAR, Product
from tclose.distance.ratios import Ratios
from tclose.distance.registry import DISTANCES, DistanceEntry, DomainFacts

__all__ = [
    "DISTANCES",
    "JOINT_NEAR",
    "Counts",
    "Distance",
    "DistanceEntry",
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
    "WithMissing",
]
