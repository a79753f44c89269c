"""Metric learning in closed form: a distance under which nearest neighbours are right.

>>> from mahala import GMML
>>> from sklearn.datasets import load_wine
>>> from sklearn.model_selection import cross_val_score
>>> from sklearn.neighbors import KNeighborsClassifier
>>> from sklearn.pipeline import make_pipeline
>>> X, y = load_wine(return_X_y=True)
>>> knn = KNeighborsClassifier()
>>> float(round(cross_val_score(knn, X, y).mean(), 2))
0.69
>>> float(round(cross_val_score(make_pipeline(GMML(), knn), X, y).mean(), 2))
0.98
"""

from . import constraints
from ._auto import AutoGMML
from ._gmml import GMML
from ._kernel import KernelGMML
from ._knn import MahalanobisKNN, MahalanobisKNNRegressor, MahalanobisNearestNeighbors
from ._local import LocalGMML
from ._mahala import __version__
from ._metric import MahalanobisDistance
from ._local_scml import LocalSCML
from ._model import load, load_classifier, load_regressor, save
from ._moments import Moments, Window
from ._multi_metric import MultiMetricLMNN
from ._multi_task import MultiTaskGMML
from ._notice import MahalaWarning
from ._pairs import GMMLPairs, PairClassifier
from ._plda import PLDA
from ._progress import Progress, progress
from ._recipe import RecipeGMML
from ._spd import (
    geometric_mean,
    logdet_divergence,
    riemannian_distance,
    symmetrized_logdet_divergence,
)
from .baselines import (
    DMLMJ,
    ITML,
    KISSME,
    LDA,
    LDML,
    LEGO,
    LFDA,
    LMNN,
    LORETA,
    LSML,
    MCML,
    MLKR,
    MMC,
    MOML,
    NCA,
    NCMML,
    OASIS,
    POLA,
    RCA,
    SCML,
    SDML,
    XQDA,
    Covariance,
    Euclidean,
    FlatGeo,
    GMMLRegression,
    RobustGMML,
)

__all__ = [
    "AutoGMML",
    "Covariance",
    "DMLMJ",
    "Euclidean",
    "FlatGeo",
    "GMML",
    "GMMLPairs",
    "GMMLRegression",
    "ITML",
    "KISSME",
    "KernelGMML",
    "LDA",
    "LDML",
    "LEGO",
    "LFDA",
    "LMNN",
    "LORETA",
    "LSML",
    "LocalGMML",
    "LocalSCML",
    "MCML",
    "MLKR",
    "MMC",
    "MOML",
    "MahalaWarning",
    "MahalanobisDistance",
    "MahalanobisKNN",
    "MahalanobisKNNRegressor",
    "MahalanobisNearestNeighbors",
    "Moments",
    "MultiMetricLMNN",
    "MultiTaskGMML",
    "NCA",
    "NCMML",
    "OASIS",
    "PLDA",
    "POLA",
    "PairClassifier",
    "Progress",
    "RCA",
    "RecipeGMML",
    "RobustGMML",
    "SCML",
    "SDML",
    "Window",
    "XQDA",
    "__version__",
    "constraints",
    "geometric_mean",
    "load",
    "load_classifier",
    "load_regressor",
    "logdet_divergence",
    "progress",
    "riemannian_distance",
    "save",
    "symmetrized_logdet_divergence",
]
