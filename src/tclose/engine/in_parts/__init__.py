"""A release of a table that is never in one place: learned from all rows, split part by part, judged as a whole.

The engines that read rows from disk or on a cluster go through the same steps:

1. `learning.py`: every row is looked at once, which gives the domains, the rows that can be published, and a sample.
2. `planning.py`: rules that tell the part of each row are learned from the sample, and the parts are counted exactly.
3. `splitting.py`: each part is split by weave and recoded, against the whole table.
4. `buckets.py`: rows that publish the same values come together, in a bucket that a hash of these values names. There
   they get their order, which depends on published values only, and what classes lose is added up.
5. `finishing.py`: the measures, what remains exposed, and the certificate.

Nothing here reads or writes files.
"""
