import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FleetError } from '#bundles/errors';
import { writeNew } from './configuration-file.ts';

/** 256 bits. */
const RANDOM_BYTES = 32;

/** Secrets that setup wrote, each a file of mode 0600. */
export type SecretFiles = AsyncDisposable & {
  readonly written: readonly string[];
  /**
   * Writes the file if it is missing; a secret that was typed in this run is asked for again. One that was there before stays. @param file relative to the folder of the configuration
   * @throws FleetError USAGE without a person to type the secret; IO, PERMISSION
   */
  readonly provide: (file: string, secret: 'typed' | 'random', name: string) => Promise<void>;
  /** They stay: without it they are removed at the end. */
  readonly keep: () => void;
};

type SecretOptions = {
  readonly folder: string;
  /** Asks without showing what is typed; undefined without a person. */
  readonly askHidden: ((question: string) => Promise<string>) | undefined;
};

export const openSecretFiles = ({ folder, askHidden }: SecretOptions): SecretFiles => {
  const written: string[] = [];
  let isKept = false;
  return {
    written,
    provide: async (file, secret, name) => {
      const path = resolve(folder, file);
      const isOurs = written.includes(path);
      if (existsSync(path) && !(isOurs && secret === 'typed')) return;
      const text = secret === 'typed' ? await typed(path, name, askHidden) : randomSecret();
      if (isOurs) await rm(path, { force: true });
      await writeNew(path, `${text}\n`);
      if (!isOurs) written.push(path);
    },
    keep: () => {
      isKept = true;
    },
    [Symbol.asyncDispose]: async () => {
      if (!isKept) await Promise.all(written.map((path) => rm(path, { force: true })));
    },
  };
};

const randomSecret = (): string => randomBytes(RANDOM_BYTES).toString('base64url');

const typed = async (path: string, name: string, askHidden: SecretOptions['askHidden']): Promise<string> => {
  if (!askHidden)
    throw new FleetError('USAGE', `${name}: there is no file ${path}`, {
      hint: 'Write the secret into it, with mode 0600, or start setup at a terminal and type it',
    });
  const text = (await askHidden(`Secret for ${path} (not shown): `)).trim();
  if (text === '')
    throw new FleetError('USAGE', `${name}: nothing was typed`, {
      hint: `Start it again, or write the secret into ${path}`,
    });
  return text;
};
