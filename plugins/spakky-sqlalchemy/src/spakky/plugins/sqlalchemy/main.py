"""Registers settings, engines and transactions; spakky calls it when it loads its plugins."""

from spakky.core.application.application import SpakkyApplication
from spakky.core.pod.annotations.pod import Pod

from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines
from spakky.plugins.sqlalchemy.transaction import Transactions


@Pod(name="spakky.sqlalchemy.settings")
def sqlalchemy_settings() -> SqlalchemySettings:
    """Read the settings from the environment, so that a wrong one stops the start."""
    return SqlalchemySettings.from_environment()


@Pod(name="spakky.sqlalchemy.engines")
def database_engines(settings: SqlalchemySettings) -> DatabaseEngines:
    """Give the source of engines; none is made yet."""
    return DatabaseEngines(settings)


@Pod(name="spakky.sqlalchemy.transactions")
def transactions(engines: DatabaseEngines) -> Transactions:
    """Give the transaction helper of applications."""
    return Transactions(engines)


def initialize(app: SpakkyApplication) -> None:
    """Register the Pods of the base part."""
    app.add(sqlalchemy_settings)
    app.add(database_engines)
    app.add(transactions)
