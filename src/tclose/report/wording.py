"""How the page titles the models."""

from __future__ import annotations

MODELS = {
    "k": "k-anonymity",
    "t": "closeness",
    "(n,t)": "(n,t)-closeness",
    "l": "l-diversity",
    "entropy_l": "entropy l-diversity",
    "recursive": "recursive (c,l)-diversity",
    "alpha": "largest share of a value (α)",
    "beta": "gain in probability (β)",
    "enhanced_beta": "gain in probability, enhanced (β)",
    "delta": "δ-disclosure",
    "suppress": "rows withheld",
}
