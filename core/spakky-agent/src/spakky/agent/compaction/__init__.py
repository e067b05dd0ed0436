"""Strategies that shorten the history of a model request."""
