"""Durable storage for spakky-agent: tables, migrations and the repositories over them.

Needs the extra ``agent``. Nothing in the base part of the package imports from here.
"""
