"""Data as people see it: values of a table, rows of a node, texts that are safe to print, tables for a terminal."""
