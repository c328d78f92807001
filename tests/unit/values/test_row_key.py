"""A row's key as a person writes it."""

import pytest

from redolake.values.row_key import parse_row_key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ID=42", {"ID": "42"}),
        ("code=it's,DAY=2026-01-31 00:00:00", {"CODE": "it's", "DAY": "2026-01-31 00:00:00"}),
        ('{"CODE": "a,b=c", "N": 1.50}', {"CODE": "a,b=c", "N": "1.50"}),
        ('{"CODE":"\\ud83d\\ude00 \\"q\\""}', {"CODE": '😀 "q"'}),
        ('{"N": 12345678901234567890123456789012345678}', {"N": "12345678901234567890123456789012345678"}),
        ("ID=", {"ID": ""}),
    ],
)
def test_a_key_is_read_as_the_list_shows_it(text, key):
    assert parse_row_key(text) == key


@pytest.mark.parametrize(
    "text", ["42", "=42", "ID=1,2", "{ID: 1}", '{"ID": null}', '{"ID": [1]}', '{"ID": true}', '["ID"]', ""]
)
def test_what_names_no_row_is_refused(text):
    with pytest.raises(ValueError, match="JSON object"):
        parse_row_key(text)
