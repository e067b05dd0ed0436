"""Run in an environment that has spakky-sqlalchemy without spakky-agent: its base part loads and starts."""

import importlib.util
import sys

from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext

from spakky.plugins.sqlalchemy.transaction import Transactions


def main() -> None:
    """Start an application with nothing but the base part."""
    if importlib.util.find_spec("spakky.agent") is not None:
        sys.exit("Not alone: spakky-agent is installed too.")
    app = SpakkyApplication(ApplicationContext()).load_plugins().start()
    app.container.get(Transactions)
    app.stop()
    print("spakky-sqlalchemy without spakky-agent: loaded and started")


if __name__ == "__main__":
    main()
