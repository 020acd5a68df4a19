from __future__ import annotations

import io
import re
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pypdf import PdfReader

from semblance.core.reports.axes import count_ticks, tick_text, value_ticks
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
from semblance.core.reports.figures import FIGURES
from semblance.core.reports.plot_canvas import PALETTES, PlotCanvas, PlotLayout

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
    pixels = image(FIGURES[kind](CURVES[kind], PlotLayout(theme=theme, size=(480, 200), ratio=2)))
    assert pixels.shape == (400, 960, 3)
    accent = colour(PALETTES[theme].accent)
    assert (pixels == accent).all(axis=2).sum() > 100
    grey = [type(curve)(**{**vars(curve), "current": False}) for curve in CURVES[kind]]
    others = image(FIGURES[kind](grey, PlotLayout(theme=theme, size=(480, 200), ratio=2)))
    assert not (others == accent).all(axis=2).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(300, 150), (360, 164), (1440, 190), (160, 90)])
@pytest.mark.parametrize("text_scale", [1.0, 1.5])
def test_texts_of_a_figure_are_not_cut_off(kind, size, text_scale):
    """No text is cut off, however small the plot and long the names."""
    curves = CURVES[kind] + [
        type(c)(**{**vars(c), "current": False, "label": c.label * 9}) for c in CURVES[kind]
    ]
    drawn = ink(
        image(FIGURES[kind](curves, PlotLayout(theme="dark", size=size, text_scale=text_scale))), "dark"
    )
    assert drawn.any()
    assert not drawn[0].any()
    assert not drawn[-1].any()
    assert not drawn[:, 0].any()
    assert not drawn[:, -1].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", PALETTES)
def test_without_curves_there_are_quiet_axes(kind, theme):
    pixels = image(FIGURES[kind]([], PlotLayout(theme=theme, size=(300, 150))))
    assert ink(pixels, theme).any()
    assert not (pixels == colour(PALETTES[theme].accent)).all(axis=2).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_equal_plots_are_equal_files_without_time_or_path(kind, format, tmp_path, monkeypatch):
    first = FIGURES[kind](CURVES[kind], PlotLayout(theme="print", format=format))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    monkeypatch.chdir(tmp_path)
    assert FIGURES[kind](CURVES[kind], PlotLayout(theme="print", format=format)) == first
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
    assert image(FIGURES[ACCURACY](curves, PlotLayout(theme="dark", size=(300, 150)))).shape == (150, 300, 3)


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
    assert image(FIGURES[TRAINING]([curve], PlotLayout(theme="light", size=(300, 150)))).shape == (
        150,
        300,
        3,
    )


@pytest.mark.parametrize("name", ["$x^2$ {", "a\nb", "=1+1", "距离 度量", "\U0001f9e0", "", "x" * 5000])
def test_any_name_can_be_drawn(name):
    curves = [accuracy(name, 0.8, current=True), accuracy("other", 0.6)]
    assert FIGURES[ACCURACY](curves, PlotLayout(theme="dark", size=(800, 200)))
    assert FIGURES[ACCURACY](curves, PlotLayout(theme="dark", size=(300, 150), title=name, note=name))


@pytest.mark.parametrize("width", [240, 640, 900])
@pytest.mark.parametrize(("kind", "make"), [(ACCURACY, accuracy), (ROC, roc)])
def test_every_line_is_named_by_what_distinguishes_it(kind, make, width, monkeypatch):
    written = []
    write = PlotCanvas.write

    def note(canvas, x, middle, text, *args, **more):
        written.append(text)
        write(canvas, x, middle, text, *args, **more)

    monkeypatch.setattr(PlotCanvas, "write", note)
    names = ["encoder + BDM+V", "encoder + Euclidean"]
    curves = [make(name, 0.6, current=name == names[0]) for name in names]
    FIGURES[kind](curves, PlotLayout("light", (width, 220), text_scale=1.5))
    assert [len([text for text in written if text.endswith(end)]) for end in ("V", "an")] == [1, 1]


def test_reference_lines_are_drawn_and_named(monkeypatch):
    written, lines = [], []
    monkeypatch.setattr(PlotCanvas, "write", lambda _self, _x, _y, text, *_, **__: written.append(text))
    draw = PlotCanvas.line
    monkeypatch.setattr(
        PlotCanvas,
        "line",
        lambda self, x, y, *more: (lines.append(len(np.ravel(x))), draw(self, x, y, *more)),
    )
    ceiling = tuple(min(1.0, 12 / k) for k in K)
    curve = accuracy("current", 0.4, current=True, ceiling=ceiling, chance=0.1)
    FIGURES[ACCURACY]([accuracy("other", 0.3), curve], PlotLayout(size=(350, 180)))
    assert {"ceiling", "chance", "1"} <= set(written)
    # Both curves and their references.
    assert lines.count(len(K)) == 4
    # Scores of other kinds do not know them.
    written.clear()
    FIGURES[ACCURACY]([accuracy("current", 0.4, current=True)], PlotLayout(size=(350, 180)))
    assert not {"ceiling", "chance"} & set(written)
    FIGURES[ROC]([roc("current", 0.3, current=True)], PlotLayout(size=(350, 180)))
    assert "chance" in written


def test_a_stale_curve_has_no_band():
    filled, stale = (
        image(
            FIGURES[ACCURACY](
                [accuracy("a", 0.8, current=True, stale=is_stale)], PlotLayout(theme="dark", named=False)
            )
        )
        for is_stale in (False, True)
    )
    assert ink(filled, "dark").sum() > 3 * ink(stale, "dark").sum()


def test_title_and_provenance_stand_above():
    plain, headed = (
        image(FIGURES[ROC](CURVES[ROC], PlotLayout(theme="print", size=(480, 240), named=False, **words)))
        for words in ({}, {"title": "ROC, malignant", "note": "79 held-out patients"})
    )
    assert ink(headed, "print")[5:20].sum() > 100
    assert not np.array_equal(plain, headed)


def test_a_theme_or_size_beyond_reason_is_refused():
    with pytest.raises(KeyError):
        FIGURES[ROC]([], PlotLayout(theme="sepia"))
    with pytest.raises(ValueError):
        FIGURES[ROC]([], PlotLayout(theme="dark", size=(100_000, 100)))
    with pytest.raises(ValueError):
        FIGURES[ROC]([], PlotLayout(theme="dark", ratio=0.0))


def test_matplotlib_is_loaded_only_to_draw_and_never_its_screen():
    code = (
        "import sys; from semblance.core.reports.figures import PlotLayout, roc_figure;"
        "assert 'matplotlib' not in sys.modules; roc_figure([], PlotLayout());"
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
    data = FIGURES[ACCURACY](CURVES[ACCURACY], PlotLayout(theme="dark", size=(360, 164)))
    assert len(data) < len(zlib.compress(image(data).tobytes())) * 2
