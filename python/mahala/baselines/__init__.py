"""The methods GMML is compared with, one file each; ``docs/baselines.md`` says what each minimises."""

from ._covariance import Covariance
from ._euclidean import Euclidean
from ._flatgeo import FlatGeo
from ._itml import ITML
from ._lmnn import LMNN
from ._mcml import MCML
from ._mmc import MMC
from ._nca import NCA

__all__ = ["ITML", "LMNN", "MCML", "MMC", "NCA", "Covariance", "Euclidean", "FlatGeo"]
