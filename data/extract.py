"""Write wine.csv, iris.csv and breast-cancer-wdbc.csv from the copies inside scikit-learn.

Usage: python data/extract.py [FOLDER]      (default: the folder of this script)

Each file: a header with the feature names and `label`, then one row per sample. Feature values are
the shortest decimals that read back as the same 64-bit float; whole numbers have no decimal point.
"""

import hashlib
import importlib.metadata
import sys
from pathlib import Path

from sklearn import datasets


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    print("scikit-learn", importlib.metadata.version("scikit-learn"), file=sys.stderr)
    iris, wine, wdbc = datasets.load_iris(), datasets.load_wine(), datasets.load_breast_cancer()
    write(folder / "iris.csv", iris, list(iris.target_names))
    write(folder / "wine.csv", wine, ["0", "1", "2"])
    write(folder / "breast-cancer-wdbc.csv", wdbc, list(wdbc.target_names))


def write(path, bunch, class_names):
    header = [name.lower().replace(" ", "_") for name in bunch.feature_names] + ["label"]
    lines = [",".join(header)]
    for row, target in zip(bunch.data.tolist(), bunch.target.tolist(), strict=True):
        lines.append(",".join([decimal(x) for x in row] + [str(class_names[target])]))
    content = ("\n".join(lines) + "\n").encode("ascii")
    path.write_bytes(content)
    print(f"{hashlib.sha256(content).hexdigest()}  {path.name}")


def decimal(x):
    return str(int(x)) if x.is_integer() else repr(x)


if __name__ == "__main__":
    main()
