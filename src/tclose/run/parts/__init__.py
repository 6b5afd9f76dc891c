"""A release of a table that is never in one place: learned from all rows, split part by part, judged as a whole.

The engines that read rows from disk or on a cluster go through the same steps:

1. `plan.py`: every row is looked at once, which gives the domains, the rows that can be published, and a sample. Rules
   that tell the part of each row are learned from the sample, and the parts are counted exactly.
2. `buckets.py`: each part is split by the method and recoded, against the whole table. Rows that publish the same
   values come together, in a bucket that a hash of these values names. There they get their order, which depends on
   published values only. What classes lose is added up for the measures and the certificate.
3. `exposure.py`: what remains exposed.

`rows.py` tells the story for any place. Only `files.py` and `file_rows.py`, the place that reads files in batches,
read or write files.
"""
