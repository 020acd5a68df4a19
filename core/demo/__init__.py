"""The generated demo library: plainly synthetic images that look like radiology."""

from semblance.core.demo.generate import DemoImages, generate

__all__ = ["DemoImages", "generate"]
