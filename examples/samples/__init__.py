"""The samples of the documents as modules that can be run."""
