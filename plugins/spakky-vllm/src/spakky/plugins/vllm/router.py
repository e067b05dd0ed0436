"""Which server and model a request goes to: a pure plan from the configured profiles and the run's selection.

    the selection names        the profile that is asked first
    --------------------------------------------------------------------------------------------------------------
    nothing                    the default one
    a profile                  that one; naming another provider than its own is an error
    a provider                 the default one if it is of that provider, else the first of that provider; one that serves the
                               selection's model comes before one that is not known to
    only a model               the default one if it is known to serve the model, else the first one that is, else the default

The model on the wire is the selection's, or else the profile's. After the first profile come its fallbacks, each with its own
model: another server need not know the name that was asked for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from spakky.agent.contracts.model_request import ModelCapability, ModelSelection
from spakky.plugins.vllm.endpoint_profile import VllmProfile
from spakky.plugins.vllm.error import ModelErrorCode, VllmConfigurationError, VllmModelError
from spakky.plugins.vllm.target import Target

DEFAULT_PROFILE = "default"
_NOTHING = ModelSelection()


@dataclass(frozen=True, slots=True)
class Route:
    """One server and model that may answer a request.

    Attributes:
        name: The profile's name.
        profile: The server.
        model: The model's name on the wire.
    """

    name: str
    profile: VllmProfile
    model: str

    @property
    def capability(self) -> ModelCapability:
        """What that model can do: what the profile says of it, or of its own model."""
        known = self.profile.models.get(self.model, self.profile.capability)
        return known.to_model_capability()

    def to_target(self) -> Target:
        """Give the route as messages name it."""
        profile = self.profile
        return Target(self.name, self.model, profile.base_url, profile.secrets())


@dataclass(frozen=True, slots=True)
class ProfileCatalog:
    """The configured profiles.

    Attributes:
        profiles: By name, in the order in which they were declared.
        default: The name of the one that is asked when a run selects nothing.

    Raises:
        VllmConfigurationError: There is no profile, or a name that is referred to is not among them.
    """

    profiles: Mapping[str, VllmProfile]
    default: str = DEFAULT_PROFILE

    def __post_init__(self) -> None:
        object.__setattr__(self, "profiles", MappingProxyType(dict(self.profiles)))
        if not self.profiles:
            message = "No model server is configured; give base_url and model, or profiles."
            raise VllmConfigurationError(message)
        self._require(self.default, "default_profile")
        for name, profile in self.profiles.items():
            for fallback in profile.fallbacks:
                self._require(fallback, f"fallbacks of profile {name!r}")

    def _require(self, name: str, where: str) -> None:
        if name not in self.profiles:
            message = f"{where} names {name!r}, which is not a profile; known are {', '.join(self.profiles)}."
            raise VllmConfigurationError(message)

    def plan_routes(self, selection: ModelSelection | None = None) -> tuple[Route, ...]:
        """Give the routes of a request: the first to ask, then its fallbacks in order, each profile once.

        Raises:
            VllmModelError: The selection names a profile or provider that is not configured; the message lists those that are.
        """
        chosen = _NOTHING if selection is None else selection
        name = self._choose(chosen)
        profile = self.profiles[name]
        routes = {name: Route(name, profile, chosen.model or profile.model)}
        for fallback in profile.fallbacks:
            other = self.profiles[fallback]
            routes.setdefault(fallback, Route(fallback, other, other.model))
        return tuple(routes.values())

    def _choose(self, selection: ModelSelection) -> str:
        if selection.profile is not None:
            return self._find_profile(selection.profile, selection.provider)
        candidates = list(self._in_order())
        if selection.provider is not None:
            candidates = [
                name for name in candidates if self.profiles[name].provider == selection.provider
            ]
            if not candidates:
                raise self._unknown_provider(selection.provider)
        serving = [name for name in candidates if self._serves(name, selection.model)]
        return (serving or candidates)[0]

    def _in_order(self) -> Iterator[str]:
        yield self.default
        yield from (name for name in self.profiles if name != self.default)

    def _serves(self, name: str, model: str | None) -> bool:
        profile = self.profiles[name]
        return model is None or model == profile.model or model in profile.models

    def _find_profile(self, name: str, provider: str | None) -> str:
        profile = self.profiles.get(name)
        if profile is None:
            message = (
                f"The run selects the profile {name!r}, which is not configured;"
                f" known are {', '.join(self.profiles)}."
            )
            raise VllmModelError(message, code=ModelErrorCode.SELECTION)
        if provider is not None and provider != profile.provider:
            message = (
                f"The run selects the profile {name!r} and the provider {provider!r}, but that profile's provider is"
                f" {profile.provider!r}; select only one of them."
            )
            raise VllmModelError(message, code=ModelErrorCode.SELECTION)
        return name

    def _unknown_provider(self, provider: str) -> VllmModelError:
        known = dict.fromkeys(profile.provider for profile in self.profiles.values())
        message = f"The run selects the provider {provider!r}, which no profile has; known are {', '.join(known)}."
        return VllmModelError(message, code=ModelErrorCode.SELECTION)
