"""The base part in an application."""

import subprocess
import sys

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext

from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines
from spakky.plugins.sqlalchemy.error import DatabaseConfigurationError
from spakky.plugins.sqlalchemy.main import initialize
from spakky.plugins.sqlalchemy.transaction import Transactions


def _application() -> SpakkyApplication:
    app = SpakkyApplication(ApplicationContext())
    initialize(app)
    return app


def test_the_container_gives_settings_engines_and_transactions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__URL", "postgresql://h/d")
    app = _application().start()
    engines = app.container.get(DatabaseEngines)
    assert engines.settings is app.container.get(SqlalchemySettings)
    assert engines.settings.database_url.host == "h"
    assert isinstance(app.container.get(Transactions), Transactions)
    app.stop()


def test_a_wrong_setting_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__POOL_SIZE", "none")
    with pytest.raises(DatabaseConfigurationError, match="SPAKKY_SQLALCHEMY__POOL_SIZE"):
        _application().start()


@pytest.mark.requirement("PKG-13")
def test_the_base_part_does_not_import_the_agent() -> None:
    program = (
        "import sys, pkgutil, importlib, spakky.plugins.sqlalchemy as package\n"
        "for module in pkgutil.iter_modules(package.__path__):\n"
        "    if module.name not in {'agent', 'contributions'}:\n"
        "        importlib.import_module(f'spakky.plugins.sqlalchemy.{module.name}')\n"
        "found = [name for name in sys.modules if name.startswith('spakky.agent')]\n"
        "assert 'spakky.plugins.sqlalchemy.main' in sys.modules\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
