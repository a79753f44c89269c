"""The model file: the same that the command `mahala` writes and reads."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _mahala, baselines
from ._auto import AutoGMML
from ._common import BALANCES, class_names, classes_of, encode, label_type
from ._gmml import GMML
from ._kernel import KernelGMML
from ._knn import MahalanobisKNN, MahalanobisKNNRegressor
from ._learner import Learner, TargetsLearner
from ._local import LocalGMML
from ._local_scml import LocalSCML
from ._metric import MetricMixin
from ._multi_metric import MultiMetricLMNN
from ._neighbors import Neighbors
from ._pairs import GMMLPairs
from ._plda import PLDA
from ._recipe import RecipeGMML
from .baselines import NCMML

#: By the library's names.
LEARNERS: dict[str, type[Learner]] = {
    learner._method: learner for learner in (RecipeGMML, *(getattr(baselines, name) for name in baselines.__all__))
}


def save(estimator: MetricMixin | KernelGMML | MultiMetricLMNN, path: str | PathLike[str], X: Any = None, y: Any = None) -> None:
    """Write a fitted metric to a model file (safetensors).

    The command reads it: ``mahala transform model.safetensors rows.csv``. With the training rows, ``mahala
    predict`` and ``load_classifier`` need nothing else.

    Parameters
    ----------
    estimator : GMML, AutoGMML, GMMLPairs, KernelGMML, or one of the other methods
        The fitted metric. A MultiMetricLMNN is written with the rows it keeps; an NCMML with the means of its classes, one row
        each, unless rows are given.
    path : path
        Where to write; the file appears whole or not at all.
    X : array-like of shape (n_samples, n_features), default=None
        Training rows to keep in the file, transformed.
    y : array-like of shape (n_samples,), default=None
        Their classes; for MLKR and GMMLRegression, their numbers.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mahala import GMML, load, save
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> gmml = GMML(t=0.1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "wine.safetensors"
    ...     save(gmml, path)
    ...     again = load(path)
    >>> bool((again.transform(X) == gmml.transform(X)).all())
    True
    """
    if isinstance(estimator, MultiMetricLMNN):
        save_multi_metric(estimator, path, X)
        return
    check_metric(estimator)
    check_is_fitted(estimator, "components_")
    if not hasattr(estimator, "model_params_"):
        raise TypeError(
            f"an {type(estimator).__name__} cannot be written to a model file: what it has seen is not in its metric. Keep the "
            "metric alone: MahalanobisDistance(learner.components_)"
        )
    kernel = isinstance(estimator, KernelGMML) and estimator.kernel_ is not None
    if isinstance(estimator, KernelGMML) and callable(estimator.kernel):
        raise ValueError("a kernel that is a function cannot be written to a file; use a named or precomputed one")
    threshold = getattr(estimator, "threshold_", None)
    state: Any = estimator._state()
    references, targets, params = None, None, estimator.model_params_
    if isinstance(estimator, TargetsLearner):
        params, threshold = params | {"regression": True}, None
        if X is not None:
            X, y = validate_data(estimator, X, y, reset=False, dtype=np.float64, y_numeric=True)
            targets = X, np.asarray(y, dtype=np.float64).tolist()
    elif X is not None:
        X, y = validate_data(estimator, X, y, reset=False, dtype=np.float64)
        classes, codes = encode(y)
        references = X, class_names(classes), codes
        if label_type(classes_of(references[1])) != label_type(classes):
            params = params | {"label_type": label_type(classes)}
        if threshold is None:
            seed = estimator.model_params_.get("seed", 0)
            z, plain = references, state
            if kernel or estimator._is_cosine():
                rows = estimator.transform(X)
                z, plain = (rows, *references[1:]), (np.eye(rows.shape[1]), np.zeros(rows.shape[1]), None, None)
            threshold = _mahala.label_threshold(plain, *z, seed)
    elif isinstance(estimator, NCMML):
        means = estimator.class_means_
        references = means, class_names(estimator.classes_), np.arange(len(means), dtype=np.uint32)
        params = params | {"label_type": label_type(estimator.classes_), "k": 1}
    content = {
        "log_eigenvalues": estimator.log_eigenvalues_.tolist(),
        "feature_names": feature_names(estimator),
        "threshold": threshold,
        "calibration": json.dumps(estimator.calibration_) if hasattr(estimator, "calibration_") else None,
        "params": json.dumps(params),
        "diagnostics": json.dumps(estimator.diagnostics_),
        "column_means": getattr(estimator, "_column_means", None),
        "references": references,
        "targets": targets,
        "references_transformed": X is None,
    }
    if kernel:
        _mahala.save_kernel_model(path, state, content)
    else:
        _mahala.save_model(path, state, content)


def save_multi_metric(estimator: MultiMetricLMNN, path: str | PathLike[str], X: Any) -> None:
    check_is_fitted(estimator, "components_")
    if X is not None:
        raise ValueError("X was given; a MultiMetricLMNN is written with the rows it learned from, so leave X and y out")
    params = estimator.model_params_ | {"label_type": label_type(estimator.classes_), "k": estimator.n_neighbors}
    content = json.dumps(params), json.dumps(estimator.diagnostics_), feature_names(estimator)
    references = estimator._rows, class_names(estimator.classes_), estimator._codes
    state = estimator.components_, estimator.mean_, None, None
    _mahala.save_local_model(path, state, list(estimator.local_maps_), estimator.groups_, references, content)


def feature_names(estimator: Any) -> list[str]:
    return [str(name) for name in getattr(estimator, "feature_names_in_", [])]


def check_metric(estimator: Any) -> None:
    """What is no metric by itself may hold one."""
    if isinstance(estimator, (MetricMixin, KernelGMML)):
        return
    held, remedy = type(estimator).__name__, "only metrics of this package can be saved"
    if isinstance(estimator, PLDA):
        remedy = "its score is a likelihood ratio and no distance. Keep it with pickle or joblib"
    if isinstance(estimator, LocalSCML):
        remedy = "its metric differs from row to row, and a file holds one for each group of rows. Keep it with pickle or joblib"
    if isinstance(estimator, Neighbors):
        remedy = "save its metric, with the rows that vote: save(knn.metric_, path, X, y)"
    for name, step in getattr(estimator, "steps", []):
        if isinstance(step, (MetricMixin, KernelGMML)):
            remedy = f"save the step that is a metric: save(pipeline[{name!r}], path). Other steps are not in the file"
    raise TypeError(f"a {held} cannot be written to a model file; {remedy}")


def load(
    path: str | PathLike[str],
) -> GMML | AutoGMML | GMMLPairs | KernelGMML | Learner | MultiMetricLMNN:
    """Read a model file, written by ``save`` or by the command.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator : estimator
        A fitted estimator of the method that learned the metric; for GMML from pairs, a GMMLPairs,
        and for GMML with a kernel, a KernelGMML. A file of ``embeddings.Adapter.save`` gives an Adapter.
    """
    return restored(read(path))


def load_classifier(
    path: str | PathLike[str], n_neighbors: int = 5
) -> MahalanobisKNN | LocalGMML | MultiMetricLMNN:
    """Read a model file with its training rows as a fitted classifier, as ``mahala predict`` is.

    Parameters
    ----------
    path : path
        The file.
    n_neighbors : int, default=5
        Neighbours that vote.

    Returns
    -------
    classifier : MahalanobisKNN, LocalGMML or MultiMetricLMNN
        LocalGMML if the model has local metrics (``mahala fit --local``); MultiMetricLMNN if they are its.
    """
    content = read(path)
    if content["targets"] is not None:
        raise ValueError(f"{path}: the model predicts numbers, not classes; load_regressor reads it")
    if content["references"] is None:
        raise ValueError(
            f"{path}: the model holds no training rows to vote; save it with them: save(estimator, path, X, y)"
        )
    rows, _, codes = content["references"]
    metric = restored(content)
    if isinstance(metric, MultiMetricLMNN):
        metric.n_neighbors = n_neighbors
        return metric
    if content["local"] is not None:
        return local_classifier(metric, content, n_neighbors)
    knn = MahalanobisKNN(metric=metric, n_neighbors=n_neighbors)
    knn.metric_, knn._linear = metric, None
    knn.classes_, order = np.unique(reference_classes(content), return_inverse=True)
    knn._codes = order.astype(np.uint32)[codes]
    knn._keep_rows(rows)
    knn.n_features_in_ = metric.n_features_in_
    if hasattr(metric, "feature_names_in_"):
        knn.feature_names_in_ = metric.feature_names_in_
    return knn


def load_regressor(path: str | PathLike[str], n_neighbors: int | None = None) -> MahalanobisKNNRegressor:
    """Read a model of ``mahala fit --regression``, or of MLKR or GMMLRegression saved with its rows, as a fitted regressor.

    Parameters
    ----------
    path : path
        The file.
    n_neighbors : int or None, default=None
        Neighbours whose mean is the prediction; None takes what the model was fitted with, else 5.

    Returns
    -------
    regressor : MahalanobisKNNRegressor
        Predicts what ``mahala predict`` does.
    """
    content = read(path)
    if content["targets"] is None:
        raise ValueError(
            f"{path}: the model holds no training rows with numbers; save it with them: save(estimator, path, X, y)"
        )
    rows, targets = content["targets"]
    metric = restored(content)
    k = n_neighbors if n_neighbors is not None else json.loads(content["params"]).get("k", 5)
    knn = MahalanobisKNNRegressor(k, metric=metric)
    knn.metric_, knn._linear = metric, None
    knn._targets, knn._one_output = targets.reshape(-1, 1), True
    knn._keep_rows(rows)
    knn.n_features_in_ = metric.n_features_in_
    if hasattr(metric, "feature_names_in_"):
        knn.feature_names_in_ = metric.feature_names_in_
    return knn


def local_classifier(metric: GMML | GMMLPairs, content: dict[str, Any], n_neighbors: int) -> LocalGMML:
    shared = {name: getattr(metric, name) for name in ("t", "reg", "shrinkage", "prior", "standardize", "cv")}
    maps, groups = content["local"]
    by = str(metric.model_params_.get("local", "class")).split(":")[0]
    local = LocalGMML(by=by, n_neighbors=n_neighbors, n_clusters=len(maps), **shared)
    local.components_, local.mean_, local.scale_ = metric._state()[:3]
    local.t_, local.share_ = metric.t_, metric.model_params_.get("share_used", 1.0)
    local.share_path_ = np.array(metric.diagnostics_.get("share_curve", []), dtype=np.float64).reshape(-1, 2)
    local.local_maps_, local.groups_, local.diagnostics_ = np.stack(maps), groups, metric.diagnostics_
    rows, _, codes = content["references"]
    local.classes_, order = np.unique(reference_classes(content), return_inverse=True)
    local._rows, local._codes = rows, order.astype(np.uint32)[codes]
    local.n_features_in_ = metric.n_features_in_
    if hasattr(metric, "feature_names_in_"):
        local.feature_names_in_ = metric.feature_names_in_
    return local


def read(path: str | PathLike[str]) -> dict[str, Any]:
    with open(path, "rb") as file:
        bytes = file.read()
    try:
        return _mahala.load_model(bytes)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def reference_classes(content: dict[str, Any]) -> NDArray[Any]:
    """The classes of the training rows, of the type they had."""
    return classes_of(content["references"][1], json.loads(content["params"]).get("label_type"))


def restored(content: dict[str, Any]) -> Any:
    params = json.loads(content["params"])
    if params.get("method") == "embeddings":
        from .embeddings._adapter import restored_adapter  # it reads model files through this module

        return restored_adapter(content, params)
    if params.get("method") == "multi-metric-lmnn":
        return restored_multi_metric(content, params)
    if content["kernel"] is not None or params.get("method") == "auto-kernel":
        return restored_kernel(content, params)
    estimator = unfitted(params) if params.get("method") in LEARNERS else unfitted_gmml(params, content)
    if params.get("pairs") != "given" and content["references"] is not None:
        estimator.classes_ = np.unique(reference_classes(content))
    estimator._keep(content)
    if isinstance(estimator, NCMML) and content["references"] is not None:
        rows, _, codes = content["references"]
        order = np.unique(reference_classes(content), return_inverse=True)[1]
        estimator._keep_means(rows, order[codes])
    if content["calibration"] is not None:
        estimator.calibration_ = json.loads(content["calibration"])
    if content["threshold"] is not None:
        estimator.threshold_ = content["threshold"]
    keep_columns(estimator, content)
    return estimator


def restored_multi_metric(content: dict[str, Any], params: dict[str, Any]) -> MultiMetricLMNN:
    names = {
        "n_neighbors": "k", "n_targets": "targets", "n_components": "rank", "hinge": "hinge", "push": "push",
        "init": "start", "max_iter": "max_iterations", "tol": "tolerance", "random_state": "seed",
    }  # fmt: skip
    estimator = MultiMetricLMNN(**{ours: params[theirs] for ours, theirs in names.items() if theirs in params})
    estimator.components_, estimator.mean_ = content["components"], content["mean"]
    maps, groups = content["local"]
    estimator.local_maps_, estimator.groups_ = np.stack(maps), groups
    rows, _, codes = content["references"]
    estimator.classes_, order = np.unique(reference_classes(content), return_inverse=True)
    estimator._rows, estimator._codes = rows, order.astype(np.uint32)[codes]
    estimator._keep_report(params, json.loads(content["diagnostics"]))
    keep_columns(estimator, content)
    return estimator


def keep_columns(estimator: Any, content: dict[str, Any]) -> None:
    """The number of columns, and their names."""
    estimator.n_features_in_ = content["components"].shape[1]
    if content["feature_names"]:
        estimator.feature_names_in_ = np.array(content["feature_names"], dtype=object)


def unfitted(params: dict[str, Any]) -> Learner:
    """The estimator a model file's parameters describe."""
    learner = LEARNERS[params["method"]]
    names = {theirs: ours for ours, theirs in learner._names.items()}
    known = learner._get_param_names()
    wanted = {names.get(key, key): value for key, value in params.items()}
    if "rounds" in wanted:
        wanted["rounds"] = [tuple(step) for step in wanted["rounds"]]
    return learner(**{key: value for key, value in wanted.items() if key in known})


def common(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "t": "cv" if isinstance(params.get("t", "auto"), str) else params["t"],
        "reg": params.get("lambda") or None,
        "shrinkage": params.get("shrinkage") or None,
        "n_components": params.get("rank"),
        "standardize": params.get("standardize", False),
        "cv": params.get("folds", 5),
        "max_samples": params.get("selection_rows", 20_000),
        "random_state": params.get("seed", 0),
    }


def chosen_by(params: dict[str, Any]) -> dict[str, Any]:
    """What the automatic mode was given."""
    names = {"k": "n_neighbors", "budget": "budget", "selection_rows": "max_samples"}
    names |= {"criterion": "scoring", "similarity": "similarity", "folds": "cv"}
    chosen = {ours: params[theirs] for theirs, ours in names.items() if theirs in params}
    return chosen | {"random_state": params.get("seed", 0)}


def unfitted_gmml(params: dict[str, Any], content: dict[str, Any]) -> GMML | AutoGMML | GMMLPairs:
    if params.get("method") == "auto":
        given = {name: params[name] for name in ("folds_over", "max_trials") if name in params}
        return AutoGMML(**chosen_by(params), **given, reduce=params.get("reduce", False))
    wanted = common(params)
    # A prior that was given as a matrix is not in the file.
    if params.get("prior", "identity") != "matrix":
        wanted["prior"] = params.get("prior", "identity")
    if params.get("pairs") == "given":
        method = json.loads(content["calibration"])["method"] if content["calibration"] else None
        estimator = GMMLPairs(**wanted, calibration=method)
        estimator.classes_ = np.array([-1, 1])
        return estimator
    wanted["class_weight"] = {theirs: ours for ours, theirs in BALANCES.items()}.get(params.get("balance", "none"))
    wanted["principal"] = params.get("principal")
    wanted["shrinkage_target"] = params.get("shrinkage_target", "diagonal")
    return GMML(**wanted, pairs=params.get("pairs", "all"), n_neighbors=params.get("k", 5))


def restored_kernel(content: dict[str, Any], params: dict[str, Any]) -> KernelGMML:
    if params.get("method") == "auto-kernel":
        estimator = KernelGMML(kernel="auto", **chosen_by(params))
        estimator._keep_chosen(content)
    else:
        kernel, landmarks, scale = content["kernel"]
        kernel = json.loads(kernel)
        name = {"polynomial": "poly"}.get(kernel["kernel"], kernel["kernel"])
        given = {key: kernel[key] for key in ("gamma", "degree", "coef0") if key in kernel}
        estimator = KernelGMML(
            kernel=name, landmarks=params.get("landmarks"), n_neighbors=params.get("k", 5), **given, **common(params)
        )
        estimator.gamma_ = kernel.get("gamma", 1.0)
        fitted = estimator._kernel(estimator.gamma_)
        estimator._keep(content | {"landmarks": landmarks, "scale": scale}, fitted)
    estimator._given = None
    if content["references"] is not None:
        estimator.classes_ = np.unique(reference_classes(content))
    shape = estimator.components_ if estimator.landmarks_ is None else estimator.landmarks_
    estimator.n_features_in_ = shape.shape[1]
    if content["feature_names"]:
        estimator.feature_names_in_ = np.array(content["feature_names"], dtype=object)
    return estimator
