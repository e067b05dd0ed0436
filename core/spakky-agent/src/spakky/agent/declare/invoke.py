"""Runs the function of a tool with arguments that were bound before."""

import asyncio
import inspect
from collections.abc import Callable

from spakky.agent.declare.binding import AgentToolBoundInvocation
from spakky.agent.declare.descriptor import AgentToolDescriptor
from spakky.agent.declare.injection import NO_VALUES, InjectedValues
from spakky.agent.declare.signature import NO_DEFAULT, ToolParameter, ToolReceiver
from spakky.agent.error import AgentToolDispatchError


async def invoke_tool(
    descriptor: AgentToolDescriptor,
    target: object,
    bound: AgentToolBoundInvocation,
    values: InjectedValues = NO_VALUES,
) -> object:
    """Run a tool and give its result. What the tool raises passes through unchanged.

    A tool that is no coroutine function runs in a worker thread with the caller's context
    variables. Cancelling the caller does not stop the thread.

    Args:
        descriptor: The tool.
        target: The owner's instance; ignored by a tool without owner.
        bound: The arguments.
        values: What the framework fills in, by the parameter's type.

    Raises:
        AgentToolDispatchError: The tool needs an instance, or a value for a parameter that the
            framework fills, and there is none. The tool did not run.
    """
    function, leading = _find_function(descriptor, target)
    injected = descriptor.injected
    kwargs = dict(bound.kwargs)
    for parameter in injected:
        kwargs[parameter.name] = _value_for(parameter, values, descriptor)
    if inspect.iscoroutinefunction(inspect.unwrap(descriptor.callable)):
        result = function(*leading, *bound.args, **kwargs)
    else:
        result = await asyncio.to_thread(function, *leading, *bound.args, **kwargs)
    # A wrapper around a coroutine function may be a plain function.
    return await result if inspect.isawaitable(result) else result


def _find_function(
    descriptor: AgentToolDescriptor, target: object
) -> tuple[Callable[..., object], tuple[object, ...]]:
    """Give the function to call, and the arguments that come before those of the call."""
    if descriptor.takes is ToolReceiver.NONE:
        return descriptor.callable, ()
    if target is None:
        owner = "its owner" if descriptor.owner is None else descriptor.owner.__qualname__
        message = f"The tool {descriptor.name!r} needs an instance of {owner} as its target."
        raise AgentToolDispatchError(message)
    if descriptor.member is None:
        is_class = descriptor.takes is ToolReceiver.CLASS and not isinstance(target, type)
        return descriptor.callable, (type(target) if is_class else target,)
    # getattr: a wrapper around the instance, such as an aspect, is met only through its attribute.
    member: object = getattr(target, descriptor.member, None)
    if not callable(member):
        message = (
            f"The tool {descriptor.name!r} cannot be called: {type(target).__qualname__} has no"
            f" method {descriptor.member!r}."
        )
        raise AgentToolDispatchError(message)
    return member, ()


def _value_for(
    parameter: ToolParameter, values: InjectedValues, descriptor: AgentToolDescriptor
) -> object:
    kind = parameter.injected_type
    if kind is not None and kind in values:
        return values[kind]
    if parameter.default is not NO_DEFAULT:
        return parameter.default
    if parameter.accepts_none:
        return None
    wanted = "a value" if kind is None else kind.__name__
    message = (
        f"The tool {descriptor.name!r} asks for {wanted} in its parameter {parameter.name!r}, but"
        " this call has none. Run it in an agent's loop, or give the dispatcher a runtime_context."
    )
    raise AgentToolDispatchError(message)
