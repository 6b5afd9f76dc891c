"""Expectations, validated by Great Expectations itself: on pandas frames here, in PostgreSQL in `tests/sql`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCRIPT = """
import json, sys
import great_expectations as gx
import pandas as pd
from tclose.integrations.great_expectations import ExpectTableToMeetPolicy

policy = {"identifiers": ["name"], "quasi": ["zone"], "sensitive": {"pay": {"t": 0.1}}, "k": 2}
names = ["Ada", "Bob", "Cid", "Dan"]
source = gx.get_context(mode="ephemeral").data_sources.add_pandas("clinic")
batches = source.add_dataframe_asset("visits").add_batch_definition_whole_dataframe("all")
answers = []
for pay in ([3, 4, 3, 4], [3, 3, 4, 4]):
    table = pd.DataFrame({"name": names, "zone": list("aabb"), "pay": pay})
    result = batches.get_batch(batch_parameters={"dataframe": table}).validate(ExpectTableToMeetPolicy(policy=policy))
    answers.append(result.to_json_dict())
json.dump(answers, sys.stdout)
"""


def test_a_frame_that_fails_its_policy_fails_the_expectation(tmp_path: Path, run_there: Any) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run_there("python", "script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    good, bad = json.loads(done.stdout)
    assert (good["success"], bad["success"]) == (True, False)
    assert good["result"]["observed_value"] == []
    (failing,) = bad["result"]["observed_value"]
    assert (failing["model"], failing["attribute"], failing["reached"]) == ("t", "pay", 0.5)
    assert "Ada" not in done.stdout
