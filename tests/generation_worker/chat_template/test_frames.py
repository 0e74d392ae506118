"""Chat templates as models bring them, written after the published ones, and such as no model should bring."""

import re
import time

import pytest

from generation_worker.chat_template.frames import SpecialTexts, frames_of
from generation_worker.chat_template.rendering import MAX_TEMPLATE_CHARS, ChatTemplateError
from groundwire.prompt import CHATML, ChatFrame, PromptKind, wording

WORDS = wording(PromptKind.WITH_SOURCES)
WITH_SOURCES = CHATML.of_kind[PromptKind.WITH_SOURCES]
SPECIAL = SpecialTexts(bos="<s>", eos="</s>")

CHATML_STYLE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3_STYLE = """
{{- bos_token }}
{%- if not tools is defined %}{% set tools = none %}{% endif %}
{%- for message in messages %}
    {{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' ~ (message.content | trim) ~ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
"""
GEMMA_STYLE = """
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] %}
    {{- '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}
"""
MISTRAL_STYLE = """
{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}
        {{- '[INST] ' + message['content'] + ' [/INST]' }}
    {%- elif message['role'] == 'assistant' %}
        {{- message['content'] + eos_token }}
    {%- else %}
        {{- raise_exception('Only user and assistant roles are supported!') }}
    {%- endif %}
{%- endfor %}
"""
QWEN3_STYLE = """
{%- set ns = namespace(last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- if message.role == 'user' and message.content is string %}
        {%- set ns.last_query = loop.index0 %}{% break %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}
"""
THINKING_STYLE = CHATML_STYLE.replace("assistant\n' }}{% endif", "assistant\n<think>\n' }}{% endif")
SILENT_ON_SYSTEM_STYLE = (
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}</>{% endfor %}<bot>"
)


def test_chatml_is_what_the_default_generator_is_asked_in():
    assert frames_of(CHATML_STYLE, SPECIAL) == CHATML


@pytest.mark.parametrize(
    ("template", "head", "tail", "turn_end"),
    [
        (
            LLAMA3_STYLE,
            (
                f"<s><|start_header_id|>system<|end_header_id|>\n\n{WORDS.instruction}<|eot_id|>"
                "<|start_header_id|>user<|end_header_id|>\n\n"
            ),
            f"\n{WORDS.reminder}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            "<|eot_id|>",
        ),
        (
            GEMMA_STYLE,
            f"<s><start_of_turn>user\n{WORDS.instruction}\n\n",
            f"\n{WORDS.reminder}<end_of_turn>\n<start_of_turn>model\n",
            "<end_of_turn>",
        ),
        (MISTRAL_STYLE, f"<s>[INST] {WORDS.instruction}\n\n", f"\n{WORDS.reminder} [/INST]", "</s>"),
        (
            QWEN3_STYLE,
            WITH_SOURCES.head,
            f"{WITH_SOURCES.tail}<think>\n\n</think>\n\n",
            "<|im_end|>",
        ),
        (
            THINKING_STYLE,
            WITH_SOURCES.head,
            f"{WITH_SOURCES.tail}<think>\n\n</think>\n\n",
            "<|im_end|>",
        ),
        (SILENT_ON_SYSTEM_STYLE, f"<user>{WORDS.instruction}\n\n", f"\n{WORDS.reminder}</><bot>", "</><bot>"),
    ],
    ids=["llama3", "gemma", "mistral", "qwen3", "opens think", "drops system"],
)
def test_published_styles(template: str, head: str, tail: str, turn_end: str):
    frames = frames_of(template, SPECIAL)
    assert frames.of_kind[PromptKind.WITH_SOURCES] == ChatFrame(head, tail)
    assert frames.turn_end == turn_end
    for kind in PromptKind:
        words = wording(kind)
        assert words.instruction in frames.of_kind[kind].head
        assert words.reminder in frames.of_kind[kind].tail


def test_a_template_may_tell_the_date_and_mark_what_the_model_writes():
    dated = frames_of("Today is {{ strftime_now('%Y') }}.\n" + CHATML_STYLE, SPECIAL).of_kind[PromptKind.WITH_SOURCES]
    assert re.fullmatch(rf"Today is 2\d{{3}}\.\n{re.escape(WITH_SOURCES.head)}", dated.head)
    marked = CHATML_STYLE.replace("{{", "{% generation %}{{", 1).replace("}}", "}}{% endgeneration %}", 1)
    assert frames_of(marked, SPECIAL).of_kind[PromptKind.WITH_SOURCES] == WITH_SOURCES


def test_a_template_that_cannot_show_a_reply_has_no_turn_end():
    template = CHATML_STYLE.replace(
        "{{ '<|im_start|>' +", "{{ 1 // 0 if message['role'] == 'assistant' }}{{ '<|im_start|>' +"
    )
    frames = frames_of(template, SPECIAL)
    assert frames.of_kind[PromptKind.WITH_SOURCES] == WITH_SOURCES
    assert frames.turn_end == ""


@pytest.mark.parametrize(
    ("template", "fragment"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "does not come to an end"),
        ("{% for a in range(99999) %}{{ 'x' * 9999 }}{% endfor %}", "more than 100,000 characters"),
        ("{{ 'x' * 10 ** 11 }}", "memory"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
        ("{{ raise_exception('not\nwith me') }}", "it says: not with me"),
        ("{{ messages | no_such_filter }}", "no_such_filter"),
        ("{% for message in messages %}", "end of template"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{% include '/etc/passwd' %}", "no loader"),
        (r"{{ '\ud800' }}" + CHATML_STYLE, "UnicodeEncodeError"),
        ("{{ messages[9].content.upper() }}", "no element 9"),
        ("", "does not show each message once"),
        ("{{ messages[-1].content | upper }}", "does not show each message once"),
        ("{{ messages[0].content }}{{ messages[-1].content }}{{ messages[-1].content }}", "each message once"),
        ("x" * (MAX_TEMPLATE_CHARS + 1), "more than 262,144 characters"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line_and_soon(template: str, fragment: str):
    started_s = time.monotonic()
    with pytest.raises(ChatTemplateError) as refused:
        frames_of(template, SPECIAL)
    assert fragment in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400
    assert time.monotonic() - started_s < 40
