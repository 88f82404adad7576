"""Rule tables, and the prior over arcs that they and a text give. No DyNet."""
