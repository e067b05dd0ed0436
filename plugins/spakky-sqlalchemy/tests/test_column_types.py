"""Column types on both databases."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select

from spakky.plugins.sqlalchemy.column_types import (
    StorableText,
    UtcDateTime,
    json_data,
    json_document,
    to_iso,
)
from spakky.plugins.sqlalchemy.engine import DatabaseEngines
from spakky.plugins.sqlalchemy.error import UnstorableValueError

metadata = MetaData()
things = Table(
    "things",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", UtcDateTime),
    Column("document", json_document()),
    Column("data", json_data()),
    Column("note", StorableText),
)


async def _store(engines: DatabaseEngines, **values: object) -> dict[str, object]:
    async with engines.engine.begin() as connection:
        await connection.run_sync(metadata.create_all)
        await connection.execute(insert(things).values(id=1, **values))
        row = (await connection.execute(select(things))).mappings().one()
        return dict(row)


@pytest.fixture
def seoul(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    yield None
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("seoul")
@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))])
async def test_a_time_comes_back_aware_and_equal_in_a_process_of_another_zone(
    engines: DatabaseEngines, zone: timezone
) -> None:
    at = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=zone)
    stored = (await _store(engines, at=at))["at"]
    assert isinstance(stored, datetime)
    assert stored == at
    assert stored.tzinfo is UTC
    assert stored < datetime.now(UTC) + timedelta(days=36500)


async def test_a_time_without_a_zone_is_refused(engines: DatabaseEngines) -> None:
    with pytest.raises(Exception, match="has no zone") as caught:
        await _store(engines, at=datetime(2026, 1, 1))  # noqa: DTZ001 - the point of the test
    assert isinstance(getattr(caught.value, "orig", None), UnstorableValueError)


def test_the_texts_of_times_sort_as_the_times_do() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(microseconds=step) for step in (0, 1, 10, 999_999, 1_000_000)]
    texts = [to_iso(at) for at in times]
    assert texts == sorted(texts)
    assert {len(text) for text in texts} == {32}


async def test_json_keeps_its_values_and_a_document_the_order_of_its_keys(
    engines: DatabaseEngines,
) -> None:
    value = {"z": 1, "a": [0.1, True, None, "🙂"], "m": {"y": {}, "x": []}}
    row = await _store(engines, document=value, data=value)
    assert row["data"] == value
    assert row["document"] == value
    assert repr(row["document"]).startswith("{'z'")


async def test_none_is_null(engines: DatabaseEngines) -> None:
    row = await _store(engines, at=None, document=None, data=None, note=None)
    async with engines.engine.connect() as connection:
        query = select(things.c.id).where(
            things.c.document.is_(None), things.c.data.is_(None), things.c.note.is_(None)
        )
        assert await connection.scalar(query) == 1
    assert row == {"id": 1, "at": None, "document": None, "data": None, "note": None}


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
async def test_a_text_that_cannot_be_stored_is_replaced_alike(
    engines: DatabaseEngines, text: str
) -> None:
    row = await _store(engines, note=text, data={"k": text}, document=[text])
    expected = "a\N{REPLACEMENT CHARACTER}b"
    assert (row["note"], row["data"], row["document"]) == (expected, {"k": expected}, [expected])
