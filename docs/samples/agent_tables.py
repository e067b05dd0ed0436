"""Makes or upgrades the tables of durable agents in the database that the environment names."""

import asyncio

from spakky.plugins.sqlalchemy import SqlalchemySettings
from spakky.plugins.sqlalchemy.agent.migrate import upgrade


async def main() -> None:
    """Upgrade to the newest version."""
    await upgrade(SqlalchemySettings())


if __name__ == "__main__":
    asyncio.run(main())
