"""Trajectories sampled for queries with tools that run, until what is expected was returned."""
