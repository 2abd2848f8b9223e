import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type Accepted, acceptChannel } from '#bundles/trust/accept/accept-channel';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import type { Clock, TrustState } from '#bundles/trust/accept/trust-state';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { closureBlobs } from '#bundles/formats/bundle/closure-blobs';
import { ownBlobs, readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, digestOf } from '#bundles/digest';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Medium, OpenMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { at, file, key, POLICY, PRESS } from './golden-corpus.ts';
import { verdict } from './verdict.ts';

const LINE: TrustState = { ...PRESS, agent: 'line-1', key: key('agent-line-1').pem };

const clock = (now: string): Clock => ({ now: new Date(now), trusted: true });
const WHEN_FULL = clock('2026-11-22T08:00:00Z');
const WHEN_DELTA = clock('2026-12-02T08:00:00Z');

const accept = async (state: TrustState, open: OpenMedium, when: Clock): Promise<Accepted> =>
  acceptChannel(
    state,
    await readChannelDocuments(open.blobs, open.medium?.documents ?? [], state.site),
    when,
    POLICY,
  );

const remember = (state: TrustState, { root, site, release, time }: Accepted): TrustState => ({
  ...state,
  root,
  siteStatement: site.statement,
  release: release?.statement,
  channel: site.agent.channel,
  revoked: release?.revoked ?? [],
  time,
});

describe('golden media', () => {
  it.each(['media/full', 'media/full.tar', 'media/parts'])(
    'are accepted by both agents of the site from the first root on: %s',
    async (path) => {
      await using open = await openMedium(at(path));
      const press = await accept(PRESS, open, WHEN_FULL);
      expect([press.root.version, press.site.predicate.version, press.release?.predicate.version]).toEqual([
        1, 1, 1,
      ]);
      expect(press.release?.bundles.map(({ digest }) => digest)).toEqual([
        digestOf(file('host/manifest.json')),
      ]);
      expect(press.site.values?.values).toEqual({ gateway: '10.7.0.1', lineNumber: 7 });
      const line = await accept(LINE, open, WHEN_FULL);
      expect(line.release?.bundles.map(({ kind }) => kind)).toEqual(['kubernetes']);
      expect(line.site.agent.freshness).toEqual({ mode: 'lease', seconds: 1_209_600 });
    },
  );

  it.each(['media/full', 'media/full.tar', 'media/parts'])(
    'carry every blob of every bundle: %s',
    async (path) => {
      await using open = await openMedium(at(path));
      const { bundles, documents } = open.medium as Medium;
      for (const { digest, size } of documents)
        expect(await readBlob(open.blobs, digest, size)).toHaveLength(size);
      for (const { digest } of bundles) {
        const closure = await closureBlobs(open.blobs, await readBundle(open.blobs, digest));
        for (const blob of closure)
          expect(await readBlob(open.blobs, blob.digest, blob.size)).toHaveLength(blob.size);
      }
    },
  );

  it('have the same content as a folder and as a tar', async () => {
    await using folder = await openMedium(at('media/full'));
    await using tar = await openMedium(at('media/full.tar'));
    expect(tar.medium).toEqual(folder.medium);
    const entries = tarOrder.map(async (path) => {
      const content = await readFile(at(`media/full/${path}`));
      return { path, size: content.byteLength, content };
    });
    expect(await tar.files('blobs')).toEqual(await folder.files('blobs'));
    expect(Buffer.concat(await Array.fromAsync(writeTar(await Promise.all(entries))))).toEqual(
      file('media/full.tar'),
    );
  });

  it('an agent with the full medium accepts the delta medium: release 2, root 2, and blobs assumed from release 1', async () => {
    await using full = await openMedium(at('media/full'));
    await using delta = await openMedium(at('media/delta'));
    const state = remember(PRESS, await accept(PRESS, full, WHEN_FULL));
    const next = await accept(state, delta, WHEN_DELTA);
    expect([next.root.version, next.site.predicate.version, next.release?.predicate.version]).toEqual([
      2, 2, 2,
    ]);
    expect([next.selected, next.release?.news, next.release?.revoked.length]).toEqual([true, 'newer', 1]);

    const [bundle] = (delta.medium as Medium).bundles;
    expect(bundle?.base).toEqual([digestOf(file('host/manifest.json'))]);
    expect(bundle?.assumed.map(({ digest }) => digest)).toEqual([digestOf(file('host/layers/scale.tar.gz'))]);
    const old = await readBundle(full.blobs, digestOf(file('host/manifest.json')));
    const held = new Set(ownBlobs(old).map(({ digest }) => digest));
    const own = ownBlobs(await readBundle(delta.blobs, bundle?.digest as Digest));
    for (const { digest } of own)
      expect((await delta.blobs.size(digest)) !== undefined || held.has(digest)).toBe(true);
  });

  it('are refused: the older medium after the newer (UNKNOWN_KEY), for another site (WRONG_SITE), after the expiry (EXPIRED)', async () => {
    await using full = await openMedium(at('media/full'));
    await using delta = await openMedium(at('media/delta'));
    const first = remember(PRESS, await accept(PRESS, full, WHEN_FULL));
    const second = remember(PRESS, await accept(first, delta, WHEN_DELTA));
    // Root 1 gave the old release key its word, root 2 took it back.
    expect(await verdict(() => accept(second, full, WHEN_DELTA))).toBe('UNKNOWN_KEY');
    const again = await accept(second, delta, WHEN_DELTA);
    expect(again.release?.news).toBe('same');
    expect(await verdict(() => accept({ ...PRESS, site: 'plant-8' }, full, WHEN_FULL))).toBe('WRONG_SITE');
    expect(await verdict(() => accept(PRESS, full, clock('2027-11-22T08:00:00Z')))).toBe('EXPIRED');
  });

  it('contain reports, a receipt and needs at the paths that the format specifies', async () => {
    await using delta = await openMedium(at('media/delta'));
    const id = '2dc5c73dae7a7a42dc0a3617fd0844b9';
    const range = '000000000001-000000000003';
    expect(await delta.files('fleet')).toEqual([
      'fleet/medium.json',
      `fleet/receipts/${id}.sigstore.json`,
      `fleet/reports/${id}/${range}.ndjson`,
      `fleet/reports/${id}/${range}.sigstore.json`,
      `fleet/requests/${id}-needs.json`,
    ]);
    expect(await delta.readFile(`fleet/reports/${id}/${range}.ndjson`, 1 << 20)).toEqual(
      file(`reports/${range}.ndjson`),
    );
  });
});

/** As bytes in the archive are: read from the archive itself, since that is what must not change. */
const tarOrder: readonly string[] = (() => {
  const tar = file('media/full.tar');
  const names: string[] = [];
  for (let offset = 0; tar[offset] !== 0; ) {
    const text = (from: number, length: number) =>
      tar.toString('latin1', offset + from, offset + from + length).replace(/\0.*$/s, '');
    names.push(text(0, 100));
    offset += 512 + Math.ceil(Number.parseInt(text(124, 12), 8) / 512) * 512;
  }
  return names;
})();
