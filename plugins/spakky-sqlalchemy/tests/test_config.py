"""Settings from environment variables."""

from pathlib import Path

import pytest

from spakky.plugins.sqlalchemy.config import SqlalchemySettings, default_database_url, normalise_url
from spakky.plugins.sqlalchemy.error import DatabaseConfigurationError

PASSWORD = "hunter2-secret"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("postgresql://u@h/d", "postgresql+asyncpg"),
        ("postgres://u@h/d", "postgresql+asyncpg"),
        ("postgresql+asyncpg://u@h/d", "postgresql+asyncpg"),
        ("sqlite:////tmp/x.db", "sqlite+aiosqlite"),
        ("sqlite+aiosqlite:////tmp/x.db", "sqlite+aiosqlite"),
    ],
)
def test_a_url_without_a_driver_gets_the_async_one(given: str, driver: str) -> None:
    assert SqlalchemySettings(url=given).database_url.drivername == driver


def test_the_default_is_a_file_in_the_data_folder_of_the_user(tmp_path: Path) -> None:
    settings = SqlalchemySettings.from_environment()
    assert settings.database_url.database == str(tmp_path / "spakky" / "spakky.sqlite3")
    assert settings.is_sqlite
    assert settings.upgrades_itself


def test_a_relative_data_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert f"{Path.home()}/.local/share/spakky/" in default_database_url()


def test_a_relative_path_does_not_follow_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = SqlalchemySettings(url="sqlite:///data/x.db")
    monkeypatch.chdir("/")
    assert settings.database_url.database == str(tmp_path / "data" / "x.db")


def test_a_memory_database_is_told_from_a_file() -> None:
    assert SqlalchemySettings(url="sqlite://").is_memory
    assert SqlalchemySettings(url="sqlite:///:memory:").is_memory
    assert not SqlalchemySettings(url="sqlite:////tmp/x.db").is_memory
    assert not SqlalchemySettings(url="postgresql://h/d").is_memory


def test_a_uri_is_left_to_sqlite() -> None:
    url = normalise_url("sqlite:///file:x?mode=memory&cache=shared&uri=true")
    assert url.database == "file:x"


def test_variables_are_read_with_the_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__URL", f"postgresql://me:{PASSWORD}@db:5433/agents")
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__POOL_SIZE", "7")
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__AUTO_MIGRATE", "true")
    settings = SqlalchemySettings.from_environment()
    assert (settings.database_url.port, settings.database_url.password) == (5433, PASSWORD)
    assert settings.pool_size == 7
    assert settings.upgrades_itself


def test_postgresql_does_not_upgrade_itself_unless_told() -> None:
    assert not SqlalchemySettings(url="postgresql://h/d").upgrades_itself
    assert not SqlalchemySettings(url="sqlite:////tmp/x", auto_migrate=False).upgrades_itself


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("URL", f"mysql://me:{PASSWORD}@h/d"),
        ("URL", f"no url {PASSWORD}"),
        ("URL", f"postgresql://me:{PASSWORD}@h:port/d"),
        ("POOL_SIZE", "0"),
        ("POOL_SIZE", "many"),
        ("BUSY_TIMEOUT_SECONDS", "-1"),
        ("AUTO_MIGRATE", "perhaps"),
    ],
)
def test_a_bad_value_names_its_variable_and_repeats_no_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"SPAKKY_SQLALCHEMY__{name}", value)
    with pytest.raises(DatabaseConfigurationError) as caught:
        SqlalchemySettings.from_environment()
    assert f"SPAKKY_SQLALCHEMY__{name}" in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert PASSWORD not in repr(caught.value.__cause__)


def test_the_password_is_not_in_the_text_form() -> None:
    settings = SqlalchemySettings(url=f"postgresql://me:{PASSWORD}@h/d")
    assert PASSWORD not in repr(settings)
    assert PASSWORD not in str(settings)
    assert PASSWORD not in repr(settings.database_url)
