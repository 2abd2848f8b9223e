import { openRegularFile } from '../archive/open-regular-file.ts';
import { FleetError, toFleetError } from '../../errors.ts';

/**
 * Refuses a file that is not a tar, with an error that names its probable format instead of reporting a damaged tar.
 * @throws FleetError MEDIUM_INVALID; TRUNCATED for an empty file
 */
export const refuseOtherFile = async (path: string): Promise<void> => {
  const start = await beginningOf(path);
  if (start.byteLength === 0)
    throw new FleetError('TRUNCATED', `not a fleet medium: ${path} is empty`, {
      hint: 'Copy it again',
    });
  const seems = otherFile(start);
  if (seems === undefined) return;
  throw new FleetError('MEDIUM_INVALID', `not a fleet medium: ${path} ${seems.what}`, { hint: seems.hint });
};

type Other = { readonly what: string; readonly hint: string };

const PATH_HINT = 'Give the directory that the stick is mounted at, or the tar that fleet-export wrote';
const UNPACK = 'Unpack it first: media are not packed again';

const KINDS: readonly (readonly [at: number, magic: string, what: string, hint: string])[] = [
  [0, '\x1f\x8b', 'starts like a gzip file', UNPACK],
  [0, 'PK\x03\x04', 'starts like a zip file', UNPACK],
  [0, 'PK\x05\x06', 'starts like a zip file', UNPACK],
  [0, '\x28\xb5\x2f\xfd', 'starts like a zstd file', UNPACK],
  [0, '\xfd7zXZ\0', 'starts like an xz file', UNPACK],
  [0, 'BZh', 'starts like a bzip2 file', UNPACK],
  [0, '7z\xbc\xaf\x27\x1c', 'starts like a 7z file', UNPACK],
  [0, '\x7fELF', 'starts like a program', PATH_HINT],
  [0, '-----BEGIN ', 'starts like a key or certificate', PATH_HINT],
  [
    32_769,
    'CD001',
    'is the image of a disc (ISO 9660)',
    'Mount it and give the directory, if a medium is on it',
  ],
  [510, '\x55\xaa', 'is the image of a disk', 'Mount it and give the directory, if a medium is on it'],
];

/** First bytes of our tars, also of one that ends inside its first header. */
const OWN_PREFIXES = ['oci-layout', 'index.json', 'fleet/', './', 'blobs/'];
const SHOWN = 16;

const otherFile = (start: Buffer): Other | undefined => {
  const text = start.toString('latin1');
  const isTar = text.startsWith('ustar', 257);
  if (isTar) return undefined;
  for (const [at, magic, what, hint] of KINDS) if (text.startsWith(magic, at)) return { what, hint };
  if (OWN_PREFIXES.some((name) => text.startsWith(name) || name.startsWith(text))) return undefined;
  // Only zeros: an empty tar or a failed copy. The tar reader reports it.
  if (start.every((byte) => byte === 0)) return undefined;
  const shown = /^[\x20-\x7e\t\r\n]+$/.test(text.slice(0, SHOWN))
    ? JSON.stringify(text.slice(0, SHOWN))
    : `the bytes ${start.subarray(0, 8).toString('hex')}`;
  return { what: `starts with ${shown}, unlike a tar`, hint: PATH_HINT };
};

const beginningOf = async (path: string): Promise<Buffer> => {
  try {
    await using handle = await openRegularFile(path);
    const most = 32_774;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(most), 0, most, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw toFleetError(error, `opening ${path}`);
  }
};
