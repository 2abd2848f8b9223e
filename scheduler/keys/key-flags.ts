import { Flags } from '@oclif/core';
import { PASSWORD_FILE_VARIABLE, type Passwords, passwordsFrom } from '#bundles/keys/passwords';
import { processTerminal } from '#bundles/keys/terminal';

const WHERE = `; else ${PASSWORD_FILE_VARIABLE}, FLEET_KEY_PASSWORD or COSIGN_PASSWORD, else it is asked for`;

/** What opens an encrypted key file. */
export const passwordFlag = {
  'password-file': Flags.string({ description: `File with the password on one line${WHERE}` }),
};

/** What --key takes, in every command. */
export const KEY_FORMS =
  'Private key: a file, plain or encrypted, or a .yaml with {file}, {command, public} or {signer}';

/** A private key, wherever it is. */
export const keyFlags = {
  ...passwordFlag,
  key: Flags.string({ required: true, description: KEY_FORMS }),
};

/** The passwords of one command. */
export const passwordsOf = (flags: { readonly 'password-file'?: string | undefined }): Passwords =>
  passwordsFrom({ file: flags['password-file'], env: process.env, terminal: processTerminal() });
