"""A linear map as a module folder of sentence-transformers."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import _mahala


def write_dense(folder: str | PathLike[str], components: NDArray[np.float64], mean: NDArray[np.float64]) -> None:
    """Writes z = L (x - m) as a ``Dense`` module: weight L, bias -L m, and no activation; in single precision."""
    with np.errstate(over="ignore"):
        weight, bias = components.astype("<f4"), (-(components @ mean)).astype("<f4")
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise ValueError("the map has numbers beyond single precision, in which sentence-transformers computes; scale the rows first")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    config = {
        "in_features": components.shape[1],
        "out_features": components.shape[0],
        "bias": True,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    _mahala.write_file(place / "model.safetensors", safetensors({"linear.bias": bias, "linear.weight": weight}))
    _mahala.write_file(place / "config.json", (json.dumps(config, indent=2) + "\n").encode())


def safetensors(tensors: dict[str, NDArray[np.float32]]) -> bytes:
    """Arrays of float32 as a file: the length of the header in 8 bytes, the header in JSON, and the cells."""
    header, end = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [end, end + tensor.nbytes]}
        end += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    cells = (np.ascontiguousarray(tensor, dtype="<f4").tobytes() for tensor in tensors.values())
    return b"".join([len(text).to_bytes(8, "little"), text, *cells])
