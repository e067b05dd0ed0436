import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, override

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.context import (
    ContextDigest,
    ContextFreshness,
    ContextHealthSignal,
    ContextManifest,
    ContextManifestEntry,
    ContextOptimizationAction,
    ContextOptimizationActionKind,
    ContextOptimizationEvidenceStage,
    ContextPack,
    ContextPackRole,
    ContextRotSymptom,
    ContextSensitivity,
    ContextTokenBudget,
)
from spakky.agent.contracts.context_build import build_manifest, estimate_tokens
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import ModelRequest
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.guards.sensitive import (
    PII,
    REDACTED_TEXT,
    RedactionPolicy,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.ports.context_handler import IAgentContextHandler

RAW = "sk-raw-secret"
EVERYTHING = ContextExposurePolicy(
    include_pii_values=True,
    include_sensitive_values=True,
    include_sensitive_context_metadata=True,
)


def wrong(value: object) -> Any:
    """Give a value of a type that the checker would refuse."""
    return value


def secret_at(*path: str) -> SensitiveFieldDescriptor:
    return SensitiveFieldDescriptor(path, SecretField(RedactionPolicy.REDACT))


def pack(content: str = "text", *fields: SensitiveFieldDescriptor, **options: Any) -> ContextPack:
    return ContextPack(
        "p1", content, "crm", ContextPackRole.EVIDENCE, sensitive_fields=fields, **options
    )


@pytest.mark.requirement("CTX-6")
def test_a_pack_without_marked_fields_gives_its_content() -> None:
    assert pack(RAW).guarded_content() == RAW
    assert pack(RAW, sensitivity=ContextSensitivity.SENSITIVE).guarded_content() == RAW


@pytest.mark.requirement("CTX-6")
def test_no_policy_shows_the_content_of_a_redacted_pack() -> None:
    redacted = pack(RAW, sensitivity=ContextSensitivity.REDACTED)

    assert redacted.guarded_content() == REDACTED_TEXT
    assert redacted.guarded_content(EVERYTHING) == REDACTED_TEXT


@pytest.mark.requirement("CTX-6")
def test_a_marked_value_of_a_json_object_is_replaced_in_place() -> None:
    content = json.dumps({"name": "Änne", "keys": [{"token": RAW}, {}], "n": 1})

    guarded = pack(content, secret_at("keys", "*", "token")).guarded_content()

    assert json.loads(guarded) == {"name": "Änne", "keys": [{"token": REDACTED_TEXT}, {}], "n": 1}
    assert "Änne" in guarded


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (f"plain text {RAW}", ("token",)),
        (f'["{RAW}"]', ("*",)),
        (f'"{RAW}"', ("token",)),
        (f'{{"token": "{RAW}"}} trailing', ("token",)),
        (f'{{"token": "{RAW}", "n": NaN}}', ("token",)),
        (f'{{"other": "{RAW}"}}', ("token",)),
        (f'{{"token": "{RAW}"}}', ("token", "value")),
        (f'{{"token": ["{RAW}"]}}', ("token", "value")),
        ('{"a":' * 100_000 + f'"{RAW}"', ("a",)),
        (f'{{"token": "{RAW}"}}', ()),
    ],
)
@pytest.mark.requirement("CTX-6")
def test_content_in_which_a_path_leads_nowhere_is_hidden_whole(
    content: str, path: tuple[str, ...]
) -> None:
    assert pack(content, secret_at(*path)).guarded_content() == REDACTED_TEXT


@pytest.mark.requirement("CTX-6")
def test_a_key_that_is_given_twice_does_not_bring_the_first_value_through() -> None:
    content = f'{{"token": "{RAW}", "token": "other"}}'

    assert pack(content, secret_at("token")).guarded_content() == '{"token": "[REDACTED]"}'


@pytest.mark.requirement("CTX-6")
def test_the_marker_of_the_root_path_says_what_stands_for_the_whole() -> None:
    root = SensitiveFieldDescriptor((), SecretField(label="dossier"))

    assert pack(RAW, secret_at("x"), root).guarded_content() == "[REFERENCE:dossier]"


@pytest.mark.requirement("CTX-6", "SAFE-3")
def test_a_policy_shows_what_it_exposes_and_hides_the_rest() -> None:
    content = json.dumps({"mail": "a@b.io", "token": RAW})
    mail = SensitiveFieldDescriptor(("mail",), SensitiveField(PII.EMAIL))
    policy = ContextExposurePolicy(include_pii_values=True)

    assert pack(content, mail).guarded_content(policy) == content
    assert json.loads(pack(content, mail, secret_at("token")).guarded_content(policy)) == {
        "mail": "a@b.io",
        "token": REDACTED_TEXT,
    }


@given(
    st.dictionaries(st.sampled_from("abc"), st.text(max_size=5), min_size=1),
    st.lists(st.sampled_from(["a", "b", "*"]), max_size=3),
)
@pytest.mark.requirement("CTX-6")
def test_a_marked_raw_value_never_gets_into_the_model_input(
    content: dict[str, str], path: list[str]
) -> None:
    raw = "raw-value-0123456789"
    fields = (secret_at(*path),)
    texts = [json.dumps(content | {key: raw}) for key in ("a", "b")]

    for text in texts:
        shown = pack(text, *fields).guarded_content()
        if raw in shown:
            # Only a value at another key than the path's may stay.
            assert path[0] != "*"
            assert json.loads(shown).get(path[0]) != raw


@pytest.mark.requirement("CTX-1", "CTX-2", "CTX-5")
def test_the_six_attributes_of_a_pack_survive_to_its_message() -> None:
    given_pack = ContextPack(
        "p1",
        "text",
        "docs-search",
        ContextPackRole.EVIDENCE,
        ContextFreshness.RECENT,
        0.7,
        ContextTokenBudget(100, 20, 10),
        ContextSensitivity.PUBLIC,
        metadata={"page": 3},
    )
    first = ModelMessage(ModelMessageRole.USER, "question")
    request = ModelRequest((first,), context=(given_pack,))

    messages = request.assemble_messages()

    assert messages == request.assemble_messages()
    assert messages[0] == first
    assert messages[1].metadata == {
        "context_pack_id": "p1",
        "source": "docs-search",
        "role": "evidence",
        "freshness": "recent",
        "relevance": 0.7,
        "token_budget": {
            "max_tokens": 100,
            "estimated_tokens": 20,
            "reserved_output_tokens": 10,
        },
        "sensitivity": "public",
        "pack_metadata": {"page": 3},
    }
    json.dumps(messages[1].metadata)


@pytest.mark.parametrize(
    "given_pack",
    [
        pack("{}", secret_at("a"), metadata={"note": RAW}),
        pack(sensitivity=ContextSensitivity.SENSITIVE, metadata={"note": RAW}),
        pack(sensitivity=ContextSensitivity.REDACTED, metadata={"note": RAW}),
    ],
)
@pytest.mark.requirement("CTX-6")
def test_the_own_metadata_of_a_sensitive_pack_is_given_only_on_request(
    given_pack: ContextPack,
) -> None:
    assert RAW not in json.dumps(given_pack.message_metadata())

    shown = given_pack.message_metadata(EVERYTHING)
    assert shown["pack_metadata"] == {"note": RAW}
    assert shown["sensitive_fields"] == [item.to_metadata() for item in given_pack.sensitive_fields]


@pytest.mark.requirement("CTX-3")
def test_a_manifest_has_one_entry_for_each_pack_with_its_references() -> None:
    made_at = datetime(2025, 1, 1, tzinfo=UTC)
    first = pack("a", secret_at("x"), metadata={"origin_ref": "crm:7", "evidence_ref": "ev-1"})
    second = ContextPack("p2", "b", "docs", ContextPackRole.MEMORY, metadata={"origin_ref": " "})

    manifest = build_manifest("m1", [first, second], origin_ref="run-1", created_at=made_at)

    assert manifest == ContextManifest(
        "m1",
        (
            ContextManifestEntry(
                "p1",
                "crm",
                ContextPackRole.EVIDENCE,
                "crm:7",
                "ev-1",
                sensitive_fields=(secret_at("x"),),
            ),
            ContextManifestEntry("p2", "docs", ContextPackRole.MEMORY, "docs"),
        ),
        origin_ref="run-1",
        created_at=made_at,
    )


@pytest.mark.requirement("CTX-3")
def test_two_packs_with_one_id_make_no_manifest() -> None:
    with pytest.raises(AgentValueError, match="'p1'"):
        build_manifest("m1", [pack("a"), pack("b")])


@pytest.mark.requirement("CTX-4", "CTX-12")
def test_a_digest_points_to_its_originals_and_changes_none_of_them() -> None:
    original = pack("the whole text")
    before = repr(original)

    digest = ContextDigest(
        "d1", "run-1", "m1", "sha256:1", ["p1"], algorithm="model-summary", summary="text"
    )

    assert digest.derived_from_pack_ids == ("p1",)
    assert digest.source_manifest_ref == "m1"
    assert repr(original) == before


@pytest.mark.requirement("CTX-8", "CTX-9")
def test_a_health_signal_names_its_symptom_and_references() -> None:
    assert [item.value for item in ContextRotSymptom] == [
        "stale",
        "contradictory",
        "low_relevance",
        "over_budget",
        "polluted",
    ]
    signal = ContextHealthSignal(
        "s1",
        ContextRotSymptom.STALE,
        "m1",
        "p1",
        "ev-1",
        0.5,
        datetime(2025, 1, 1, tzinfo=UTC),
    )
    assert json.loads(json.dumps(signal.evidence_payload())) == {
        "id": "s1",
        "symptom": "stale",
        "manifest_ref": "m1",
        "pack_id": "p1",
        "evidence_ref": "ev-1",
        "score": 0.5,
        "observed_at": "2025-01-01T00:00:00+00:00",
        "metadata": {},
    }
    assert (
        ContextHealthSignal("s2", ContextRotSymptom.POLLUTED).evidence_payload()["observed_at"]
        is None
    )


class DropsStalePacks(IAgentContextHandler):
    """Drops the packs that signals call stale."""

    @override
    async def select_optimization_actions(
        self, signals: Sequence[ContextHealthSignal], manifest: ContextManifest
    ) -> Sequence[ContextOptimizationAction]:
        return [
            ContextOptimizationAction(
                f"drop-{signal.id}",
                ContextOptimizationActionKind.CONTEXT_SLICE_DROP,
                [signal.id],
                [signal.pack_id or ""],
                manifest.id,
            )
            for signal in signals
        ]


@pytest.mark.requirement("CTX-10")
async def test_a_handler_answers_signals_with_actions() -> None:
    assert [item.value for item in ContextOptimizationActionKind] == [
        "compression",
        "retrieval_refresh",
        "delegation",
        "context_slice_drop",
    ]
    assert [item.value for item in ContextOptimizationEvidenceStage] == ["before", "after"]
    manifest = build_manifest("m1", [pack()])
    signal = ContextHealthSignal("s1", ContextRotSymptom.STALE, "m1", "p1")

    (action,) = await DropsStalePacks().select_optimization_actions([signal], manifest)

    assert json.loads(json.dumps(action.evidence_payload())) == {
        "id": "drop-s1",
        "kind": "context_slice_drop",
        "signal_refs": ["s1"],
        "target_pack_ids": ["p1"],
        "manifest_ref": "m1",
        "digest_ref": None,
        "delegation_ref": None,
        "result_evidence_ref": None,
        "reason": None,
        "metadata": {},
    }


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("x" * 400, 100)]
)
@pytest.mark.requirement("COMPACT-11")
def test_four_characters_are_taken_for_a_token_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


NAIVE = datetime(2025, 1, 1)  # noqa: DTZ001  # the case at hand


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: ContextPack("", "x", "s", ContextPackRole.TASK), "ContextPack.id"),
        (lambda: ContextPack("p", "x", " ", ContextPackRole.TASK), "ContextPack.source"),
        (lambda: ContextPack("p", wrong(b"x"), "s", ContextPackRole.TASK), "bytes"),
        (lambda: pack(relevance=float("nan")), "relevance"),
        (lambda: pack(relevance=True), "relevance"),
        (lambda: ContextTokenBudget(-1), "max_tokens"),
        (lambda: ContextTokenBudget(estimated_tokens=-1), "estimated_tokens"),
        (lambda: ContextTokenBudget(reserved_output_tokens=-1), "reserved_output_tokens"),
        (lambda: ContextManifestEntry("p", "s", ContextPackRole.TASK, ""), "origin_ref"),
        (lambda: ContextManifest("m", (), created_at=NAIVE), "created_at"),
        (lambda: ContextManifest("m", (), evidence_refs="ev-1"), "evidence_refs"),
        (lambda: ContextManifest("m", (), evidence_refs=[" "]), "evidence_refs"),
        (lambda: ContextDigest("d", "c", "m", ""), "ContextDigest.digest"),
        (lambda: ContextDigest("d", "c", "m", "x", summary=" "), "summary"),
        (lambda: ContextHealthSignal("s", ContextRotSymptom.STALE, score=float("inf")), "score"),
        (lambda: ContextOptimizationAction("", ContextOptimizationActionKind.DELEGATION), "id"),
    ],
)
@pytest.mark.requirement("CTX-2", "CTX-3")
def test_a_context_value_built_from_bad_input_is_refused_by_its_field(
    build: Callable[[], object], word: str
) -> None:
    with pytest.raises(AgentValueError, match=word):
        build()
