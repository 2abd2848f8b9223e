/** Bytes of one read: each is a turn of another thread, which takes its time on a busy machine. */
export const CHUNK = 1 << 20;

/** Enough for two files that are read, hashed and written at the same time. */
const MAX_FREE = 8;

/** Weak, so that an idle process keeps none of them. */
const free: WeakRef<Buffer>[] = [];
const taken = new WeakSet<ArrayBufferLike>();

/**
 * Returns a buffer for one read. A whole chunk gets a released buffer, if there is one, because the kernel clears every page of a new
 * megabyte, which takes longer than reading into it.
 */
export const takeBuffer = (length: number): Buffer => {
  if (length < CHUNK) return Buffer.allocUnsafe(length);
  const buffer = free.pop()?.deref() ?? Buffer.allocUnsafeSlow(CHUNK);
  taken.add(buffer.buffer);
  return buffer;
};

/**
 * Releases the buffer of a chunk for the next read. The caller must not use the chunk afterwards. Only whole chunks of `takeBuffer` are
 * released: other code may still use the rest of the buffer of a piece.
 */
export const releaseBuffer = ({ buffer, byteLength }: Uint8Array): void => {
  if (byteLength !== CHUNK || !taken.delete(buffer) || free.length === MAX_FREE) return;
  free.push(new WeakRef(Buffer.from(buffer as ArrayBuffer)));
};
