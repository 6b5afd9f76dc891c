"""Step 5, tell: one self-contained HTML page about a release, or about methods compared."""
