"""A first draft of a policy from a table: roles and kinds are guessed and explained, t never is."""

from tclose.policy.draft.guesses import draft, guess, person_of, with_told
from tclose.policy.draft.patterns import shape_of
from tclose.policy.draft.profile import AMBIGUOUS, MISSING, OWN_ROWS, ColumnProfile, Kind, NumberLook
from tclose.policy.draft.roles import Draft, Guess

__all__ = [
    "AMBIGUOUS",
    "MISSING",
    "OWN_ROWS",
    "ColumnProfile",
    "Draft",
    "Guess",
    "Kind",
    "NumberLook",
    "draft",
    "guess",
    "person_of",
    "shape_of",
    "with_told",
]
