/** Bytes of one read: each is a turn of another thread, which takes its time on a busy machine. */
export const CHUNK = 1 << 20;

/** A read, a hash and a write at the same time, for two files. */
const MAX_FREE = 8;

/** Weak, so that an idle process keeps none of them. */
const free: WeakRef<Buffer>[] = [];
const taken = new WeakSet<ArrayBufferLike>();

/**
 * A buffer for one read. That of a whole chunk is one which was released, if there is one: the kernel clears every page of a new
 * megabyte, which takes longer than to read into it.
 */
export const takeBuffer = (length: number): Buffer => {
  if (length < CHUNK) return Buffer.allocUnsafe(length);
  const buffer = free.pop()?.deref() ?? Buffer.allocUnsafeSlow(CHUNK);
  taken.add(buffer.buffer);
  return buffer;
};

/**
 * Releases a chunk for the next read; nobody may read from it afterwards. Without effect for all but whole chunks from `takeBuffer`, so
 * that a piece of a chunk frees nothing that another piece needs.
 */
export const releaseBuffer = ({ buffer, byteLength }: Uint8Array): void => {
  if (byteLength !== CHUNK || !taken.delete(buffer) || free.length === MAX_FREE) return;
  free.push(new WeakRef(Buffer.from(buffer as ArrayBuffer)));
};
