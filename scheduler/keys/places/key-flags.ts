import { Flags } from '@oclif/core';
import { PASSWORD_FILE_VARIABLE, type Passwords, passwordsFrom } from '#bundles/trust/keys/passwords';
import { processTerminal } from '#bundles/trust/keys/terminal';

const WHERE = `; else ${PASSWORD_FILE_VARIABLE}, FLEET_KEY_PASSWORD or COSIGN_PASSWORD, else it is asked for`;

/** Flag for the password of an encrypted key file. */
export const passwordFlag = {
  'password-file': Flags.string({ description: `File with the password on one line${WHERE}` }),
};

/** Description of the values that --key accepts in every command. */
export const KEY_FORMS =
  'Private key: a file, plain or encrypted, or a .yaml with {file}, {command, public} or {signer}';

/** Flags for a private key in any supported place. */
export const keyFlags = {
  ...passwordFlag,
  key: Flags.string({ required: true, description: KEY_FORMS }),
};

/** The passwords of one command. */
export const passwordsOf = (flags: { readonly 'password-file'?: string | undefined }): Passwords =>
  passwordsFrom({ file: flags['password-file'], env: process.env, terminal: processTerminal() });
