import type { ByteCursor } from '#bundles/formats/archive/byte-cursor';
import { FleetError } from '#bundles/errors';

/** One member of an ar archive (deb(5), ar(5)). Its content follows in the cursor. */
export type ArMember = { readonly name: string; readonly size: number };

const MAGIC = '!<arch>\n';
const HEADER = 60;

/** @throws FleetError CONTENT_INVALID for content that is not an ar archive */
export const openAr = async (cursor: ByteCursor): Promise<void> => {
  const magic = Buffer.from(await cursor.take(MAGIC.length)).toString('latin1');
  if (magic !== MAGIC) throw broken('it is not an ar archive');
};

/** The next member's header; undefined at the end. @throws FleetError CONTENT_INVALID */
export const nextMember = async (cursor: ByteCursor): Promise<ArMember | undefined> => {
  const header = Buffer.from(await cursor.take(HEADER)).toString('latin1');
  if (header.length === 0) return undefined;
  if (header.length < HEADER || header.slice(58) !== '`\n') throw broken('a member of it has no header');
  const name = header.slice(0, 16).trimEnd().replace(/\/$/, '');
  const size = /^([0-9]{1,10}) *$/.exec(header.slice(48, 58))?.[1];
  // Some dialects store long names elsewhere; the members of a Debian package have short names.
  if (!/^[a-z0-9._-]{1,16}$/.test(name)) throw broken(`a member of it is called ${JSON.stringify(name)}`);
  if (size === undefined) throw broken(`its member ${name} has no size`);
  return { name, size: Number(size) };
};

/** Members begin at even bytes. @throws FleetError CONTENT_INVALID if the file ends inside the padding */
export const skipMember = async (cursor: ByteCursor, { name, size }: ArMember): Promise<void> => {
  if ((await cursor.skip(size)) < size) throw broken(`it ends within its member ${name}`);
  if (size % 2 === 1) await cursor.skip(1);
};

/** @throws FleetError CONTENT_INVALID for a member larger than `maxBytes`, or truncated */
export const takeMember = async (
  cursor: ByteCursor,
  { name, size }: ArMember,
  maxBytes: number,
): Promise<Buffer> => {
  if (size > maxBytes)
    throw broken(`its member ${name} has ${size} bytes, more than the ${maxBytes} that are read`);
  const bytes = Buffer.from(await cursor.take(size));
  if (bytes.byteLength < size) throw broken(`it ends within its member ${name}`);
  if (size % 2 === 1) await cursor.skip(1);
  return bytes;
};

export const broken = (why: string): FleetError => new FleetError('CONTENT_INVALID', why);
