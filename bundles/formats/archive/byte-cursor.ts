import { FleetError } from '../../errors.ts';

/** Sequential reader of bytes. One read at a time. */
export type ByteCursor = {
  /** Bytes handed out or skipped so far. */
  readonly position: () => number;
  /** Exactly `count` bytes, fewer only at the end. For small counts: they are held in memory. */
  readonly take: (count: number) => Promise<Uint8Array>;
  /** The bytes available, 1 to `most`; empty only at the end. A view, valid until the source reuses it. */
  readonly some: (most: number) => Promise<Uint8Array>;
  /** Skips up to `count` bytes and returns how many it skipped. */
  readonly skip: (count: number) => Promise<number>;
  /** Lets the source close what it opened. */
  readonly close: () => Promise<void>;
};

/** Source of a cursor. `next` returns 1 to `most` bytes, empty only at the end; `skip` returns the number of bytes skipped. */
export type CursorSource = {
  readonly next: (most: number) => Promise<Uint8Array>;
  readonly skip: (count: number) => Promise<number>;
  readonly close: () => Promise<void>;
};

const NOTHING = new Uint8Array(0);

/** A cursor over a stream; it skips by reading. Its reads reject with FleetError INTERNAL when two overlap, and with errors of the stream. */
export const byteCursor = (bytes: AsyncIterable<Uint8Array>): ByteCursor => {
  const stream = bytes[Symbol.asyncIterator]();
  let rest: Uint8Array = NOTHING;
  const next = async (most: number): Promise<Uint8Array> => {
    while (rest.length === 0) {
      const step = await stream.next();
      if (step.done === true) return NOTHING;
      rest = step.value;
    }
    const head = rest.subarray(0, most);
    rest = rest.subarray(head.length);
    return head;
  };
  const skip = async (count: number): Promise<number> => {
    let left = count;
    while (left > 0) {
      const { length } = await next(left);
      if (length === 0) break;
      left -= length;
    }
    return count - left;
  };
  const close = async (): Promise<void> => {
    await stream.return?.();
  };
  return cursorOf({ next, skip, close });
};

/** The reads reject with FleetError INTERNAL when two overlap, and with errors of the source. */
export const cursorOf = (source: CursorSource): ByteCursor => {
  let position = 0;
  let busy = false;

  /** Rejects overlapping reads, a bug of the caller: they would mix the bytes of two entries. */
  const alone = async <T>(read: () => Promise<T>): Promise<T> => {
    if (busy) throw new FleetError('INTERNAL', 'an archive is read in two places at the same time');
    busy = true;
    try {
      return await read();
    } finally {
      busy = false;
    }
  };

  const next = async (most: number): Promise<Uint8Array> => {
    const bytes = await source.next(most);
    position += bytes.length;
    return bytes;
  };

  const gather = async (count: number): Promise<Uint8Array> => {
    const parts: Buffer[] = [];
    for (let missing = count; missing > 0; ) {
      const part = await next(missing);
      if (part.length === 0) break;
      if (part.length === count) return part;
      // A copy: the source may reuse its buffer for the next chunk.
      parts.push(Buffer.from(part));
      missing -= part.length;
    }
    return Buffer.concat(parts);
  };

  return {
    position: () => position,
    take: (count) => alone(() => gather(count)),
    some: (most) => alone(() => next(most)),
    skip: (count) =>
      alone(async () => {
        const skipped = await source.skip(count);
        position += skipped;
        return skipped;
      }),
    close: source.close,
  };
};
