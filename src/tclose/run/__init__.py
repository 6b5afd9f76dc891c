"""A table under a policy: what is asked of it, what was learned of it, and where its rows lie."""
