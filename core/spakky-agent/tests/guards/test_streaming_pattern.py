from typing import Any

import pytest

from spakky.agent.error import AgentValueError
from spakky.agent.guards.stream_redaction import StreamingRedactionMatch, StreamingSensitivePattern


@pytest.mark.requirement("STREAM-2")
def test_a_pattern_has_name_expression_and_replacement() -> None:
    pattern = StreamingSensitivePattern("key", "sk-[A-Z]{3}")

    assert pattern.redact("a sk-ABCD sk-XYZ") == ("a [REDACTED]D [REDACTED]", 2)
    assert pattern.redact("nothing") == ("nothing", 0)
    assert pattern.find_matches("a sk-ABC") == (StreamingRedactionMatch("key", 2, 8),)


def test_a_match_is_described_without_its_text() -> None:
    pattern = StreamingSensitivePattern("key", "sk-[A-Z]{3}", "", {"owner": "billing"})

    (match,) = pattern.find_matches("sk-ABC")

    assert match.to_payload() == {
        "pattern_name": "key",
        "start": 0,
        "end": 6,
        "metadata": {"owner": "billing"},
    }
    assert pattern.redact("<sk-ABC>") == ("<>", 1)


def test_patterns_with_equal_fields_are_equal_and_show_their_fields() -> None:
    one = StreamingSensitivePattern("key", "sk-")

    assert one == StreamingSensitivePattern("key", "sk-")
    assert repr(one) == (
        "StreamingSensitivePattern(name='key', pattern='sk-', replacement='[REDACTED]', metadata={})"
    )


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("sk-[", "not a valid regular expression"),
        ("a{1,99999999999999999999}", "not a valid regular expression"),
        ("a*", "empty text"),
        (r"\b", "empty text"),
        ("", "empty text"),
        (r"(a)\1", "back-reference"),
        ("(a)?(?(1)b|c)", "conditional group"),
        ("(?>a+)b", "atomic"),
        ("a++b", "possessive"),
        ("ab$", r"\\Z"),
        ("(?<=ab)c", "look behind"),
        ("a(?=bc)", "look ahead"),
        ("a(?!bc)", "look ahead"),
        (r"a(?=\b)", "look ahead"),
        (".*secret", "begins with any number"),
        ("(?s).+?secret", "begins with any number"),
        ("(?:ab{900}){9}", "smaller numbers"),
    ],
)
@pytest.mark.requirement("STREAM-2")
def test_what_a_stream_cannot_decide_is_refused_with_the_reason(expression: str, why: str) -> None:
    with pytest.raises(AgentValueError, match=why) as caught:
        StreamingSensitivePattern("my-pattern", expression)

    assert "'my-pattern'" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [((" ", "a"), "name"), (("n", 1), "pattern"), (("n", "a", None), "replacement")],
)
def test_other_bad_input_is_refused_by_its_field(arguments: tuple[Any, ...], word: str) -> None:
    with pytest.raises(AgentValueError, match=word):
        StreamingSensitivePattern(*arguments)
