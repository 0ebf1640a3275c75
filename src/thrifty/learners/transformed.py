"""What describes a context, as features that a transformer of scikit-learn makes."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput, MissingPackage
from thrifty.learners.context_rows import Wanted, frame_of, is_frame, rows_of
from thrifty.learners.encoding import Encoded
from thrifty.numerics.arrays import Floats, numeric


@dataclass(frozen=True)
class Transformed:
    """Columns, and the transformer that they go through.

    Attributes
    ----------
    names : of the columns, in order
    bias : whether 1 is a feature
    extra : `refuse`, or `ignore` where other columns may come with these
    centre, scale : of what comes out, once fitted
    transformer : of scikit-learn, fitted
    """

    names: tuple[str, ...]
    bias: bool = True
    extra: str = "refuse"
    centre: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    transformer: Any = field(default=None, compare=False)

    complete: ClassVar[bool] = True

    @cached_property
    def features(self) -> tuple[str, ...]:
        """(p,) names of the features, the bias first."""
        return ("bias",) * bool(self.bias) + self._outputs

    @cached_property
    def _outputs(self) -> tuple[str, ...]:
        """Names of what comes out of the transformer."""
        return tuple(str(name) for name in self.transformer.get_feature_names_out())

    def fit(self, data: ArrayLike) -> Self:
        """The same with the mean and the deviation of each feature."""
        values = self._transformed(data)
        if not np.isfinite(values).all():
            n, i = np.argwhere(~np.isfinite(values))[0]
            where = f"features[{n}][{self._outputs[i]!r}]"
            raise InvalidInput.expected(where, "a finite number", float(values[n, i]))
        centre, deviation = values.mean(axis=0), values.std(axis=0)
        deviation[deviation == 0] = 1.0  # a constant stays as it is
        return replace(self, centre=tuple(centre.tolist()), scale=tuple(deviation.tolist()))

    def encode(self, data: Any) -> Encoded:
        """Rows of data in any form as features (n, p): of a length of about 1, once fitted."""
        if type(data) is Encoded:
            return data
        values = self._transformed(data)
        centre, factor, bias = self._scaling
        features = np.empty((len(values), values.shape[1] + self.bias))
        if self.bias:
            features[:, 0] = bias
        np.multiply(values - centre, factor, out=features[:, int(self.bias) :])
        return Encoded(features)

    def _transformed(self, data: Any) -> Floats:
        """What comes out of the transformer."""
        values = self.transformer.transform(self._taken(data))
        values = values.toarray() if hasattr(values, "toarray") else values
        expected = f"rows of {len(self._outputs)} numbers ({', '.join(self._outputs[:8])})"
        array = np.atleast_2d(numeric(values, "features", expected))
        if array.ndim != 2 or array.shape[1] != len(self._outputs):
            raise InvalidInput.expected("features", expected, np.shape(data))
        return array

    def _taken(self, data: Any) -> Any:
        """Data in a form that the transformer takes: with names, if it was fitted with names."""
        wanted = Wanted(self.names, self.extra == "ignore", numbers=False)
        if not hasattr(self.transformer, "feature_names_in_"):
            named = bool(self.names) and not isinstance(data, np.ndarray)
            return rows_of(data, wanted) if named else data
        if is_frame(data):
            frame = frame_of(data)
            wanted.check(frame.columns)
            return frame.select(list(self.names)).to_native()
        MissingPackage.check(
            "a transformer that was fitted to a data frame", "pandas", extra="pandas"
        )
        import pandas

        return pandas.DataFrame(list(rows_of(data, wanted)), columns=list(self.names))

    @cached_property
    def _scaling(self) -> tuple[Floats | float, Floats | float, float]:
        """What columns are reduced by, multiplied by, and the bias."""
        if self.centre is None or self.scale is None:
            return 0.0, 1.0, 1.0
        share = math.sqrt(0.5) if self.bias else 1.0
        parts = math.sqrt(len(self.scale)) * np.array(self.scale)
        return np.array(self.centre), share / parts, share

    def to_json(self) -> dict[str, Any]:
        """All but the transformer."""
        return {
            "columns": list(self.names),
            "bias": self.bias,
            "extra": self.extra,
            "centre": self.centre,
            "scale": self.scale,
            "transformed": True,
        }

    def __str__(self) -> str:
        return f"{Wanted(self._outputs).listed} (by {type(self.transformer).__name__})"
