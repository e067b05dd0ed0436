"""Pure decisions about runs: life cycle, approval, recovery, cancellation, signals, histories, limits."""
