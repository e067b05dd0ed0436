"""Which server and model a request goes to."""

import asyncio

import pytest
from vllm_server import ModelServer, Reply
from vllm_wire import DONE, ask, finish, listen, text

from spakky.agent.contracts.model_request import ModelCapability, ModelSelection
from spakky.plugins.vllm import (
    VllmAgentModel,
    VllmCapability,
    VllmConfigurationError,
    VllmModelError,
    VllmProfile,
)
from spakky.plugins.vllm.router import ProfileCatalog

CATALOG = ProfileCatalog(
    {
        "local": VllmProfile(
            model="small", models={"tuned": VllmCapability(context_window_tokens=7)}
        ),
        "cloud": VllmProfile(
            model="large", provider="openai", fallbacks=("local", "second", "cloud")
        ),
        "second": VllmProfile(
            model="huge", provider="openai", capability=VllmCapability(supports_reasoning=True)
        ),
    },
    "local",
)


def plan(selection: ModelSelection | None) -> list[tuple[str, str]]:
    return [(route.name, route.model) for route in CATALOG.plan_routes(selection)]


@pytest.mark.parametrize(
    ("selection", "routes"),
    [
        (None, [("local", "small")]),
        (ModelSelection(), [("local", "small")]),
        (ModelSelection(profile="second"), [("second", "huge")]),
        (ModelSelection(profile="second", provider="openai"), [("second", "huge")]),
        (ModelSelection(profile="local", model="x"), [("local", "x")]),
        (ModelSelection(provider="vllm"), [("local", "small")]),
        (
            ModelSelection(provider="openai"),
            [("cloud", "large"), ("local", "small"), ("second", "huge")],
        ),
        (ModelSelection(provider="openai", model="huge"), [("second", "huge")]),
        (ModelSelection(model="tuned"), [("local", "tuned")]),
        (ModelSelection(model="huge"), [("second", "huge")]),
        (ModelSelection(model="unheard-of"), [("local", "unheard-of")]),
        (
            ModelSelection(provider="openai", model="x"),
            [("cloud", "x"), ("local", "small"), ("second", "huge")],
        ),
    ],
)
@pytest.mark.requirement("VLLM-7", "MODEL-5")
def test_the_selection_chooses_the_profile_and_the_model(
    selection: ModelSelection | None, routes: list[tuple[str, str]]
) -> None:
    assert plan(selection) == routes


@pytest.mark.parametrize(
    ("selection", "known"),
    [
        (ModelSelection(profile="nowhere"), "known are local, cloud, second"),
        (ModelSelection(provider="nobody"), "known are vllm, openai"),
        (ModelSelection(profile="local", provider="openai"), "that profile's provider is 'vllm'"),
    ],
)
@pytest.mark.requirement("VLLM-7")
async def test_an_unknown_selection_is_a_typed_error_with_the_known_ones(
    selection: ModelSelection, known: str
) -> None:
    model = VllmAgentModel(profiles=CATALOG.profiles, default_profile="local")

    with pytest.raises(VllmModelError, match=known) as raised:
        model.capability_for(selection)
    with pytest.raises(VllmModelError, match=known):
        await model.complete(ask(selection=selection))
    heard = await listen(model, ask(selection=selection))

    assert raised.value.error_code == "agent.model.selection"
    assert not raised.value.retryable
    assert heard.code == "agent.model.selection"
    assert known in heard.errors[0].message


@pytest.mark.requirement("MODEL-2", "MODEL-3", "MODEL-4", "VLLM-7")
def test_capability_follows_the_selection_and_needs_no_network() -> None:
    model = VllmAgentModel(profiles=CATALOG.profiles, default_profile="local")

    assert model.capability == ModelCapability()
    assert model.capability_for() == ModelCapability()
    assert model.capability_for(ModelSelection(model="tuned")).context_window_tokens == 7
    assert model.capability_for(ModelSelection(profile="second")).supports_reasoning
    own = ModelCapability(True, 5, True)
    assert VllmAgentModel(model="m", capability=own).capability == own


@pytest.mark.requirement("MODEL-5", "VLLM-7")
async def test_one_model_serves_two_selections_at_the_same_time(server: ModelServer) -> None:
    profiles = {
        "a": VllmProfile(base_url=server.base_url, model="m-a"),
        "b": VllmProfile(base_url=server.base_url, model="m-b"),
    }
    model = VllmAgentModel(profiles=profiles, default_profile="a")
    server.reply(Reply([text("x"), finish("stop"), DONE]))

    heard = await asyncio.gather(
        listen(model, ask(selection=ModelSelection(profile="a"))),
        listen(model, ask(selection=ModelSelection(profile="b", model="other"))),
    )

    assert [item.text for item in heard] == ["x", "x"]
    assert {item.json["model"] for item in server.requests} == {"m-a", "other"}
    await model.aclose()


def test_a_catalog_without_profiles_or_with_a_dangling_name_is_refused() -> None:
    with pytest.raises(VllmConfigurationError, match="No model server"):
        ProfileCatalog({})
    with pytest.raises(VllmConfigurationError, match="names 'b'"):
        ProfileCatalog({"a": VllmProfile(model="m")}, "b")
