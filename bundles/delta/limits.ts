/** Uncompressed bytes of what a patch is made from and of what it makes: larger blobs travel whole. */
export const MAX_UNCOMPRESSED = 256 << 20;

/** A patch is read as one; a larger one would not have paid. */
export const MAX_PATCH_BYTES = 64 << 20;

/** A content of which every few bytes go their own way gains nothing by more: what is left is told. */
export const MAX_STEPS = 1 << 20;

/** zstd's window, as the power of two: the reader needs this much memory and a little. */
export const WINDOW_LOG = 23;
