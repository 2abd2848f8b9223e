import { zstdDecompressSync } from 'node:zlib';
import { type ByteCursor, byteCursor } from '#bundles/formats/archive/byte-cursor';
import { gunzipCapped } from '#bundles/formats/archive/gzip';
import { BLOCK, decodeHeader, isZero, paddingOf } from '#bundles/formats/archive/tar-header';
import { FleetError } from '#bundles/errors';
import { verified } from '#bundles/formats/layout/verified';
import type { Content } from '../content.ts';
import { broken, nextMember, openAr, skipMember, takeMember } from './read-ar.ts';
import { type Control, readControl } from './read-control.ts';

/** Decompresses with the program xz, at most `maxBytes` bytes. Node has no xz decoder. */
export type Unxz = (bytes: Buffer, maxBytes: number, signal: AbortSignal) => Promise<Buffer>;

/**
 * Maximum bytes of the control archive, compressed and uncompressed: scripts and a list of files; 16 MiB list about a hundred
 * thousand files.
 */
const MAX_PACKED = 8 << 20;
const MAX_CONTROL = 16 << 20;

/**
 * Reads the control data of a Debian package (deb(5)). All bytes are read once and validated.
 * @throws FleetError CONTENT_INVALID with the reason; TOOL_MISSING, DIGEST_MISMATCH
 */
export const readDeb = async (content: Content, unxz: Unxz, signal: AbortSignal): Promise<Control> => {
  const { digest, size, source } = content;
  const cursor = byteCursor(verified(digest, size, await source.open(digest, signal), source.name));
  try {
    await openAr(cursor);
    const first = await nextMember(cursor);
    if (first?.name !== 'debian-binary') throw broken('its first member is not debian-binary');
    const version = (await takeMember(cursor, first, 64)).toString('latin1');
    if (!/^2\.[0-9]+\n/.test(version)) throw broken('it is not of format 2');
    const control = await controlMember(cursor, unxz, signal);
    await checkData(cursor);
    return readControl(fileIn(control));
  } finally {
    await cursor.close();
  }
};

/** Readers skip members between the two whose names begin with an underscore (deb(5)). */
const controlMember = async (cursor: ByteCursor, unxz: Unxz, signal: AbortSignal): Promise<Buffer> => {
  for (;;) {
    const member = await nextMember(cursor);
    if (!member) throw broken('it has no control archive');
    if (member.name.startsWith('_')) {
      await skipMember(cursor, member);
      continue;
    }
    const packed = await takeMember(cursor, member, MAX_PACKED);
    return await unpack(member.name, packed, unxz, signal);
  }
};

const unpack = async (name: string, packed: Buffer, unxz: Unxz, signal: AbortSignal): Promise<Buffer> => {
  switch (name) {
    case 'control.tar':
      return packed;
    case 'control.tar.gz':
      return wrapped(() => gunzipCapped(packed, MAX_CONTROL));
    case 'control.tar.zst':
      return wrapped(() => zstdDecompressSync(packed, { maxOutputLength: MAX_CONTROL }));
    case 'control.tar.xz':
      return await unxz(packed, MAX_CONTROL, signal);
    default:
      throw broken(`its second member is ${name}, and no control archive that is known`);
  }
};

const wrapped = (read: () => Buffer): Buffer => {
  try {
    return read();
  } catch (cause) {
    const why =
      (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'is too large' : 'is damaged';
    throw new FleetError('CONTENT_INVALID', `its control archive ${why}`, { cause });
  }
};

/** Reads the data archive to its end: dpkg would install a truncated package partially. */
const checkData = async (cursor: ByteCursor): Promise<void> => {
  let data: string | undefined;
  for (let member = await nextMember(cursor); member; member = await nextMember(cursor)) {
    if (member.name.startsWith('data.tar') && data === undefined) data = member.name;
    else if (!member.name.startsWith('_')) throw broken(`it has a member ${member.name} too many`);
    await skipMember(cursor, member);
  }
  if (data === undefined) throw broken('it has no data archive');
};

const CONTROL = new Set(['control', './control']);

/** Strict, because different tar readers could see different packages in an ambiguous archive. */
const fileIn = (tar: Buffer): Buffer => {
  let found: Buffer | undefined;
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const block = tar.subarray(at, at + BLOCK);
    if (isZero(block)) break;
    const { name, prefix, size, directory } = headerAt(block, at);
    const bytes = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (bytes.byteLength < size) throw broken('its control archive ends too early');
    if (prefix === '' && CONTROL.has(name) && !directory) {
      if (found) throw broken('its control archive has two control files');
      found = bytes;
    }
    at += BLOCK + size + paddingOf(size);
  }
  if (!found) throw broken('its control archive has no control file');
  return found;
};

const headerAt = (block: Uint8Array, at: number) => {
  try {
    return decodeHeader(block, at);
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw new FleetError('CONTENT_INVALID', `its control archive cannot be read: ${error.message}`, {
      cause: error,
    });
  }
};
