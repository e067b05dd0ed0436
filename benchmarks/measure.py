"""Measuring and telling: least CPU times of things that take turns, and the table of their ratios."""

import gc
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

type Work = Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one execution took: CPU time of this process with all its threads, and time on the wall."""

    cpu_seconds: float
    wall_seconds: float


async def least_costs(works: dict[str, Work], *, rounds: int, expected: int) -> dict[str, Cost]:
    """Execute every work once per round, in turns, so that all meet the same conditions; gives the least cost of each.

    Args:
        works: What to measure, by name.
        rounds: How often; one more round comes first and does not count.
        expected: What every work must give, so that none is fast because it did less.
    """
    costs = {name: Cost(float("inf"), float("inf")) for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            result = await work()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            assert result == expected, f"{name} gave {result} deltas, not {expected}"
            if number:
                known = costs[name]
                costs[name] = Cost(min(known.cpu_seconds, cpu), min(known.wall_seconds, wall))
    return costs


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        name: What was measured.
        base: The reference.
        value: What is ours.
        unit: The unit of both.
        target: The highest ratio that is wanted, or the highest value when there is no reference; None for a figure
            that is only told.
    """

    name: str
    base: float | None
    value: float
    unit: str
    target: float | None = None

    @property
    def ratio(self) -> float:
        """The figure that is compared with the target."""
        return self.value / self.base if self.base else self.value


def print_table(title: str, rows: list[Row]) -> None:
    """Print the rows with what is measured, wanted, and whether that holds."""
    print(f"\n{title} (Python {sys.version.split()[0]})")
    print(f"{'':46} {'reference':>11} {'ours':>11} {'unit':8} {'ratio':>6} {'target':>7}")
    for row in rows:
        base = "" if row.base is None else f"{row.base:.2f}"
        ratio = "" if row.base is None else f"{row.ratio:.2f}"
        target = "" if row.target is None else f"{row.target:.2f}"
        verdict = "" if row.target is None else "ok" if row.ratio <= row.target else "OVER"
        print(
            f"{row.name:46} {base:>11} {row.value:11.2f} {row.unit:8} {ratio:>6} {target:>7} {verdict}"
        )
