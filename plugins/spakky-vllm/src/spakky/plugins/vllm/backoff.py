"""How long to wait before a failed request is sent again: pure."""

from spakky.plugins.vllm.endpoint_profile import VllmRetry
from spakky.plugins.vllm.error import VllmModelError


def plan_delay(
    policy: VllmRetry, attempts: int, error: VllmModelError, chance: float
) -> float | None:
    """Give the seconds to wait before the next request, or None when there is to be none.

    The wait doubles with each attempt up to the policy's longest one, and a random half of it keeps many clients from coming back at
    the same moment. A server that names a time is not asked earlier.

    Args:
        policy: The profile's.
        attempts: How many requests were sent.
        error: Why the last one failed.
        chance: A random number from 0 to 1.
    """
    if not error.retryable or attempts >= policy.max_attempts:
        return None
    asked = error.retry_after_seconds or 0.0
    if asked > policy.max_retry_after_seconds:
        return None
    longest = min(policy.max_seconds, policy.base_seconds * 2.0 ** (attempts - 1))
    own = longest * (0.5 + 0.5 * chance)
    # What the server asked for is the least; the own part on top spreads the clients that were all told the same.
    return asked + own if asked else own
