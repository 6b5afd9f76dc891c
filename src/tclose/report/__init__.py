"""Step 5, tell: a self-contained HTML page about a release, or about compared methods."""
