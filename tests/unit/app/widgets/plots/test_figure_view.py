from __future__ import annotations

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QFileDialog

from semblance.app.shell.jobs import Jobs
from semblance.app.shell.settings import WRITE_FOLDER
from semblance.app.shell.theme import DARK, LIGHT, set_theme
from semblance.app.widgets.plots.figure_view import REDRAW_MS, FigureView
from semblance.core.reports.curves import ACCURACY
from semblance.core.reports.plot import PALETTES
from semblance.core.workflows.evaluation.scored_metrics import accuracy_curves, scored_metrics
from tests.helpers.contexts import make_context
from tests.helpers.scored_snapshots import metric, snapshot
from tests.helpers.widgets import finish_delayed_calls

METRICS = scored_metrics(snapshot(metric("BDM", 0.8), metric("Euclidean", 0.6, learner="euclidean")))
CURVES = accuracy_curves(METRICS, "BDM")
SIZE = QSize(360, 160)


@pytest.fixture
def view(qtbot, context):
    made = FigureView(context, ACCURACY)
    qtbot.addWidget(made)
    made.resize(SIZE)
    made.show()
    return made


def drawn(view, jobs, qtbot):
    """The image once everything requested is drawn."""
    qtbot.waitUntil(lambda: not view._redraw_timer.isActive())
    jobs.run_pending()
    return view.image()


def background(image) -> str:
    return QColor(image.pixel(0, 0)).name().upper()


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_plots_have_the_colours_of_the_window(theme):
    palette = PALETTES[theme.name]
    for name, value in vars(palette).items():
        assert value == getattr(theme, "disabled" if name == "faint" else name), name


def test_an_image_of_its_size_is_drawn(view, jobs, qtbot):
    view.set_curves(CURVES)
    image = drawn(view, jobs, qtbot)
    assert image.size() == SIZE * view.devicePixelRatioF()
    assert background(image) == DARK.panel


def test_the_real_process_draws_it(qtbot):
    jobs = Jobs()
    view = FigureView(make_context(jobs), ACCURACY)
    qtbot.addWidget(view)
    view.resize(SIZE)
    view.set_curves(CURVES)
    view.show()
    qtbot.waitUntil(lambda: not view.image().isNull())
    assert view.image().size() == SIZE * view.devicePixelRatioF()
    jobs.shutdown()
    jobs.deleteLater()


def test_resizing_asks_once_it_rests_and_shows_the_old_image_meanwhile(view, jobs, qtbot):
    view.set_curves(CURVES)
    before = drawn(view, jobs, qtbot)
    for width in range(300, 340, 4):
        view.resize(width, 150)
    assert not jobs.pending
    assert view.image() == before
    assert view._redraw_timer.interval() == REDRAW_MS
    qtbot.waitUntil(lambda: len(jobs.pending) == 1)
    jobs.run_pending()
    assert view.image().width() == round(336 * view.devicePixelRatioF())


def test_a_late_image_of_older_curves_is_dropped(view, jobs, qtbot):
    view.set_curves(CURVES)
    qtbot.waitUntil(lambda: len(jobs.pending) == 1)
    late = jobs.pending.pop()
    view.set_curves(())
    empty = drawn(view, jobs, qtbot)
    late.run()
    QGuiApplication.processEvents()
    assert view.image() == empty


def test_the_same_curves_are_not_drawn_again(view, jobs, qtbot):
    view.set_curves(CURVES)
    drawn(view, jobs, qtbot)
    view.set_curves(CURVES, title="another title", note="held-out patients")
    finish_delayed_calls(qtbot, view)
    assert not jobs.pending


def test_another_theme_is_drawn_at_once_without_the_old_background(view, jobs, qtbot, qapp):
    view.set_curves(CURVES)
    drawn(view, jobs, qtbot)
    set_theme(qapp, "light")
    assert view.image().isNull()
    assert background(view.grab().toImage()) == LIGHT.panel
    assert background(drawn(view, jobs, qtbot)) == LIGHT.panel


def test_larger_text_gives_another_image(view, jobs, qtbot, qapp):
    view.set_curves(CURVES)
    before = drawn(view, jobs, qtbot)
    set_theme(qapp, "dark", 1.5)
    after = drawn(view, jobs, qtbot)
    assert after != before
    assert after.height() >= before.height()


def test_what_is_hidden_is_drawn_when_it_is_shown(view, jobs, qtbot):
    view.hide()
    jobs.pending.clear()
    view.set_curves(CURVES)
    finish_delayed_calls(qtbot, view)
    assert not jobs.pending
    view.show()
    assert not drawn(view, jobs, qtbot).isNull()


def test_the_plot_has_a_text_description(view):
    view.set_curves(CURVES, title="Retrieval accuracy @ k", note="30 held-out patients")
    assert view.accessibleName() == "Retrieval accuracy @ k"
    words = view.accessibleDescription()
    assert "BDM (current): accuracy at 10 is 0.78, 95 % interval 0.73 to 0.82." in words
    assert words.endswith("Measured on 30 held-out patients.")


def test_an_empty_plot_can_neither_be_saved_nor_copied(view, context):
    assert [action.isEnabled() for action in view.menu().actions()] == [False, False, True]
    view.save_as()
    assert "nothing in this plot" in context.messages.history[-1].what


def test_the_image_can_be_copied(view, jobs, qtbot):
    view.set_curves(CURVES)
    image = drawn(view, jobs, qtbot)
    assert all(action.isEnabled() for action in view.menu().actions())
    view.copy_image()
    assert QGuiApplication.clipboard().image().size() == image.size()
    QGuiApplication.clipboard().clear()


@pytest.mark.parametrize(
    ("given", "chosen", "name"),
    [
        ("plot.svg", "SVG for print (*.svg)", "plot.svg"),
        ("plot", "CSV, the numbers (*.csv)", "plot.csv"),
        ("plot", "PNG image as displayed (*.png)", "plot.png"),
        ("taken", "CSV, the numbers (*.csv)", "taken-2.csv"),
    ],
)
def test_saving_asks_where_and_says_what_was_written(
    view, jobs, context, monkeypatch, tmp_path, given, chosen, name
):
    (tmp_path / "taken.csv").write_text("keep")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / given), chosen))
    view.set_curves(CURVES, title="Accuracy")
    view.save_as()
    jobs.run_pending()
    assert (tmp_path / name).stat().st_size > 0
    assert (tmp_path / "taken.csv").read_text() == "keep"
    assert f"Saved {name}" in context.messages.history[-1].what
    assert context.settings.text(WRITE_FOLDER) == str(tmp_path)


def test_a_plot_saved_as_displayed_has_the_theme_of_the_window(view, jobs, monkeypatch, tmp_path):
    from PySide6.QtGui import QImage

    view.set_curves(CURVES)
    for chosen, panel in (
        ("PNG image as displayed (*.png)", DARK.panel),
        ("PNG image for print (*.png)", "#FFFFFF"),
    ):
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *_, chosen=chosen: (str(tmp_path / "p.png"), chosen)
        )
        view.save_as()
        jobs.run_pending()
        assert background(QImage(str(tmp_path / "p.png"))) == panel


def test_a_dialog_that_is_cancelled_saves_nothing(view, jobs, monkeypatch):
    view.set_curves(CURVES)
    jobs.pending.clear()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    view.save_as()
    assert not jobs.pending


def test_what_cannot_be_written_is_reported(view, jobs, context, monkeypatch, tmp_path):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no" / "p.csv"), ""))
    view.set_curves(CURVES)
    view.save_as()
    jobs.run_pending()
    assert [message.level for message in context.messages.history] == ["error"]
