/** Uncompressed bytes of what a patch is made from and of what it makes: larger blobs travel whole. */
export const MAX_UNCOMPRESSED = 256 << 20;

/** A patch is read as one; a larger one would not have paid. */
export const MAX_PATCH_BYTES = 64 << 20;

/** A content of which every few bytes go their own way gains nothing by more: what is left is told. */
export const MAX_STEPS = 1 << 20;

/** Of a patch that makes so many bytes: each step costs about as much as a few dozen of them. */
export const stepsOf = (size: number): number => Math.min(MAX_STEPS, 1024 + Math.floor(size / 16));

/** zstd's window, as the power of two: the reader needs this much memory and a little. */
export const WINDOW_LOG = 23;

/**
 * Uncompressed bytes that zlib is asked to pack at a level (0: none). Content made for it takes level 9 seconds for each MiB:
 * with these none takes longer than the most at level 6.
 */
export const mostPacked = (level: number): number =>
  MAX_UNCOMPRESSED >> ([0, 0, 0, 0, 0, 0, 0, 1, 2, 4][level] ?? 0);
