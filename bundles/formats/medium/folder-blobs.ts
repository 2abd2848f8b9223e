import { join } from 'node:path';
import { type Digest, hexOf } from '../../digest.ts';
import { toFleetError } from '../../errors.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { readWhole } from '../layout/read-span.ts';
import { missingBlob } from '../layout/verified.ts';
import { type OpenFolder, openMediumFolder } from './open-medium-folder.ts';
import { fileIn, openFileIn } from './plain-files.ts';

const FOLDER = 'blobs/sha256';

/**
 * Blobs of a medium that is a folder. Only regular files are read and no link is followed. The first read opens their folder, which stays
 * open until the medium is closed: there may be a hundred thousand blobs.
 */
export const openFolderBlobs = (root: string): BlobSource & AsyncDisposable => {
  const name = `medium ${root}`;
  let holding: Promise<OpenFolder | undefined> | undefined;
  const hold = async (): Promise<OpenFolder | undefined> => {
    holding ??= openMediumFolder(root, FOLDER);
    const folder = await holding.catch((error: unknown) => {
      holding = undefined;
      throw error;
    });
    // The folder may exist at the next call.
    if (!folder) holding = undefined;
    return folder;
  };
  const size = async (digest: Digest): Promise<number | undefined> => {
    try {
      const folder = await hold();
      return folder && (await fileIn(folder, hexOf(digest)))?.size;
    } catch (error) {
      throw toFleetError(error, `looking for a blob in ${name}`);
    }
  };
  return {
    name,
    size,
    open: async (digest, signal) => {
      if ((await size(digest)) === undefined) throw missingBlob(digest, name);
      const file = hexOf(digest);
      return readWhole(join(root, FOLDER, file), { signal }, async () => {
        const folder = await hold();
        return folder && openFileIn(folder, file);
      });
    },
    [Symbol.asyncDispose]: async () => {
      const folder = await holding?.catch(() => undefined);
      holding = undefined;
      await folder?.[Symbol.asyncDispose]();
    },
  };
};
