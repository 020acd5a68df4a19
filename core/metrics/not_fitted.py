"""The error of a learner that is used before it is fitted. This module imports scikit-learn."""

from sklearn.exceptions import NotFittedError

from semblance.core.errors import BadArguments


class NotFitted(BadArguments, NotFittedError):  # type: ignore[misc]
    """Raised by a learner before ``fit``."""
