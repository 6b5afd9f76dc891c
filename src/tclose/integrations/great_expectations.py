"""Expectations of Great Expectations: that a table meets a policy, as a pandas frame or in a warehouse."""

from __future__ import annotations

from typing import Any, ClassVar

from tclose.policy import PolicyLike
from tclose.run.study import check
from tclose.sql import failing_requirements

try:
    from great_expectations.core.metric_domain_types import MetricDomainTypes
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.expectations import UnexpectedRowsExpectation
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.expectations.metrics.metric_provider import metric_value
    from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
except ImportError as missing:
    package = "great_expectations"
    raise ImportError(f"tclose.integrations.{package} needs Great Expectations: pip install {package}") from missing

METRIC = "table.tclose.check"
BATCH = "{batch}"  # what Great Expectations puts the name of the table in place of


class TcloseCheck(TableMetricProvider):  # type: ignore[misc]  # the package is not installed where types are checked
    """What `tclose.check` finds about a pandas frame."""

    metric_name = METRIC
    value_keys = ("policy",)

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:  # noqa: N805
        """Judge the frame."""
        domain = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        return check(domain[0], metric_value_kwargs["policy"]).to_dict()


class ExpectTableToMeetPolicy(BatchExpectation):  # type: ignore[misc]
    """Expect a pandas frame to meet a policy: the path of a TOML file, or a mapping of its shape."""

    policy: str | dict[str, Any]

    metric_dependencies: ClassVar[tuple[str, ...]] = (METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = ("policy",)

    def _validate(self, metrics: Any, runtime_configuration: Any = None, execution_engine: Any = None) -> Any:
        """Say whether all requirements hold, and list those that fail."""
        found = metrics[METRIC]
        failing = [model for model in found["models"] if not model["satisfied"]]
        return {"success": found["satisfied"], "result": {"observed_value": failing}}


def unexpected_rows(policy: PolicyLike, *, dialect: str) -> UnexpectedRowsExpectation:
    """Return the expectation that a table of a warehouse fails no requirement of a policy; judged by `tclose sql`."""
    query = failing_requirements(policy, table="tclose_batch", dialect=dialect)
    escaped = query.replace("{", "{{").replace("}", "}}")
    return UnexpectedRowsExpectation(
        unexpected_rows_query=escaped.replace("FROM tclose_batch AS t", f"FROM {BATCH} AS t")
    )
