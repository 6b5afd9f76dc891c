"""Exit statuses: it holds, it does not, bad usage or input."""

HOLDS, FAILS, BAD = 0, 1, 2
