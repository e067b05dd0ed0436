"""What tests of agents need; the names are in the modules.

``memory`` (the ports in memory), ``clock``, ``scripted_model``, ``contracts`` (suites for implementations of the ports; the only
part that needs pytest), ``http_model`` (a model server), ``crash`` (killing real processes).
"""
