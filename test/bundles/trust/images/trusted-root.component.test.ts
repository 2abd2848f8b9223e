import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseTrustedRoot, readTrustedRoot } from '#bundles/trust/images/trusted-root';
import { newSigstore } from '../../../harness/sigstore/sigstore.ts';
import { toTrustMaterial } from '@sigstore/verify';

/** Of sigstore's public instance, as its TUF repository and @sigstore/tuf 5.0.1 have it. */
const PUBLIC = new URL('../../../fixtures/sigstore/trusted_root.json', import.meta.url);

describe('the trusted root', () => {
  it("of sigstore's public instance is taken whole, with all authorities and logs", async () => {
    const text = await readFile(PUBLIC, 'utf8');
    const json = JSON.parse(text) as Readonly<Record<string, readonly object[]>>;
    const taken = parseTrustedRoot(text);
    expect(JSON.parse(taken)).toEqual(json);
    const trusted = toTrustMaterial(readTrustedRoot(JSON.parse(taken)));
    for (const part of ['certificateAuthorities', 'timestampAuthorities', 'tlogs', 'ctlogs'] as const)
      expect(trusted[part]).toHaveLength(json[part]?.length ?? 0);
    expect(trusted.tlogs.map(({ baseURL, publicKey }) => [baseURL, publicKey.asymmetricKeyType])).toEqual([
      ['https://rekor.sigstore.dev', 'ec'],
      ['https://log2025-1.rekor.sigstore.dev', 'ed25519'],
    ]);
    // An authority that was replaced stays, with the time in which it was trusted.
    expect(trusted.certificateAuthorities[0]?.validFor.end.toISOString()).toBe('2022-12-31T23:59:59.999Z');
  });

  it.each(['certificateAuthorities', 'timestampAuthorities', 'tlogs', 'ctlogs'] as const)(
    'whose %s have no begin is refused, because it would be trusted from the beginning of time',
    async (part) => {
      const { root, trustedRoot } = await newSigstore();
      const parts = root[part].map((one) =>
        'publicKey' in one
          ? { ...one, publicKey: { ...(one.publicKey as object), validFor: undefined } }
          : { ...one, validFor: {} },
      );
      expect(() => parseTrustedRoot(trustedRoot({ [part]: parts }))).toThrow(
        /this trusted root of sigstore has no validFor\.start of https:/,
      );
    },
  );
});
