import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrustState } from '#bundles/trust/accept/trust-state';
import type { Digest } from '#bundles/digest';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { parseRoot } from '#bundles/trust/root/root';

/**
 * The golden corpus of format v1 (test/golden/README.md): files as they were made in 2026, read by today's code. A test
 * that fails here says that the format was broken; the files are never edited.
 */
export const V1 = join(import.meta.dirname, '..', 'golden', 'v1');
export const at = (path: string): string => join(V1, path);
export const file = (path: string): Buffer => readFileSync(at(path));

type Table = {
  readonly made: { readonly node: string; readonly zlib: string };
  readonly files: readonly { readonly path: string; readonly digest: Digest; readonly size: number }[];
};
export const table = JSON.parse(file('digests.json').toString()) as Table;
export const paths = table.files.map(({ path }) => path);

export const root1 = parseRoot(file('roots/1.root.json'));
export const root2 = parseRoot(file('roots/2.root.json'));
export const key = (name: string) => parsePublicKey(file(`keys/${name}.pub`).toString());

/** The host press-2 before its first import. */
export const PRESS: TrustState = {
  fleet: 'golden',
  site: 'plant-7',
  agent: 'press-2',
  key: key('agent-press-2').pem,
  pinnedRoot: root1.digest,
  root: undefined,
  siteStatement: undefined,
  release: undefined,
  channel: undefined,
  time: undefined,
};

export const POLICY = { maxValidityDays: 400, agentVersion: '0.1.0' };
