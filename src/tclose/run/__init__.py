"""Every command, from its request to its result: what is asked, where the rows lie, and the one pipeline.

`steps.py` lists the commands. `anonymization.py` has the public functions; `pipeline.py` is the way of every release;
`engines.py` has the table of what each engine can do; `parts/` makes a release of a table that is never in one place.
No algorithm lives here.
"""
