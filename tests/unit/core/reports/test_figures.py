from __future__ import annotations

import io
import re
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image
from pypdf import PdfReader

from semblance.core.reports.curves import (
    ACCURACY,
    CALIBRATION,
    KINDS,
    ROC,
    TRAINING,
    AccuracyCurve,
    CalibrationCurve,
    RocCurve,
    TrainingCurve,
)
from semblance.core.reports.document import FINDING_COLOURS
from semblance.core.reports.figures import MAP, MapDrawing, figure_file
from semblance.core.reports.plot import (
    PALETTES,
    Plot,
    PlotLayout,
    count_ticks,
    tick_text,
    value_ticks,
    without_common_words,
)
from tests.helpers.use_language import use_language

K = tuple(range(1, 51))


def accuracy(label: str, base: float, **more) -> AccuracyCurve:
    mean = [base - 0.002 * k for k in K]
    low, high = tuple(m - 0.05 for m in mean), tuple(m + 0.04 for m in mean)
    return AccuracyCurve(label, K, tuple(mean), low, high, **more)


def roc(label: str, bend: float, **more) -> RocCurve:
    fpr = np.linspace(0, 1, 11)
    tpr = fpr**bend
    band = (tuple(np.clip(tpr - 0.08, 0, 1)), tuple(np.clip(tpr + 0.08, 0, 1)))
    return RocCurve(label, tuple(fpr), tuple(tpr), 0.83, 0.78, 0.87, low=band[0], high=band[1], **more)


def training(label: str, **more) -> TrainingCurve:
    rounds = tuple(range(1, 121))
    scores = tuple(0.6 + 0.002 * r if r % 3 else None for r in rounds)
    return TrainingCurve(label, rounds, tuple(30 * 0.98**r for r in rounds), scores, **more)


def training_of(label: str, _base: float, **more) -> TrainingCurve:
    return training(label, **more)


def calibration(label: str, **more) -> CalibrationCurve:
    p = (0.05, 0.34, 0.66, 0.95)
    ends = tuple(x - 0.05 for x in p), tuple(x + 0.05 for x in p)
    return CalibrationCurve(
        label, p, (0.02, 0.4, 0.6, 1.0), *ends, (40, 12, 9, 39), 0.03, 0.06, "isotonic curve", "sick", **more
    )


CURVES = {
    ACCURACY: [
        accuracy("BDM+V 0.3", 0.85, current=True),
        accuracy("Euclidean", 0.7),
        accuracy("MetricBoost", 0.83),
    ],
    ROC: [roc("BDM+V 0.3", 0.2, current=True), roc("Euclidean", 0.5), roc("MetricBoost", 0.3)],
    TRAINING: [training("BDM+V 0.3", current=True)],
    CALIBRATION: [calibration("BDM+V 0.3", current=True)],
}


def image(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as opened:
        return np.asarray(opened.convert("RGB"))


def colour(value: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(value[1:]))


def ink(pixels: np.ndarray, theme: str) -> np.ndarray:
    """Where something is drawn."""
    return (pixels != colour(PALETTES[theme].panel)).any(axis=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", PALETTES)
def test_the_current_metric_alone_is_in_the_accent_colour(kind, theme):
    pixels = image(figure_file(kind, CURVES[kind], PlotLayout(theme=theme, size=(480, 200), ratio=2)))
    assert pixels.shape == (400, 960, 3)
    accent = colour(PALETTES[theme].accent)
    assert (pixels == accent).all(axis=2).sum() > 100
    grey = [type(curve)(**{**vars(curve), "current": False}) for curve in CURVES[kind]]
    others = image(figure_file(kind, grey, PlotLayout(theme=theme, size=(480, 200), ratio=2)))
    assert not (others == accent).all(axis=2).any()


@pytest.fixture
def drawn_texts(monkeypatch):
    """The texts of each figure drawn with their boxes in pixels, and the size of the figure."""
    found: list[tuple[list[tuple[str, Bbox]], Bbox]] = []
    save = Plot.save

    def note(plot: Plot) -> bytes:
        content = save(plot)
        texts = [one for one in plot.figure.findobj(Text) if one.get_visible() and one.get_text().strip()]
        boxes = [(one.get_text(), one.get_window_extent()) for one in texts]
        found.append(([(text, box) for text, box in boxes if box.width > 1], plot.figure.bbox))
        return content

    monkeypatch.setattr(Plot, "save", note)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    "layout",
    [
        PlotLayout("dark", (160, 90), text_scale=0.8),
        PlotLayout("dark", (360, 164), text_scale=1.5),
        PlotLayout("dark", (1440, 190)),
        PlotLayout("dark", (720, 400), title="Title " * 90, note="Note " * 90),
    ],
    ids=lambda layout: "x".join(map(str, layout.size)),
)
def test_no_text_is_cut_off_or_covers_another(kind, language, layout, drawn_texts):
    current, *others = CURVES[kind]
    many = [
        replace(one, current=False, label=f"encoder + texture + {one.label} {n}")
        for n in range(9)
        for one in (current, *others)
    ]
    for curves in ([], CURVES[kind], [replace(current, label="x" * 5000), *many]):
        with use_language(language):
            pixels = ink(image(figure_file(kind, curves, layout)), "dark")
        assert not np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]).any()
        texts, figure = drawn_texts[-1]
        for place, (text, box) in enumerate(texts):
            assert figure.x0 <= box.x0 < box.x1 <= figure.x1, text
            assert figure.y0 <= box.y0 < box.y1 <= figure.y1, text
            # A box has the height of a line. The letters of two lines may come closer than that.
            covered = [
                other
                for other, one in texts[place + 1 :]
                if min(box.x1, one.x1) - max(box.x0, one.x0) > 1
                and min(box.y1, one.y1) - max(box.y0, one.y0) > 2
            ]
            assert not covered, text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", PALETTES)
def test_without_curves_there_are_quiet_axes(kind, theme):
    pixels = image(figure_file(kind, [], PlotLayout(theme=theme, size=(300, 150))))
    assert ink(pixels, theme).any()
    assert not (pixels == colour(PALETTES[theme].accent)).all(axis=2).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_equal_plots_are_equal_files_without_time_or_path(kind, format, tmp_path, monkeypatch):
    first = figure_file(kind, CURVES[kind], PlotLayout(theme="print", format=format))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    monkeypatch.chdir(tmp_path)
    assert figure_file(kind, CURVES[kind], PlotLayout(theme="print", format=format)) == first
    if format == "pdf":
        metadata = PdfReader(io.BytesIO(first)).metadata
        assert not metadata
    elif format == "svg":
        text = first.decode()
        assert not re.search(r"<dc:|\d{4}-\d\d-\d\dT", text)
    else:
        with Image.open(io.BytesIO(first)) as image:
            assert set(image.info) <= {"dpi"}


@pytest.mark.parametrize(
    "curves",
    [
        [AccuracyCurve("one k", (1,), (0.5,), (0.4,), (0.6,), current=True)],
        [AccuracyCurve("undefined", K, (None,) * 50, (None,) * 50, (None,) * 50, current=True)],
        [AccuracyCurve("gap", (1, 2, 3), (1.0, None, 1.0), (1.0, None, 1.0), (1.0, None, 1.0), current=True)],
        [accuracy("stale", 0.8, current=True, stale=True)],
        [accuracy(f"many {n}", 0.6 + 0.02 * n, current=n == 3) for n in range(12)],
    ],
)
def test_odd_accuracies_are_drawn(curves):
    assert image(figure_file(ACCURACY, curves, PlotLayout(theme="dark", size=(300, 150)))).shape == (
        150,
        300,
        3,
    )


@pytest.mark.parametrize(
    "curve",
    [
        TrainingCurve("no round", (), (), ()),
        TrainingCurve("one round", (1,), (2.0,), (None,)),
        TrainingCurve("below zero", (1, 2, 3), (-1.0, -2.0, -4.0), (0.5, 0.5, 0.5), current=True),
        TrainingCurve("rising", (1, 2), (1.0, 3.0), (None, 1.0), current=True),
        TrainingCurve("no objective", (1, 2), (None, None), (0.2, 1.0), current=True),
    ],
)
def test_odd_trainings_are_drawn(curve):
    assert image(figure_file(TRAINING, [curve], PlotLayout(theme="light", size=(300, 150)))).shape == (
        150,
        300,
        3,
    )


@pytest.mark.parametrize("name", ["$x^2$ {", "a\nb", "=1+1", "距离 度量", "\U0001f9e0", "", "x" * 5000])
def test_any_name_can_be_drawn(name):
    curves = [accuracy(name, 0.8, current=True), accuracy("other", 0.6)]
    assert figure_file(ACCURACY, curves, PlotLayout(theme="dark", size=(800, 200)))
    assert figure_file(ACCURACY, curves, PlotLayout(theme="dark", size=(300, 150), title=name, note=name))


@pytest.mark.parametrize("width", [240, 640, 900])
@pytest.mark.parametrize(("kind", "make"), [(ACCURACY, accuracy), (ROC, roc), (TRAINING, training_of)])
def test_every_line_is_named_by_what_distinguishes_it(kind, make, width, drawn_texts):
    names = ["encoder + BDM+V", "_encoder + Euclidean"]
    curves = [make(name, 0.6, current=name == names[0]) for name in names]
    figure_file(kind, curves, PlotLayout("light", (width, 220), text_scale=1.5))
    texts = [text for text, _ in drawn_texts[0][0]]
    assert [len([text for text in texts if text.endswith(end)]) for end in ("V", "an")] == [1, 1]


def test_names_that_have_no_room_are_counted(drawn_texts):
    curves = [accuracy(f"metric {n}", 0.5 + n / 40, current=n == 0) for n in range(12)]
    for size in ((360, 164), (900, 130)):
        figure_file(ACCURACY, curves, PlotLayout(size=size))
        texts = [text for text, _ in drawn_texts.pop()[0]]
        named = sum(text.startswith("metric") for text in texts)
        assert any(text in (f"+{12 - named}", f"+{12 - named} more") for text in texts)


def test_reference_lines_are_drawn_and_named(drawn_texts):
    def texts(kind, *curves, **more):
        content = figure_file(kind, curves, PlotLayout(size=(350, 180), format="svg", **more)).decode()
        return {text for text, _ in drawn_texts[-1][0]}, content.count("stroke-dasharray")

    ceiling = tuple(min(1.0, 12 / k) for k in K)
    known = accuracy("current", 0.4, current=True, ceiling=ceiling, chance=0.1)
    words, dashed = texts(ACCURACY, known, whole_axis=True)
    assert {"ceiling", "chance", "1", "accuracy"} <= words
    # By default the axis is that of the curves, and says where it begins and what lies below.
    near, _ = texts(ACCURACY, known)
    assert "chance 0.1, below the axis" in near
    assert any(word.startswith("accuracy, from 0.") for word in near)
    # Scores of other kinds do not know them.
    plain, without = texts(ACCURACY, accuracy("current", 0.4, current=True))
    assert not {"ceiling", "chance"} & plain
    assert dashed == without + 2
    assert "chance" in texts(ROC, roc("current", 0.3, current=True))[0]


def test_the_value_beside_a_curve_covers_no_curve(drawn_texts):
    """Two curves above each other leave room for their values only outside."""
    curves = [accuracy("upper", 0.85, current=True), accuracy("lower", 0.6)]
    figure_file(ACCURACY, curves, PlotLayout("dark", (420, 300)))
    texts, _ = drawn_texts[-1]
    assert {"0.83 (0.78–0.87)", "0.58 (0.53–0.62)"} <= {text for text, _ in texts}


def test_plots_drawn_at_once_in_two_threads_keep_their_themes():
    before = dict(matplotlib.rcParams)
    layouts = [PlotLayout(theme) for theme in ("dark", "print", "light")] * 3
    alone = [figure_file(ROC, CURVES[ROC], layout) for layout in layouts]
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(lambda layout: figure_file(ROC, CURVES[ROC], layout), layouts)) == alone
    assert dict(matplotlib.rcParams) == before


def test_a_map_names_and_counts_its_findings(drawn_texts):
    codes = np.array([0, 0, 1, -1], dtype=np.int16)
    drawing = MapDrawing(np.eye(4, 2, dtype=np.float32), codes, ("benign", "malignant", "unused"), "Map")
    for theme in PALETTES:
        pixels = image(figure_file(MAP, drawing, PlotLayout(theme, (760, 600), title="Map", note="4 cases")))
        for place in (0, 1):
            assert (pixels == colour(FINDING_COLOURS[place])).all(axis=2).sum() > 20
    words = {text for text, _ in drawn_texts[-1][0]}
    assert words == {"Map", "4 cases", "benign, 2", "malignant, 1", "finding not given, 1"}
    empty = MapDrawing(np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=np.int16), (), "Map")
    assert not ink(image(figure_file(MAP, empty, PlotLayout("light", (760, 600)))), "light").any()


def test_a_stale_curve_has_no_band():
    filled, stale = (
        image(
            figure_file(
                ACCURACY,
                [accuracy("a", 0.8, current=True, stale=is_stale)],
                PlotLayout(theme="dark", named=False),
            )
        )
        for is_stale in (False, True)
    )
    assert ink(filled, "dark").sum() > 3 * ink(stale, "dark").sum()


def test_title_and_provenance_stand_above():
    plain, headed = (
        image(figure_file(ROC, CURVES[ROC], PlotLayout(theme="print", size=(480, 240), named=False, **words)))
        for words in ({}, {"title": "ROC, malignant", "note": "79 held-out patients"})
    )
    assert ink(headed, "print")[5:20].sum() > 100
    assert not np.array_equal(plain, headed)


def test_a_theme_or_size_beyond_reason_is_refused():
    with pytest.raises(KeyError):
        figure_file(ROC, [], PlotLayout(theme="sepia"))
    with pytest.raises(ValueError):
        figure_file(ROC, [], PlotLayout(theme="dark", size=(100_000, 100)))
    with pytest.raises(ValueError):
        figure_file(ROC, [], PlotLayout(theme="dark", ratio=0.0))


def test_matplotlib_is_loaded_only_to_draw_and_never_its_screen():
    code = (
        "import sys; from semblance.core.reports.figures import PlotLayout, figure_file;"
        "assert 'matplotlib' not in sys.modules; figure_file('roc', [], PlotLayout());"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(1, 2000))
def test_ticks_of_shares_are_round_and_enclose_the_data(a, b, height):
    low, high = sorted((a, b))
    ticks, first, last = value_ticks(low, high, height)
    assert first < last
    assert first <= low + 1e-6
    assert last >= high - 1e-6
    assert ticks == sorted(ticks)
    assert len({tick_text(tick) for tick in ticks}) == len(ticks) <= max(3, height / 26 + 2)


@given(st.integers(0, 1), st.integers(1, 60_000), st.floats(10, 4000))
def test_ticks_of_counts_begin_at_the_first_and_fit(first, last, width):
    ticks = count_ticks(first, max(first, last), width)
    assert ticks[0] == first
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 12
    assert all(tick <= last for tick in ticks[1:])


def test_png_is_not_larger_than_it_must_be():
    data = figure_file(ACCURACY, CURVES[ACCURACY], PlotLayout(theme="dark", size=(360, 164)))
    assert len(data) < len(zlib.compress(image(data).tobytes())) * 2


def test_names_without_what_all_begin_with():
    assert without_common_words(["encoder + BDM+V", "encoder + LDA"]) == ["BDM+V", "LDA"]
    assert without_common_words(["gabor BDM", "gabor BDM 2"]) == ["BDM", "BDM 2"]
    assert without_common_words(["encoder + LDA"]) == ["encoder + LDA"], "one alone keeps its name"
    assert without_common_words(["a", "b c"]) == ["a", "b c"]
