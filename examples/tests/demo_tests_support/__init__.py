"""What the demo's tests share: the command line in processes of its own."""
