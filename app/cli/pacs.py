"""The commands of PACS: servers, queries, retrieval, sending, and taking what is sent to this computer."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from semblance.app.cli.libraries import show_import
from semblance.app.cli.options import Json, Location, NewLibrary
from semblance.app.cli.output import (
    ConsoleReporter,
    EntryLines,
    EntryTable,
    echo,
    print_document,
    print_table,
    printer,
    show_fields,
)
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.library.location import library_location

commands = typer.Typer(
    no_args_is_help=True, help="Find, retrieve and send images in a PACS (DIMSE, DICOMweb)."
)

ServerName = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="SERVER",
        help="A saved name, AET@HOST:PORT (DIMSE) or the URL of a DICOMweb service.",
    ),
]
StudyUid = Annotated[str, typer.Option(metavar="UID", help="The Study Instance UID.")]


@commands.command("echo")
def echo_(server: ServerName, as_json: Json = False) -> None:
    """Test the connection to a PACS, and say what is wrong with it."""
    from semblance.core.network.servers import find_server
    from semblance.core.workflows.network.find_studies import echo_server

    found = find_server(server)
    echo_server(found)
    print_document(
        {"server": found.name, "address": found.address, "answers": True},
        as_json,
        lambda document: echo(f"{document['address']} answers."),
    )


@commands.command("find")
def find(
    server: ServerName,
    patient: Annotated[
        str,
        typer.Option(
            metavar="PATIENT", help="The start of the name, or the id. * and ? stand for characters."
        ),
    ] = "",
    dates: Annotated[
        str,
        typer.Option("--date", metavar="FROM-TO", help="Such as 20240131, 20240101-20240131 or 20240101-."),
    ] = "",
    modality: Annotated[str, typer.Option(metavar="MODALITY", help="Such as CT, MR or MG.")] = "",
    description: Annotated[str, typer.Option(metavar="TEXT", help="A part of the study's description.")] = "",
    accession: Annotated[str, typer.Option(metavar="NUMBER", help="The accession number.")] = "",
    study: Annotated[str, typer.Option(metavar="UID", help="Only this study.")] = "",
    series: Annotated[bool, typer.Option("--series", help="List the series of each study too.")] = False,
    as_json: Json = False,
) -> None:
    """Find studies in a PACS."""
    from semblance.core.network.servers import find_server
    from semblance.core.network.studies import StudyQuery
    from semblance.core.workflows.network.find_studies import find_studies

    query = StudyQuery(
        dates=dates, modality=modality, description=description, accession=accession, study=study
    )
    with ConsoleReporter() as reporter:
        studies = find_studies(
            find_server(server), query, patient=patient, with_series=series, reporter=reporter
        )
    document: dict[str, Any] = {
        "studies": [one.to_json() for one in studies],
        "is_complete": not studies.is_cut,
    }
    print_document(document | {"notes": list(map(str, studies.notes))}, as_json, _show_studies)


@commands.command("get")
def get(
    server: ServerName,
    study: StudyUid,
    series: Annotated[
        list[str] | None, typer.Option(metavar="UID", help="Only this series. The option can be repeated.")
    ] = None,
    library: Annotated[
        Location | None,
        typer.Option(
            metavar="LIB",
            help="The library to add it to. It is created if it does not exist.",
            parser=library_location,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Only write the files there, as for `semblance search --image`."),
    ] = None,
    identified: Annotated[
        bool,
        typer.Option(help="Keep patient ids and dates in the library instead of replacing them by codes."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Retrieve a study from a PACS into a library. Run it again to get what is missing."""
    from semblance.core.network.servers import find_server
    from semblance.core.workflows.network.retrieve_study import retrieve_into_folder, retrieve_into_library

    if (library is None) == (out is None):
        raise BadArguments("Name either --library or --out.")
    asked = find_server(server)
    with ConsoleReporter() as reporter:
        if library is not None:
            document = retrieve_into_library(
                asked, study, library, series=series or (), identified=identified, reporter=reporter
            ).to_json()
        else:
            assert out is not None
            document = retrieve_into_folder(
                asked, study, out, series=series or (), reporter=reporter
            ).to_json()
    print_document(document, as_json, show_import if library is not None else show_fields)
    if library is not None and not document["added"] and not document["unchanged"]:
        raise SemblanceError("Nothing in this study could be used.", "Look at the reasons above.")


@commands.command("send")
def send(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A DICOM file, or a folder of them.")],
    server: ServerName,
    commit: Annotated[
        bool,
        typer.Option("--commit", help="DIMSE: ask for storage commitment, and wait for the result."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Send DICOM files as they are, with the patients' names in them, to a PACS."""
    from semblance.core.network.servers import find_server
    from semblance.core.workflows.network.send_files import send as send_files

    found = find_server(server)
    with ConsoleReporter() as reporter:
        result = send_files(found, source, commit=commit, reporter=reporter)
    print_document(result, as_json, _show_sending)
    if result.failed or result.unconfirmed:
        raise SemblanceError(
            f"{len(result.failed)} files were not sent, {len(result.unconfirmed)} are not confirmed.",
            "Look at the reasons above, and send them again.",
        )


@commands.command("watch")
def watch(
    library: NewLibrary,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Take the DICOM files that come here.")
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Take what is sent to this address (C-STORE). Without a host only this computer can send.",
        ),
    ] = "",
    ae_title: Annotated[
        str, typer.Option(metavar="AET", help="The AE title of this computer.")
    ] = "SEMBLANCE",
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="AET", help="Only this AE title may send. The option can be repeated."),
    ] = None,
    quiet: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="A study is imported after this time without new images."
        ),
    ] = 30.0,
    once: Annotated[bool, typer.Option("--once", help="Take what is in the folder now, and end.")] = False,
    identified: Annotated[
        bool,
        typer.Option(help="Keep patient ids and dates in the library instead of replacing them by codes."),
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --listen: use TLS with the certificate in this file."),
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate.")] = None,
    authority: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Only senders may connect whose certificate is signed by one in this file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Take DICOM files from a folder, or what is sent to this computer, into a library. End it with Ctrl-C."""
    from semblance.core.network.servers import parse_listen_address
    from semblance.core.workflows.network.watch_incoming import watch as watch_library

    with ConsoleReporter() as reporter:
        result = watch_library(
            library,
            folder=folder,
            listen=parse_listen_address(listen) if listen else None,
            ae_title=ae_title,
            allowed=allow or (),
            quiet_seconds=quiet,
            once=once,
            identified=identified,
            certificate=certificate,
            key=key,
            authority=authority,
            reporter=reporter,
        )
    print_document(result, as_json, show_fields)


@commands.command("servers")
def servers(as_json: Json = False) -> None:
    """List the saved PACS servers."""
    from semblance.core.network.servers import read_servers

    print_document({"servers": [one.to_json() for one in read_servers()]}, as_json, _show_servers)


@commands.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of your choice.")],
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="AET@HOST:PORT (DIMSE) or the URL of a DICOMweb service.")
    ],
    own_ae_title: Annotated[
        str, typer.Option(metavar="AET", help="DIMSE: the AE title of this computer.")
    ] = "SEMBLANCE",
    retrieval: Annotated[str, typer.Option(metavar="get|move", help="DIMSE: C-GET or C-MOVE.")] = "get",
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help="DIMSE: the address of this computer for C-MOVE and storage commitment."
        ),
    ] = "127.0.0.1:11112",
    tls: Annotated[
        bool, typer.Option("--tls", help="DIMSE: use TLS. DICOMweb uses it where the URL is https.")
    ] = False,
    user: Annotated[
        str, typer.Option(metavar="USER", help="DICOMweb: the user, whose password is asked for.")
    ] = "",
    bearer: Annotated[
        bool, typer.Option("--bearer", help="DICOMweb: use a token, which is asked for.")
    ] = False,
    authority: Annotated[
        str,
        typer.Option(metavar="FILE", help="Trust the certificates in this file in place of the system's."),
    ] = "",
    certificate: Annotated[str, typer.Option(metavar="FILE", help="The certificate of this computer.")] = "",
    key: Annotated[str, typer.Option(metavar="FILE", help="The key of the certificate.")] = "",
    as_json: Json = False,
) -> None:
    """Save a PACS server. A password or token is read from the terminal and kept in the system's keyring."""
    from dataclasses import replace

    from semblance.core.network.passwords import store_password
    from semblance.core.network.servers import DIMSE, find_server, parse_listen_address, save_server

    if user and bearer:
        raise BadArguments("Give either --user or --bearer.")
    found = find_server(address)
    if found.name != address:
        raise BadArguments("The address is AET@HOST:PORT or the URL of a DICOMweb service.")
    found = replace(
        found, authority=_absolute(authority), certificate=_absolute(certificate), key=_absolute(key)
    )
    if found.kind == DIMSE:
        host, port = parse_listen_address(listen)
        server = replace(
            found,
            name=name,
            own_ae_title=own_ae_title,
            retrieval=retrieval,
            listen_host=host,
            listen_port=port,
            tls=tls,
        )
    else:
        authentication = "basic" if user else "bearer" if bearer else "none"
        server = replace(found, name=name, authentication=authentication, user=user)
    try:
        save_server(server)
    except BadInput as error:
        raise BadArguments(error.message, error.hint) from None
    if (user or bearer) and sys.stdin.isatty():
        store_password(name, typer.prompt("Password" if user else "Token", hide_input=True, err=True))
    print_document(server, as_json, show_fields)


@commands.command("password")
def password(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The saved server.")],
    forget: Annotated[bool, typer.Option("--forget", help="Remove it from the keyring.")] = False,
    as_json: Json = False,
) -> None:
    """Keep the password or token of a server in the system's keyring. It is asked for, or read from a pipe."""
    from semblance.core.network.passwords import forget_password, store_password
    from semblance.core.network.servers import get_server

    get_server(name)
    if forget:
        forget_password(name)
    elif sys.stdin.isatty():
        store_password(name, typer.prompt("Password or token", hide_input=True, err=True))
    else:
        store_password(name, sys.stdin.readline().rstrip("\r\n"))
    print_document({"server": name, "stored": not forget}, as_json, show_fields)


@commands.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The saved server.")], as_json: Json = False
) -> None:
    """Remove a saved PACS server, and its password from the keyring."""
    from semblance.core.network.passwords import forget_password
    from semblance.core.network.servers import remove_server

    remove_server(name)
    forget_password(name)
    print_document({"removed": name}, as_json, show_fields)


def _absolute(file: str) -> str:
    return str(Path(file).absolute()) if file else ""


def _address(one: Mapping[str, Any]) -> str:
    from semblance.core.network.servers import Server

    return Server(**one).address


def _failures(key: str) -> EntryLines:
    return EntryLines(key, f"  {key}: {{path}}: {{reason}}")


_show_servers = printer(
    EntryTable(
        "servers",
        {
            "name": "{name}",
            "kind": lambda one: "DICOMweb" if one["kind"] == "dicomweb" else "DIMSE",
            "address": _address,
        },
        empty="No PACS server is saved. `semblance pacs add` saves one.",
    )
)
_show_sending = printer(
    lambda document: (
        f"{len(document['sent'])} sent"
        + ("" if document["confirmed"] is None else f", {document['confirmed']} confirmed")
        + f", {len(document['failed'])} failed"
    ),
    _failures("failed"),
    _failures("unconfirmed"),
)


def _show_studies(document: Mapping[str, Any]) -> None:
    if not document["studies"]:
        echo("No study was found.")
        return
    table = Table("date", "patient", "id", "modalities", "description", "series", "images", "UID", box=None)
    for study in document["studies"]:
        table.add_row(
            study["date"],
            study["patient_name"],
            study["patient_id"],
            ", ".join(study["modalities"]),
            study["description"],
            _number(study["series"]),
            _number(study["instances"]),
            study["study_instance_uid"],
        )
        for series in study.get("series_list", ()):
            table.add_row(
                "",
                "",
                "",
                f"  {series['modality']}",
                f"  {series['description']}",
                _number(series["number"]),
                _number(series["instances"]),
                f"  {series['series_instance_uid']}",
            )
    print_table(table)
    for note in document["notes"]:
        echo(note)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
