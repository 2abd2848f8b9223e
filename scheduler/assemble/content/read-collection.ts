import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type ByteCursor, byteCursor } from '#bundles/formats/archive/byte-cursor';
import { BLOCK, isZero, paddingOf } from '#bundles/formats/archive/tar-header';
import { FleetError } from '#bundles/errors';
import { verified } from '#bundles/formats/layout/verified';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { Content } from './content.ts';
import { broken } from './read-ar.ts';

/** What an Ansible collection's MANIFEST.json says it is. */
export type Collection = { readonly namespace: string; readonly name: string; readonly version: string };

const MAX_MANIFEST = 1 << 20;
/** ansible-galaxy writes it first. */
const MAX_ENTRIES = 64;
/** Bytes of what may come before it: gzip makes terabytes of little. */
const MAX_BEFORE = 64 << 20;

/**
 * What the tarball of a collection says of itself. Only that is read: what else is in it, ansible-galaxy checks against
 * MANIFEST.json. @throws FleetError CONTENT_INVALID for what is no such tarball, a repository's among them
 */
export const readCollection = async (
  content: Content,
  signal: AbortSignal,
  mostBefore = MAX_BEFORE,
): Promise<Collection> => {
  const { digest, size, source } = content;
  const bytes = Readable.from(verified(digest, size, await source.open(digest, signal), source.name));
  const unzipped = bytes.pipe(createGunzip());
  bytes.once('error', (error) => unzipped.destroy(error));
  try {
    return parse(await manifestIn(byteCursor(unzipped as AsyncIterable<Uint8Array>), mostBefore));
  } catch (error) {
    if (error instanceof FleetError) throw error;
    signal.throwIfAborted();
    throw new FleetError('CONTENT_INVALID', 'it is no gzip archive, or a damaged one', { cause: error });
  } finally {
    bytes.destroy();
    unzipped.destroy();
  }
};

const manifestIn = async (cursor: ByteCursor, mostBefore: number): Promise<Buffer> => {
  for (let count = 0; count < MAX_ENTRIES; count++) {
    const block = Buffer.from(await cursor.take(BLOCK));
    if (block.length < BLOCK || isZero(block)) break;
    const name = block.toString('latin1', 0, 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(block.toString('latin1', 124, 136), 8);
    if (!Number.isSafeInteger(size) || block.toString('latin1', 257, 262) !== 'ustar') break;
    if (name === 'MANIFEST.json' || name === './MANIFEST.json') {
      if (size > MAX_MANIFEST) throw broken(`its MANIFEST.json has more than ${MAX_MANIFEST} bytes`);
      return Buffer.from(await cursor.take(size));
    }
    if (cursor.position() + size > mostBefore) break;
    await cursor.skip(size + paddingOf(size));
  }
  throw broken(
    'it has no MANIFEST.json: ansible-galaxy collection build makes one, a repository’s own archive has none',
  );
};

const NAME = /^[a-z][a-z0-9_]{0,63}$/;
const VERSION = /^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,64}$/;

const parse = (bytes: Buffer): Collection => {
  const { namespace, name, version } = infoIn(bytes);
  if (typeof namespace !== 'string' || !NAME.test(namespace))
    throw broken('its MANIFEST.json has no namespace');
  if (typeof name !== 'string' || !NAME.test(name)) throw broken('its MANIFEST.json has no name');
  if (typeof version !== 'string' || !VERSION.test(version)) throw broken('its MANIFEST.json has no version');
  return { namespace, name, version };
};

const infoIn = (bytes: Buffer): Readonly<Record<string, unknown>> => {
  try {
    const manifest = parseStrictJson(bytes, { maxBytes: MAX_MANIFEST }) as {
      readonly collection_info?: Readonly<Record<string, unknown>>;
    } | null;
    return manifest?.collection_info ?? {};
  } catch (cause) {
    throw new FleetError('CONTENT_INVALID', 'its MANIFEST.json is no JSON', { cause });
  }
};
