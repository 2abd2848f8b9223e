/** Unsigned LEB128: seven bits a byte, the lowest first. Up to 2^49 - 1, seven bytes. */
export const MAX_VARINT_BYTES = 7;

export const encodeVarint = (value: number): Buffer => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Buffer.from(bytes);
};

/** Zigzag encoding, so that small numbers of either sign take few bytes: 0, -1, 1, -2 ... */
export const toZigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);
export const fromZigzag = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);
