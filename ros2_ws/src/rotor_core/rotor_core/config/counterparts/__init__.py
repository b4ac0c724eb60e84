"""Controllers that are programs of others: shared libraries, and the autopilots that will fly."""
