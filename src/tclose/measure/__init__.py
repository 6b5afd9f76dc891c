"""Step 5, tell: what a release costs. A measure declares its name, its direction and its range."""
