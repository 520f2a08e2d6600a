"""The labels page: which labels look wrong, which nodes to label next, what an edit would change, and undoing it.

Anybody who may see the pages may look and preview. Editing needs a server that was started with a token, and a model
in a folder; each form then carries a proof made from the token, which a page on another site cannot know.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException

from se_gnn.apps.explorer.views import Views
from se_gnn.apps.service.answers import table_of
from se_gnn.apps.service.models import NodeId
from se_gnn.apps.service.store import Snapshot, Store
from se_gnn.apps.web import WebSettings
from se_gnn.apps.web.guard import Session
from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray
from se_gnn.labels import Memory, Preview
from se_gnn.labels.memory import edit_folder
from se_gnn.labels.suggest import suggest
from se_gnn.labels.values import audit_values
from se_gnn.model import Model
from se_gnn.report.page import page_audit

SHOWN = 20  # suspicious labels
MOST_CHANGED = 50  # predictions that a preview lists
LONGEST_FIELD = 10_000


class Edit(BaseModel):
    """An edit as a form asks for it; ``state`` is how many edits there were when the form was made."""

    model_config = ConfigDict(str_strip_whitespace=True, str_max_length=LONGEST_FIELD)

    action: Literal["add", "remove", "relabel", "restore"]
    node: str = ""
    label: str = ""
    number: NodeId = 0
    state: NodeId = 0
    reason: str = ""
    by: str = ""
    proof: str = ""

    def apply(self, memory: Memory, *, dry_run: bool) -> Preview:
        """Edit a memory; an error if somebody else has edited it since the form was made."""
        if len(memory.history) != self.state:
            raise InputError("the labels were edited in the meantime: go back to the labels page and look again")
        node = None if self.action == "restore" else memory.trained.graph.nodes.find(self.node)
        what = {"restore": self.number, "remove": [node]}.get(self.action, {node: self.label})
        edit = getattr(memory, self.action)
        found: Preview = edit(what, reason=self.reason, by=self.by or None, dry_run=dry_run)
        return found


async def _form(request: Request) -> Edit:
    """The edit that a form asks for; of fields with the same name the last."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=16)
    try:
        return Edit.model_validate({name: values[-1] for name, values in fields.items()})
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


Form = Annotated[Edit, Depends(_form)]


class LabelPages:
    """The pages about labels."""

    def __init__(self, store: Store, views: Views, settings: WebSettings) -> None:
        self.store, self._views = store, views
        self._session = None if settings.token is None else Session(settings.token)

    @property
    def why_not(self) -> str | None:
        """Why labels cannot be edited here; None: they can."""
        if self.store.folder is None:
            return "This model is not in a folder, so its labels cannot be edited here."
        if self.store.graph_folder is not None:
            return "This server shows another graph than the model's own, so labels cannot be edited here."
        if self._session is None:
            return "To edit labels here, start the server with --token-file."
        return None

    def overview(self, snapshot: Snapshot) -> str:
        """Suspicious labels, nodes to label next, and the history."""
        table = table_of(snapshot)  # or 503
        found = snapshot.once("findings", lambda: _findings(snapshot.trained, table.nodes))
        return self._views.render("labels.html", snapshot, table=table, why_not=self.why_not, **found)

    def preview(self, snapshot: Snapshot, edit: Form) -> str:
        """What an edit would change, and a form to make it."""
        found = edit.apply(Memory(snapshot.trained), dry_run=True)
        return self._views.render(
            "label_preview.html", snapshot, edit=edit, preview=found, changed=found.changed[:MOST_CHANGED],
            proof="" if self._session is None else self._session.proof, why_not=self.why_not,
        )  # fmt: skip

    def edit(self, snapshot: Snapshot, edit: Form) -> Response:
        """Edit the model in the folder, serve the new one, and go back to the labels."""
        if self.why_not is not None or self._session is None or self.store.folder is None:
            raise HTTPException(403, self.why_not or "labels cannot be edited here")
        if not self._session.is_proof(edit.proof):
            raise HTTPException(403, "this form is not from this server: open the labels page and try again")
        edit_folder(self.store.folder, lambda memory: edit.apply(memory, dry_run=False))
        self.store.refresh()
        return Response(status_code=303, headers={"Location": "/labels"})


def _findings(trained: Model, nodes: IntArray) -> dict[str, Any]:
    """Suspicious labels or numbers, nodes to label next, and the history; ``nodes``: those of the table."""
    try:
        suggestions = suggest(trained, seed=trained.facts.seed)
    except InputError:  # every node is labeled, or in the split
        suggestions = []
    found: dict[str, Any] = {"suggestions": suggestions, "history": Memory(trained).history}
    if trained.graph.predicts_numbers:
        return {**found, "audit": audit_values(trained, seed=trained.facts.seed), "most": SHOWN}
    judged = page_audit(trained, nodes)
    rows = [row for row in judged or () if row.findings or row.suggested != row.label][:SHOWN]
    return {**found, "rows": rows, "audit": judged}
