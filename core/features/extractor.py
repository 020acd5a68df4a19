"""The contract of an extractor."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import Descriptions, PlaceGrid
from semblance.core.imaging.burnt_in_marks import BurntInMarks, find_marks, hide_marks, may_have_marks
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Stack
from semblance.core.local_descriptors import DescriptorPacking
from semblance.core.parameters import Parameter, Value, checked
from semblance.core.tasks import Reporter

#: The setting of every extractor that measures images: whether calipers, arrows and letters in the pixels are measured.
#: Numbers change with what is found: then raise the versions of the extractors.
BURNT_IN_MARKS = "burnt_in_marks"
HIDE, KEEP = "hide", "keep"
MARKS_PARAMETER = Parameter(
    BURNT_IN_MARKS,
    HIDE,
    "Calipers, arrows, letters and scales in the pixels are filled in from what surrounds them before the image is "
    "measured: in ultrasound, secondary captures and plain files that are no colour photographs. Or they are kept.",
    label="Burnt-in annotations",
    choices=(HIDE, KEEP),
)


@dataclass(frozen=True)
class FeatureDefinition:
    """One number: its ``name``, the ``group`` it is explained with, its ``unit`` ("" for plain numbers) and
    its ``formula`` in words or symbols."""

    name: str
    group: str
    unit: str
    formula: str


@dataclass(frozen=True)
class FeatureName:
    """One column: its ``name``, unique within the extractor, and the ``group`` it is explained with."""

    name: str
    group: str


class Extractor(abc.ABC):
    """Turns one image into numbers that depend on that image alone.

    Everything fitted on several images is a step of the metric, not part of an extractor.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    #: Raised by one whenever the numbers change; old feature sets then count as another version.
    version: ClassVar[int]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    #: False where the numbers come with the case instead of its pixels.
    needs_image: ClassVar[bool] = True
    #: True where they are the columns of a table.
    needs_table: ClassVar[bool] = False
    #: Looks at all slices of a volume (:meth:`prepare_stack`); the others get the slice that represents it. May
    #: depend on the settings.
    volumes: bool = False
    #: Looks at nothing else than volumes.
    needs_volume: ClassVar[bool] = False
    #: How local descriptors lie in the numbers, where these are to be counted by the step ``codebook``.
    local: ClassVar[DescriptorPacking | None] = None
    #: The extra of the installation it cannot do without; empty for none.
    needs: ClassVar[str] = ""
    #: False where the numbers were made elsewhere, so that no new case can be measured.
    can_measure: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Give extractors of images the setting ``burnt_in_marks``, and let them see images without marks only."""
        super().__init_subclass__(**options)
        if not cls.hides_marks():
            return
        if MARKS_PARAMETER not in cls.parameters:
            cls.parameters = (*cls.parameters, MARKS_PARAMETER)
        for name in ("extract", "prepare", "keypoints"):
            if name in vars(cls):
                setattr(cls, name, _of_visible(vars(cls)[name]))

    def __init__(self, **settings: Value) -> None:
        values = checked(self.name, self.parameters, settings)
        added = {one.name: one.default for one in self.parameters if one.added_later}
        self.settings = {
            name: value for name, value in values.items() if name not in added or value != added[name]
        }

    @property
    @abc.abstractmethod
    def feature_names(self) -> tuple[FeatureName, ...]:
        """One entry per number given by :meth:`extract`, in order."""

    @classmethod
    def measures_images(cls) -> bool | None:
        """Whether it measures cases that have an image, or rows of tables; ``None``: all cases."""
        return cls.needs_image if cls.needs_image or cls.needs_table else None

    @classmethod
    def stored_type(cls) -> str:
        """The type of the numbers in the store of a library."""
        return "float32" if cls.needs_image else "float64"

    @classmethod
    def hides_marks(cls) -> bool:
        """Whether it has the setting ``burnt_in_marks``: what looks at volumes only never meets marks."""
        return cls.needs_image and not cls.needs_volume

    def visible(self, image: Image) -> Image:
        """``image`` as it is measured: without its burnt-in marks, unless the settings keep them."""
        return hide_marks(image) if image.hidden_marks is None and self._looks_for_marks(image) else image

    def marks_in(self, image: Image) -> BurntInMarks | None:
        """The burnt-in marks that are hidden from it in ``image``, or ``None``."""
        return find_marks(image) if self._looks_for_marks(image) else None

    def _looks_for_marks(self, image: Image) -> bool:
        return self.settings.get(BURNT_IN_MARKS) == HIDE and may_have_marks(image)

    @property
    def batch(self) -> int:
        """How many images are best measured together."""
        return 1

    @property
    def parts(self) -> tuple[str, ...]:
        """What :meth:`describe` gives besides the features: some of :data:`semblance.core.features.places.PARTS`."""
        return ()

    @property
    def level_names(self) -> tuple[FeatureName, ...]:
        """One entry per number of the levels that :meth:`describe` gives, in order."""
        return ()

    @abc.abstractmethod
    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(d,) float32 of ``image``, or of its part inside ``region``.

        Raises:
            BadInput: the image or region cannot give these numbers, for example because it is too small.
        """

    def get_ready(self, reporter: Reporter) -> None:  # noqa: B027
        """What is done once before many images are measured, such as by several processes."""

    def prepare(self, image: Image, region: Region | None = None) -> Any:
        """What :meth:`measure` needs of one image, small: here the numbers themselves.

        Raises:
            BadInput: as :meth:`extract`.
        """
        return self.extract(image, region)

    def prepare_stack(self, stack: Stack, region: Region | None = None) -> Any:
        """As :meth:`prepare`, for a volume; called for extractors with ``volumes``.

        Raises:
            BadInput: as :meth:`extract`, or a slice cannot be read.
        """
        return self.prepare(stack.image(stack.middle(region)), region)

    def measure(self, prepared: Sequence[Any]) -> npt.NDArray[np.float32]:
        """(n, d) of what :meth:`prepare` gave for n images.

        Raises:
            BadInput: one of them cannot be measured.
        """
        return np.stack(prepared)

    def describe(self, prepared: Sequence[Any]) -> Descriptions:
        """What :meth:`measure` gives, with what else the same pass gives of the images.

        A library stores the places of whole images or slices only, prepared without a region, because what a person
        looks for may lie anywhere on them: a case with a region has its features from the image prepared with it, and
        its places from the same image prepared again without.

        Raises:
            BadInput: one of them cannot be measured.
        """
        return Descriptions(self.measure(prepared))

    def place_grid(self, height: int, width: int, region: Region | None = None) -> PlaceGrid | None:
        """Where the places of an image of ``height`` x ``width`` pixels lie that was prepared with ``region``; without
        it, as in a library, where those of the whole image lie; ``None`` where it describes no places."""
        return None

    def with_attributes(
        self, numbers: npt.NDArray[Any], attributes: Mapping[str, str]
    ) -> npt.NDArray[np.float64]:
        """(d,) ``numbers`` (d,) of an image, completed by what is known of it besides, ``attributes`` by name."""
        return numbers.astype(np.float64)

    def keypoints(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float64] | None:
        """(p, 2) x and y of the local descriptors, in the order of their rows, as shares of the width and
        height of what :meth:`extract` looks at; ``None`` where it describes no single places.

        Raises:
            BadInput: as :meth:`extract`.
        """
        return None

    def extract_many(self, images: Sequence[Image]) -> npt.NDArray[np.float32]:
        """(n, d): the same numbers as :meth:`extract` gives one by one."""
        return np.stack([self.extract(image) for image in images])


def _of_visible(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def of_visible(self: Extractor, image: Image, *rest: Any, **named: Any) -> Any:
        return method(self, self.visible(image), *rest, **named)

    return of_visible
