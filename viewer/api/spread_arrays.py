"""Columns of slices that take memory only once they are used: categories and nullable integers.

Most columns of slices are properties of the few identities of a trace, or of its few rows. A column
here holds one value for each of these, and finds those of slices when they are needed. What is made
from such a column is one of pandas' own arrays, with pandas' dtypes.

Of a million slices with 26 columns, such columns take less than 1 MB, and arrays of pandas 98 MB.
Dictionaries of Arrow are no categories: pandas takes equal texts of two identities for two groups,
and with codes of their own, they take 128 MB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.indexers import check_array_indexer

from viewer.arrays import Bools, Ints

Plain = TypeVar("Plain", bound=Any)


class Spread:
    """How values of identities, rows or inferences are spread over the slices of a trace."""

    def __init__(
        self, length: int, numbers: Callable[[Any], Any], valid: Bools | None = None
    ) -> None:
        """numbers: of the values of the slices at an index. valid: which slices have a value."""
        self.length = length
        self._numbers, self._valid = numbers, valid

    def of(self, values: NDArray[Any], null: Any, index: Any = slice(None)) -> NDArray[Any]:
        """Return the value of every slice at an index; `null` for those without one."""
        numbers = self._numbers(index)
        if self._valid is None:
            every: NDArray[Any] = values[numbers]
            return every
        # The number of a null may be any number.
        valid = self._valid[index]
        spread = np.full(len(valid), null, values.dtype)
        spread[valid] = values[numbers[valid]]
        return spread


def by_code(codes: NDArray[np.integer[Any]], valid: Bools | None = None) -> Spread:
    """Return how values are spread by a code of every slice, such as its identity."""
    return Spread(len(codes), codes.__getitem__, valid)


def by_row(row_ptr: Ints) -> Spread:
    """Return how values of rows are spread: slices are sorted by row, which start at `row_ptr`."""

    def numbers(index: Any) -> Ints:
        if isinstance(index, slice):
            return np.repeat(np.arange(len(row_ptr) - 1, dtype=np.int32), np.diff(row_ptr))
        row_numbers: Ints = np.searchsorted(row_ptr, index, side="right") - 1
        return row_numbers

    return Spread(int(row_ptr[-1]), numbers)


def _index_of(array: Any, item: Any) -> Ints:
    """Return the positions that an indexer selects: a slice, a mask, a list or an array."""
    length = len(array)
    if isinstance(item, slice):
        return np.arange(*item.indices(length))
    chosen = np.asarray(check_array_indexer(array, item))
    if chosen.dtype == np.bool_:
        return np.flatnonzero(chosen)
    return np.where(chosen < 0, chosen + length, chosen).astype(np.int64, copy=False)


def _are_inside(index: Ints, first: int, end: int) -> bool:
    """Whether all positions are from `first` to before `end`; there is at least one value."""
    return end > 0 and (not len(index) or bool(first <= index.min() and index.max() < end))


class _Lazy(Generic[Plain]):
    """What both kinds of columns have: parts of them are made of the values of some slices."""

    _spread: Spread
    _is_copy = False  # whether its values are its alone, and can be changed

    def _plain(self) -> Plain:
        """Return the array of pandas with the values of all slices."""
        raise NotImplementedError

    def _some(self, index: Ints) -> Plain:
        """Return the array of pandas with the values of the slices at `index`."""
        raise NotImplementedError

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int | np.integer):
            # The position of one slice, from 0. Raises IndexError.
            number = int(item) + (len(self) if item < 0 else 0)
            if not 0 <= number < len(self):
                raise IndexError(f"index {item} is out of bounds for {len(self)} slices")
            return self._some(np.array([number]))[0]
        return self._some(_index_of(self, item))

    def __len__(self) -> int:
        return self._spread.length

    def take(
        self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None, **unused: Any
    ) -> Any:
        """Return the slices at `indices`; with `allow_fill`, -1 is no slice."""
        index = np.asarray(indices, np.int64)
        is_plain = not allow_fill or pd.isna(fill_value)
        if not (is_plain and _are_inside(index, -1 if allow_fill else 0, len(self))):
            return self._plain().take(index, allow_fill=allow_fill, fill_value=fill_value)
        plain = self._some(np.maximum(index, 0))
        plain[index < 0] = plain.dtype.na_value
        return plain

    def view(self, dtype: Any = None) -> Any:
        """Return the column itself: it is never changed in place."""
        return self if dtype is None else self._plain().view(dtype)

    def __reduce__(self) -> Any:
        return self._plain().__reduce__()

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self._is_copy:
            raise ValueError("the columns of a profile cannot be changed in place: copy the table")
        super().__setitem__(key, value)  # type: ignore[misc]

    def equals(self, other: object) -> bool:
        """Return whether another column has the same values; pandas' own arrays are no other type.

        pandas calls the table on the left, and takes two types for unequal. So a copy has this type
        too, and `table.equals(copy)` and `copy.equals(table)` are the same.
        """
        plain = other._plain() if isinstance(other, _Lazy) else other
        return bool(self._plain().equals(plain))


class SpreadCategorical(_Lazy[pd.Categorical], pd.Categorical):  # type: ignore[misc]
    """A column of texts: `of_value` is the category of each identity or row, -1 for none."""

    @classmethod
    def of(
        cls, of_value: NDArray[Any], spread: Spread, categories: pd.Index[Any]
    ) -> SpreadCategorical:
        """Return the column of all slices."""
        # The length is that of these codes, which take no memory and are never read. They have the
        # type that pandas wants for so many categories; otherwise it would make an array of them.
        unread = np.broadcast_to(of_value.dtype.type(-1), spread.length)
        spread_categorical: SpreadCategorical = cls._simple_new(  # type: ignore[attr-defined]
            unread, pd.CategoricalDtype(categories)
        )
        spread_categorical._of_value, spread_categorical._spread, spread_categorical._every = (
            of_value,
            spread,
            None,
        )
        return spread_categorical

    _of_value: NDArray[Any]
    _every: NDArray[Any] | None

    @property
    def _ndarray(self) -> NDArray[Any]:  # type: ignore[override]
        """The codes of all slices, where pandas looks for them."""
        if self._every is None:
            self._every = self._spread.of(self._of_value, -1)
        return self._every

    def _plain(self) -> pd.Categorical:
        return self._from_backing_data(self._ndarray)

    def _some(self, index: Ints) -> pd.Categorical:
        is_lazy = self._every is None
        codes = self._spread.of(self._of_value, -1, index) if is_lazy else self._ndarray[index]
        return self._from_backing_data(codes)

    def _from_backing_data(self, arr: NDArray[Any]) -> pd.Categorical:
        """Make what pandas derives from this column: without anything lazy."""
        return pd.Categorical.from_codes(arr, dtype=self.dtype, validate=False)

    def copy(self, order: Any = "C") -> Any:
        """Return a column with the same values, which can be changed."""
        spread_categorical = self.of(self._of_value, self._spread, self.categories)
        spread_categorical._every = np.array(self._ndarray)
        spread_categorical._is_copy = True
        return spread_categorical

    @property
    def nbytes(self) -> int:
        """The bytes that the column takes now."""
        return 0 if self._every is None else self._every.nbytes

    # What pandas implements in C, and so does not ask `_ndarray`.

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Return every value several times."""
        return self._plain().repeat(repeats)

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the values in another shape."""
        return self._plain().reshape(*args, **kwargs)

    def ravel(self, order: Any = "C") -> Any:
        """Return the values in one dimension."""
        return self

    def delete(self, loc: Any, axis: int = 0) -> Any:
        """Return the values without some."""
        return self._plain().delete(loc)  # type: ignore[attr-defined]

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Return the values: they have one dimension."""
        return self

    def transpose(self, *axes: int) -> Any:
        """Return the values: they have one dimension."""
        return self

    @property
    def T(self) -> Any:
        """The values: they have one dimension."""
        return self


class SpreadInts(_Lazy[pd.arrays.IntegerArray], pd.arrays.IntegerArray):  # type: ignore[misc]
    """A column of integers: `of_value` and `valid` have one entry for each identity or row."""

    _of_value: Ints
    _valid: Bools | None
    _every: tuple[NDArray[Any], Bools] | None

    # What pandas derives from this column, it makes with the type of the column.
    def __new__(cls, values: NDArray[Any], mask: Bools, copy: bool = False) -> Any:
        """Return pandas' own array, without anything lazy."""
        return pd.arrays.IntegerArray(values, mask, copy)

    @classmethod
    def of(cls, of_value: Ints, valid: Bools | None, spread: Spread) -> SpreadInts:
        """Return the column of all slices. valid: False where there is no value."""
        spread_ints: SpreadInts = object.__new__(cls)
        spread_ints._of_value, spread_ints._valid, spread_ints._spread, spread_ints._every = (
            of_value,
            valid,
            spread,
            None,
        )
        return spread_ints

    def _values(self, index: Any) -> tuple[NDArray[Any], Bools]:
        """Return the values of the slices at an index, and which of them are null."""
        if self._every is not None:
            return self._every[0][index], self._every[1][index]
        values = self._spread.of(self._of_value, 0, index)
        if self._valid is None:
            return values, np.broadcast_to(np.False_, values.shape)
        return values, ~self._spread.of(self._valid, False, index)

    def _whole(self) -> tuple[NDArray[Any], Bools]:
        if self._every is None:
            self._every = self._values(slice(None))
        return self._every

    @property
    def _data(self) -> NDArray[Any]:
        """The values of all slices, where pandas looks for them."""
        return self._whole()[0]

    @property
    def _mask(self) -> Bools:
        """Which of them are null."""
        return self._whole()[1]

    @property
    def dtype(self) -> pd.Int64Dtype:
        """The dtype of the column."""
        return pd.Int64Dtype()

    @property
    def ndim(self) -> int:
        """Its number of dimensions."""
        return 1

    @property
    def shape(self) -> tuple[int]:
        """Its length."""
        return (self._spread.length,)

    @property
    def nbytes(self) -> int:
        """The bytes that the column takes now."""
        return 0 if self._every is None else sum(part.nbytes for part in self._every)

    def _plain(self) -> pd.arrays.IntegerArray:
        return pd.arrays.IntegerArray(self._data, self._mask)

    def _some(self, index: Ints) -> pd.arrays.IntegerArray:
        values, null = self._values(index)
        return pd.arrays.IntegerArray(values, np.array(null))

    @classmethod
    def _simple_new(cls, values: NDArray[Any], mask: Bools) -> pd.arrays.IntegerArray:
        return pd.arrays.IntegerArray(values, mask)

    def copy(self) -> Any:
        """Return a column with the same values, which can be changed."""
        spread_ints = self.of(self._of_value, self._valid, self._spread)
        spread_ints._every = np.array(self._data), np.array(self._mask)
        spread_ints._is_copy = True
        return spread_ints
