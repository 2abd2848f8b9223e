import { dirname, isAbsolute, resolve } from 'node:path';
import { type KeyQuestion, type KeyText, readKeyText, unlockKey } from '#bundles/keys/open-key-file';
import type { Passwords } from '#bundles/keys/passwords';
import { readPublicFile } from '#bundles/keys/read-public-file';
import type { SigningKey } from '#bundles/trust/key';
import { openRemoteKey } from '../signer/remote-key.ts';
import { commandKey } from './signing-command.ts';

/** Where a key is, as keys.yaml says it or as the file beside the roots. Paths are absolute. */
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
  /** Which key of a signer process. */
  readonly role: string;
  readonly passwordsFor: (file: string | undefined) => Passwords;
  /** Opens a key file's text; by default anew each time. */
  readonly unlock?: (key: KeyText, passwords: Passwords) => Promise<SigningKey>;
};

/** @throws FleetError KEY_MISSING, KEY_FORMAT, KEY_LOCKED, PERMISSION */
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

/** A place as it was written, with paths against the folder of what says it. */
export type SaidPlace = {
  readonly file?: string;
  readonly passwordFile?: string;
  readonly command?: readonly string[];
  readonly public?: string;
  readonly timeoutSeconds?: number;
  readonly signer?: string;
};

/** A person may have to walk to the safe for the token and touch it. */
const TIMEOUT_SECONDS = 60;

/** The schema has seen to it that exactly one of the three is there. */
export const toKeyPlace = (said: SaidPlace, saidIn: string): KeyPlace => {
  const folder = dirname(saidIn);
  const at = (path: string): string => resolve(folder, path);
  if (said.signer !== undefined) return { kind: 'signer', socket: at(said.signer) };
  if (said.command !== undefined) {
    const [program = '', ...rest] = said.command;
    // './sign' is beside the file; a bare name is looked for as a shell would.
    const found = program.includes('/') && !isAbsolute(program) ? at(program) : program;
    return {
      kind: 'command',
      command: [found, ...rest],
      publicFile: at(said.public ?? ''),
      cwd: folder,
      timeoutMs: (said.timeoutSeconds ?? TIMEOUT_SECONDS) * 1000,
    };
  }
  return {
    kind: 'file',
    file: at(said.file ?? ''),
    passwordFile: said.passwordFile === undefined ? undefined : at(said.passwordFile),
  };
};
