from __future__ import annotations

import json

from semblance.core.language import tr_lazy, tr_lazy_n, translate
from semblance.core.metrics.card import MetricCard
from tests.helpers.use_language import use_language


def test_steps_and_notes_are_translated_after_they_were_stored():
    steps = (tr_lazy("mrmr: {n} of {n_features} features", n=20, n_features=1500), "plain")
    card = MetricCard("bdm", steps=steps, notes=(tr_lazy_n("{n} case", "{n} cases", 2),))
    stored = json.loads(json.dumps(card.to_json()))
    assert stored["steps"] == ["mrmr: 20 of 1500 features", "plain"]
    back = MetricCard.from_json(stored)
    assert back == card
    with use_language("de"):
        assert [translate(text) for text in back.steps] == [translate(text) for text in steps]
        assert translate(back.steps[0]) != steps[0]
        assert translate(back.notes[0]) == "2 Fälle"


def test_a_card_without_messages_has_its_english_texts():
    card = MetricCard.from_json({"learner": "bdm", "steps": ["mrmr: 20 of 1500 features"], "messages": 3})
    assert card.steps == ("mrmr: 20 of 1500 features",)
