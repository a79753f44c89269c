"""Embeddings adapted to labels, pairs or clicks by closed forms, for any vector store, without indexing again."""

from ._adapter import Adapter
from ._family import Member
from ._selection import Report, Trial

__all__ = ["Adapter", "Member", "Report", "Trial"]
