import { describe, expect, it } from 'vitest';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../../world.ts';

const IN = { sites: ['plant-7'] };

const released = async ({ layout }: World): Promise<void> => {
  const siteInputs = { lineNumber: { type: 'integer' } };
  await layout.release({ channel: KIOSK, version: 2, bundles: [{ ...bundleOf('two'), siteInputs }] });
};

const statement = (world: World, version: number, values: { readonly [name: string]: string | number }) =>
  world.layout.site({
    site: 'plant-7',
    version,
    agents: [{ name: 'line-1', channel: KIOSK, key: world.agent }],
    values,
  });

describe('site values', () => {
  it('that the site would refuse are refused by plan and create alike, and nothing is written', async () => {
    await using world = await makeKioskWorld();
    await released(world);
    const missing = {
      code: 'SITE_VALUES',
      message:
        "a site would refuse this medium: plant-7/line-1 (prod/kiosk): they must have required property 'lineNumber'",
    };
    await expect(world.plan(IN)).rejects.toMatchObject(missing);
    await expect(world.export('medium', IN)).rejects.toMatchObject(missing);
    await statement(world, 2, { lineNumber: 'abc' });
    await expect(world.plan(IN)).rejects.toMatchObject({
      message: /\(prod\/kiosk\): lineNumber must be integer$/,
    });
    await statement(world, 3, { lineNumber: 7, unused: 'x' });
    await world.export('medium', IN);
  });

  it('are not asked for where the release or the site stays at home', async () => {
    await using world = await makeKioskWorld();
    await released(world);
    await world.plan({ channels: [KIOSK] });
    await world.layout.lease({ channel: KIOSK, version: 1 });
    await world.plan({ ...IN, leaseOnly: true });
  });
});
