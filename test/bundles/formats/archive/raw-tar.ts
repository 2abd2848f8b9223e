/**
 * Tar blocks put together by hand, so that tests can write what our writer refuses to, and so that the writer is
 * compared with something that does not share its code.
 */
export type RawEntry = {
  name: string | Uint8Array;
  content?: Uint8Array | string;
  type?: string;
  /** The text of the twelve bytes of the size field, if not the true size. */
  size?: string | Uint8Array;
  mode?: string;
  prefix?: string;
  linkName?: string;
  magic?: string;
  rest?: string;
  /** Text of the eight bytes of the checksum field, if not the true sum. */
  checksum?: string;
};

export const rawHeader = (entry: RawEntry): Buffer => {
  const block = Buffer.alloc(512);
  const put = (value: string | Uint8Array, at: number): void => {
    Buffer.from(value as string, 'latin1').copy(block, at);
  };
  const content = Buffer.from((entry.content ?? '') as string);
  put(entry.name, 0);
  put(entry.mode ?? '0000644\0', 100);
  put('0000000\0'.repeat(2), 108);
  put(entry.size ?? `${content.length.toString(8).padStart(11, '0')}\0`, 124);
  put('00000000000\0', 136);
  put(entry.type ?? '0', 156);
  put(entry.linkName ?? '', 157);
  put(entry.magic ?? 'ustar\x0000', 257);
  put(entry.prefix ?? '', 345);
  put(entry.rest ?? '', 500);
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(entry.checksum ?? `${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
};

export const rawTar = (entries: readonly RawEntry[], end: Uint8Array = Buffer.alloc(1024)): Buffer =>
  Buffer.concat([
    ...entries.flatMap((entry) => {
      const content = Buffer.from((entry.content ?? '') as string);
      return [rawHeader(entry), content, Buffer.alloc((512 - (content.length % 512)) % 512)];
    }),
    end,
  ]);
