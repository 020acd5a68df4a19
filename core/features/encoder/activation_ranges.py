"""From what to what the maps of the encoder go, for its calculation in 8 bits.

Made by ``python -m tests.encoder_ranges`` from 270 views of the pictures that come with scikit-image and scikit-learn
and of generated images; its head says which. What the first convolutions of a block and the head give goes from 0 to 6
by the activation.
"""

from __future__ import annotations

#: Least and most of what the last convolution of each block gives, and of its sum with the input of the block.
RANGES: dict[str, tuple[float, float]] = {
    "_blocks.0._project_conv": (-51.827, 55.144),
    "_blocks.1._project_conv": (-50.913, 47.810),
    "_blocks.2._project_conv": (-40.184, 38.377),
    "_blocks.2._project_conv.sum": (-62.099, 52.693),
    "_blocks.3._project_conv": (-35.680, 39.560),
    "_blocks.4._project_conv": (-23.983, 25.331),
    "_blocks.4._project_conv.sum": (-39.422, 43.843),
    "_blocks.5._project_conv": (-35.693, 38.677),
    "_blocks.6._project_conv": (-16.923, 27.129),
    "_blocks.6._project_conv.sum": (-35.265, 34.574),
    "_blocks.7._project_conv": (-17.832, 14.212),
    "_blocks.7._project_conv.sum": (-34.190, 36.765),
    "_blocks.8._project_conv": (-29.355, 30.033),
    "_blocks.9._project_conv": (-20.308, 22.165),
    "_blocks.9._project_conv.sum": (-32.480, 36.948),
    "_blocks.10._project_conv": (-16.671, 12.175),
    "_blocks.10._project_conv.sum": (-37.588, 33.119),
    "_blocks.11._project_conv": (-26.918, 28.330),
    "_blocks.12._project_conv": (-14.954, 18.959),
    "_blocks.12._project_conv.sum": (-27.615, 28.738),
    "_blocks.13._project_conv": (-14.115, 12.311),
    "_blocks.13._project_conv.sum": (-30.728, 31.023),
    "_blocks.14._project_conv": (-14.582, 15.752),
    "_blocks.14._project_conv.sum": (-34.589, 35.335),
    "_blocks.15._project_conv": (-14.450, 16.350),
}
