"""Using a release: its typed columns, estimates with honest bounds, synthetic values and regression."""
