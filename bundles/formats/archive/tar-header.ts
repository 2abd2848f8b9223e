import { FleetError } from '../../errors.ts';

/** Everything in a tar is counted in blocks of 512 bytes (POSIX.1-2017, pax, "ustar Interchange Format"). */
export const BLOCK = 512;

/** The largest size that eleven octal digits hold. Larger blobs are split into parts, so base-256 sizes are never needed. */
export const MAX_SIZE = 8 ** 11 - 1;

/** `name` and `prefix` are as stored: a directory's name ends in '/'. `size` in bytes. */
export type TarHeader = {
  readonly name: string;
  readonly prefix: string;
  readonly size: number;
  readonly mode: number;
  readonly directory: boolean;
};

/** Offset and length of each field. */
const FIELDS = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  linkName: [157, 100],
  magic: [257, 8],
  prefix: [345, 155],
  rest: [500, 12],
} as const;

type Field = keyof typeof FIELDS;

const USTAR = 'ustar\u000000';
/** The magic that GNU tar writes by default. Without GNU extensions the header reads as ustar. */
const GNU = 'ustar  \u0000';

const TYPE_NAMES: Readonly<Record<string, string>> = {
  '\u0000': 'an entry of the time before ustar',
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a FIFO',
  '7': 'a contiguous file',
  D: 'a GNU directory listing',
  K: 'a GNU long link name',
  L: 'a GNU long name',
  M: 'a GNU multi-volume part',
  S: 'a GNU sparse file',
  V: 'a GNU volume label',
  g: 'a global pax header',
  x: 'a pax header',
};

/** Bytes of padding after content of this size. */
export const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

/** A callback for each byte took a twentieth of the time of a comparison with releases. */
export const isZero = (bytes: Uint8Array): boolean => {
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] !== 0) return false;
  return true;
};

/**
 * One header block: type '0' or '5', owner 0, time 0, names of owners empty.
 * @throws FleetError BAD_NAME when name or prefix do not fit their fields, TAR_SIZE when the size needs more than
 * eleven octal digits
 */
export const encodeHeader = (header: TarHeader): Buffer => {
  const block = Buffer.alloc(BLOCK);
  writeHeader(block, 0, header);
  return block;
};

/** Writes a header into a zeroed block of `tar`. @throws FleetError BAD_NAME, TAR_SIZE */
export const writeHeader = (tar: Buffer, at: number, header: TarHeader): void => {
  const { name, prefix, size, mode, directory } = header;
  if (name === '' || byteLength(name) > 100 || byteLength(prefix) > 155) {
    throw new FleetError('BAD_NAME', 'the name does not fit a tar header', { subject: quoted(name) });
  }
  if (!Number.isSafeInteger(size) || size < 0 || size > MAX_SIZE) {
    throw new FleetError('TAR_SIZE', `a tar entry holds 0 to ${MAX_SIZE} bytes, not ${size}`, {
      subject: quoted(name),
      hint: 'Write it in parts',
    });
  }
  tar.set(COMMON, at);
  // The constant fields are summed once: a header is written for every file of a fleet.
  const sum =
    COMMON_SUM +
    putText(tar, at + FIELDS.name[0], name) +
    putOctal(tar, at + FIELDS.mode[0], mode, 7) +
    putOctal(tar, at + FIELDS.size[0], size, 11) +
    putText(tar, at + FIELDS.prefix[0], prefix) +
    putText(tar, at + FIELDS.type[0], directory ? '5' : '0');
  putOctal(tar, at + FIELDS.checksum[0], sum, 6);
  tar[at + FIELDS.checksum[0] + 7] = 0x20;
};

/** Writes a text and returns the sum of its bytes. */
const putText = (tar: Buffer, at: number, text: string): number => {
  let sum = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x80) {
      const end = at + tar.write(text, at);
      sum = 0;
      for (let byte = at; byte < end; byte++) sum += tar[byte] as number;
      return sum;
    }
    tar[at + index] = unit;
    sum += unit;
  }
  return sum;
};

/** Writes octal digits and returns the sum of their bytes. */
const putOctal = (tar: Buffer, at: number, value: number, digits: number): number => {
  let sum = 0;
  let rest = value;
  for (let index = digits - 1; index >= 0; index--) {
    const next = Math.floor(rest / 8);
    const digit = 0x30 + rest - next * 8;
    tar[at + index] = digit;
    sum += digit;
    rest = next;
  }
  return sum;
};

const byteLength = (text: string): number =>
  // A UTF-16 unit takes at most three bytes.
  text.length * 3 <= 100 ? text.length : Buffer.byteLength(text);

/**
 * Reads one header block and refuses every field that two readers could understand differently (security design,
 * section 5: types '0' and '5' only, no extensions, no links).
 * @param at byte offset of the block, for the message
 * @throws FleetError TAR_CHECKSUM, ENTRY_TYPE, TAR_SIZE, BAD_NAME
 */
export const decodeHeader = (block: Uint8Array, at: number): TarHeader => {
  const header = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const where = `the tar header at byte ${at}`;
  const stored = /^([0-7]{6,7})[\0 ]+$/u.exec(textOf(header, 'checksum'))?.[1];
  if (stored === undefined || Number.parseInt(stored, 8) !== checksumOf(header)) {
    throw new FleetError('TAR_CHECKSUM', `${where} is damaged: its checksum is wrong`);
  }
  const directory = readType(header, where);
  const size = readSize(header, where);
  if (directory && size !== 0) throw new FleetError('TAR_SIZE', `${where} gives a directory ${size} bytes`);
  const mode = /^([0-7]{1,7})[\0 ]+$/u.exec(textOf(header, 'mode'))?.[1];
  if (mode === undefined) throw new FleetError('ENTRY_TYPE', `${where} has no octal mode`);
  return {
    name: readName(header, 'name', where),
    prefix: readName(header, 'prefix', where),
    size,
    mode: Number.parseInt(mode, 8) & 0o7777,
    directory,
  };
};

/** Untrusted text for a message: quoted, escaped, at most 100 characters. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);

const readType = (header: Buffer, where: string): boolean => {
  const type = textOf(header, 'type');
  if (type !== '0' && type !== '5') {
    const name = TYPE_NAMES[type] ?? `an entry of type ${quoted(type)}`;
    throw new FleetError('ENTRY_TYPE', `${where} is ${name}; only files and directories are read`);
  }
  const magic = textOf(header, 'magic');
  if (magic !== USTAR && magic !== GNU) throw new FleetError('ENTRY_TYPE', `${where} is not ustar`);
  // GNU tar keeps times, offsets and sparse maps where ustar has the prefix: used only by its extensions.
  const extended = !isZero(bytesOf(header, 'rest')) || (magic === GNU && !isZero(bytesOf(header, 'prefix')));
  if (extended || !isZero(bytesOf(header, 'linkName'))) {
    throw new FleetError('ENTRY_TYPE', `${where} has fields that plain files and directories leave empty`);
  }
  return type === '5';
};

const readSize = (header: Buffer, where: string): number => {
  const text = textOf(header, 'size');
  const digits = /^([0-7]{1,11})[\0 ]+$/u.exec(text)?.[1];
  if (digits !== undefined) return Number.parseInt(digits, 8);
  throw new FleetError('TAR_SIZE', `${where} has a size that ${faultOfSize(text)}`);
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads up to the first NUL. Only NULs may follow: a reader in C would see another name. */
const readName = (header: Buffer, field: 'name' | 'prefix', where: string): string => {
  const bytes = bytesOf(header, field);
  const end = bytes.indexOf(0);
  const used = end === -1 ? bytes : bytes.subarray(0, end);
  if (!isZero(bytes.subarray(used.length))) {
    throw new FleetError('BAD_NAME', `${where} has a NUL inside its ${field}`);
  }
  try {
    return utf8.decode(used);
  } catch (cause) {
    throw new FleetError('BAD_NAME', `${where} has a ${field} that is not UTF-8`, { cause });
  }
};

const bytesOf = (header: Buffer, field: Field): Buffer =>
  header.subarray(FIELDS[field][0], FIELDS[field][0] + FIELDS[field][1]);

const textOf = (header: Buffer, field: Field): string => bytesOf(header, field).toString('latin1');

/** Sum of all bytes, with the eight of the checksum counted as spaces. */
const checksumOf = (header: Buffer): number => {
  const [start, length] = FIELDS.checksum;
  let sum = length * 0x20;
  for (let index = 0; index < start; index += 1) sum += header[index] as number;
  for (let index = start + length; index < BLOCK; index += 1) sum += header[index] as number;
  return sum;
};

/** Fields that all headers we write share: owner 0, time 0, the magic. */
const COMMON = ((): Buffer => {
  const block = Buffer.alloc(BLOCK);
  putOctal(block, FIELDS.uid[0], 0, 7);
  putOctal(block, FIELDS.gid[0], 0, 7);
  putOctal(block, FIELDS.mtime[0], 0, 11);
  block.write(USTAR, FIELDS.magic[0]);
  return block;
})();
const COMMON_SUM = checksumOf(COMMON);

const faultOfSize = (text: string): string => {
  if (text.charCodeAt(0) >= 0x80) return 'is in base 256 (negative, or over 8 GiB)';
  return text.includes('-') ? 'is negative' : 'is not octal';
};
