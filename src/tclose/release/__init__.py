"""Step 4, write: a release, its layouts, its certificate and its files; and how it is verified."""
