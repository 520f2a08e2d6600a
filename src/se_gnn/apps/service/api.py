"""The addresses of the service."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from se_gnn.apps.service import answers, models
from se_gnn.apps.service.models import LARGEST_ID, MOST_EDGES, MOST_EXPLAINED, MOST_NEAREST, MOST_NODES, MOST_ROWS
from se_gnn.apps.service.node_table import Answered, NodeQuery, Outcome, Part, Sort, part_of_map
from se_gnn.apps.service.openapi import EXPLANATION
from se_gnn.apps.service.store import Store
from se_gnn.apps.web import PROBLEMS, WorkPool
from se_gnn.explain import Explanation
from se_gnn.ranking import WhatIf

LONGEST_SEARCH = 200

NodePath = Annotated[int, Path(ge=0, le=LARGEST_ID, description="position of a node; /v1/nodes finds it by name")]
Offset = Annotated[int, Query(ge=0, le=LARGEST_ID)]
Share = Annotated[float, Query(ge=0, le=1)]


def add_routes(router: APIRouter, store: Store, pool: WorkPool) -> None:
    """Answer for a store; whatever computes runs in the pool."""

    @router.get("/model", response_model=models.ModelCard, responses=PROBLEMS)
    async def model() -> models.ModelCard:
        """The model that is served, and how good it is."""
        return await pool.run(answers.model_card, store.snapshot)

    @router.get("/nodes", response_model=models.NodePage, responses=PROBLEMS)
    async def nodes(
        search: Annotated[str, Query(max_length=LONGEST_SEARCH, description="words of name or caption")] = "",
        predicted: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="number of a class")] = None,
        label: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="number of a class")] = None,
        part: Part | None = None,
        outcome: Outcome | None = None,
        answered: Answered | None = None,
        least: Share = 0.0,
        most: Share = 1.0,
        left: Share = 0.0,
        bottom: Share = 0.0,
        right: Share = 1.0,
        top: Share = 1.0,
        sort: Sort = Sort.node,
        descending: bool = False,
        offset: Offset = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 25,
    ) -> models.NodePage:
        """All nodes: searched, filtered (by a region of the map, too), sorted, in pages."""
        query = NodeQuery(
            search=search, predicted=predicted, label=label, part=part, outcome=outcome, answered=answered,
            least=least, most=most, region=part_of_map(left, bottom, right, top), sort=sort, descending=descending,
        )  # fmt: skip
        return await pool.run(answers.node_page, store.snapshot, query, offset, limit)

    @router.get("/nodes/{node}", response_model=models.NodeRow, responses=PROBLEMS)
    async def node(node: NodePath) -> models.NodeRow:
        """One row of that table."""
        snapshot = store.snapshot
        return await pool.run(lambda: answers.node_row(snapshot, answers.node_id(snapshot, node)))

    @router.post("/predict", response_model=models.Predictions, responses=PROBLEMS)
    async def predict(request: models.PredictRequest) -> models.Predictions:
        """Predictions of some nodes with their votes."""
        return await pool.run(answers.predictions, store.snapshot, request.nodes)

    @router.get("/nodes/{node}/explanation", responses={**PROBLEMS, 200: EXPLANATION})
    async def explain(
        node: NodePath,
        k: Annotated[
            int, Query(ge=1, le=MOST_EXPLAINED, description="neighbors with matched edges and shared attributes")
        ] = 5,
        num_nearest: Annotated[int | None, Query(ge=1, le=MOST_NEAREST, description="K, not the model's")] = None,
        node_weight: Annotated[float | None, Query(ge=0, le=1, description="lambda, other than the model's")] = None,
        without: Annotated[
            list[int], Query(max_length=MOST_NODES, description="positions of labeled nodes that do not vote")
        ] = [],  # noqa: B006 - never changed
    ) -> Response:
        """Why a node was predicted as it was: the library's versioned JSON, also under other settings of the vote."""
        snapshot = store.snapshot
        kept = tuple(answers.node_id(snapshot, one) for one in without)
        other = WhatIf(num_nearest=num_nearest, node_weight=node_weight, without=kept)
        text = await pool.run(lambda: _json(answers.explanation(snapshot, node, k, other)))
        return Response(text, media_type="application/json")

    @router.get("/nodes/{node}/nearest", response_model=models.NearestPage, responses=PROBLEMS)
    async def nearest(
        node: NodePath, offset: Offset = 0, limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 25
    ) -> models.NearestPage:
        """The labeled nodes by their similarity with a node."""
        return await pool.run(answers.nearest, store.snapshot, node, offset, limit)

    @router.get("/nodes/{node}/local-graph", response_model=models.LocalGraphPage, responses=PROBLEMS)
    async def local_graph(
        node: NodePath, offset: Offset = 0, limit: Annotated[int, Query(ge=1, le=MOST_EDGES)] = 1000
    ) -> models.LocalGraphPage:
        """The edges around a node that are compared with those around labeled nodes."""
        return await pool.run(answers.local_graph, store.snapshot, node, offset, limit)

    @router.post("/similarity", response_model=models.SimilarityAnswer, responses=PROBLEMS)
    async def similarity(request: models.SimilarityRequest) -> models.SimilarityAnswer:
        """How similar two nodes are, and which of their edges match."""
        return await pool.run(answers.similarity, store.snapshot, request)

    @router.post("/what-if", response_model=models.WhatIfAnswer, responses=PROBLEMS)
    async def what_if(request: models.WhatIfRequest) -> models.WhatIfAnswer:
        """The vote with another K, another lambda, or without some labeled nodes; nothing is trained again."""
        return await pool.run(answers.what_if, store.snapshot, request)

    @router.get("/map", response_model=models.MapAnswer, responses=PROBLEMS)
    async def node_map() -> Any:
        """All nodes on a plane, by their embeddings."""
        snapshot = store.snapshot
        text = await pool.run(lambda: answers.node_map(snapshot).model_dump_json())
        return Response(text, media_type="application/json")


def _json(explanation: Explanation) -> bytes:
    return explanation.to_json(indent=None).encode("utf-8", "replace")
