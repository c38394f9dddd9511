"""How busy processors, memory, disks, networks and GPU are while a level is measured."""
