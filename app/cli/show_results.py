"""Results as text on stdout: counts, rankings and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from semblance.app.cli.output import echo, print_table, show_fields, stdout
from semblance.core.evaluation.chance import names_beside_chance
from semblance.core.language import visible
from semblance.core.metrics.score_titles import score_title
from semblance.core.purpose import PURPOSE
from semblance.core.reports.formatting import library_share_text, prevalence_text

#: Case ids shown without --json.
MAX_IDS = 10
#: The scores of :func:`show_encoders`.
_ENCODER_SCORES = ("retrieval_accuracy@10", "auc")


def show_info(document: Mapping[str, Any]) -> None:
    """Print a description of a library with its first case ids."""
    ids = document["case_ids"]
    more = len(ids) > MAX_IDS
    show_fields({**document, "case_ids": [*ids[:MAX_IDS], "… (--json lists them)"] if more else ids})


def show_lesions(document: Mapping[str, Any]) -> None:
    """Print what a detection found, a line for each same-lesion group, and what is out of date."""
    if detected := document.get("detected"):
        echo(f"{detected['changed']} cases have another group than before the detection")
        if not detected["parts"]:
            echo("Parts of images were not looked for, because the library has no features of the encoder.")
    for group in document["groups"]:
        cases = ", ".join(f"{case['case_id']} ({case['finding'] or 'no finding'})" for case in group["cases"])
        echo(f"{cases}{'; by hand' if group['by_hand'] else ''}")
    if not document["groups"]:
        echo(f"{document['library']}: no same-lesion groups")
    if outdated := document["outdated_metrics"]:
        from semblance.core.workflows.library.edit_staleness import outdated_text

        echo(f"{outdated_text(len(outdated))} ({', '.join(outdated)})")


def show_agreement(document: Mapping[str, Any]) -> None:
    """Print a table of the subjects, and one of every two annotators for each."""
    if not document["subjects"]:
        echo("No concept was marked by two people, and no judgements are of two people.")
        return
    table = Table(
        "subject", "annotators", "by two or more", "Krippendorff's alpha", "by all", "Fleiss' kappa"
    )
    pairs = Table("subject", "annotators", "by both", "agreed", "Cohen's kappa")
    for one in document["subjects"]:
        title = visible(f"{one['subject']} {one['name']}".strip())
        people = visible(", ".join(f"{name} ({n})" for name, n in one["annotators"].items()))
        table.add_row(
            title,
            people,
            str(one["shared"]),
            _coefficient(one["krippendorff_alpha"]),
            str(one["complete"]),
            _coefficient(one["fleiss_kappa"]),
        )
        for pair in one["pairs"]:
            names = visible(", ".join(pair["annotators"]))
            pairs.add_row(
                title, names, str(pair["n"]), str(pair["agreed"]), _coefficient(pair["cohen_kappa"])
            )
    print_table(table)
    print_table(pairs)


def _coefficient(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    if found["interval"] is None:
        return f"{found['value']:.2f}"
    return f"{found['value']:.2f} ({found['interval'][0]:.2f} to {found['interval'][1]:.2f})"


def show_found_cases(document: Mapping[str, Any]) -> None:
    """Print a line for each case, then their number."""
    for case in document["cases"]:
        parts = (case["case_id"], case["name"], case["patient"], case["finding"])
        echo("  ".join(part for part in parts if part))
    echo(f"{len(document['cases'])} of {document['total']} cases")


def show_import(document: Mapping[str, Any]) -> None:
    """Print counts, then every file without a case and the reason."""
    echo(
        f"{document['added']} added, {document['unchanged']} unchanged, {len(document['failed'])} failed, "
        f"{len(document['ignored'])} ignored ({document['kind']})"
    )
    counts = ", ".join(f"{finding} {n}" for finding, n in document["findings"].items())
    echo(f"{document['library']}: {document['cases']} cases; {counts}")
    for note in document.get("notes", ()):
        echo(note)
    for case_id in document["removed"]:
        echo(f"  removed: {case_id}: its file no longer contains it")
    for path in document["missing"]:
        echo(f"  missing: {path}")
    for label in ("failed", "ignored"):
        for item in document[label]:
            echo(f"  {label}: {item['path']}: {item['reason']}")
    if "prepared" in document:
        _show_preparation(document["prepared"])


def _show_preparation(prepared: Mapping[str, Any]) -> None:
    echo(f"{prepared['feature_set']}: {prepared['extracted']} cases have features")
    for item in prepared["failed"]:
        echo(f"  no features: {item['case_id']}: {item['reason']}")
    for reason in prepared["refused"].values():
        echo(f"  not compared: {reason}")
    echo(prepared["message"])
    echo(f"current metric: {prepared['current'] or 'none'}")


def _distance(distance: float) -> str:
    """Four decimals, or four significant digits of a small distance, in English notation."""
    return f"{distance:#.4g}" if 0 < distance < 0.1 else f"{distance:.4f}"


def show_cases(document: Mapping[str, Any]) -> None:
    """Print a ranking as a table."""
    table = Table(box=None, pad_edge=False)
    for column, justify in (("rank", "right"), ("case", "left"), ("finding", "left"), ("distance", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for line in document["results"]:
        cells = (str(line["rank"]), line["case_id"], line["finding"] or "–", _distance(line["distance"]))
        table.add_row(*map(visible, cells))
    stdout.print(table)
    marks = sum(map(len, document["feedback"].values()))
    if marks:
        echo(f"ordered by {marks} mark{'s' * (marks > 1)}; the counts and the estimate are without them")
    if document["without_patient"]:
        echo(f"ranked by {document['metric']} trained again without the query and its patient's cases")
    if candidates := document["candidates"]:
        recall = candidates["recall@20"]
        contain = "" if recall is None else f", which contain {recall:.3f} of the 20 nearest on average"
        echo(f"compared: {candidates['number']} candidates of an index{contain}")
    hidden = document["hidden"]
    vote = document["vote"]
    counted = ", ".join(f"{n} {f}" for f, n in vote["counts"].items()) or "none"
    echo(
        f"hidden: {hidden['same_patient']} of the same patient, {hidden['near_duplicates']} near-duplicates"
        + (f"; of the {vote['voters']} nearest: {counted}" if vote["voters"] else "")
    )
    if vote["calibrated"]:
        low, high = vote["interval"]
        echo(
            f"estimate for {vote['finding']}: {vote['probability']:.2f} ({low:.2f}–{high:.2f}), "
            f"from {vote['measured_on']}"
        )
        shift = (
            prevalence_text(tuple(vote["prevalence"]))
            if vote["prevalence"]
            else library_share_text(vote["finding"], vote["library_share"])
        )
        echo(f"The estimate is {shift}.")
        if vote["caution"]:
            echo(f"The estimate is {vote['caution']}.")
    elif vote["why_not"]:
        echo(f"No estimate. {vote['why_not']}")
    if document["no_good_match"]:
        echo("No close match in this library.")
    elif document["unclear"]:
        echo("Unclear: similar cases exist, but their findings contradict each other.")
    for warning in document["warnings"]:
        echo(warning)
    echo(PURPOSE)


def show_scores(document: Mapping[str, Any]) -> None:
    """Print the scores of an evaluation: mean, 95 % interval and the values printed in the paper."""
    results = document["results"]
    known = {name for result in results for name in result["scores"]}
    names = names_beside_chance(document["compared"], known)
    printed = any(result["printed"] for result in results)
    table = Table(box=None, pad_edge=False)
    table.add_column("learner")
    for name in names:
        table.add_column(score_title(name), justify="right")
    if printed:
        table.add_column("paper (printed)")
    table.add_column("fit s", justify="right")
    for result in results:
        cells = [_score(result["scores"].get(name)) for name in names]
        if printed:
            cells.append("; ".join(_printed(value) for value in result["printed"]) or "–")
        table.add_row(result["learner"], *cells, f"{result['fit_seconds']['median']:.3g}")
    stdout.print(table)
    source = document["source"]
    echo(
        f"{document['protocol']}, {document['repeats']} repeats, seed {document['seed']}; "
        f"{source['n_cases']} cases; measured on {document['measured_on']} cases, "
        f"patients {source['patients']}"
    )
    for result in results:
        if result.get("chance_note"):
            echo(f"{result['learner']}: {result['chance_note']}")
    for failure in document["failed"]:
        echo(f"failed: {failure['learner']}: {failure['reason']}")
    for note in document.get("notes", ()):
        echo(str(note))


def show_encoders(document: Mapping[str, Any]) -> None:
    """Print the scores on the features of each encoder, and the difference of its accuracy to the first's."""
    table = Table(box=None, pad_edge=False)
    table.add_column("encoder")
    table.add_column("learner")
    first = document["encoders"][0]["name"] if document["encoders"] else ""
    for name in (*(score_title(score) for score in _ENCODER_SCORES), f"difference to {first}", "p"):
        table.add_column(name, justify="right")
    differences = {(one["b"], one["learner"]): one for one in document["comparisons"]}
    for encoder in document["encoders"]:
        for result in encoder["results"]:
            cells = ["", ""]
            if (difference := differences.get((encoder["name"], result["learner"]))) is not None:
                # The document has the first minus the other. Not a minus sign before 0.
                mean, high, low = (0.0 - value for value in (difference["difference"], *difference["ci95"]))
                cells = [f"{mean:+.3f} ({low:+.3f} to {high:+.3f})", f"{difference['p_value']:.3g}"]
            scores = [_score(result["scores"].get(score)) for score in _ENCODER_SCORES]
            table.add_row(encoder["name"], result["learner"], *scores, *cells)
    stdout.print(table)
    source = document["source"]
    echo(
        f"{document['repeats']} repeats, seed {document['seed']}; {source['n_cases']} cases; measured on "
        f"{document['measured_on']} cases, patients {source['patients']}"
    )
    for failure in document["failed"]:
        echo(f"failed: {failure['name']}: {failure['reason']}")
    for case in document["left_out"]:
        echo(f"left out: {case['case_id']}: {case['reason']}")


def show_table_scores(document: Mapping[str, Any]) -> None:
    """Print the scores on every table, the learners' ranks over all tables, and every two compared."""
    for one in document["tables"]:
        echo(f"{one['source']['path']}:")
        show_scores(one)
        echo("")
    for score, test in document["friedman"].items():
        ranks = sorted(test["ranks"].items(), key=lambda pair: pair[1])
        echo(
            f"{score_title(score)}, {test['tables']} tables: Friedman chi-squared {test['statistic']:.3f}, "
            f"p {test['p_value']:.3g}; average ranks "
            + ", ".join(f"{name} {rank:.2f}" for name, rank in ranks)
        )
        for pair in document["holm"]:
            if pair["score"] == score:
                echo(
                    f"  {pair['a']} and {pair['b']}: z {pair['z']:.2f}, p {pair['p_value']:.3g}, "
                    f"after Holm {pair['p_adjusted']:.3g}"
                )
    for failure in document["failed_tables"]:
        echo(f"failed: {failure['path']}: {failure['reason']}")


def _score(score: Mapping[str, Any] | None) -> str:
    if score is None or score["mean"] is None:
        return "–"
    low, high = score["ci95"] or (None, None)
    spread = f" ({low:.3f}–{high:.3f})" if low is not None and high is not None else ""
    return f"{score['mean']:.3f}{spread}"


def _printed(value: Mapping[str, Any]) -> str:
    return f"{score_title(value['score'])} {value['value']:.3f}"
