"""Data sets by name; those that are embedded need no download."""

from se_gnn.datasets.registry import DatasetInfo, dataset_infos, dataset_names, load_dataset, register_datasets

__all__ = ["DatasetInfo", "dataset_infos", "dataset_names", "load_dataset", "register_datasets"]
