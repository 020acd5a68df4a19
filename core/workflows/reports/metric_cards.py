"""The cards of a library's metrics as documents and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from semblance.core.errors import BadInput
from semblance.core.evaluation.calibration import Calibration
from semblance.core.evaluation.evaluate_metric import MetricScores, chance_note, scored_card
from semblance.core.evaluation.place_weight import PlaceWeight
from semblance.core.evaluation.protocols.region import RegionSearchScore
from semblance.core.evaluation.shortcuts import ShortcutProbe, stored_probes
from semblance.core.evaluation.shuffled_control import ShuffledControl, stored_control
from semblance.core.evaluation.subgroups import AGE, ALPHA, FINDING, SubgroupScore, stored_subgroups
from semblance.core.language import as_lazy, isolated, join_texts, tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.library.metric_scores import check_card
from semblance.core.library.open_library import open_library
from semblance.core.library.vault import VaultOpening, stored_openings
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.registry import known_learner, learner_title
from semblance.core.metrics.score_titles import score_title, search_score_title
from semblance.core.purpose import PURPOSE
from semblance.core.reports.card_document import (
    NOT_MEASURED,
    UNVERIFIED,
    CardDocument,
    CardSection,
    CardTable,
    column_lines,
    compare_cards,
    constraints_text,
    learner_text,
    parameters_text,
    split_text,
    trained_on,
    write_card,
)
from semblance.core.reports.document import LabelledValue
from semblance.core.reports.formatting import beside_chance, spread_text, time_text
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.measure_places import PLACES_NOT_MEASURED, REGION_SEARCH, WEIGHT_CHOICE

_Measured = TypeVar("_Measured", PlaceWeight, RegionSearchScore)

#: Names of the attributes that subgroups are made by.
_ATTRIBUTE_TITLES = {
    FINDING: tr_lazy("finding"),
    "sex": tr_lazy("sex"),
    AGE: tr_lazy("age"),
    "manufacturer": tr_lazy("manufacturer"),
    "view": tr_lazy("view"),
}
#: Names of the shortcuts.
_SHORTCUT_TITLES = {
    "manufacturer": tr_lazy("scanner manufacturer"),
    "station": tr_lazy("station"),
    "institution": tr_lazy("institution"),
    "view": tr_lazy("view"),
    "laterality": tr_lazy("side"),
    "burnt_in_text": tr_lazy("burnt-in text"),
    "burnt_in_marks": tr_lazy("burnt-in annotations"),
    "source": tr_lazy("import source"),
    "image_size": tr_lazy("image size"),
    "crop_scale": tr_lazy("region size relative to the image"),
}
#: The note on a second opening of the test vault.
LATER_OPENING = tr_lazy("not the first opening: earlier results were known, so this one may be too high")
#: Findings shown as the weakest.
WEAKEST = 3


def document_of(name: str, card: Mapping[str, Any], scores: Mapping[str, Any] | None) -> CardDocument:
    """The document of a metric from its stored ``card`` and ``scores``.

    Raises:
        BadInput: a card or scores that cannot be read, or that were changed after they were written.
    """
    check_card(name, card, scores)
    read = MetricCard.from_json(card)
    learner = known_learner(read.learner)
    paper = "" if learner is None else learner.paper
    return card_document(
        name,
        read,
        scores,
        learner_title=learner_title(read.learner),
        paper=paper,
        weight=_stored(PlaceWeight, card.get(WEIGHT_CHOICE)),
        region=_stored(RegionSearchScore, card.get(REGION_SEARCH)),
        not_measured=card.get(PLACES_NOT_MEASURED),
    )


def _stored(kind: type[_Measured], values: Any) -> _Measured | None:
    """What a card stores; ``None`` where it has none that can be read."""
    try:
        return None if values is None else kind.from_json(values)
    except (ValueError, BadInput):
        return None


def metric_card(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> CardDocument:
    """The card of the metric called ``name``.

    Raises:
        BadArguments: no such metric.
        BadInput: not a library, or a card that cannot be read.
    """
    with open_library(library) as opened:
        record = opened.metric(name)
        return document_of(name, record.card, record.scores)


def write_metric_card(library: LibraryLocation, name: str, out: Path, *, reporter: Reporter = SILENT) -> Path:
    """Write the card as .md or .json; returns ``out``.

    Raises:
        BadArguments: no such metric, or another ending.
        SemblanceError: the file cannot be written.
    """
    write_card(metric_card(library, name), out)
    log_export(library, "metric card", out.suffix)
    return out


def compared_cards(library: LibraryLocation, a: str, b: str, *, reporter: Reporter = SILENT) -> CardTable:
    """Two cards side by side.

    Raises:
        BadArguments: no such metric.
    """
    return compare_cards(metric_card(library, a), metric_card(library, b))


def card_document(
    name: str,
    card: MetricCard,
    scores: Mapping[str, Any] | None,
    *,
    learner_title: str = "",
    paper: str = "",
    weight: PlaceWeight | None = None,
    region: RegionSearchScore | None = None,
    not_measured: Any = None,
) -> CardDocument:
    """The document of the metric called ``name``; ``scores`` as stored in the library. It has no authors of
    judgements, because these stay in the library. ``weight`` and ``region``: what places are worth in the library, or
    in ``not_measured`` why that is not known.

    Raises:
        BadInput: scores of another form.
    """
    measured = None if not scores else MetricScores.from_json(scores)
    stored = (scores or {}).get("calibration")
    calibration = Calibration.from_json(stored) if stored else None
    sections = [
        _section(tr_lazy("Metric"), _about(name, card, learner_title, paper)),
        _section(tr_lazy("Data"), _data(card)),
        _section(tr_lazy("Training"), _training(card)),
        *_scores(card, measured, stored_control(scores)),
        *_vault(stored_openings(scores)),
        *_places(weight, region, not_measured),
        *_failures(measured),
        *_subgroups(measured, stored_subgroups(scores), calibration),
        *_shortcuts(measured, stored_probes(scores)),
        *_calibration(measured, calibration),
        _section(tr_lazy("Origin"), _origin(card)),
    ]
    current = scored_card(card, scores).to_json()
    values = {
        "name": name,
        "intended_purpose": PURPOSE,
        "card": {key: value for key, value in current.items() if key not in ("authors", "messages")},
        "scores": _public_scores(scores),
        "places": {
            "joins": weight is not None and weight.is_better,
            "weight_choice": None if weight is None else weight.to_json(),
            "region_search": None if region is None else region.to_json(),
        },
    }
    return CardDocument(name, tuple(section for section in sections if section), values)


def _section(title: str, lines: list[tuple[str, str]]) -> CardSection:
    return CardSection(title, tuple(LabelledValue(label, value) for label, value in lines if value))


def _about(name: str, card: MetricCard, title: str, paper: str) -> list[tuple[str, str]]:
    return [
        (tr_lazy("Name"), name),
        (tr_lazy("Unverified"), UNVERIFIED if card.unverified else ""),
        (tr_lazy("Learner"), learner_text(card, title)),
        (tr_lazy("Parameters"), parameters_text(card)),
        (tr_lazy("Paper"), paper),
        (tr_lazy("Intended purpose"), PURPOSE),
    ]


def _data(card: MetricCard) -> list[tuple[str, str]]:
    return [
        (tr_lazy("Library"), card.library),
        (tr_lazy("Features"), card.feature_set),
        (tr_lazy("Steps"), join_texts(map(as_lazy, card.steps), "; ")),
        *column_lines(card),
    ]


def _training(card: MetricCard) -> list[tuple[str, str]]:
    return [
        (tr_lazy("Trained on"), trained_on(card)),
        (tr_lazy("Split"), split_text(card)),
        (tr_lazy("Constraints"), constraints_text(card)),
        (tr_lazy("How it ended"), join_texts(map(as_lazy, card.notes), " ")),
    ]


def _scores(
    card: MetricCard, scores: MetricScores | None, control: ShuffledControl | None
) -> list[CardSection]:
    if scores is None:
        return [
            CardSection(
                tr_lazy("Scores"),
                (
                    LabelledValue(
                        tr_lazy("Measured on"),
                        as_lazy(card.measured_on) if card.measured_on else NOT_MEASURED,
                    ),
                ),
            )
        ]
    k = min(10, len(scores.retrieval_accuracy.k))
    lines = [
        (
            tr_lazy("Measured on"),
            tr_lazy(
                "{cases}, {measured_on}", cases=_queries(scores), measured_on=as_lazy(scores.measured_on)
            ),
        ),
        *_accuracies(scores, k),
        (tr_lazy("Control, trained on shuffled findings"), "" if control is None else control_text(control)),
        (
            tr_lazy("{voters}-NN accuracy", voters=scores.voters),
            spread_text(*scores.knn_accuracy.at(scores.voters)),
        ),
        (score_title("auc"), spread_text(scores.mean_auc)),
        *(
            (score_title(f"auc:{finding}"), spread_text(curve.auc, *(curve.ci95 or (None, None))))
            for finding, curve in scores.roc.items()
        ),
    ]
    facts = tuple(LabelledValue(label, value) for label, value in lines if value)
    return [CardSection(tr_lazy("Scores"), facts, measured_on=scores.measured_on)]


def _accuracies(scores: MetricScores, k: int) -> list[tuple[str, str]]:
    """The accuracy of the searches and its mean over findings, each beside chance, and the worst finding."""
    lines = [
        (
            search_score_title(f"retrieval_accuracy@{k}"),
            beside_chance(*scores.retrieval_accuracy.at(k), scores.chance),
        )
    ]
    if scores.macro is not None:
        macro = scores.macro.mean, scores.macro.low, scores.macro.high
        lines.append(
            (search_score_title(f"macro_retrieval_accuracy@{k}"), beside_chance(*macro, scores.macro_chance))
        )
    if scores.worst is not None:
        name, worst = scores.worst
        value = spread_text(worst.mean, worst.low, worst.high)
        lines.append(
            (
                search_score_title(f"worst_finding@{k}"),
                tr_lazy("{value}, {finding}", value=value, finding=isolated(name)),
            )
        )
    return [*lines, (tr_lazy("Against chance"), chance_note(scores))]


def control_text(control: ShuffledControl) -> str:
    """The score of the control, and whether it is at chance level as expected."""
    low, high = control.interval
    measured = tr_lazy(
        "{accuracy:.2f} @10, by chance {chance:.2f} ({low:.2f}–{high:.2f} in 99 of 100)",
        accuracy=control.accuracy,
        chance=control.chance,
        low=low,
        high=high,
    )
    if control.is_near_chance:
        return tr_lazy("{measured}: near chance, as it should be", measured=measured)
    return tr_lazy(
        "{measured}: above chance. The measurement is doubtful: do not rely on the scores", measured=measured
    )


def _places(
    weight: PlaceWeight | None, region: RegionSearchScore | None, not_measured: Any
) -> list[CardSection]:
    """What search by place is worth in the library, and whether places join the distance; or why that is not known."""
    reasons = not_measured if isinstance(not_measured, dict) else {}
    lines = []
    for name, title, text in (
        (REGION_SEARCH, tr_lazy("Regions as queries"), region.summary if region is not None else ""),
        (WEIGHT_CHOICE, tr_lazy("Whole images"), _weight_text(weight) if weight is not None else ""),
    ):
        if text:
            lines.append((title, text))
        elif name in reasons:
            why = tr_lazy("Not measured: {reason}", reason=as_lazy(str(reasons[name])))
            lines.append((title, why))
    return [_section(tr_lazy("Search by place"), lines)] if lines else []


def _weight_text(weight: PlaceWeight) -> str:
    """Whether places join the distance of the metric, and the figures that say so."""
    figures = tr_lazy(
        "Same finding among the 10 nearest {before:.3f} without and {after:.3f} with places, by validation inside the "
        "training cases (difference {difference:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}, {n} queries).",
        before=weight.accuracy[0],
        after=weight.accuracy[1],
        difference=weight.difference,
        low=weight.ci95[0],
        high=weight.ci95[1],
        n=weight.queries,
    )
    held_out = (
        []
        if weight.held_out is None
        else [tr_lazy("On held-out cases {difference:+.3f}.", difference=weight.held_out)]
    )
    verdict = (
        tr_lazy("Places count {share:.0%} of the distance.", share=weight.weight)
        if weight.is_better
        else tr_lazy("Places do not join the distance.")
    )
    return join_texts([verdict, figures, *held_out, *map(as_lazy, weight.worse)], " ")


def _vault(openings: Sequence[VaultOpening]) -> list[CardSection]:
    """The tests on the sealed patients, each counted and dated."""
    facts = [
        LabelledValue(
            tr_lazy("Opening {number}, {time}", number=one.number, time=time_text(one.time)),
            opening_text(one),
        )
        for one in openings
    ]
    return [CardSection(tr_lazy("Sealed test vault"), tuple(facts))] if facts else []


def opening_text(opening: VaultOpening) -> str:
    """The result of an opening; a second one is marked."""
    result = opening.result
    accuracy, auc = result.get("accuracy") or (None, None, None), result.get("mean_auc")
    parts = [
        tr_lazy(
            "search accuracy @10 {value}",
            value=beside_chance(accuracy[0], accuracy[1], accuracy[2], result.get("chance")) or "–",
        ),
        *([] if auc is None else [tr_lazy("mean AUC {auc:.2f}", auc=auc)]),
        tr_lazy(
            "{cases:,} sealed cases of {patients:,} patients or lesions",
            cases=int(result.get("cases") or 0),
            patients=int(result.get("patients") or 0),
        ),
    ]
    if opening.number > 1:
        parts.append(LATER_OPENING)
    return join_texts(parts)


def _queries(scores: MetricScores) -> str:
    """The number of held-out cases that were queries."""
    if scores.sampled_queries is None:
        return tr_lazy("{n_test:,} cases", n_test=scores.n_test)
    return tr_lazy(
        "{n_queries:,} of {n_test:,} cases as queries (stratified sample, seed {seed})",
        n_queries=scores.n_queries,
        n_test=scores.n_test,
        seed=scores.seed,
    )


def _failures(scores: MetricScores | None) -> list[CardSection]:
    """The findings with the lowest scores, and which of them are confused."""
    if scores is None or not scores.by_finding:
        return []
    known = [(name, one) for name, one in scores.by_finding.items() if one.mean is not None]
    worst = sorted(known, key=lambda entry: entry[1].mean or 0.0)[:WEAKEST]
    lines = [
        (
            tr_lazy("Weakest, {name}", name=name),
            tr_lazy(
                "{value} accuracy @{k} of {n:,} cases",
                value=spread_text(one.mean, one.low, one.high),
                k=one.k,
                n=one.n,
            ),
        )
        for name, one in worst
    ]
    lines += _confused(scores)
    facts = tuple(LabelledValue(label, value) for label, value in lines)
    return [CardSection(tr_lazy("Where it fails"), facts, _confusion(scores), scores.measured_on)]


def _confused(scores: MetricScores) -> list[tuple[str, str]]:
    """The findings that are most often confused with another."""
    names = sorted(scores.by_finding)
    if len(names) != len(scores.confusion):
        return []
    wrong = [
        (count, names[i], names[j])
        for i, row in enumerate(scores.confusion)
        for j, count in enumerate(row)
        if i != j and count
    ]
    details = [
        tr_lazy(
            "{count:,} of {confusion:,} {true} taken for {predicted}",
            count=count,
            confusion=sum(scores.confusion[names.index(true)]),
            true=true,
            predicted=predicted,
        )
        for count, true, predicted in sorted(wrong, reverse=True)[:WEAKEST]
    ]
    return [(tr_lazy("Most often confused"), join_texts(details, "; "))] if details else []


def _confusion(scores: MetricScores) -> CardTable | None:
    names = sorted(scores.by_finding)
    if len(names) != len(scores.confusion):
        return None
    rows = tuple(
        (name, *(tr_lazy("{n:,}", n=count) for count in row))
        for name, row in zip(names, scores.confusion, strict=True)
    )
    return CardTable(
        (tr_lazy("finding / estimate of the {voters} nearest", voters=scores.voters), *names), rows
    )


def _subgroups(
    scores: MetricScores | None, subgroups: Sequence[SubgroupScore], calibration: Calibration | None
) -> list[CardSection]:
    """Retrieval accuracy and estimates by subgroup; significant gaps are marked."""
    if scores is None or not subgroups:
        return []
    beyond = [_group_name(one) for one in subgroups if one.is_beyond_chance]
    gaps = join_texts(beyond, "; ") if beyond else tr_lazy("none")
    header = (
        tr_lazy("subgroup"),
        tr_lazy("cases"),
        tr_lazy("accuracy @10"),
        tr_lazy("mean estimate"),
        tr_lazy("had the finding"),
        tr_lazy("gap"),
    )
    rows = tuple(
        (
            _group_name(one),
            tr_lazy("{n:,}", n=one.n),
            _share(one.accuracy, one.accuracy_interval),
            _share(one.estimate, None),
            _share(one.observed, one.observed_interval),
            _gap(one),
        )
        for one in subgroups
    )
    note = tr_lazy("adjusted for {n} tests (Holm)", n=_n_tests(subgroups))
    facts = [LabelledValue(tr_lazy("Gaps beyond chance"), tr_lazy("{gaps}, {note}", gaps=gaps, note=note))]
    if calibration is not None:
        most = tr_lazy("the most frequent finding of the nearest")
        facts.append(LabelledValue(tr_lazy("Estimates are for"), calibration.finding or most))
    return [CardSection(tr_lazy("Subgroups"), tuple(facts), CardTable(header, rows), scores.measured_on)]


def _n_tests(subgroups: Sequence[SubgroupScore]) -> int:
    return sum(p is not None for one in subgroups for p in (one.accuracy_p, one.estimate_p))


def _group_name(one: SubgroupScore) -> str:
    return tr_lazy(
        "{attribute} {group}", attribute=_ATTRIBUTE_TITLES.get(one.attribute, one.attribute), group=one.group
    )


def _shortcuts(scores: MetricScores | None, probes: Sequence[ShortcutProbe]) -> list[CardSection]:
    """How well the metric retrieves attributes that should not matter, and what that means for the scores."""
    if scores is None or not probes:
        return []
    beyond = [_shortcut_name(one) for one in probes if one.is_beyond_chance]
    header = (
        tr_lazy("should not matter"),
        tr_lazy("queries"),
        tr_lazy("same among the 10 nearest"),
        tr_lazy("by chance"),
        tr_lazy("by the findings alone"),
        tr_lazy("same finding by it alone"),
        "",
    )
    rows = tuple(
        (
            _shortcut_name(one),
            tr_lazy("{n:,}", n=one.n),
            _share(one.same, None),
            _share(one.chance, one.chance_interval),
            _share(one.by_finding, one.by_finding_interval),
            _by_it_alone(one),
            _shortcut_mark(one),
        )
        for one in probes
    )
    note = tr_lazy("adjusted for {n} tests (Holm)", n=2 * sum(one.p is not None for one in probes))
    named = join_texts(beyond, "; ") if beyond else tr_lazy("none")
    fact = LabelledValue(
        tr_lazy("Retrieved more often than chance explains"), tr_lazy("{gaps}, {note}", gaps=named, note=note)
    )
    return [CardSection(tr_lazy("Shortcuts"), (fact,), CardTable(header, rows), scores.measured_on)]


def _shortcut_name(one: ShortcutProbe) -> str:
    title = _SHORTCUT_TITLES.get(one.attribute, one.attribute)
    return tr_lazy("{name} ({n} groups)", name=title, n=one.groups)


def _by_it_alone(one: ShortcutProbe) -> str:
    if one.finding_accuracy is None or one.finding_chance is None:
        return "–"
    return tr_lazy("{value:.2f} (chance {chance:.2f})", value=one.finding_accuracy, chance=one.finding_chance)


def _shortcut_mark(one: ShortcutProbe) -> str:
    if one.same is None:
        return tr_lazy("too few cases")
    if one.is_beyond_findings:
        return tr_lazy("beyond chance and findings (p {p:.3f})", p=one.by_finding_p)
    return tr_lazy("beyond chance (p {p:.3f})", p=one.p) if one.is_beyond_chance else ""


def _share(value: float | None, interval: tuple[float, float] | None) -> str:
    return spread_text(value, *(interval or (None, None))) or "–"


def _gap(one: SubgroupScore) -> str:
    if one.accuracy is None:
        return tr_lazy("too few cases")
    found = []
    if one.accuracy_p is not None and one.accuracy_p < ALPHA:
        found.append(tr_lazy("accuracy (p {p:.3f})", p=one.accuracy_p))
    if one.estimate_p is not None and one.estimate_p < ALPHA:
        found.append(tr_lazy("estimate (p {p:.3f})", p=one.estimate_p))
    return tr_lazy("beyond chance: {what}", what=join_texts(found)) if found else ""


def _calibration(scores: MetricScores | None, calibration: Calibration | None) -> list[CardSection]:
    if scores is None:
        return []
    if calibration is None:
        why = tr_lazy("too few cases with a finding were held out")
        return [_section(tr_lazy("Calibration"), [(tr_lazy("Estimates"), tr_lazy("none: {why}", why=why))])]
    patients = (
        ""
        if calibration.n_patients is None
        else tr_lazy(" of {n_patients:,} patients", n_patients=calibration.n_patients)
    )
    lines = [
        (tr_lazy("Method"), as_lazy(calibration.method)),
        (
            tr_lazy("Calibrated on"),
            tr_lazy("{n_cases:,} cases{patients}", n_cases=calibration.n_cases, patients=patients),
        ),
        (
            tr_lazy("Expected calibration error"),
            tr_lazy(
                "{ece:.3f} (perfect forecasters: below {perfect:.3f} in 95 of 100)",
                ece=calibration.ece,
                perfect=calibration.perfect,
            ),
        ),
    ]
    section = _section(tr_lazy("Calibration"), lines)
    return [CardSection(section.title, section.facts, None, calibration.measured_on)]


def _origin(card: MetricCard) -> list[tuple[str, str]]:
    versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
    return [
        (tr_lazy("Trained at"), time_text(card.created)),
        (tr_lazy("Versions"), versions),
        (tr_lazy("Content hash"), card.content_hash),
    ]


def _public_scores(scores: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The stored scores without the parts that name single cases."""
    if not scores:
        return None
    details = {key: value for key, value in scores.items() if key not in ("calibration", "training_curve")}
    calibration = scores.get("calibration")
    if calibration:
        details["calibration"] = {key: value for key, value in calibration.items() if key != "cases"}
    return details
