"""Settings from the environment."""

import pytest
from pydantic import SecretStr

from spakky.plugins.vllm import (
    MaxTokensField,
    VllmAgentModel,
    VllmConfigurationError,
    VllmProfile,
    VllmSettings,
)

SECRET = "sk-not-to-be-shown"


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> "Environment":
    return Environment(monkeypatch)


class Environment:
    """Sets variables with the plugin's prefix."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __call__(self, **variables: str) -> None:
        for name, value in variables.items():
            self.monkeypatch.setenv(f"SPAKKY_VLLM__{name}", value)


def test_two_variables_make_the_default_profile(env: Environment) -> None:
    env(BASE_URL="http://gpu:8000/v1/", MODEL="qwen")

    catalog = VllmSettings.load().to_catalog()

    assert catalog.default == "default"
    assert catalog.profiles == {"default": VllmProfile(base_url="http://gpu:8000/v1", model="qwen")}


@pytest.mark.requirement("VLLM-7")
def test_named_profiles_are_nested_variables_or_json(env: Environment) -> None:
    env(
        DEFAULT_PROFILE="fast",
        PROFILES__FAST__MODEL="small",
        PROFILES__FAST__API_KEY=SECRET,
        PROFILES__FAST__TIMEOUTS__IDLE_SECONDS="30",
        PROFILES__FAST__DIALECT__MAX_TOKENS_FIELD="max_completion_tokens",
        PROFILES__FAST__HEADERS='{"X-Team": "a"}',
        PROFILES__FAST__MODELS='{"large": {"context_window_tokens": 9}}',
        PROFILES__SLOW='{"model": "large", "max_concurrency": 2, "fallbacks": ["fast"]}',
    )

    settings = VllmSettings.load()
    fast = settings.to_catalog().profiles["fast"]

    assert fast.api_key == SecretStr(SECRET)
    assert fast.timeouts.idle_seconds == 30
    assert fast.dialect.max_tokens_field is MaxTokensField.MAX_COMPLETION_TOKENS
    assert fast.headers == {"X-Team": SecretStr("a")}
    assert settings.profiles["slow"].max_concurrency == 2
    assert SECRET not in repr(settings)
    assert VllmAgentModel.from_settings(settings).capability.context_window_tokens is None


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({}, "SPAKKY_VLLM__MODEL is not set"),
        ({"BASE_URL": "http://gpu:8000/v1"}, "SPAKKY_VLLM__MODEL is not set"),
        ({"PROFILES__A__MODEL": "a", "API_KEY": SECRET}, "SPAKKY_VLLM__MODEL is not set"),
        ({"MODEL": "m", "TIMEOUTS__IDLE_SECONDS": SECRET}, "SPAKKY_VLLM__TIMEOUTS__IDLE_SECONDS"),
        ({"MODEL": "m", "TIMEOUTS__IDLE_SECONDS": "-1"}, "SPAKKY_VLLM__TIMEOUTS__IDLE_SECONDS"),
        ({"MODEL": "m", "TIMEOUTS__IDEL": "1"}, "SPAKKY_VLLM__TIMEOUTS__IDEL"),
        (
            {"MODEL": "m", "TIMEOUT": SECRET},
            "SPAKKY_VLLM__TIMEOUT;|SPAKKY_VLLM__TIMEOUT,|SPAKKY_VLLM__TIMEOUT",
        ),
        ({"MODEL": "m", "BASE_URL": f"ftp://{SECRET}"}, "SPAKKY_VLLM__BASE_URL"),
        ({"MODEL": "m", "BASE_URL": f"http://[{SECRET}"}, "SPAKKY_VLLM__BASE_URL"),
        ({"MODEL": "m", "BASE_URL": "http://h/v1?a=b"}, "no query"),
        ({"MODEL": "m", "BASE_URL": "http://h h/v1"}, "SPAKKY_VLLM__BASE_URL"),
        ({"MODEL": "m", "API_KEY": f"{SECRET}\n"}, "SPAKKY_VLLM__API_KEY"),
        ({"MODEL": "m", "HEADERS": f'{{"a b": "{SECRET}"}}'}, "SPAKKY_VLLM__HEADERS"),
        ({"MODEL": "m", "HEADERS": '{"Host": "x"}'}, "SPAKKY_VLLM__HEADERS"),
        ({"MODEL": "m", "HEADERS": f'{{"a": "{SECRET}\\r\\nb: c"}}'}, "SPAKKY_VLLM__HEADERS"),
        ({"MODEL": "m", "HEADERS": SECRET}, "SPAKKY_VLLM__HEADERS is not valid JSON"),
        ({"MODEL": "m", "EXTRA_BODY": '{"messages": []}'}, "SPAKKY_VLLM__EXTRA_BODY"),
        ({"MODEL": "m", "API_KEY": SECRET, "HEADERS": '{"authorization": "x"}'}, "keep one"),
        ({"MODEL": "m", "PROFILES__A__MODEL": " "}, "SPAKKY_VLLM__PROFILES__A__MODEL"),
        ({"MODEL": "m", "PROFILES__A__BASE_URL": "http://h"}, "SPAKKY_VLLM__PROFILES__A__MODEL"),
        ({"MODEL": "m", "DEFAULT_PROFILE": "b"}, "default_profile names 'b'.*known are default"),
        ({"MODEL": "m", "FALLBACKS": '["b"]'}, "fallbacks of profile 'default' names 'b'"),
        ({"MODEL": "m", "PROFILES__DEFAULT__MODEL": "n"}, "keep one of them"),
    ],
)
def test_a_wrong_value_fails_with_the_name_of_its_variable_and_without_the_value(
    env: Environment, variables: dict[str, str], named: str
) -> None:
    env(**variables)

    with pytest.raises(VllmConfigurationError, match=named) as raised:
        VllmSettings.load()

    assert SECRET not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_credentials_in_an_address_are_taken_out_of_it(env: Environment) -> None:
    env(BASE_URL="https://user:p%40ss@gpu/v1", MODEL="m")

    settings = VllmSettings.load()

    assert settings.base_url == "https://gpu/v1"
    assert settings.url_credentials == SecretStr("user:p@ss")
    assert "p@ss" not in repr(settings)
    assert "p@ss" in settings.to_catalog().profiles["default"].secrets()


@pytest.mark.requirement("VLLM-1")
def test_a_model_is_made_from_keywords_from_profiles_and_from_both() -> None:
    one = VllmAgentModel(base_url="http://h:1/v1", model="m", api_key=SECRET)
    several = VllmAgentModel(profiles={"a": VllmProfile(model="x")}, default_profile="a")
    both = VllmAgentModel(model="m", profiles={"a": VllmProfile(model="x")})

    assert repr(one) == "VllmAgentModel(profiles: default; default: default)"
    assert repr(several) == "VllmAgentModel(profiles: a; default: a)"
    assert repr(both) == "VllmAgentModel(profiles: default, a; default: default)"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "No model server is configured"),
        ({"base_url": "http://h"}, "model: Field required"),
        ({"base_url": f"{SECRET}://h", "model": "m"}, "base_url: must be an address"),
        ({"model": "m", "api_key": f"{SECRET}é"}, "api_key: must be printable ASCII"),
        ({"profiles": {"a": VllmProfile(model="x")}}, "default_profile names 'default'"),
    ],
)
def test_wrong_arguments_are_named_and_their_values_are_not_shown(
    arguments: dict[str, str], named: str
) -> None:
    with pytest.raises(VllmConfigurationError, match=named) as raised:
        # mypy cannot see the types through a table of arguments
        VllmAgentModel(**arguments)  # type: ignore[arg-type]  # the same

    assert SECRET not in str(raised.value)


def test_a_profile_that_is_built_wrongly_does_not_show_its_values() -> None:
    with pytest.raises(ValueError, match="api_key") as raised:
        VllmProfile(model="m", api_key=SecretStr(f"{SECRET}\x00"))

    assert SECRET not in str(raised.value)


def test_a_profile_from_something_else_than_a_mapping_is_refused() -> None:
    with pytest.raises(ValueError, match="VllmProfile"):
        VllmProfile.model_validate([SECRET])
    with pytest.raises(ValueError, match="base_url"):
        VllmProfile.model_validate({"model": "m", "base_url": 7})
