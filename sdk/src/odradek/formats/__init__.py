"""Rollouts as files: what other programs write is read as trajectories with their rewards, and the other way round.

All of it is pure but for the files: no Kafka, no keys. See docs/formats.md for what each format holds.
"""

from odradek.formats.reading import read_records, scan_records
from odradek.formats.records import BadRecord, Format, Record
from odradek.formats.writing import open_writer

__all__ = ["BadRecord", "Format", "Record", "open_writer", "read_records", "scan_records"]
