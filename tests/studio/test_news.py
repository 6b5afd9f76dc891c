"""News of a job: every page hears of its end, whenever it ends."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio is not installed: pip install 'tclose[studio]'")

from tclose.studio.jobs import Job, Process, Stream
from tclose.studio.server import news


async def there() -> bool:
    return False


@pytest.mark.parametrize("moment", ["while it is told", "after it was told"])
def test_a_job_that_ends_while_a_page_is_told_about_it(tmp_path: Path, moment: str) -> None:
    process, job = Process(tmp_path), Job(1, "check")
    process.jobs = {1: job}

    def spelled(told: Job) -> str:
        words = told.state
        if moment == "while it is told":
            job.state = "done"
        return words

    async def listen() -> list[str]:
        heard = []
        async for line in news(process, spelled, there, Stream(process.wake)):
            heard.append(line)
            job.state = "done"
        return heard

    with ThreadPoolExecutor(1) as thread:  # this one may have Playwright's loop
        heard = thread.submit(asyncio.run, asyncio.wait_for(listen(), 5)).result()  # nobody tells it of the change
    assert heard == ["data: running\n\n", "data: done\n\n"]
