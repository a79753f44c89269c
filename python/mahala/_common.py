"""From scikit-learn's conventions to the arguments of the compiled part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse as issparse  # type: ignore[import-untyped, unused-ignore]
from sklearn.model_selection import check_cv
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from . import _mahala
from ._progress import reporter
from ._threads import threads as threads


def class_names(classes: NDArray[Any]) -> list[str]:
    """The names under which the library knows classes: numbers as numbers, booleans as true and false."""
    # NumPy's scalars print the shortest digits of their own precision, as NPY and Parquet files are read.
    labels = classes if classes.dtype.kind == "f" else classes.tolist()
    return _mahala.canonical_labels([str(label) for label in labels])


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The classes, sorted, and each row's as a code into them."""
    classes, codes = np.unique(y, return_inverse=True)
    check_distinct(classes)
    return classes, codes.astype(np.uint32).ravel()


def check_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Labels of classes, or an error that says what else there is for numbers."""
    if type_of_target(y) in ("continuous", "continuous-multioutput"):
        raise ValueError(
            "Unknown label type: continuous. y must name classes; for numbers, bin them first "
            "(KBinsDiscretizer), or give GMMLPairs pairs of rows with similarities between 0 and 1"
        )
    check_classification_targets(y)
    return y


def marks_of(y: NDArray[Any]) -> NDArray[Any]:
    """Marks of pairs as +1 and -1: booleans, and 1 and 0, are such marks; anything else is left as it is."""
    if y.dtype.kind in "biuf" and np.isin(y, (0, 1)).all():
        return np.where(y == 1, 1, -1)
    return y


def check_distinct(classes: NDArray[Any]) -> None:
    """Refuses text that spells one class in two ways: it would be one class elsewhere, and two for scikit-learn."""
    if classes.dtype.kind in "biuf":
        return
    seen: dict[str, Any] = {}
    for label, name in zip(classes.tolist(), class_names(classes), strict=True):
        if name in seen:
            raise ValueError(
                f"y has the labels {seen[name]!r} and {label!r}, which are one class ({name}); spell it in one way"
            )
        seen[name] = label


def label_type(classes: NDArray[Any]) -> str:
    """What labels are, for ``classes_of`` to give back."""
    return {"b": "bool", "i": "int", "u": "int", "f": "float"}.get(classes.dtype.kind, "str")


def classes_of(names: list[str], type: str | None = None) -> NDArray[Any]:
    """Class names as labels, of the type they were (bool, int, float, str) or, if it is not known, seem to be."""
    if type == "str":
        return np.array(names)
    canonical = _mahala.canonical_labels(names)
    if type == "bool" or (type is None and names and set(canonical) <= {"true", "false"}):
        return np.array([name == "true" for name in canonical])
    # Codes such as 007 are text: they are not what a number is written as.
    for of_type in (int, float):
        try:
            numbers = np.array([of_type(name) for name in canonical])
        except ValueError:
            continue
        if (type or of_type.__name__) == of_type.__name__ and class_names(numbers) == canonical:
            return numbers
    return np.array(names)


def seed(random_state: Any) -> int:
    """The library's seed: a whole number as it is, None as 0, a generator's next draw."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral):
        if not 0 <= int(random_state) < 2**64:
            raise ValueError(f"random_state is {random_state}; it must be between 0 and 2**64 - 1")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def most_samples(estimator: Any, default: int, n_samples: int | None) -> int:
    """The most rows a choice is made on: a whole number, or a share of the rows."""
    wanted = estimator.max_samples
    if wanted is None:
        return default
    if isinstance(wanted, Real) and not isinstance(wanted, (Integral, bool)):
        share = float(wanted)
        if not 0 < share <= 1:
            raise ValueError(f"max_samples is {wanted!r}; as a share of the rows it must be above 0 and at most 1")
        if n_samples is None:
            raise ValueError(f"max_samples is {wanted!r}, a share of rows, and there are no rows here; give a whole number")
        return max(4, round(share * n_samples))
    return count("max_samples", wanted, 4)


#: Values of ``class_weight`` that the library knows by its own names.
BALANCES = {"balanced": "classes", "balanced-pairs": "class-pairs"}


def balance(class_weight: Any) -> str | None:
    """How classes are balanced, by the library's name; weights that are given are weights of rows."""
    if class_weight is None or isinstance(class_weight, Mapping):
        return None
    if not isinstance(class_weight, str) or class_weight not in BALANCES:
        raise ValueError(
            f"class_weight is {class_weight!r}; it must be None, 'balanced', 'balanced-pairs' or a dict of weights by class"
        )
    return BALANCES[class_weight]


def learning_params(estimator: Any, n_features: int, n_samples: int | None = None, **fixed: Any) -> dict[str, Any]:
    """The parameters of an estimator, checked, under the compiled part's names."""
    t = estimator.t
    if isinstance(t, str):
        if t != "cv":
            remedy = " (AutoGMML chooses everything)" if t == "auto" else ""
            raise ValueError(f"t is {t!r}; it must be 'cv' or a number between 0 and 1{remedy}")
        t = None
    else:
        t = number("t", t)
        if not 0 <= t <= 1:
            raise ValueError(f"t is {t}; it must be 'cv' or a number between 0 and 1")
    rank = components(getattr(estimator, "n_components", None), n_features)
    shrinkage = estimator.shrinkage
    if not (shrinkage is None or (isinstance(shrinkage, str) and shrinkage == "analytic")):
        shrinkage = number("shrinkage", shrinkage)
    params = {
        "t": t,
        "reg": None if estimator.reg is None else number("reg", estimator.reg),
        "shrinkage": shrinkage,
        "shrinkage_target": getattr(estimator, "shrinkage_target", "diagonal"),
        "prior": estimator.prior,
        "sampled": False,
        "standardize": bool(estimator.standardize),
        "rank": rank,
        "principal": None,
        "k": 5,
        "folds": 5,
        "splits": None,
        "groups": None,
        "selection_rows": most_samples(estimator, 20_000, n_samples),
        "seed": seed(estimator.random_state),
        "balance": balance(getattr(estimator, "class_weight", None)),
        "progress": reporter(estimator),
    }
    if estimator.reg is None and not (isinstance(estimator.prior, str) and estimator.prior == "identity"):
        raise ValueError("prior has no effect without reg; set reg to a number above 0")
    return params | fixed


def folds(cv: Any, X: Any = None, y: Any = None, groups: Any = None, *, used: bool) -> dict[str, Any]:
    """What something is chosen on: random folds (by their number, of whole groups if there are groups), or splits.

    ``used`` is False where nothing is chosen: then no splitter is asked for its splits, and groups are refused.
    """
    if groups is not None and not used:
        raise ValueError("groups keep rows together where something is chosen; here nothing is: set t='cv', or leave them out")
    if cv is None or isinstance(cv, Integral):
        names = None if groups is None else group_names(X, groups)
        return {"folds": 5 if cv is None else count("cv", cv, 2), "groups": names}
    try:
        splitter = check_cv(cv, y, classifier=True)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cv is {cv!r}; it must be a number of folds, a scikit-learn splitter or an iterable of splits"
        ) from error
    if not used:
        return {}
    splits = [(rows_of(train), rows_of(held_out)) for train, held_out in splitter.split(X, y, groups)]
    return {"folds": max(2, len(splits)), "splits": (len(y), splits)}


def rows_of(part: Any) -> NDArray[np.uint64]:
    """Row numbers of a split; a mask is one, too."""
    part = np.asarray(part)
    if part.size == 0:
        part = part.astype(np.uint64)
    if part.dtype == bool:
        part = np.flatnonzero(part)
    if part.ndim != 1 or part.dtype.kind not in "iu" or (len(part) and part.min() < 0):
        raise ValueError("cv gives splits that are no lists of row numbers, 0 or above")
    return part.astype(np.uint64)


def group_names(X: Any, groups: Any) -> list[str]:
    """The group of each row, by name."""
    check_consistent_length(X, groups)
    return [str(group) for group in np.asarray(groups)]


def plan(method: str, parameters: dict[str, Any], n_jobs: int | None, **more: Any) -> dict[str, Any]:
    """What the compiled part is to learn by, and how it is watched."""
    return {
        "method": method,
        "parameters": json.dumps(parameters),
        "standardize": False,
        "time_limit": None,
        "groups": None,
        "progress": None,
        "keep_best": False,
        "threads": threads(n_jobs),
    } | more


def auto_plan(estimator: Any, method: str, X: Any, y: Any, groups: Any, **more: Any) -> dict[str, Any]:
    """The plan of an estimator in automatic mode; ``groups`` are those of the rows, or None."""
    splits = auto_splits(estimator.cv, X, y, groups)
    parameters = {
        "criterion": criterion(estimator.scoring),
        "similarity": estimator.similarity,
        "k": count("n_neighbors", estimator.n_neighbors, 1),
        "budget": number("budget", estimator.budget),
        "selection_rows": most_samples(estimator, 2_000, len(X)),
        "seed": seed(estimator.random_state),
    }
    names = None if groups is None or "splits" in splits else group_names(X, groups)
    time_limit = None if estimator.time_limit is None else number("time_limit", estimator.time_limit)
    watched = {"groups": names, "progress": reporter(estimator), "time_limit": time_limit}
    watched["keep_best"] = bool(estimator.keep_best)
    return plan(method, parameters | splits | more, estimator.n_jobs, **watched)


#: What scikit-learn's names mean, where neighbours vote on held-out rows; the others rank classes, not pairs.
SCORERS = {"accuracy": "knn-error", "balanced_accuracy": "balanced-error"}


def criterion(scoring: Any) -> str:
    """What the automatic mode chooses by, by the library's name."""
    if scoring is None:
        return "knn-error"
    if not isinstance(scoring, str):
        raise ValueError(
            f"scoring is {scoring!r}; the automatic mode knows its criteria by name. GMML(scoring=...) chooses t by any "
            "scikit-learn scorer or function"
        )
    if scoring == "roc_auc":
        raise ValueError(
            "scoring is 'roc_auc', which ranks rows by the probability of a class; give 'roc-auc' to rank pairs of rows by "
            "their distance, or GMML(scoring='roc_auc') to choose t by it"
        )
    return SCORERS.get(scoring, scoring)


def refuse(estimator: Any, given: dict[str, Any], remedy: str) -> None:
    """Refuses what a fit cannot use; None is nothing."""
    names = [name for name, value in given.items() if value is not None or name != "sample_weight"]
    if names:
        raise TypeError(f"{type(estimator).__name__}.fit() got an unexpected keyword argument {', '.join(map(repr, names))}: {remedy}")


def auto_splits(cv: Any, X: Any, y: Any, groups: Any) -> dict[str, Any]:
    """What the automatic mode chooses on: by default nothing is said, else a number of folds or splits."""
    if cv is None:
        return {}
    if isinstance(cv, Integral):
        return {"folds": count("cv", cv, 2)}
    n, splits = folds(cv, X, y, groups, used=True)["splits"]
    return {"splits": (n, [(train.tolist(), held_out.tolist()) for train, held_out in splits])}


def keep_choice(estimator: Any, choice: dict[str, Any] | None) -> None:
    """What the automatic mode chose, why, and all that it tried; of an earlier fit nothing is left."""
    for name in ("recipes_", "reason_", "verdict_", "trials_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if choice:
        estimator.t_ = choice["recipes"][0]["t"]
        estimator.recipes_ = [recipe_parameters(recipe) for recipe in choice["recipes"]]
        estimator.reason_ = choice["reason"]
        estimator.verdict_ = choice["verdict"]
        estimator.trials_ = choice["trials"]


def recipe_parameters(recipe: dict[str, Any]) -> dict[str, Any]:
    """A recipe as the parameters of ``RecipeGMML``."""
    parameters = {name: value for name, value in recipe.items() if name not in ("recipe", "weight")}
    return parameters | {"rounds": [(step["neighbors"], step["t"]) for step in recipe["rounds"]]}


def components(wanted: Any, n_features: int) -> int | float | None:
    """Coordinates to keep: so many, or as many as hold this share."""
    if wanted is None:
        return None
    if isinstance(wanted, str):
        raise ValueError(f"n_components is {wanted!r}; it must be a number or None (AutoGMML(reduce=True) chooses leading directions)")
    if isinstance(wanted, (float, np.floating)) and not float(wanted).is_integer():
        share = number("n_components", wanted)
        if not 0 < share < 1:
            raise ValueError(f"n_components is {share}; as a share it must be above 0 and below 1")
        return share
    rank = count("n_components", wanted, 1)
    if rank > n_features:
        raise ValueError(f"n_components is {rank}; it must be at most the number of features, {n_features}")
    return rank


def csr_parts(X: Any) -> tuple[Any, ...]:
    """A sparse table as the compiled part wants it: row starts, columns, cells, number of columns."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr.astype(np.uint64), X.indices.astype(np.uint32), np.asarray(X.data, np.float64), X.shape[1]


def number(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; it must be a number")
    return float(value)


def count(name: str, value: Any, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number, at least {least}")
    return int(value)
