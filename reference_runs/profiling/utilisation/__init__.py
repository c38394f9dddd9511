"""Utilization of CPUs, memory, disks, networks and GPU during a level."""
