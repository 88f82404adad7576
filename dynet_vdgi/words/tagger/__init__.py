"""From words to tags: a linear-chain CRF, and the tagger made of several."""
