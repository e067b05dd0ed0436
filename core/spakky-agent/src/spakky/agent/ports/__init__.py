"""What an agent needs from outside, as abstract classes that the container resolves by type."""
