"""The papers' experiments, run again: every figure that a paper prints stands beside ours."""
