"""Settings of the adapter, read from the environment variables that begin with ``SPAKKY_VLLM__``.

One server needs two variables::

    SPAKKY_VLLM__BASE_URL=http://127.0.0.1:8000/v1
    SPAKKY_VLLM__MODEL=qwen

They make the profile ``default``. Further servers are named profiles::

    SPAKKY_VLLM__PROFILES__OPENAI__BASE_URL=https://api.openai.com/v1
    SPAKKY_VLLM__PROFILES__OPENAI__MODEL=gpt-5-mini
    SPAKKY_VLLM__PROFILES__OPENAI__API_KEY=...
    SPAKKY_VLLM__PROFILES__OPENAI__TIMEOUTS__IDLE_SECONDS=30

A part that is an object (``HEADERS``, ``EXTRA_BODY``, a whole profile) may also be one variable that holds JSON.
"""

import os
from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from spakky.plugins.vllm.endpoint_profile import VllmProfile
from spakky.plugins.vllm.error import VllmConfigurationError
from spakky.plugins.vllm.router import DEFAULT_PROFILE, ProfileCatalog
from spakky.plugins.vllm.transports import HttpTransport

PREFIX = "SPAKKY_VLLM__"
_DELIMITER = "__"


class VllmSettings(VllmProfile, BaseSettings):
    """The profile ``default`` and, below ``profiles``, any number of named ones.

    Attributes:
        model: As in a profile; blank when there are only named profiles.
        profiles: Further profiles by name. From single variables their names come out in lower case.
        default_profile: The profile that is asked when a run selects nothing.
        transport: What carries the requests of all profiles.
    """

    # model_config is a ClassVar of the base; its type there is the wider ConfigDict.
    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter=_DELIMITER,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
    )

    model: str = ""
    profiles: dict[str, VllmProfile] = {}
    default_profile: str = DEFAULT_PROFILE
    transport: HttpTransport = HttpTransport.HTTPX

    @classmethod
    def load(cls) -> Self:
        """Read the settings from the environment.

        Raises:
            VllmConfigurationError: A variable is missing, wrong or unknown. The message names it and never shows its value.
        """
        unknown = find_unknown_variables(os.environ)
        if unknown:
            message = f"No setting has the name {', '.join(unknown)}; correct the name or remove the variable."
            raise VllmConfigurationError(message)
        try:
            settings = cls()
        except ValidationError as error:
            raise VllmConfigurationError(describe_validation(error)) from None
        except SettingsError as error:
            raise VllmConfigurationError(_describe_parse(error)) from None
        settings.to_catalog()
        return settings

    def to_catalog(self) -> ProfileCatalog:
        """Give all profiles, the one called ``default`` first.

        Raises:
            VllmConfigurationError: No profile is configured, or one is referred to that is not.
        """
        profiles = dict(self.profiles)
        own_fields = self.model_fields_set - {"profiles", "default_profile", "transport"}
        if self.model.strip():
            if DEFAULT_PROFILE in profiles:
                message = (
                    f"{PREFIX}MODEL and {PREFIX}PROFILES__DEFAULT both make the profile {DEFAULT_PROFILE!r};"
                    " keep one of them."
                )
                raise VllmConfigurationError(message)
            profiles = {DEFAULT_PROFILE: self._to_default_profile(), **profiles}
        elif own_fields or not profiles:
            message = (
                f"{PREFIX}MODEL is not set; set it to the name under which the server offers the model,"
                " or leave the plugin spakky-vllm out."
            )
            raise VllmConfigurationError(message)
        return ProfileCatalog(profiles, self.default_profile)

    def _to_default_profile(self) -> VllmProfile:
        given = {name: self.__dict__[name] for name in VllmProfile.model_fields}
        return VllmProfile.model_validate(given)


def is_configured() -> bool:
    """Say whether the environment has any variable of the plugin."""
    return any(name.upper().startswith(PREFIX) for name in os.environ)


def build_profile(arguments: Mapping[str, object]) -> VllmProfile:
    """Make a profile from arguments of a call.

    Raises:
        VllmConfigurationError: One is missing or wrong. The message names it and never shows its value.
    """
    try:
        return VllmProfile.model_validate(dict(arguments))
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, detail['loc']))}: {detail['msg'].removeprefix('Value error, ')}"
            for detail in error.errors(
                include_url=False, include_context=False, include_input=False
            )
        )
        message = f"Wrong arguments for a model server: {wrong}. Correct them."
        raise VllmConfigurationError(message) from None


def find_unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Give the variables with our prefix that name no setting, so that a misspelt one is not silently without effect."""
    known = {name.upper() for name in VllmSettings.model_fields}
    unknown = []
    for variable in environment:
        name = variable.upper()
        if (
            name.startswith(PREFIX)
            and name.removeprefix(PREFIX).partition(_DELIMITER)[0] not in known
        ):
            unknown.append(variable)
    return tuple(sorted(unknown))


def describe_validation(error: ValidationError) -> str:
    """Put what is wrong into one line: each variable with the reason, without any value."""
    problems = (
        f"{to_variable(detail['loc'])}: {detail['msg'].removeprefix('Value error, ')}"
        for detail in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return f"Wrong settings of spakky-vllm: {'; '.join(problems)}. Correct these environment variables."


def to_variable(location: Iterable[int | str]) -> str:
    """Give the environment variable of a place in the settings."""
    return PREFIX + _DELIMITER.join(str(part).upper() for part in location)


def _describe_parse(error: SettingsError) -> str:
    # The library's message names the field in quotes; its cause quotes the value and is left out.
    parts = str(error).split('"')
    field = parts[1] if len(parts) > 1 else ""
    return f"{to_variable((field,))} is not valid JSON; correct this environment variable."
