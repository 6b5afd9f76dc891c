"""A dbt test that fails where a model does not meet its policy.

    python -m tclose.integrations.dbt policy.toml --model visits --dialect postgres > tests/visits_policy.sql

`dbt test` then runs the query of `tclose sql` in the warehouse; every line that it returns is a requirement that fails.
dbt itself is not needed to make the test.
"""

from __future__ import annotations

import argparse
import re
import sys

from tclose.errors import InputError, TcloseError
from tclose.policy import PolicyLike
from tclose.sql import failing_requirements

MARKERS = ("{{", "{%", "{#")  # of Jinja, which dbt runs over every test
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def dbt_test(policy: PolicyLike, *, model: str, dialect: str) -> str:
    """Return the text of a test for a model of dbt.

    >>> test = dbt_test({"quasi": ["zone"], "k": 2}, model="visits", dialect="duckdb")
    >>> "FROM {{ ref('visits') }} AS t" in test
    True
    """
    if not NAME.fullmatch(model):
        raise InputError("a model of dbt has a name of letters, digits and underscores")
    table = f"{{{{ ref('{model}') }}}}"
    return failing_requirements(policy, table=table, dialect=dialect, markers=MARKERS)


def main(arguments: list[str] | None = None) -> int:
    """Print a test; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tclose.integrations.dbt", description=__doc__.splitlines()[0])
    parser.add_argument("policy", help="the policy, a TOML file")
    parser.add_argument("--model", required=True, help="the model that is judged")
    parser.add_argument("--dialect", required=True, help="the SQL dialect of the warehouse, as in `tclose sql`")
    given = parser.parse_args(arguments)
    try:
        sys.stdout.write(dbt_test(given.policy, model=given.model, dialect=given.dialect))
    except TcloseError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
