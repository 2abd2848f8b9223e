import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';

/** GnuPG with one key, in a folder of its own that goes with it. */
export type Gpg = AsyncDisposable & {
  readonly clearSign: (text: string) => Promise<string>;
  /** The public key, binary, as apt's `Signed-By` takes it. */
  readonly publicKey: Buffer;
};

/**
 * @param keyFile of an OpenPGP secret key without a passphrase; without one a key is made for this run alone
 * @throws FleetError TOOL_MISSING without gpg; KEY_FORMAT if the file has no secret key
 */
export const openGpg = async (keyFile: string | undefined): Promise<Gpg> => {
  await using cleanup = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'fleet-ferry-gpg-'));
  cleanup.defer(() => rm(home, { recursive: true, force: true }));
  const run = (argv: readonly string[], input: readonly Uint8Array[] = []) =>
    runProcess(argv, { env: { ...process.env, GNUPGHOME: home }, input, maxOutput: 1 << 20 });
  const gpg = (words: readonly string[], input?: readonly Uint8Array[]) =>
    run(['gpg', '--batch', '--no-tty', ...words], input);
  cleanup.defer(async () => {
    await run(['gpgconf', '--kill', 'all']);
  });
  const made =
    keyFile === undefined
      ? await gpg(['--passphrase', '', '--quick-gen-key', 'Fleet Ferry dry run', 'ed25519', 'sign', 'never'])
      : await gpg(['--import'], [await readFile(keyFile)]);
  if (made.code !== 0)
    throw new FleetError('KEY_FORMAT', `gpg took no key from ${keyFile ?? 'itself'}: ${made.stderr.trim()}`);
  const { stdout: publicKey } = await gpg(['--export']);
  const moved = cleanup.move();
  return {
    publicKey,
    clearSign: async (text) => {
      const { code, stdout, stderr } = await gpg(
        ['--clearsign', '--digest-algo', 'SHA512'],
        [Buffer.from(text)],
      );
      if (code !== 0) throw new FleetError('KEY_FORMAT', `gpg could not sign: ${stderr.trim()}`);
      return stdout.toString();
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};
