"""Knowledge available before training: transitions, rules, projective decoding. No DyNet."""
