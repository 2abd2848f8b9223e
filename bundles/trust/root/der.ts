/**
 * The subset of DER (X.690) in certificates and certificate requests: a writer, and a reader that rejects everything outside of
 * this subset.
 */

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** One value: tag, length, content; constructed ones (bit 6) hold more values. */
export const encodeDer = (tag: number, ...content: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), encodeLength(body.length), body]);
};

export const sequence = (...content: readonly Uint8Array[]): Buffer => encodeDer(TAG.sequence, ...content);

export const set = (...content: readonly Uint8Array[]): Buffer => encodeDer(TAG.set, ...content);

/** '1.2.840.10045.4.3.2': two arcs in the first byte, then seven bits a byte. */
export const oid = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return encodeDer(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(encodeArc)]));
};

/** @param unused bits at the end of the last byte that do not count */
export const bitString = (bytes: Uint8Array, unused = 0): Buffer =>
  encodeDer(TAG.bitString, Buffer.from([unused]), bytes);

/** A non-negative integer from big-endian bytes, in its shortest encoding. */
export const unsigned = (bytes: Uint8Array): Buffer => {
  const first = bytes.findIndex((byte) => byte !== 0);
  const body = first === -1 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  // A leading bit that is set would make it negative.
  return encodeDer(
    TAG.integer,
    ((body[0] ?? 0) & 0x80) === 0 ? body : Buffer.concat([Buffer.from([0]), body]),
  );
};

export const TRUE: Buffer = Buffer.from([TAG.boolean, 1, 0xff]);

/** As certificates write times (RFC 5280 section 4.1.2.5): two digits of the year until 2049, then four. */
export const time = (date: Date): Buffer => {
  const digits = `${date.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
  return date.getUTCFullYear() < 2050
    ? encodeDer(TAG.utcTime, Buffer.from(digits.slice(2), 'ascii'))
    : encodeDer(TAG.generalizedTime, Buffer.from(digits, 'ascii'));
};

const encodeLength = (length: number): Buffer => {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = minimalBytes(length);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
};

const minimalBytes = (value: number): number[] =>
  value < 0x100 ? [value] : [...minimalBytes(Math.floor(value / 0x100)), value % 0x100];

const encodeArc = (arc: number): number[] => {
  const bytes = [arc & 0x7f];
  for (let rest = arc >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
};

export type Der = {
  readonly tag: number;
  /** The bytes of the value in the input with tag and length, over which signatures are made. */
  readonly raw: Buffer;
  readonly content: Buffer;
  /** Empty unless the tag says constructed. */
  readonly children: readonly Der[];
};

const MAX_DEPTH = 16;

/**
 * Decodes exactly one value without trailing bytes; only definite lengths in their shortest encoding.
 * @throws RangeError
 */
export const decodeDer = (bytes: Buffer): Der => {
  const [value, ...more] = decodeAll(bytes, MAX_DEPTH);
  if (!value || more.length > 0) throw new RangeError('DER: not exactly one value');
  return value;
};

const decodeAll = (bytes: Buffer, depth: number): Der[] => {
  if (depth === 0) throw new RangeError('DER: nested too deep');
  const values: Der[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { tag, start, end } = decodeHead(bytes, at);
    const content = bytes.subarray(start, end);
    const children = (tag & 0x20) === 0 ? [] : decodeAll(content, depth - 1);
    values.push({ tag, raw: bytes.subarray(at, end), content, children });
    at = end;
  }
  return values;
};

const decodeHead = (bytes: Buffer, at: number): { tag: number; start: number; end: number } => {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw new RangeError('DER: ends in the middle of a value');
  if ((tag & 0x1f) === 0x1f) throw new RangeError('DER: tags of several bytes are not used here');
  const size = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || size > 3) throw new RangeError('DER: length is indefinite or far too long');
  const start = at + 2 + size;
  if (start > bytes.length) throw new RangeError('DER: ends in the middle of a length');
  const length = size === 0 ? first : bytes.readUIntBE(at + 2, size);
  if (!encodeLength(length).equals(bytes.subarray(at + 1, start))) {
    throw new RangeError('DER: length is not written the shortest way');
  }
  if (start + length > bytes.length) throw new RangeError('DER: ends in the middle of a value');
  return { tag, start, end: start + length };
};
