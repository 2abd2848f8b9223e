import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { readRoot } from '#bundles/trust/root/read-root';
import { parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { MAX_ROOT_BYTES } from '#bundles/trust/root/root-document';
import { rootFileName } from '../places/root-file.ts';

/** @throws FleetError KEY_MISSING, TOO_LARGE, PERMISSION, IO */
export const readRootBytes = async (file: string): Promise<Buffer> => {
  const found = await unlessMissing(stat(file), `reading ${file}`);
  if (found && found.size > MAX_ROOT_BYTES)
    throw new FleetError('TOO_LARGE', `this has ${found.size} bytes, and a root at most ${MAX_ROOT_BYTES}`, {
      at: { file },
    });
  const bytes = await unlessMissing(readFile(file), `reading ${file}`);
  if (bytes) return bytes;
  throw new FleetError('KEY_MISSING', `there is no root at ${file}`);
};

/** Reads a root that its own officers have signed. @throws FleetError KEY_MISSING, ROOT_FORMAT, ROOT_THRESHOLD_NEW */
export const readRootFile = async (file: string): Promise<TrustRoot> => {
  const bytes = await readRootBytes(file);
  return namingFile(file, () => parseRoot(bytes));
};

/** The root before a draft: the given file, or `<N-1>.root.json` next to the draft; undefined if there is neither. */
export const readRootBefore = async (
  file: string,
  bytes: Uint8Array,
  named: string | undefined,
): Promise<TrustRoot | undefined> => {
  if (named !== undefined) return readRootFile(named);
  const { version } = namingFile(file, () => readRoot(bytes));
  const beside = join(dirname(file), rootFileName(version - 1));
  return version > 1 && existsSync(beside) ? readRootFile(beside) : undefined;
};
