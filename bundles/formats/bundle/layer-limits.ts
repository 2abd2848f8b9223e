/** Limits of one layer for every reader: bytes of the tar, and its entries with folders (docs/bundle-format.md section 15). */
export const LAYER_LIMITS = { maxBytes: 1 << 30, maxEntries: 200_000 };
