"""The generated demo library: plainly synthetic pictures that look like radiology."""

from semblance.core.demo.generate import DemoPictures, generate

__all__ = ["DemoPictures", "generate"]
