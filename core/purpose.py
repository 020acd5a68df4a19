"""The intended purpose of the program, in the one wording that every report, card, page and window has."""

from __future__ import annotations

from semblance.core.language import tr_lazy

USES = tr_lazy("For research, teaching and quality work on one's own or de-identified collections.")
NOT_FOR_PATIENTS = tr_lazy("Not for decisions about a patient.")
PURPOSE = tr_lazy("{uses} {limit}", uses=USES, limit=NOT_FOR_PATIENTS)
