"""Research around SE-GNN that needs the repository: baselines, attacks, data sets, metrics, ratings by people.

The lab imports `se_gnn`; `se_gnn` never imports the lab, which is not part of the installed package.
"""
