/** Limit of the uncompressed old and new content, in bytes: larger blobs are sent whole. */
export const MAX_UNCOMPRESSED = 256 << 20;

/** Limit of a patch, which is read into memory; a larger one would hardly save anything. */
export const MAX_PATCH_BYTES = 64 << 20;

/** Upper bound on copy and insert steps in one patch. Past it the remainder is stored as one insert. */
export const MAX_STEPS = 1 << 20;

/** Upper bound on steps for `size` bytes of new content: a step costs about as much as a few dozen bytes. */
export const stepsOf = (size: number): number => Math.min(MAX_STEPS, 1024 + Math.floor(size / 16));

/** zstd's window, as the power of two: the reader needs this much memory and a little. */
export const WINDOW_LOG = 23;

/**
 * Limit of uncompressed bytes that zlib compresses at a level (0: no compression). Malicious content takes level 9 seconds for each
 * MiB; with these limits no level takes longer than the largest content at level 6.
 */
export const maxPackedBytes = (level: number): number =>
  MAX_UNCOMPRESSED >> ([0, 0, 0, 0, 0, 0, 0, 1, 2, 4][level] ?? 0);
