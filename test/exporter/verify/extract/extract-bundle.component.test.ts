import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { BundleKind } from '#bundles/names';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { openLayout } from '#bundles/formats/layout/layout';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { extractBundle } from '../../../../exporter/verify/extract/extract-bundle.ts';
import { refused } from '../../refused.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, makeWorld } from '../../world.ts';

const extract = async (from: string, to: string, channel = KIOSK, kind: BundleKind = 'kubernetes') => {
  await using open = await openMedium(from);
  return await extractBundle(open, channel, kind, to);
};

describe('extractBundle', () => {
  it('writes a layout of one bundle, annotated for cosign, with its statements as referrers', async () => {
    await using world = await makeKioskWorld();
    const { plan } = await world.export('medium.tar');
    const { bundle, statements } = await extract(world.path('medium.tar'), world.path('one'));
    expect(bundle.digest).toBe(plan.bundles[0]?.digest);
    expect(statements).toBe(1);
    const layout = await openLayout(world.path('one'));
    const [image, referrer] = layout.manifests.toSorted((a) =>
      a.annotations?.['kind'] === 'dev.cosignproject.cosign/image' ? -1 : 1,
    );
    expect(layout.manifests).toHaveLength(2);
    expect(image).toMatchObject({
      digest: bundle.digest,
      annotations: { kind: 'dev.cosignproject.cosign/image' },
    });
    const manifest = parseImageManifest(await readFile(layout.blobs.path(referrer?.digest ?? bundle.digest)));
    expect(manifest).toMatchObject({
      artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      config: { mediaType: 'application/vnd.oci.empty.v1+json', size: 2 },
      layers: [{ mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json' }],
      subject: { digest: bundle.digest },
      annotations: {
        'dev.sigstore.bundle.content': 'dsse-envelope',
        'dev.sigstore.bundle.predicateType': 'urn:fleet-ferry:bundle:v1',
      },
    });
  });

  it('takes the bundle of the given kind', async () => {
    await using world = await makeWorld();
    const bundles = [bundleOf('one'), bundleOf('one', 'host')];
    const [kubernetes, host] = await world.layout.release({ channel: KIOSK, version: 1, bundles });
    await world.export('medium');
    const found = await extract(world.path('medium'), world.path('host'), KIOSK, 'host');
    expect(found.bundle.digest).toBe(host);
    expect((await extract(world.path('medium'), world.path('k8s'))).bundle.digest).toBe(kubernetes);
  });

  it('refuses a missing channel, a folder in use, and a delta without its base', async () => {
    await using world = await makeKioskWorld();
    await world.export('medium');
    const medium = world.path('medium');
    expect(await refused(extract(medium, world.path('one'), GATE))).toBe('CHANNEL_MISSING');
    expect(await refused(extract(medium, world.path('one'), KIOSK, 'host'))).toBe('CHANNEL_MISSING');
    expect(await refused(extract(medium, world.path('layout')))).toBe('USAGE');
    await world.export('delta', { bases: [medium] });
    expect(await refused(extract(world.path('delta'), world.path('one')))).toBe('MISSING_BASE');
  });
});
