"""What several methods use; no method imports another method."""
