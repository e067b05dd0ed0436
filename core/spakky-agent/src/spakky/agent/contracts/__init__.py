"""Frozen values that the parts of an agent exchange; one concept in each module."""
