"""The parts of the code assistant demo: workspace, shell, git, an offline model server, and the terminal."""
