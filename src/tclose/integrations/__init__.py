"""tclose where people work already: data frames, notebooks, pandera, Great Expectations and dbt.

Each file stands for itself and imports its library only when it is imported or used.
"""
