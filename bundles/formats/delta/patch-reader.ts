import { MAX_VARINT_BYTES } from './varint.ts';

/** Sequential reader of an uncompressed patch. `number` returns a promise only when it has to read: a patch may have a million numbers. */
export type PatchReader = {
  /** Exactly `count` bytes; fewer only at the end. */
  readonly take: (count: number) => Promise<Uint8Array>;
  /** The bytes available, 1 to `most`; empty only at the end. */
  readonly some: (most: number) => Promise<Uint8Array>;
  /** Unsigned LEB128; 'ends' at the end of the patch, 'endless' when it has too many bytes. */
  readonly number: () => NumberRead | Promise<NumberRead>;
  /** Ends the decompression. */
  readonly close: () => Promise<void>;
};

export type NumberRead = number | 'ends' | 'endless';

export const patchReader = (bytes: AsyncIterable<Uint8Array>): PatchReader => {
  const stream = bytes[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array(0);
  let at = 0;

  /** Buffers at least `count` bytes, fewer only at the end. */
  const fill = async (count: number): Promise<void> => {
    while (rest.length - at < count) {
      const step = await stream.next();
      if (step.done === true) return;
      rest = at === rest.length ? step.value : Buffer.concat([rest.subarray(at), step.value]);
      at = 0;
    }
  };
  const hand = (most: number): Uint8Array => {
    const bytes = rest.subarray(at, at + most);
    at += bytes.length;
    return bytes;
  };
  const numberAtHand = (): NumberRead => {
    let value = 0;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const byte = rest[at];
      if (byte === undefined) return 'ends';
      at += 1;
      value += (byte & 127) * 128 ** index;
      if (byte < 128) return value;
    }
    return 'endless';
  };
  return {
    take: async (count) => {
      await fill(count);
      return hand(count);
    },
    some: async (most) => {
      await fill(1);
      return hand(most);
    },
    number: () =>
      rest.length - at >= MAX_VARINT_BYTES ? numberAtHand() : fill(MAX_VARINT_BYTES).then(numberAtHand),
    close: async () => {
      await stream.return?.();
    },
  };
};
