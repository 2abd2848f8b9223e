import { expect, it } from 'vitest';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { openLayout, writeLayoutIndex, withReference } from '#bundles/formats/layout/layout';
import { makeKioskWorld } from '../world.ts';

it('a plan for a development fleet begins with the notice of the development root', async () => {
  await using world = await makeKioskWorld();
  const { notes } = await world.plan({ sites: ['plant-7'] });
  expect(notes[0]).toBe(DEV_ROOT_NOTICE);
});

it.each([
  [
    'waiting',
    'prod/kiosk: a newer build was held and is not on the medium; "fleet-scheduler status" says why',
  ],
  [
    'awaiting',
    'prod/kiosk: a newer build awaits approval and is not on the medium; see "fleet-scheduler approvals"',
  ],
])('a plan notes that a newer build is not on the medium (%s)', async (tag, note) => {
  await using world = await makeKioskWorld();
  expect((await world.plan({ sites: ['plant-7'] })).notes).not.toContain(note);
  const layout = await openLayout(world.layout.directory);
  const [any] = layout.manifests;
  if (any) await writeLayoutIndex(layout, withReference(layout.manifests, `prod/kiosk:${tag}`, any));
  expect((await world.plan({ sites: ['plant-7'] })).notes).toContain(note);
});
