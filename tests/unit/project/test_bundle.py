"""What the bundle is made of; `make bundle` itself runs what it built."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import importlib.util
import os
import plistlib
import shutil
import subprocess
import sys
import types
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from PySide6.QtGui import QImage

from semblance.app import __main__, open_window
from semblance.app.cli.main import cli
from semblance.core.library.library import Library

TOP = Path(__file__).resolve().parents[3]
BUNDLE, DESKTOP = TOP / "packaging" / "bundle", TOP / "packaging" / "desktop"


def loaded(name: str):
    spec = importlib.util.spec_from_file_location(f"bundle_{name}", BUNDLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assigned(name: str) -> list[str]:
    """A list that the spec file writes out."""
    tree = ast.parse((BUNDLE / "semblance.spec").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"the spec has no {name}")


def test_what_the_spec_names_is_installed():
    for decoder in assigned("DECODERS"):
        assert importlib.util.find_spec(decoder) is not None, decoder
    for package in assigned("WITH_DATA"):
        assert importlib.util.find_spec(package) is not None, package
    for package in assigned("WITH_METADATA"):
        assert importlib.metadata.version(package)


def test_the_desktop_entry_starts_the_program_on_what_is_opened():
    entry = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    entry.optionxform = str
    entry.read(DESKTOP / "semblance.desktop", encoding="utf-8")
    section = entry["Desktop Entry"]
    assert section["Exec"] == "semblance %f"
    kind = ElementTree.parse(DESKTOP / "semblance.xml").getroot()[0].get("type")
    assert kind in section["MimeType"].split(";")
    assert section["Icon"] == "semblance"


def test_the_manual_has_every_command_and_option(tmp_path):
    import typer

    manual = loaded("manual")
    files = manual.write(tmp_path, "9.9")
    page = (tmp_path / "man/man1/semblance.1").read_text(encoding="utf-8")
    for name, command in manual._commands(typer.main.get_command(cli)):
        assert f".SS {name}".replace("-", "\\-") in page
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option == "--help" or option.replace("-", "\\-") in page
    assert {file.suffix for file in files} == {".1", "", ".fish"}
    assert all("semblance" in file.read_text(encoding="utf-8") for file in files)


@pytest.mark.skipif(shutil.which("man") is None, reason="no man on this system")
def test_the_manual_is_read_without_a_complaint(tmp_path):
    loaded("manual").write(tmp_path, "9.9")
    page = tmp_path / "man/man1/semblance.1"
    shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, check=True)
    assert "EXIT STATUS" in shown.stdout
    assert shown.stderr == ""


def test_the_icon_is_drawn_in_every_size(qapp, tmp_path):
    icons = loaded("icons")
    icons.write(tmp_path)
    for side in icons.SIZES:
        image = QImage(str(tmp_path / f"semblance-{side}.png"))
        assert (image.width(), image.height()) == (side, side)
        assert image.pixelColor(side // 2, side // 2).alpha() == 255
        assert image.pixelColor(0, 0).alpha() == 0
    with Image.open(tmp_path / "semblance.ico") as ico, Image.open(tmp_path / "semblance.icns") as icns:
        assert {(16, 16), (32, 32), (48, 48), (256, 256)} <= set(ico.info["sizes"])
        assert {(16, 16, 2), (128, 128, 1), (512, 512, 2)} <= set(icns.info["sizes"])


def test_a_library_named_alone_is_opened_in_the_window(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(open_window, "open_window", lambda library=None: opened.append(library) or 0)
    Library.create(tmp_path / "lib.semblance").close()
    assert __main__.main([str(tmp_path / "lib.semblance")]) == 0
    assert __main__.main([]) == 0
    assert __main__.main([str(tmp_path)]) == 0
    assert opened == [tmp_path / "lib.semblance", None, tmp_path]


def test_a_missing_display_is_reported(tmp_path, monkeypatch, capsys):
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(open_window, "open_window", None)
    assert __main__.main([]) == 1
    assert capsys.readouterr().err.startswith("There is no display to open the window on. Start it in")


def test_a_file_opened_by_the_system_is_emitted(qapp):
    """In a process of its own: there is one application in each."""
    code = (
        "from PySide6.QtCore import QUrl\n"
        "from PySide6.QtGui import QFileOpenEvent\n"
        "from semblance.app.application import Application\n"
        "application = Application([])\n"
        "application.open_requested.connect(lambda path: print('opened', path))\n"
        "application.sendEvent(application, QFileOpenEvent(QUrl.fromLocalFile('/a b/lib.semblance')))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True)
    assert ended.stdout == "opened /a b/lib.semblance\n"


class _Made:
    """Stands for a class of PyInstaller: remembers what it was made of."""

    made: dict[str, tuple[tuple, dict]] = {}  # noqa: RUF012 - shared on purpose, emptied by the fixture

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args, **named):
        self.made[self._name] = (args, named)
        binaries = BINARIES + (OF_LINUX if sys.platform == "linux" else [])
        found = types.SimpleNamespace(pure=[], scripts=[], binaries=binaries, datas=[])
        found.datas = list(named.get("datas", []))
        return found


#: As PyInstaller names them on each system; only the first of each three belongs into the bundle.
BINARIES = [
    ("_CharLS.cpython-311-x86_64-linux-gnu.so", "", "EXTENSION"),
    ("libQt6Network.so.6", "PySide6/Qt/lib/libQt6Network.so.6", "SYMLINK"),
    ("PySide6/Qt/plugins/platformthemes/libqgtk3.so", "", "BINARY"),
    ("PySide6/Qt/lib/libQt6Widgets.so.6", "", "BINARY"),
    ("PySide6/Qt/lib/libQt6Quick.so.6", "", "BINARY"),
    ("PySide6/Qt/plugins/platforms/libqvnc.so", "", "BINARY"),
    ("PySide6\\Qt6Widgets.dll", "", "BINARY"),
    ("PySide6\\Qt6Pdf.dll", "", "BINARY"),
    ("PySide6\\qml\\x.dll", "", "BINARY"),
    ("PySide6/Qt/lib/QtWidgets.framework/Versions/A/QtWidgets", "", "BINARY"),
    ("PySide6/Qt/lib/QtQml.framework/Versions/A/QtQml", "", "BINARY"),
    ("PySide6/Qt/plugins/platforminputcontexts/libqtvirtualkeyboardplugin.dylib", "", "BINARY"),
]
#: Of the system: the first is needed by something in the bundle.
OF_LINUX = [
    ("libused.so.1", "/lib/libused.so.1", "BINARY"),
    ("libpango-1.0.so.0", "/lib/libpango-1.0.so.0", "BINARY"),
    ("libkrb5.so.3", "/lib/libkrb5.so.3", "BINARY"),
    # The boot loader needs it, and no module of a Python that has it inside.
    ("libpython3.11.so.1.0", "/lib/libpython3.11.so.1.0", "BINARY"),
]


@pytest.fixture
def spec(monkeypatch):
    """Run the spec as PyInstaller does on a system; what it made of each of its classes."""

    def run(system: str) -> dict[str, tuple[tuple, dict]]:
        hooks = types.ModuleType("PyInstaller.utils.hooks")
        hooks.collect_submodules = lambda name: [name]
        hooks.collect_data_files = lambda name: [(f"/site/{name}/data", name)]
        hooks.copy_metadata = lambda name: [(f"/site/{name}.dist-info", f"{name}.dist-info")]
        bindepend = types.ModuleType("PyInstaller.depend.bindepend")
        bindepend.get_imports = lambda file: {("libused.so.1", "/lib/libused.so.1")}
        for name in ("PyInstaller", "PyInstaller.utils", "PyInstaller.depend"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        for module in (hooks, bindepend):
            monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(sys, "platform", system)
        _Made.made.clear()
        names = {name: _Made(name) for name in ("Analysis", "PYZ", "EXE", "COLLECT", "BUNDLE")}
        code = (BUNDLE / "semblance.spec").read_text(encoding="utf-8")
        exec(compile(code, "semblance.spec", "exec"), {"SPECPATH": str(BUNDLE), **names})
        return dict(_Made.made)

    return run


@pytest.mark.parametrize("system", ["linux", "win32", "darwin"])
def test_the_spec_runs_on_every_system_and_names_what_is_there(spec, system, monkeypatch, tmp_path):
    made = spec(system)
    monkeypatch.undo()
    (scripts,), analysis = made["Analysis"]
    assert all(Path(script).is_file() for script in scripts)
    own = [source for source, _ in analysis["datas"] if not source.startswith("/site/")]
    assert own
    assert all(Path(source).exists() for source in own)
    places = {(Path(source).name, place) for source, place in analysis["datas"]}
    assert ("semblance.svg", "semblance/resources") in places
    assert ("semblance.mo", "semblance/resources/translations/de/LC_MESSAGES") in places
    # Structured reports, key objects and segmentations are written from tables of highdicom.
    assert {("data", "highdicom"), ("data", "fastapi_offline")} <= places
    assert not any("screenshots" in place or source.endswith(".po") for source, place in analysis["datas"])
    program = made["EXE"][1]
    icon = {"linux": None, "win32": "semblance.ico", "darwin": "semblance.icns"}[system]
    assert (Path(program["icon"]).name if program["icon"] else None) == icon
    assert (program["version"] is not None) is (system == "win32")
    assert program["console"] is (system != "darwin")
    binaries = [entry[0] for entry in made["COLLECT"][0][1]]
    expected = BINARIES + (OF_LINUX if system == "linux" else [])
    assert binaries == [entry[0] for entry in expected[::3]]
    assert ("BUNDLE" in made) is (system == "darwin")
    if icon is not None:
        loaded("icons").write(tmp_path)
        assert (tmp_path / icon).is_file()


def test_macos_gets_icon_version_and_folders(spec, monkeypatch):
    bundle = spec("darwin")["BUNDLE"][1]
    monkeypatch.undo()
    assert bundle["version"] == importlib.metadata.version("semblance-retrieval")
    assert Path(bundle["icon"]).name == "semblance.icns"
    plist = plistlib.loads(plistlib.dumps(bundle["info_plist"]))
    assert plist["CFBundleDocumentTypes"][0]["LSItemContentTypes"] == ["public.folder"]


def test_windows_gets_the_version():
    made: list[tuple[str, tuple, dict]] = []

    def kind(name: str):
        return lambda *args, **named: made.append((name, args, named)) or name

    kinds = ("VSVersionInfo", "FixedFileInfo", "StringFileInfo", "StringTable", "StringStruct")
    names = {name: kind(name) for name in (*kinds, "VarFileInfo", "VarStruct")}
    eval(loaded("build").version_resource("1.2.3rc4"), names)
    strings = {args[0]: args[1] for name, args, _ in made if name == "StringStruct"}
    assert strings["ProductVersion"] == "1.2.3rc4"
    assert next(named for name, _, named in made if name == "FixedFileInfo")["filevers"] == (1, 2, 3, 4)


@pytest.mark.parametrize("system", ["linux", "win32", "darwin"])
def test_the_built_program_is_tried_without_python_but_with_a_home(system, monkeypatch):
    build = loaded("build")
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("SYSTEMROOT", r"C:\Windows")
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    bare = build.minimal_environment("/home/new")
    assert bare["USERPROFILE" if system == "win32" else "HOME"] == "/home/new"
    assert not {"VIRTUAL_ENV", "PYTHONPATH"} & set(bare)


@pytest.mark.parametrize("name", ["plain", "R&D | tools", '100% of "x" $HOME'])
def test_the_menu_entry_names_the_unpacked_folder_whatever_it_is_called(tmp_path, name):
    folder, home = tmp_path / name, tmp_path / "home"
    (folder / "share/applications").mkdir(parents=True)
    shutil.copy(DESKTOP / "install.sh", folder)
    shutil.copy(DESKTOP / "semblance.desktop", folder / "share/applications")
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", folder / "install.sh"], env=environment, check=True, capture_output=True)
    entry = (home / ".local/share/applications/semblance.desktop").read_text(encoding="utf-8")
    line = next(line for line in entry.splitlines() if line.startswith("Exec="))
    # A string's own backslashes first, then those of a quoted argument.
    argument = line.removeprefix('Exec="').removesuffix('" %f').replace("\\\\", "\\")
    for letter in '"`$':
        argument = argument.replace(f"\\{letter}", letter)
    assert argument.replace("%%", "%") == str(folder / "semblance")
    subprocess.run(
        ["sh", folder / "install.sh", "--remove"], env=environment, check=True, capture_output=True
    )
    assert not (home / ".local/share/applications/semblance.desktop").exists()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("semblance tra", ["train"]),
        ("semblance train lib --learner metricb", ["metricboost"]),
        ("semblance evaluate lib --learner lda,metricb", ["lda,metricboost"]),
        ("semblance features lib --extractor vis", ["visual_words"]),
        ("semblance experiment run --protocol on", ["online"]),
    ],
)
def test_a_shell_gets_the_completions_of_a_line(tmp_path, line, offered):
    ended = subprocess.run(
        [sys.executable, "-m", "semblance.app"],
        cwd=TOP,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "_SEMBLANCE_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(line.count(" ")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.split() == offered
