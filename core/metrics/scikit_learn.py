"""The conventions of scikit-learn and metric-learn that every learner follows.

scikit-learn takes a second to import and is not needed for learning, so it is imported inside functions, and
:class:`Estimator` does what ``sklearn.base.BaseEstimator`` and its mixins would do.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy

_F = TypeVar("_F", bound=Callable[..., Any])
#: Names that a message lists.
_LISTED = 5


class BadRows(BadInput, ValueError):
    """Rows, findings or constraints that a learner cannot use. scikit-learn expects ``ValueError``."""


class BadRowType(BadInput, TypeError):
    """Values that are neither numbers nor text. scikit-learn expects ``TypeError``."""


class BadParameter(BadArguments, ValueError):
    """A parameter outside its range, or an unknown one. scikit-learn expects ``ValueError``."""


@contextlib.contextmanager
def as_value_errors(n_rows: int | None = None) -> Iterator[None]:
    """Turn BadInput and BadArguments inside into errors that are a ``ValueError`` too, with the same sentences.

    ``n_rows``: the number of training rows; the message mentions it if there is a single one.
    """
    try:
        yield
    except (BadRows, BadRowType, BadParameter):
        raise
    except BadInput as error:
        message = error.message
        if n_rows == 1:
            message = tr_lazy("There is only one case (1 sample). {message}", message=message)
        raise BadRows(message, error.hint) from error
    except BadArguments as error:
        raise BadParameter(error.message, error.hint) from error


def check_rows(X: npt.ArrayLike) -> npt.NDArray[Any]:
    """``X`` without the containers that :func:`numpy.asarray` would read wrongly; (n, d), or (n, t, d) for tuples.

    Raises:
        BadRows: a sparse matrix, complex numbers, one dimension, no column.
        BadRowType: values that are neither numbers nor text.
    """
    if type(X).__module__.startswith("scipy.sparse"):
        raise BadRows("Sparse features cannot be used.", "Call X.toarray() first.")
    source: Any = X
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        # Otherwise pandas.NA is an object that is no number.
        with contextlib.suppress(TypeError, ValueError):
            source = X.to_numpy(dtype=np.float64, na_value=np.nan)
    rows = np.asarray(source)
    if np.iscomplexobj(rows):
        raise BadRows(
            "Complex data not supported: the features are not real numbers.", "Use X.real or abs(X)."
        )
    if rows.dtype == object:
        try:
            rows = rows.astype(np.float64)
        except TypeError as error:
            raise BadRowType(
                tr_lazy("The features are not all numbers: {reason}.", reason=error),
                "Remove or encode the columns of text.",
            ) from None
        except ValueError:
            # The learner raises the error.
            return rows
    if rows.ndim == 1:
        raise BadRows(
            tr_lazy(
                "The features are not a table of cases by numbers: {n} numbers have one dimension.",
                n=len(rows),
            ),
            "Reshape your data: X.reshape(1, -1) is one case, X.reshape(-1, 1) are cases of one number.",
        )
    if rows.ndim == 2 and rows.shape[1] == 0:
        raise BadRows(
            tr_lazy(
                "The table has 0 feature(s) (shape={shape}) while a minimum of 1 is required.",
                shape=rows.shape,
            ),
            "Give one row of numbers a case.",
        )
    return rows


def check_findings(y: npt.ArrayLike | None) -> npt.NDArray[Any] | None:
    """``y`` (n,); a column (n, 1) becomes (n,) with the warning that scikit-learn gives."""
    if y is None:
        return None
    found = np.asarray(y)
    if found.ndim != 2 or found.shape[1] != 1:
        return found
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
        "for example using ravel().",
        DataConversionWarning,
        stacklevel=3,
    )
    return found.ravel()


def column_names(X: object) -> npt.NDArray[np.object_] | None:
    """The column names of a data frame; ``None`` without any.

    Raises:
        BadRowType: some are text and others not.
    """
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    texts = [isinstance(name, str) for name in names]
    if all(texts) and names:
        return np.array(names, dtype=object)
    if any(texts):
        raise BadRowType(
            "Feature names are only supported if all input features have string names.",
            "Make them text: X.columns = X.columns.astype(str).",
        )
    return None


class _EmbeddingMethod:
    """A method that only learners with an embedding have, like ``available_if`` of scikit-learn."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, owner: Estimator | None, kind: type | None = None) -> Any:
        if owner is None:
            return self._method
        if not owner.has_embedding:
            name = type(owner).__name__
            raise AttributeError(f"{name} has no embedding, and therefore no {self._method.__name__}.")
        return functools.partial(self._method, owner)


def if_embedding(method: _F) -> _F:
    """Give the method only to learners with an embedding: for the others ``hasattr`` is false."""
    return cast("_F", _EmbeddingMethod(method))


class Estimator:
    """Parameters, names of columns, output containers, routing and texts, as scikit-learn's estimators have them."""

    _feature_names: npt.NDArray[np.object_] | None = None

    # Parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameter values by name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **values: Any) -> Self:
        """Set parameters by name. Their ranges are checked by ``fit``.

        Raises:
            BadParameter: an unknown name.
        """
        known = self._defaults()
        for name in values:
            if name not in known:
                raise BadParameter(
                    tr_lazy("{owner} has no parameter '{name}'.", owner=type(self).__name__, name=name),
                    tr_lazy("Its parameters: {names}.", names=", ".join(known) or "none"),
                )
        for name, value in values.items():
            setattr(self, name, value)
        return self

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in parameters}

    def __repr__(self) -> str:
        """The class with the parameters that are not their defaults, as one would write it."""
        defaults = self._defaults()
        values = (
            (name, value) for name, value in self.get_params().items() if repr(value) != repr(defaults[name])
        )
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in values)})"

    def _repr_html_(self) -> str:
        """The diagram that notebooks show."""
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    # Rows

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Column names (d,) of the data frame it was fitted on; there is no such attribute otherwise."""
        if self._feature_names is None:
            raise AttributeError("feature_names_in_")
        return self._feature_names

    def _check_names(self, X: object) -> None:
        """Raise BadRows, or warn as scikit-learn does, where the columns of ``X`` are not those of ``fit``."""
        fitted, given = self._feature_names, column_names(X)
        name = type(self).__name__
        if fitted is None and given is None:
            return
        if given is None:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=3
            )
        elif fitted is None:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", stacklevel=3)
        elif list(fitted) != list(given):
            raise BadRows(_difference(list(fitted), list(given)), "Give the columns of fit, in their order.")

    def _check_input_names(self, names: Sequence[str] | None) -> None:
        """Raise BadRows unless ``names`` are the columns of ``fit``, as far as these are known."""
        if names is None:
            return
        if self._feature_names is not None and list(names) != list(self._feature_names):
            raise BadRows("input_features is not equal to feature_names_in_.", "Leave it out.")
        if len(names) != self.n_features_in_:
            raise BadRows(
                tr_lazy(
                    "input_features should have length equal to number of features ({n}).",
                    n=self.n_features_in_,
                ),
                "Leave it out.",
            )

    def _check_width(self, rows: npt.NDArray[Any]) -> None:
        """Raise BadRows unless ``rows`` are (n, d) with the d of ``fit``."""
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise BadRows(
                tr_lazy(
                    "X has {given} features, but {name} is expecting {expected} features as input.",
                    given=rows.shape[-1],
                    name=type(self).__name__,
                    expected=self.n_features_in_,
                ),
                "Use the features it was fitted on.",
            )

    def _check_fitted(self) -> None:
        """Raise NotFitted before :meth:`fit`."""
        if not self.__sklearn_is_fitted__():
            from semblance.core.metrics.not_fitted import NotFitted

            raise NotFitted(
                tr_lazy("This {name} is not fitted yet: it has learnt nothing.", name=type(self).__name__),
                "Call fit first.",
            )

    def __sklearn_is_fitted__(self) -> bool:
        raise NotImplementedError

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows it was fitted on."""
        raise NotImplementedError

    @property
    def has_embedding(self) -> bool:
        """Whether there is a ``transform``."""
        raise NotImplementedError

    # Containers

    @if_embedding
    def set_output(self, *, transform: str | None = None) -> Self:
        """The container of what ``transform`` returns: "default", "pandas" or "polars"; ``None``: as before.

        Raises:
            BadParameter: another one.
        """
        if transform is not None:
            if transform not in ("default", "pandas", "polars"):
                raise BadParameter(
                    tr_lazy("'{value}' is no container.", value=transform), "Use default, pandas or polars."
                )
            self._sklearn_output_config = {"transform": transform}
        return self

    def _in_container(self, embedded: npt.NDArray[Any], X: object) -> Any:
        """``embedded`` (n, m) in the container of :meth:`set_output`, else that of scikit-learn's configuration."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform")
        if chosen is None and "sklearn" in sys.modules:
            chosen = sys.modules["sklearn"].get_config()["transform_output"]
        if chosen == "pandas":
            import pandas

            names = self._output_names(embedded.shape[1])
            return pandas.DataFrame(embedded, index=getattr(X, "index", None), columns=names)
        if chosen == "polars":
            import polars

            return polars.DataFrame(embedded, schema=self._output_names(embedded.shape[1]), orient="row")
        return embedded

    def _output_names(self, size: int) -> list[str]:
        return [f"{type(self).__name__.lower()}{place}" for place in range(size)]

    # Routing

    def get_metadata_routing(self) -> Any:
        """What ``fit`` can be given through a pipeline or a search (see scikit-learn's metadata routing)."""
        from sklearn.utils.metadata_routing import MetadataRequest

        found = getattr(self, "_metadata_request", None)
        if found is not None:
            return copy.deepcopy(found)
        request = MetadataRequest(self)
        request.fit.add_request(param="groups", alias=None)
        return request

    def set_fit_request(self, *, groups: bool | str | None = None) -> Self:
        """Whether ``fit`` is given ``groups`` through a pipeline or a search, or under which name."""
        request = self.get_metadata_routing()
        request.fit.add_request(param="groups", alias=groups)
        self._metadata_request = request
        return self


def _difference(fitted: list[str], given: list[str]) -> str:
    """scikit-learn's text about column names that are not those of ``fit``."""
    text = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(fitted)), sorted(set(fitted) - set(given))
    for names, title in (
        (unseen, "Feature names unseen at fit time:\n"),
        (missing, "Feature names seen at fit time, yet now missing:\n"),
    ):
        if names:
            listed = "".join(f"- {name}\n" for name in names[:_LISTED])
            text += title + listed + ("- ...\n" if len(names) > _LISTED else "")
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text
