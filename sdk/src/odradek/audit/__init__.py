"""Auditing a run: a fold over its records that proves what Odradek promises of it, or names the records that refute it.

Pure: feed a `RunAudit` what a `read_committed` reader sees of the run, one partition after another, and ask it for its
`AuditReport`. `odradek_cli.auditing.audit` does so for a deployment.
"""

from odradek.audit.findings import Invariant, Violation
from odradek.audit.records import LogRecord, Place
from odradek.audit.report import AuditReport, Verdict
from odradek.audit.run import RunAudit

__all__ = ["AuditReport", "Invariant", "LogRecord", "Place", "RunAudit", "Verdict", "Violation"]
