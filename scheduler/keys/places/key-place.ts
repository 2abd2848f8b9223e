import { dirname, isAbsolute, resolve } from 'node:path';
import { type KeyQuestion, type KeyText, readKeyText, unlockKey } from '#bundles/trust/keys/open-key-file';
import type { Passwords } from '#bundles/trust/keys/passwords';
import { readPublicFile } from '#bundles/trust/keys/read-public-file';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { Place } from '#bundles/schemas/types/keys-config';
import { openRemoteKey } from '../remote/remote-key.ts';
import { commandKey } from './signing-command.ts';

/** Where a key is: an entry of keys.yaml, or a file next to the roots. Paths are absolute. */
export type KeyPlace =
  | { readonly kind: 'file'; readonly file: string; readonly passwordFile?: string | undefined }
  | {
      readonly kind: 'command';
      readonly command: readonly string[];
      readonly publicFile: string;
      readonly cwd: string;
      readonly timeoutMs: number;
    }
  | { readonly kind: 'signer'; readonly socket: string };

export type OpenKey = KeyQuestion & {
  /** Role of the key in a signer process. */
  readonly role: string;
  readonly passwordsFor: (file: string | undefined) => Passwords;
  /** Decrypts the text of a key file. Default: without a cache. */
  readonly unlock?: (key: KeyText, passwords: Passwords) => Promise<SigningKey>;
};

/** Opens a key in its place. @throws FleetError KEY_MISSING, KEY_FORMAT, KEY_LOCKED, PERMISSION, SIGNER_UNREACHABLE */
export const openKeyPlace = async (place: KeyPlace, order: OpenKey): Promise<SigningKey> => {
  switch (place.kind) {
    case 'file': {
      const unlock = order.unlock ?? unlockKey;
      return unlock(await readKeyText(place.file, order), order.passwordsFor(place.passwordFile));
    }
    case 'command': {
      const { command, cwd, timeoutMs, publicFile } = place;
      const key = await readPublicFile(publicFile);
      return commandKey({ command, cwd, timeoutMs, public: key, what: order.what });
    }
    case 'signer':
      return openRemoteKey(place.socket, order.role);
  }
};

/** Default timeout of a signing command. A person may have to fetch a hardware token and touch it. */
const TIMEOUT_SECONDS = 60;

/** Resolves a configured place. */
export const toKeyPlace = (said: Place, saidIn: string): KeyPlace => {
  const folder = dirname(saidIn);
  const at = (path: string): string => resolve(folder, path);
  if ('signer' in said) return { kind: 'signer', socket: at(said.signer) };
  if ('command' in said) {
    const [program = '', ...rest] = said.command;
    // './sign' is relative to the configuration file; a bare name is searched for on PATH.
    const found = program.includes('/') && !isAbsolute(program) ? at(program) : program;
    return {
      kind: 'command',
      command: [found, ...rest],
      publicFile: at(said.public),
      cwd: folder,
      timeoutMs: (said.timeoutSeconds ?? TIMEOUT_SECONDS) * 1000,
    };
  }
  return {
    kind: 'file',
    file: at(said.file),
    passwordFile: said.passwordFile === undefined ? undefined : at(said.passwordFile),
  };
};
