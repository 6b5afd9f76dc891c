"""The page's words for people who are not statisticians."""

from __future__ import annotations

TERMS = {
    "Sensitive attribute": "A column that nobody may learn about a person, such as a diagnosis or a salary. "
    "Its values are published as they are.",
    "Quasi-identifier": "A column that a neighbour or an employer may know about a person, such as age or place. "
    "In combination they point at people, so they are published less exactly.",
    "Class": "All rows that look alike in the release: they show the same quasi-identifiers. Whoever knows these of a "
    "person can tell the person's class, but not the person's row.",
    "k": "The least number of rows (or persons) that a class may have: everybody hides among at least k.",
    "Distribution": "Which share of the rows shows which value.",
    "Closeness": "How far the distribution of a sensitive attribute in a class is from that in the whole table: "
    "0 means the same, 1 as different as can be. The release is as close as its worst class.",
    "t": "The largest distance that the policy allows. The smaller t is, the less a class tells beyond what the "
    "whole table tells anyway, and the more has to be blurred.",
    "Earth mover's distance": "How closeness is measured. Think of the class's distribution as heaps of earth, and of "
    "the table's as the heaps that are wanted: the distance is the least work, mass times way, that turns the one "
    "into the other.",
    "Detail lost (GCP)": "How much less exactly quasi-identifiers are published, on average: 0 means as they were, 1 "
    "means that nothing is told any more. A share kept of 70 % is a loss of 0.3.",
    "Withheld row": "A row that is not in the release at all.",
    "Certificate": "A file that says what was proved. Anybody can check it against the release, without the "
    "original table, with: tclose verify.",
    "SHA-256, digest": "Fingerprints: if a single letter of the file changes, they change. They are no signature; "
    "compare them with ones that reached you another way.",
}
COMPARED = {
    "Method": "A published way to put rows into classes. All keep the same promise; they differ in what it costs.",
    "Trade-off": "Protection costs detail. The curve shows how much, for each method: the lower, the better.",
}
