"""Embeddings adapted to labels, pairs or clicks by closed forms, for any vector store, without indexing again."""

from ._adapter import Adapter
from ._report import Member, Report, Trial

__all__ = ["Adapter", "Member", "Report", "Trial"]
