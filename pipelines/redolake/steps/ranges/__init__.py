"""Old ranges of SCNs: replay them, close gaps with them, read the lake AS OF one, rebuild histories from them."""
