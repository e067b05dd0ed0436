"""The run: a pure decision about the next step, the executors of steps, and the journal."""
