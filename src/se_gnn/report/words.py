"""An explanation's sentence with its names apart, so that a page can isolate, color and link each of them."""

from __future__ import annotations

import dataclasses
import re
from typing import Literal, NamedTuple

from se_gnn.explain import Explanation


class Word(NamedTuple):
    """A piece of a sentence: plain text, or the id of a node or class that is named there."""

    kind: Literal["text", "node", "class"]
    text: str
    id: int = -1


def sentence_words(explanation: Explanation) -> list[Word]:
    """The sentence in pieces. No name goes through it: marks stand for them, so none can pass for a mark."""
    marked = dataclasses.replace(
        explanation,
        name=f"⟦n{explanation.node}⟧",
        class_names=tuple(f"⟦c{label}⟧" for label in range(len(explanation.class_names))),
        node_names={node: f"⟦n{node}⟧" for node in explanation.node_names},
        neighbors=tuple(
            dataclasses.replace(one, name=f"⟦n{one.node}⟧", label_name=f"⟦c{one.label}⟧")
            for one in explanation.neighbors
        ),
    )
    words = []
    for piece in re.split(r"(⟦[nc]\d+⟧)", marked.sentence()):
        if piece.startswith("⟦"):
            number = int(piece[2:-1])
            if piece[1] == "n":
                words.append(Word("node", explanation.node_names[number], number))
            else:
                words.append(Word("class", explanation.class_names[number], number))
        elif piece:
            words.append(Word("text", piece))
    return words
