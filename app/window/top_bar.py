"""The top bar: menus, workspaces, the choices of library, features and metric, the slider, and all commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QFontMetrics, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QHBoxLayout,
    QMenu,
    QMenuBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
)

from semblance.app.metrics.emphasis_slider import EmphasisSlider, select_metric
from semblance.app.shell.actions import MENUS, Actions, menu_entries
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon, icon_pixmap
from semblance.app.shell.state import Change
from semblance.app.shell.theme import colour, font, set_look, theme, theme_signals
from semblance.app.widgets.buttons import KeyTip, Segmented
from semblance.app.widgets.layouts import EDGE
from semblance.app.widgets.menus import Menu
from semblance.app.window.workspaces import RESEARCH, WORKSPACES, WorkspaceChoice
from semblance.core.language import tr, tr_n, visible
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.workflows.metrics.slider_steps import slider_of

if TYPE_CHECKING:
    from semblance.core.workflows.library.library_snapshot import MetricFacts


HEIGHT = 40
#: px beside the title of a menu, as in the style sheet.
MENU_PADDING = 7
#: Below this width the choices show no labels.
LABELS_MIN_WIDTH = 1300
#: Below this width the slider shows no texts at its ends.
SLIDER_TEXTS_MIN_WIDTH = 1240
#: Smallest width of a value beside its label, and of a choice without one.
VALUE, UNLABELLED = 56, 84
#: Width of a choice for which menus make space, and the share of the menus that stays: one in so many.
READABLE, LEAST_MENUS = 112, 3
#: Smallest and largest width of a choice.
NARROW, WIDE = 128, 280
_BEFORE, _BETWEEN = 8, 6


def with_mnemonics(titles: Iterable[str]) -> list[str]:
    """``titles`` with ``&`` before the first letter that no earlier title uses."""
    used: set[str] = set()
    marked = []
    for title in titles:
        place = next((i for i, c in enumerate(title) if c.isalnum() and c.lower() not in used), None)
        if place is None:
            marked.append(title)
        else:
            used.add(title[place].lower())
            marked.append(f"{title[:place]}&{title[place:]}")
    return marked


class ChoiceButton(QAbstractButton):
    """A label and a value. A click opens the options. ``value_changed``: the preferred width may differ."""

    value_changed = Signal()

    def __init__(self, label: str, options: Callable[[], Sequence[QAction]]) -> None:
        super().__init__()
        self._label, self._value, self._options = label, "", options
        self.labelled = True
        self._max_width = WIDE * 4
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.clicked.connect(self._open)
        self.set_value("")

    def set_value(self, value: str) -> None:
        """Show ``value``; nothing chosen is a dash."""
        self._value = value = visible(value)
        self.setEnabled(bool(value) or bool(self._options()))
        name = f"{self._label}: {value}" if value else tr("{label}: none", label=self._label)
        self.setAccessibleName(name)
        self.setToolTip(f"{self._label}: {value}" if value else "")
        self.updateGeometry()
        self.update()
        self.value_changed.emit()

    def show_label(self, shown: bool) -> None:
        if shown != self.labelled:
            self.labelled = shown
            self.updateGeometry()
            self.update()

    def width_with_label(self) -> int:
        """px that the label and a short value take."""
        label = self.fontMetrics().horizontalAdvance(self._label)
        return theme().px(VALUE) + _BEFORE + label + _BETWEEN + _space_after()

    def preferred_width(self, *, labelled: bool) -> int:
        """px that the whole value takes, with or without its label."""
        least, most = (theme().px(side) for side in (NARROW if labelled else UNLABELLED, WIDE))
        label = self.fontMetrics().horizontalAdvance(self._label) + _BETWEEN if labelled else 0
        value = QFontMetrics(font(weight=600)).horizontalAdvance(self._value or "–")
        return min(most, max(least, _BEFORE + label + value + 2 + _space_after()))

    def set_max_width(self, max_width: int) -> None:
        """Limit the width to ``max_width`` px."""
        if max_width != self._max_width:
            self._max_width = max_width
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(min(self._max_width, self.preferred_width(labelled=self.labelled)), theme().px(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(56), theme().px(26))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        look = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = self.rect().adjusted(0, 0, -1, -1).toRectF().translated(0.5, 0.5)
        hovered = self.isEnabled() and (self.underMouse() or self.isDown())
        painter.setPen(colour(look.accent if self.hasFocus() else look.control_line))
        if self.isEnabled():
            painter.setBrush(colour(look.hover if hovered else look.control))
        else:
            painter.setPen(colour(look.line))
        painter.drawRoundedRect(box, 4, 4)
        left = _BEFORE
        if self.labelled:
            painter.setFont(font())
            painter.setPen(colour(look.second if self.isEnabled() else look.disabled))
            painter.drawText(self._line(left), Qt.AlignmentFlag.AlignVCenter, self._label)
            left += painter.fontMetrics().horizontalAdvance(self._label) + _BETWEEN
        painter.setFont(font(weight=600))
        painter.setPen(colour(look.text if self.isEnabled() and self._value else look.disabled))
        line = self._line(left)
        shown = self._value or "–"
        text = painter.fontMetrics().elidedText(shown, Qt.TextElideMode.ElideMiddle, line.width())
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, text)
        side, shade = _chevron(), look.second if self.isEnabled() else look.disabled
        chevron = icon_pixmap("chevron-down", side, shade, self.devicePixelRatioF())
        painter.drawPixmap(QPoint(self.width() - side - 6, (self.height() - side) // 2), chevron)
        painter.end()

    def _line(self, left: int) -> QRect:
        return QRect(left, 0, max(0, self.width() - left - _space_after()), self.height())

    def _open(self) -> None:
        menu = Menu(self)
        # A menu does not own its actions: nothing else holds them while it is open.
        actions = list(self._options())
        menu.addActions(actions)
        # What is in force is where the keys begin.
        current = next((action for action in actions if action.isChecked()), None)
        if current is not None:
            menu.setActiveAction(current)
        if actions:
            menu.exec(self.mapToGlobal(QPoint(0, self.height() + 2)))
        menu.deleteLater()


class TopBar(QFrame):
    """Menus, the switch between the workspaces, the choices and the slider of the workspace, and "All commands"."""

    def __init__(
        self,
        actions: Actions,
        choices: Mapping[str, ChoiceButton],
        emphasis_slider: EmphasisSlider,
        workspaces: WorkspaceChoice,
    ) -> None:
        super().__init__()
        set_look(self, role="top-bar")
        self._actions, self._commands_text, self._menus_width = actions, "", 0
        self._all_choices, self.emphasis_slider, self._workspaces = choices, emphasis_slider, workspaces
        self.workspace = Segmented([(workspace.name, workspace.title) for workspace in WORKSPACES.values()])
        self.workspace.setAccessibleName(tr("Read or Research"))
        self.workspace.changed.connect(workspaces.choose)
        self.menus = QMenuBar()
        self.menus.setNativeMenuBar(False)
        self.menus.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        more = self.menus.findChild(QToolButton, "qt_menubar_ext_button")
        if isinstance(more, QToolButton):
            # Qt's own sign is black on black.
            more.setIcon(icon("chevron-down"))
            more.setAccessibleName(tr("More menus"))
        self.menu: dict[str, QMenu] = {}
        for name, title in zip(MENUS, with_mnemonics(MENUS.values()), strict=True):
            self.menu[name] = self.menus.addMenu(title)
            self.menu[name].setToolTipsVisible(True)
        self.commands = QPushButton()
        self.commands.setAccessibleName(tr("All commands"))
        self.commands.setObjectName("allCommands")
        self.commands.setIcon(icon("search"))
        KeyTip(self.commands, tr("Every command by name"), actions, "palette")
        self.commands.clicked.connect(actions["palette"].trigger)
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(EDGE - MENU_PADDING, 0, EDGE, 0)
        row.setSpacing(8)
        row.addWidget(self.menus)
        row.addWidget(self.workspace)
        for choice in choices.values():
            row.addWidget(choice)
            choice.value_changed.connect(self._fit)
        row.addWidget(emphasis_slider)
        emphasis_slider.availability_changed.connect(self._fit)
        row.addStretch(1)
        row.addWidget(self.commands)
        theme_signals.changed.connect(self._fit)
        for name in ("palette", "read", "research"):
            actions[name].changed.connect(self._show_keys)
        self._show_keys()
        workspaces.changed.connect(self._show_workspace)
        self._show_workspace()

    def _show_keys(self) -> None:
        """Show the keys of the workspaces and of the list of all commands."""
        tips = {"read": tr("Read: look at cases"), "research": tr("Research: train and evaluate metrics")}
        self.workspace.setToolTip(
            "\n".join(self._actions.text_with_key(text, command) for command, text in tips.items())
        )
        self._commands_text = f"{tr('All commands')}   {self._actions.key_text('palette')}".rstrip()
        self._fit()

    @property
    def choices(self) -> list[ChoiceButton]:
        """The choices of the workspace."""
        return [self._all_choices[name] for name in self._workspaces.current.choices]

    @property
    def metric_choice(self) -> ChoiceButton:
        """The choice of the metric, the last before the slider."""
        return self.choices[-1]

    def _fill_menus(self) -> None:
        """Show the commands of the workspace. Actions are not hidden, because their keys would not work."""
        for name, menu in self.menu.items():
            menu.clear()
            groups = menu_entries(name, research=self._workspaces.current is RESEARCH)
            for number, group in enumerate(groups):
                if number:
                    menu.addSeparator()
                menu.addActions([self._actions[command.id] for command in group])
            menu.menuAction().setVisible(bool(groups))

    def _show_workspace(self) -> None:
        self._fill_menus()
        self.workspace.set_value(self._workspaces.current.name)
        shown = self.choices
        for choice in self._all_choices.values():
            choice.setVisible(choice in shown)
        self._fit()

    def go_to_menus(self) -> None:
        """The keyboard goes to the first menu, which opens."""
        self.menus.setActiveAction(self.menus.actions()[0])

    def resizeEvent(self, event: object) -> None:
        self._fit()

    def _fit(self) -> None:
        """Show labels and the ends of the slider as far as they fit. Their widths depend on the language."""
        self.setFixedHeight(theme().px(HEIGHT))
        slider, choices, has_slider = self.emphasis_slider, self.choices, self._workspaces.current.slider
        slider.set_short(False)
        bare_width, labelled_width = (
            (slider.width_with(labels=labels) if has_slider else 0) for labels in (False, True)
        )
        self._menus_width = self.menus.sizeHint().width()
        unlabelled_widths = [choice.preferred_width(labelled=False) for choice in choices]
        values = sum(unlabelled_widths)
        readable = sum(min(theme().px(READABLE), width) for width in unlabelled_widths)
        is_tight = self._rest_beside(self._commands_text) < readable
        if is_tight and (lacking := readable - self._rest_beside("")) > 0:
            # The last menus go behind a sign rather than what is shown into two letters.
            self._menus_width = max(self._menus_width // LEAST_MENUS, self._menus_width - lacking)
        self.menus.setFixedWidth(self._menus_width)
        unlabelled = theme().px(UNLABELLED) * len(choices)
        slider_labels = self.width() >= theme().px(SLIDER_TEXTS_MIN_WIDTH)
        # Whole values are more useful than the labels of the slider. These explain what it does, so they are shown
        # before the label of the button, which has an icon.
        rest = self._rest_beside(self._commands_text)
        if rest < values + (labelled_width if slider_labels else bare_width):
            short = self._rest_beside("")
            if slider_labels and short < values + labelled_width:
                slider.set_short(True)
                slider_labels = short >= values + slider.width_with(labels=True)
                slider.set_short(slider_labels)
            if slider_labels or rest < values + bare_width:
                rest = short
            else:
                self._rest_beside(self._commands_text)
        # A slider that cannot be moved is hidden if it does not fit.
        is_slider_shown = has_slider and (slider.bar.isEnabled() or rest >= unlabelled + bare_width)
        slider.setVisible(is_slider_shown)
        slider_width = slider.width_with(labels=slider_labels) if is_slider_shown else -self._row.spacing()
        available = rest - slider_width
        labels = (
            slider_labels
            and self.width() >= theme().px(LABELS_MIN_WIDTH)
            and available >= sum(choice.width_with_label() for choice in choices)
        )
        widths = [one.preferred_width(labelled=True) for one in choices] if labels else unlabelled_widths
        if labels and sum(widths) > available >= sum(unlabelled_widths):
            # The whole value is more useful than its label.
            labels, widths = False, unlabelled_widths
        limit = _cut_longest(widths, available)
        for choice in choices:
            choice.show_label(labels)
            choice.set_max_width(limit)
        slider.show_labels(slider_labels)

    def _rest_beside(self, text: str) -> int:
        """px for choices and slider beside the button with ``text``."""
        self.commands.setText(text)
        return self.width() - self._fixed_width()

    def _fixed_width(self) -> int:
        """px of what is shown at any width: menus, the button, and what is between all."""
        margins = self._row.contentsMargins()
        hidden = len(self._all_choices) - len(self.choices)
        between = self._row.spacing() * (self._row.count() - 1 - hidden)
        fixed = sum(widget.sizeHint().width() for widget in (self.workspace, self.commands))
        return margins.left() + margins.right() + between + self._menus_width + fixed


def _chevron() -> int:
    return theme().px(14)


def _space_after() -> int:
    """px behind a value: the sign that it can be opened."""
    return _chevron() + 10


def _cut_longest(widths: Sequence[int], available: int) -> int:
    """The limit for every width with which all fit into ``available``."""
    left, most = available, max(widths)
    for number, width in enumerate(sorted(widths)):
        share = left // (len(widths) - number)
        if width > share:
            return max(1, share)
        left -= width
    return most


def make_choice_buttons(context: Context) -> dict[str, ChoiceButton]:
    """Pickers by name that follow the state and change it."""
    state = context.state

    def recent() -> list[QAction]:
        return [
            _make_action(_library_title(path), path == state.location, partial(_open, path))
            for path in context.settings.recent
        ]

    def _open(path: LibraryLocation) -> None:
        from semblance.app.shell.library_operations import open_library

        if path != state.location:
            open_library(context, path)

    def feature_sets() -> list[QAction]:
        sets = state.library.feature_sets if state.library else ()
        return [
            _make_action(
                f"{s.name}   {tr_n('{n} case', '{n} cases', s.cases)}",
                s.name == state.features,
                partial(state.set_features, s.name),
            )
            for s in sets
        ]

    def choose(name: str) -> None:
        select_metric(context, name)

    def metrics() -> list[QAction]:
        available = state.library.metrics if state.library else ()
        # All steps of a slider are one choice here. The slider chooses the step.
        names = dict.fromkeys(_shown_name(m) for m in available)
        chosen = _shown_name(state.metric) if state.metric else ""
        return [_make_action(n, n == chosen, partial(choose, n)) for n in names]

    choices = {
        "library": ChoiceButton(tr("Library"), recent),
        "features": ChoiceButton(tr("Features"), feature_sets),
        "metric": ChoiceButton(tr("Metric"), metrics),
        "ranked_by": ChoiceButton(tr("Ranked by"), metrics),
    }

    def follow() -> None:
        metric = _shown_name(state.metric) if state.metric else ""
        choices["library"].set_value(state.library.name if state.library else "")
        choices["features"].set_value(state.features)
        # Features can be chosen that the metric does not compare. Many metrics are named after theirs already.
        features = state.metric.features if state.metric else ""
        named = (
            metric if features in metric else tr("{metric} on {features}", metric=metric, features=features)
        )
        choices["metric"].set_value(metric if features == state.features else named)
        choices["ranked_by"].set_value(named)

    state.on_change(Change.LIBRARY | Change.CASES | Change.METRIC, state, follow)
    follow()
    return choices


def _library_title(library: LibraryLocation) -> str:
    """The name of a library in a list; of one on a server with its server."""
    name = library_name(library)
    return name if isinstance(library, Path) else tr("{name} on {host}", name=name, host=library.host)


def _shown_name(metric: MetricFacts) -> str:
    """The name of a metric, or of the slider it is a step of."""
    belongs = slider_of(metric.card)
    return belongs[0] if belongs else metric.name


def _make_action(text: str, checked: bool, run: Callable[[], object]) -> QAction:
    action = QAction(text.replace("&", "&&"))
    action.setCheckable(True)
    action.setChecked(checked)
    # `triggered` passes whether the action is checked, which `run` does not need.
    action.triggered.connect(lambda _checked: run())
    return action
