import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { FleetError } from '#bundles/errors';
import { type ConfigurationFile, secretRights, writeNew } from './configuration-file.ts';
import type { SecretSource } from './question.ts';

/** 256 bits. */
const RANDOM_BYTES = 32;

/** Secrets that setup wrote, each a file that the hub and no other user reads. */
export type SecretFiles = AsyncDisposable & {
  /**
   * Writes the file if it is missing; a secret that was typed in this run is asked for again. One that was there before stays.
   * @throws FleetError USAGE without a person to type the secret; IO, PERMISSION
   */
  readonly provide: (wanted: WantedSecret) => Promise<void>;
  /** Those of these files that setup wrote stay; the others are removed at the end. */
  readonly keep: (files: readonly string[]) => void;
  /** Paths of those that stay. */
  readonly kept: () => readonly string[];
};

export type WantedSecret = {
  /** Name of the question that it is the answer to. */
  readonly name: string;
  /** Relative to the folder of the configuration. */
  readonly file: string;
  readonly from: SecretSource;
};

type SecretOptions = {
  /** The configuration that names them. */
  readonly file: Pick<ConfigurationFile, 'path' | 'rights'>;
  /** Asks without showing what is typed; undefined without a person. */
  readonly askHidden: ((question: string) => Promise<string>) | undefined;
};

export const openSecretFiles = ({ file: configuration, askHidden }: SecretOptions): SecretFiles => {
  const folder = dirname(configuration.path);
  const written: string[] = [];
  let kept: readonly string[] = [];
  return {
    provide: async ({ name, file, from }) => {
      const path = resolve(folder, file);
      const isOurs = written.includes(path);
      if (existsSync(path) && !(isOurs && from === 'typed')) return;
      const text = from === 'typed' ? await typed(path, name, askHidden) : randomSecret();
      if (isOurs) await rm(path, { force: true });
      await writeNew(path, `${text}\n`, secretRights(configuration.rights));
      if (!isOurs) written.push(path);
    },
    keep: (files) => {
      const named = new Set(files.map((file) => resolve(folder, file)));
      kept = written.filter((path) => named.has(path));
    },
    kept: () => kept,
    [Symbol.asyncDispose]: async () => {
      const gone = written.filter((path) => !kept.includes(path));
      await Promise.all(gone.map((path) => rm(path, { force: true })));
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
