"""Pure projections of what a run shows to the two public streams."""
