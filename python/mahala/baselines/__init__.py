"""The methods GMML is compared with, one file each; ``docs/baselines.md`` says what each minimises."""

from ._covariance import Covariance
from ._dmlmj import DMLMJ
from ._euclidean import Euclidean
from ._flatgeo import FlatGeo
from ._gmml_regression import GMMLRegression
from ._itml import ITML
from ._kissme import KISSME
from ._lda import LDA
from ._ldml import LDML
from ._lego import LEGO
from ._lfda import LFDA
from ._lmnn import LMNN
from ._loreta import LORETA
from ._lsml import LSML
from ._mcml import MCML
from ._mlkr import MLKR
from ._mmc import MMC
from ._moml import MOML
from ._nca import NCA
from ._ncmml import NCMML
from ._oasis import OASIS
from ._pola import POLA
from ._rca import RCA
from ._robust_gmml import RobustGMML
from ._scml import SCML
from ._sdml import SDML
from ._xqda import XQDA

__all__ = [
    "DMLMJ",
    "ITML",
    "KISSME",
    "LDA",
    "LDML",
    "LEGO",
    "LFDA",
    "LMNN",
    "LORETA",
    "LSML",
    "MCML",
    "MLKR",
    "MMC",
    "MOML",
    "NCA",
    "NCMML",
    "OASIS",
    "POLA",
    "RCA",
    "SCML",
    "SDML",
    "XQDA",
    "Covariance",
    "Euclidean",
    "FlatGeo",
    "GMMLRegression",
    "RobustGMML",
]
