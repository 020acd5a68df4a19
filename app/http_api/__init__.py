"""The HTTP interface of ``semblance serve``, for image viewers and other programs on this computer."""
