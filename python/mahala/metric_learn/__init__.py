"""The learners of metric-learn 0.7.0 by their names and parameters, on the compiled learners of this package.

Programs written for metric-learn run on current scikit-learn with one line changed:

>>> import mahala.metric_learn as metric_learn
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> metric_learn.NCA(n_components=2, random_state=0).fit_transform(X, y).shape
(150, 2)

``GMML`` and ``GMML_Supervised`` are not in metric-learn; they have the same interface.
"""

from .constraints import Constraints
from .covariance import Covariance
from .gmml import GMML, GMML_Supervised
from .itml import ITML, ITML_Supervised
from .lfda import LFDA
from .lmnn import LMNN
from .lsml import LSML, LSML_Supervised
from .mlkr import MLKR
from .mmc import MMC, MMC_Supervised
from .nca import NCA
from .rca import RCA, RCA_Supervised
from .scml import SCML, SCML_Supervised
from .sdml import SDML, SDML_Supervised

#: The release whose interface this is.
__version__ = "0.7.0"

__all__ = [
    "Constraints",
    "Covariance",
    "GMML",
    "GMML_Supervised",
    "ITML",
    "ITML_Supervised",
    "LFDA",
    "LMNN",
    "LSML",
    "LSML_Supervised",
    "MLKR",
    "MMC",
    "MMC_Supervised",
    "NCA",
    "RCA",
    "RCA_Supervised",
    "SCML",
    "SCML_Supervised",
    "SDML",
    "SDML_Supervised",
    "__version__",
]
