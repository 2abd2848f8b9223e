import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';
import { createRoot, parseRoot, type RootInput, type TrustRoot } from '#bundles/trust/root/root';
import { AGENT_CA } from '../../../bundles/trust/root/fixtures.ts';
import { newKey, publics } from '../../../bundles/trust/root/new-key.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

export const NOW = new Date('2026-11-21T08:00:00Z');
export const EXPIRES = new Date('2028-11-21T08:00:00Z');

const online = publics([newKey()]);

/** A root by these officers, two of whom must sign. */
export const rootInputOf = (officers: readonly SigningKey[], change: Partial<RootInput> = {}): RootInput => ({
  fleet: 'acme',
  version: 1,
  expires: EXPIRES,
  keys: {
    root: publics(officers),
    bundle: publics([newKey()]),
    release: online,
    lease: online,
    receipt: online,
    audit: online,
  },
  agentCertificates: [AGENT_CA],
  ...change,
});

export const makeRoot = async (
  officers: readonly SigningKey[],
  signers: readonly SigningKey[],
  change: Partial<RootInput> = {},
): Promise<TrustRoot> => parseRoot(await createRoot(rootInputOf(officers, change), signers));

/** A folder with plain key pairs, `<name>.key` and `<name>.pub`, as officers bring them on a stick. */
export const withOffice = async (...names: readonly string[]) => {
  const folder = await temporaryDirectory('office');
  const at = (name: string): string => join(folder.path, name);
  const make = async (name: string): Promise<SigningKey> => {
    const pem = generatePrivateKey();
    const key = loadSigningKey(pem);
    await writeFile(at(`${name}.key`), pem, { mode: 0o600 });
    await writeFile(at(`${name}.pub`), key.public.pem);
    return key;
  };
  const keys: Record<string, SigningKey> = {};
  for (const name of names) keys[name] = await make(name);
  return { at, make, keys, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};
