import { expect, it } from 'vitest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { inspectMedium } from '../../../exporter/verify/inspect/inspect-medium.ts';
import { formatProvenance } from '../../../exporter/verify/provenance.ts';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { makeKioskWorld } from '../world.ts';

it('verifyMedium returns builder, candidate and commits of each bundle', async () => {
  await using world = await makeKioskWorld();
  await world.export('medium');
  await using open = await openMedium(world.path('medium'));
  const { provenance } = await verifyMedium(open, undefined, NOW);
  expect(provenance).toHaveLength(1);
  const [bundle] = provenance;
  expect(bundle).toMatchObject({ channel: 'prod/kiosk', kind: 'kubernetes', signedImages: 0 });
  expect(bundle?.builder).not.toBe('');
  expect(bundle?.candidate).toMatch(/^sha256:[0-9a-f]{64}$/);
  const { filled } = await inspectMedium(open);
  const { builder, builtAt, candidate } = bundle ?? {};
  expect(filled?.bundles.map(({ built }) => built)).toEqual([{ builder, builtAt, candidate }]);
});

it('formatProvenance shows the commit of a source, or the digest of its files without a commit', () => {
  const digest = `sha256:${'a'.repeat(64)}` as const;
  const lines = formatProvenance({
    channel: 'prod/kiosk',
    kind: 'kubernetes',
    bundle: digest,
    builder: 'fleet-scheduler/1.0.0',
    builtAt: '2026-11-21T08:00:00Z',
    candidate: digest,
    candidateHere: false,
    sources: [
      {
        role: 'platform',
        repo: 'https://git.example/p',
        path: '.',
        tree: digest,
        ref: 'main',
        commit: 'c0ffee',
      },
      { role: 'workload/shop', repo: 'directory:workload/shop', path: 'deploy', tree: digest },
    ],
    held: [{ assignment: 'web', code: 'IMAGE_UNSIGNED', message: 'the image has no signature' }],
    signedImages: 2,
  });
  expect(lines).toEqual([
    `kubernetes bundle prod/kiosk sha256:${'a'.repeat(12)}: built 2026-11-21T08:00:00Z by fleet-scheduler/1.0.0 from candidate ${digest} (not on this medium)`,
    '  platform: https://git.example/p#main at c0ffee',
    `  workload/shop: directory:workload/shop deploy at sha256:${'a'.repeat(12)}`,
    '  held: web: IMAGE_UNSIGNED: the image has no signature',
  ]);
});
