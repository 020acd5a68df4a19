"""The results of a measurement in words, on images and in reports."""

from __future__ import annotations

from dataclasses import dataclass, replace

from semblance.core.imaging.image import AT_DETECTOR, IN_ULTRASOUND, MAGNIFIED, ON_FILM
from semblance.core.imaging.measurements import (
    ANGLE,
    ELLIPSE,
    LINE,
    OUTLINE,
    PROBE,
    RECTANGLE,
    Figure,
    Measured,
)
from semblance.core.json_document import JsonDocument
from semblance.core.language import localise_number, tr_lazy, translate

KIND_TITLES = {
    LINE: tr_lazy("Length"),
    ANGLE: tr_lazy("Angle"),
    RECTANGLE: tr_lazy("Rectangle"),
    ELLIPSE: tr_lazy("Ellipse"),
    OUTLINE: tr_lazy("Outline"),
    PROBE: tr_lazy("Value"),
}
#: How the results are known; in the patient is not said.
_SOURCES = {
    AT_DETECTOR: tr_lazy("at the detector"),
    MAGNIFIED: tr_lazy("corrected for magnification"),
    ON_FILM: tr_lazy("on the film"),
}


@dataclass(frozen=True)
class Result(JsonDocument):
    """A number of a measurement: its ``key`` in files, its ``name``, ``value`` and ``unit``."""

    key: str
    name: str
    value: float
    unit: str

    def text(self) -> str:
        """The value with its unit, such as ``12.4 mm``."""
        space = "" if self.unit == "°" else " "
        return localise_number(f"{_rounded(self.key, self.value)}{space}{self.unit}".rstrip()).replace(
            "-", "−"
        )


def _rounded(key: str, value: float) -> str:
    """As many digits as mean something: tenths of mm and degrees, values as whole numbers where they are."""
    if key in ("length", "angle"):
        return f"{value:.1f}"
    size = abs(value)
    if size < 1e9 and abs(value - round(value)) < 1e-9:
        return f"{value:.0f}"
    if size >= 1e6 or 0 < size < 0.01:
        return f"{value:.4g}"
    return f"{value:.0f}" if size >= 10_000 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def results_of(measured: Measured) -> tuple[Result, ...]:
    """The numbers that ``measured`` has."""
    length_unit, unit = ("mm" if measured.is_mm else "px"), measured.unit
    found: list[Result] = []
    if measured.length is not None:
        found.append(Result("length", tr_lazy("Length"), measured.length, length_unit))
    if measured.angle is not None:
        found.append(Result("angle", tr_lazy("Angle"), measured.angle, "°"))
    if measured.value is not None:
        found.append(Result("value", _of_values(measured, tr_lazy("Value")), measured.value, unit))
    if measured.statistics is not None:
        values = measured.statistics
        found += [
            Result("mean", _of_values(measured, tr_lazy("Mean")), values.mean, unit),
            Result("sd", tr_lazy("SD"), values.sd, unit),
            Result("min", tr_lazy("Min"), values.low, unit),
            Result("max", tr_lazy("Max"), values.high, unit),
        ]
    if measured.area is not None:
        found.append(Result("area", tr_lazy("Area"), measured.area, f"{length_unit}²"))
    return tuple(found)


def _of_values(measured: Measured, name: str) -> str:
    return tr_lazy("Luminance") if measured.is_luminance else name


def source_text(measured: Measured) -> str:
    """How lengths and areas are known, such as ``at the detector``; empty in the patient, and for what has none."""
    if measured.length is None and measured.area is None:
        return ""
    calibration = measured.calibration
    if calibration is None or not calibration.is_mm:
        return ""
    if calibration.source == IN_ULTRASOUND:
        return ""
    return _SOURCES.get(calibration.source, "")


def label_lines(figure: Figure, measured: Measured) -> tuple[str, ...]:
    """The lines beside a figure on an image, in the language in use: values, their range, and the size."""
    results = {one.key: one for one in results_of(measured)}
    lines: list[str] = []
    if figure.region is None:
        lines = [one.text() for one in results.values()]
        if measured.is_luminance and lines:
            lines[0] = _named(results["value"])
    elif "mean" in results:
        lines = [
            f"{_named(results['mean'])}  {_named(results['sd'], unit=False)}",
            f"{_named(results['min'], unit=False)}  {_named(results['max'], unit=False)}",
            results["area"].text(),
        ]
    elif "area" in results:
        lines = [translate(tr_lazy("Only padding"))]
    source = translate(source_text(measured))
    if source and lines:
        lines[-1] = f"{lines[-1]} {source}"
    return tuple(lines)


def _named(result: Result, *, unit: bool = True) -> str:
    shown = result if unit else replace(result, unit="")
    return f"{translate(result.name)} {shown.text()}"
