"""The commands of experiments, the evaluations of papers, and reader studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from semblance.app.cli.completion import learner_names, protocol_names
from semblance.app.cli.options import (
    Cluster,
    Findings,
    Json,
    LibraryArgument,
    MaxCases,
    Repeats,
    Seed,
    Splits,
    names_in,
)
from semblance.app.cli.output import (
    ConsoleReporter,
    echo,
    echo_lines,
    print_document,
    print_table,
    score_text,
    show_fields,
)
from semblance.core.errors import BadArguments
from semblance.core.evaluation.chance import names_beside_chance
from semblance.core.language import visible

commands = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Run experiments: a grid of cases, learners, parameters and protocols.",
)

#: Limits of the table of scores in the terminal.
_LIVE_ROWS, _LIVE_SCORES = 20, 3
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The experiment's folder.")]
Workers = Annotated[
    int | None, typer.Option(min=1, max=64, help="Number of processes. Default: one for each core.")
]
Again = Annotated[bool, typer.Option("--retry-failed", help="Run the cells that failed again.")]

reader_study = typer.Typer(no_args_is_help=True, help="Create and analyse reader studies.")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the study.")]


class LiveReporter(ConsoleReporter):
    """Also shows the scores so far above the progress bars of a terminal."""

    def partial(self, result: object) -> None:
        if isinstance(result, Mapping):
            self.show_above(live_scores(result))


def live_scores(document: Mapping[str, Any]) -> Table:
    """The first scores of every learner that has any, few enough for a terminal."""
    rows = [row for row in document["results"] if row["scores"]][-_LIVE_ROWS:]
    table = Table(box=None, pad_edge=False)
    names = list(dict.fromkeys(name for row in rows for name in row["compared"][:_LIVE_SCORES]))
    for column in ("cases", "learner"):
        table.add_column(column)
    for column in ("repeats", *names):
        table.add_column(column, justify="right")
    for row in rows:
        done = f"{row['repeats']['done']}/{row['repeats']['of']}"
        table.add_row(
            visible(row["cases"]),
            row["learner"],
            done,
            *(score_text(row["scores"].get(name)) for name in names),
        )
    return table


@commands.command("run")
def run_(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The experiment's folder. Finished cells are stored in it.")
    ],
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="SPEC.json", help="A description of the experiment, instead of options."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder of the files that SPEC.json names.")
    ] = None,
    table: Annotated[list[str] | None, typer.Option(metavar="CSV|builtin:NAME")] = None,
    library: Annotated[list[str] | None, typer.Option(metavar="LIB[:FEATURES]")] = None,
    train_on: Annotated[
        str | None,
        typer.Option(metavar="TABLE|LIB", help="Train on this table or library and test on --test-on."),
    ] = None,
    test_on: Annotated[
        list[str] | None, typer.Option(metavar="TABLE|LIB", help="Test on this table or library.")
    ] = None,
    unrelated: Annotated[
        bool, typer.Option(help="Equal patient ids in --train-on and --test-on mean different patients.")
    ] = False,
    learner: Annotated[str, typer.Option(metavar="NAME[,NAME...]", autocompletion=learner_names)] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME.KEY=VALUE[|VALUE...]",
            help="A parameter of a learner or of the protocol. --select chooses among several values.",
        ),
    ] = None,
    select: Annotated[
        str, typer.Option(help="nested: choose values inside the training part. each: measure every value.")
    ] = "nested",
    select_by: Annotated[
        str, typer.Option(metavar="SCORE@K", help="The score that chooses the values.")
    ] = "retrieval_accuracy@10",
    protocol: Annotated[str, typer.Option(metavar="NAME[,NAME...]", autocompletion=protocol_names)] = "full",
    steps: Annotated[
        list[str] | None, typer.Option(help="Steps before the learner. Repeat the option to compare several.")
    ] = None,
    findings: Findings = "",
    max_cases: MaxCases = None,
    repeats: Repeats = None,
    seed: Seed = 0,
    splits: Splits = None,
    per_query: Annotated[
        bool, typer.Option("--per-query/--no-per-query", help="Keep what each query found, for the export.")
    ] = True,
    workers: Workers = None,
    cluster: Cluster = "",
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Run every cell of the grid that is not finished in --out, and show the scores."""
    from semblance.core.workflows.research.experiment_options import ExperimentOptions, experiment_spec
    from semblance.core.workflows.research.experiments import read_spec, run_experiment

    options = ExperimentOptions(
        tables=tuple(table or ()),
        libraries=tuple(library or ()),
        train_on=train_on,
        test_on=tuple(test_on or ()),
        unrelated=unrelated,
        learners=names_in(learner),
        settings=tuple(settings or ()),
        select=select,
        select_by=select_by,
        protocols=names_in(protocol),
        steps=tuple(steps or ("",)),
        findings=findings,
        max_cases=max_cases,
        repeats=repeats,
        seed=seed,
        name=out.name,
        splits=splits,
        per_query=per_query,
    )
    if spec is not None:
        if options.cases or options.learners:
            raise BadArguments("The experiment is described twice.", "Give a SPEC.json or options, not both.")
        chosen, expected = read_spec(spec, data)
    else:
        chosen, expected = experiment_spec(options), []
    with LiveReporter() as reporter:
        document = run_experiment(
            chosen,
            out,
            workers=workers,
            scheduler=cluster,
            expected=expected,
            again=again,
            reporter=reporter,
        )
    print_document(document, as_json, show_experiment)


@commands.command()
def resume(
    folder: Folder,
    workers: Workers = None,
    cluster: Cluster = "",
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Continue an interrupted experiment. Finished cells are not run again."""
    from semblance.core.workflows.research.experiments import resume_experiment

    with LiveReporter() as reporter:
        document = resume_experiment(
            folder, workers=workers, scheduler=cluster, again=again, reporter=reporter
        )
    print_document(document, as_json, show_experiment)


@commands.command()
def show(folder: Folder, as_json: Json = False) -> None:
    """Show the scores of the finished cells, also while others are running."""
    from semblance.core.workflows.research.experiments import show_experiment as read

    print_document(read(folder), as_json, show_experiment)


@commands.command()
def export(
    folder: Folder,
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write to.")],
    identified: Annotated[bool, typer.Option(help="Include the names of cases and folders.")] = False,
    as_json: Json = False,
) -> None:
    """Write CSV, JSON, LaTeX, plots, and a script that reproduces the experiment."""
    from semblance.core.workflows.research.experiments import export_experiment

    with ConsoleReporter() as reporter:
        files = export_experiment(folder, to, identified=identified, reporter=reporter)
    names = [str(file) for file in files]
    print_document({"files": names}, as_json, lambda _document: echo_lines("\n".join(names)))


@commands.command()
def yardstick(
    images: Annotated[
        Path,
        typer.Argument(
            metavar="IMAGES", help="A folder of image sets: zip or npz files, or folders of images."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", help="The folder to write to. Finished parts in it are not run again."
        ),
    ],
    learner: Annotated[
        str,
        typer.Option(metavar="NAME[,NAME...]", autocompletion=learner_names, help="Default: all learners."),
    ] = "",
    add: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Add the rows of another run's yardstick.json on the same images."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=2, help="Number of random halves.")] = 5,
    max_cases: Annotated[
        int, typer.Option(min=20, help="Draw at most this many cases of an image set.")
    ] = 500,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Rank all learners on Gabor, classical and encoder features over image sets."""
    from semblance.core.workflows.research.rank_learners import RankLearnersRequest, rank_learners

    request = RankLearnersRequest(images, out, names_in(learner), repeats, max_cases, seed)
    with LiveReporter() as reporter:
        document = rank_learners(request, add=tuple(add or ()), workers=workers, reporter=reporter)
    print_document(document, as_json, lambda _document: echo_lines((out / "yardstick.md").read_text("utf-8")))


@commands.command()
def papers(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="The folder with the tables, or one above it.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", help="The folder to write to. Finished parts in it are not run again."
        ),
    ],
    paper: Annotated[
        str,
        typer.Option(metavar="NAME[,NAME...]", help="Papers by the name of their protocol. Default: all."),
    ] = "",
    table: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this table, such as wine. Can be repeated.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of random splits. Default: as in the paper.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Redraw the papers' tables and figures with printed values beside ours."""
    from semblance.core.workflows.research.papers import PapersRequest, run_papers

    request = PapersRequest(data, out, names_in(paper), tuple(table or ()), repeats, seed)
    with LiveReporter() as reporter:
        document = run_papers(request, workers=workers, reporter=reporter)
    print_document(document, as_json, show_papers)


def show_papers(document: Mapping[str, Any]) -> None:
    """A line for each paper, and where the pages are."""
    for one in document["papers"]:
        echo(
            f"{one['paper']}: {one['values']} values, {one['printed']} of them printed, "
            f"{one['inside']} of these inside our interval"
        )
    echo_lines("\n".join(name for name in document["files"] if name.endswith((".html", ".csv"))))


def show_experiment(document: Mapping[str, Any]) -> None:
    """The scores of every protocol as a table, then the ranks over all cases, then what failed."""
    for protocol in dict.fromkeys(row["protocol"] for row in document["results"]):
        rows = [row for row in document["results"] if row["protocol"] == protocol]
        echo(f"{protocol}:")
        print_table(_scores(rows))
    for test in document.get("over_tables", ()):
        ranks = sorted(test["ranks"].items(), key=lambda pair: pair[1])
        echo(
            f"{test['protocol']}, {test['score']}, {test['tables']} tables: Friedman chi-squared "
            f"{test['statistic']:.3f}, p {test['p_value']:.3g}; ranks differ from "
            f"{test['nemenyi']['critical_difference']:.2f} apart (Nemenyi): "
            + ", ".join(f"{name} {rank:.2f}" for name, rank in ranks)
        )
    cells = document["cells"]
    echo(
        f"{cells['done']} of {cells['total']} cells done, {cells['failed']} failed; seed {document['seed']}; "
        f"measured on {document['measured_on']} cases"
    )
    for note in document["notes"]:
        echo(note)
    for cases in document["cases"]:
        for text in [*cases["notes"], *([cases["problem"]] if cases["problem"] else [])]:
            echo(f"{cases['name']}: {text}")
    for row in document["results"]:
        if row["failed"]:
            echo(f"failed: {row['cases']}, {row['learner']}: {row['failed']}")


def _scores(rows: Sequence[Mapping[str, Any]]) -> Table:
    names = names_beside_chance(rows[0]["compared"], {name for row in rows for name in row["scores"]})
    several = len({row["steps"] for row in rows}) > 1
    table = Table(box=None, pad_edge=False)
    for column in ("cases", "learner", *(("steps",) if several else ())):
        table.add_column(column)
    for name in ("repeats", *names):
        table.add_column(name, justify="right")
    table.add_column("patients")
    for row in rows:
        done = row["repeats"]
        table.add_row(
            visible(row["cases"]),
            row["learner"],
            *([row["steps"]] if several else []),
            f"{done['done']}/{done['of']}",
            *(score_text(row["scores"].get(name)) for name in names),
            row["patients"],
        )
    return table


@reader_study.command("new")
def new_study(
    library: LibraryArgument,
    name: _Name,
    positive: Annotated[str, typer.Option(help="The finding that sensitivity and the ROC are of.")],
    readers: Annotated[str, typer.Option(metavar="CODE[,CODE...]", help="Codes of the readers, not names.")],
    metrics: Annotated[
        str,
        typer.Option(metavar="METRIC[,METRIC...]", help="Metrics. Each is an arm with its similar cases."),
    ] = "",
    cases: Annotated[
        str,
        typer.Option(metavar="ID[,ID...]", help="The cases to read. Without it they are drawn at random."),
    ] = "",
    n_cases: Annotated[int, typer.Option(help="How many cases are drawn, one of each patient.")] = 40,
    unaided: Annotated[bool, typer.Option(help="An arm without similar cases.")] = True,
    random: Annotated[bool, typer.Option(help="An arm with cases drawn at random, as a control.")] = False,
    washout: Annotated[int, typer.Option(help="Days between two sessions of a reader.")] = 28,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Create a reader study.

    Every reader reads every case once in every arm, in counter-balanced order. Cases that a metric of the study was
    trained on are left out.
    """
    from semblance.core.workflows.research.reader_study import StudyRequest, create_study

    request = StudyRequest(
        name,
        positive,
        names_in(readers),
        names_in(metrics),
        names_in(cases),
        n_cases,
        unaided,
        random,
        washout,
        seed,
    )
    with ConsoleReporter() as reporter:
        status = create_study(library, request, reporter=reporter)
    print_document(_status_document(status), as_json, _show_status)


@reader_study.command("list")
def list_studies(library: LibraryArgument, as_json: Json = False) -> None:
    """List the reader studies of a library and how far their readers are."""
    from semblance.core.workflows.research.reader_study import studies

    documents = [_status_document(one) for one in studies(library)]
    print_document({"studies": documents}, as_json, _show_studies)


@reader_study.command("results")
def study_results(library: LibraryArgument, name: _Name, as_json: Json = False) -> None:
    """Analyse a reader study over the readers who finished it."""
    from semblance.core.research.reader_study.export import result_rows
    from semblance.core.workflows.research.reader_study import analyse_study, study_status

    status, analysis = study_status(library, name), analyse_study(library, name)
    rows = [] if analysis is None else result_rows(status.design, analysis)
    keys = ("score", "compared", "mean", "low", "high", "p_value")
    document = {
        **_status_document(status),
        "finished": [] if analysis is None else list(analysis.readers),
        "results": [dict(zip(keys, row, strict=True)) for row in rows],
    }
    print_document(document, as_json, _show_results)


@reader_study.command("export")
def export_readings(
    library: LibraryArgument,
    name: _Name,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write into.")],
    as_json: Json = False,
) -> None:
    """Write answers, codebook, results and a summary. No file names a patient or a case."""
    from semblance.core.workflows.research.reader_study import export_study

    files = [str(file) for file in export_study(library, name, out)]
    print_document({"files": files}, as_json, _show_files)


@reader_study.command("delete")
def delete_study(library: LibraryArgument, name: _Name, as_json: Json = False) -> None:
    """Delete a reader study with its answers."""
    from semblance.core.workflows.research.reader_study import delete_study

    delete_study(library, name)
    print_document({"deleted": name}, as_json, show_fields)


def _show_files(document: Mapping[str, Any]) -> None:
    for file in document["files"]:
        echo(file)


def _status_document(status: Any) -> dict[str, Any]:
    design = status.design
    return {
        "name": status.name,
        "created": status.created,
        "positive": design.positive,
        "findings": list(design.findings),
        "arms": [asdict(arm) for arm in design.arms],
        "cases": len(design.cases),
        "washout_days": design.washout_days,
        "seed": design.seed,
        "readers": [asdict(reader) for reader in status.readers],
    }


def _show_status(document: Mapping[str, Any]) -> None:
    arms = ", ".join(arm["name"] for arm in document["arms"])
    echo(
        f"{document['name']}: {document['cases']} cases; arms: {arms}; positive finding: {document['positive']}"
    )
    for reader in document["readers"]:
        later = f"; the next session opens {reader['opens']}" if reader["opens"] else ""
        echo(f"  {reader['reader']}: {reader['answered']} of {reader['total']} answered{later}")


def _show_studies(document: Mapping[str, Any]) -> None:
    for study in document["studies"]:
        _show_status(study)
    if not document["studies"]:
        echo("no reader studies; `semblance reader-study new` creates one")


def _show_results(document: Mapping[str, Any]) -> None:
    _show_status(document)
    if not document["results"]:
        echo("no reader has finished all sessions")
    for row in document["results"]:
        p_value = "" if row["p_value"] is None else f", p = {row['p_value']:.3g}"
        echo(
            f"  {row['score']}, {row['compared']}: {row['mean']:.3f} ({row['low']:.3f} to {row['high']:.3f}){p_value}"
        )
