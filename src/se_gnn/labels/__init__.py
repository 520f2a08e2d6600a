"""The labeled memory of a model: audit it, edit it, and know what would change an answer."""

from se_gnn.labels.audit import Audit, AuditRow, Finding, audit
from se_gnn.labels.certificates import Certificates, certify
from se_gnn.labels.edits import Preview, preview
from se_gnn.labels.memory import Memory

__all__ = ["Audit", "AuditRow", "Certificates", "Finding", "Memory", "Preview", "audit", "certify", "preview"]
