"""A first draft of a policy from a table: roles and kinds are guessed and explained, t never is."""

from tclose.policy.draft.guesses import Draft, Guess
from tclose.policy.draft.guessing import guess, person_of
from tclose.policy.draft.profile import AMBIGUOUS, MISSING, OWN_ROWS, Kind, NumberLook, Profile
from tclose.policy.draft.shapes import shape_of
from tclose.policy.draft.text import draft, with_told

__all__ = [
    "AMBIGUOUS",
    "MISSING",
    "OWN_ROWS",
    "Draft",
    "Guess",
    "Kind",
    "NumberLook",
    "Profile",
    "draft",
    "guess",
    "person_of",
    "shape_of",
    "with_told",
]
