import { open } from 'node:fs/promises';
import { FleetError, toFleetError } from '../../errors.ts';
import { checkPrivate } from './check-private.ts';
import type { Terminal } from './terminal.ts';

/** Source of the passwords of key files; never the command line, which every process of the machine can read. */
export type Passwords = {
  /** @throws FleetError KEY_LOCKED when no source has one */
  readonly open: (what: string) => Promise<string>;
  /** For a file that is to be written: typed twice, long enough. @throws FleetError KEY_LOCKED */
  readonly choose: (what: string) => Promise<string>;
  /** True if the user types the password, and can correct a wrong one. */
  readonly typed: boolean;
};

export type PasswordPlaces = {
  /** Value of --password-file, or of keys.yaml. */
  readonly file?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal?: Terminal | undefined;
};

/** Variables in the order they are asked; the last so that cosign and we share one. */
const VARIABLES = ['FLEET_KEY_PASSWORD', 'COSIGN_PASSWORD'] as const;
export const PASSWORD_FILE_VARIABLE = 'FLEET_KEY_PASSWORD_FILE';

/** NIST SP 800-63B: a password chosen by a person has at least eight characters. */
const MIN_LENGTH = 8;
const MAX_BYTES = 4096;

/** Flag, file of the environment, environment, terminal, in this order. */
export const passwordsFrom = ({ file, env, terminal }: PasswordPlaces): Passwords => {
  // An empty variable counts as unset, as units and scripts write it.
  const path = file ?? (env[PASSWORD_FILE_VARIABLE] || undefined);
  const said = VARIABLES.map((name) => env[name]).find((value) => value !== undefined);
  const given = async (): Promise<string | undefined> => (path === undefined ? said : readPassword(path));
  return {
    open: async (what) =>
      (await given()) ??
      (await ask(terminal, `Password of ${what}: `, `${what} is encrypted, and there is no password for it`)),
    choose: async (what) => {
      const password = await given();
      return password === undefined ? askTwice(terminal, what) : longEnough(password, what);
    },
    typed: path === undefined && said === undefined && terminal !== undefined,
  };
};

const longEnough = (password: string, what: string): string => {
  if (password.length >= MIN_LENGTH) return password;
  throw new FleetError('KEY_LOCKED', `the password for ${what} has fewer than ${MIN_LENGTH} characters`, {
    hint: 'Choose a longer one; a few words in a row are easy to remember',
  });
};

/** @param lacking the error without a terminal */
const ask = (terminal: Terminal | undefined, question: string, lacking: string): Promise<string> => {
  if (terminal) return terminal.askHidden(question);
  throw new FleetError('KEY_LOCKED', lacking, {
    hint: `Give --password-file or set ${PASSWORD_FILE_VARIABLE} or ${VARIABLES[0]}; a terminal asks for it`,
  });
};

const askTwice = async (terminal: Terminal | undefined, what: string): Promise<string> => {
  const lacking = `there is no password to encrypt ${what} by`;
  const password = longEnough(await ask(terminal, `New password for ${what}: `, lacking), what);
  if ((await ask(terminal, 'The same again: ', lacking)) === password) return password;
  throw new FleetError('KEY_LOCKED', 'the two passwords differ', {
    hint: 'Run it again and type the same password twice',
  });
};

/** The first line of a file; the line end is not part of it. @throws FleetError KEY_LOCKED, PERMISSION */
const readPassword = async (file: string): Promise<string> => {
  try {
    await using handle = await open(file, 'r');
    checkPrivate(await handle.stat(), file, 'the password in it', 'keep it on another disk');
    const text = (await handle.readFile('utf8')).replace(/\r?\n$/, '');
    if (text !== '' && text.length <= MAX_BYTES && !/[\r\n]/.test(text)) return text;
    throw new FleetError('KEY_LOCKED', 'this file does not contain a password', {
      at: { file },
      hint: 'Write only the password, on one line',
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new FleetError('KEY_LOCKED', `there is no password file ${file}`, { cause: error });
    throw toFleetError(error, `reading ${file}`);
  }
};
