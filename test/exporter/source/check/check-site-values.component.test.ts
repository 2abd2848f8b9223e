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
  it('that a package lacks or cannot use are noted by plan and create, and the medium is written', async () => {
    await using world = await makeKioskWorld();
    await released(world);
    const said = 'plant-7/line-1 (prod/kiosk) will not apply web: ';
    const hint = '. Correct the values with: fleet-scheduler sites set';
    expect((await world.plan(IN)).notes).toContain(`${said}lineNumber is missing${hint}`);
    await statement(world, 2, { lineNumber: 'abc' });
    expect((await world.plan(IN)).notes).toContain(`${said}lineNumber must be integer${hint}`);
    await world.export('medium', IN);
    await statement(world, 3, { lineNumber: 7, unused: 'x' });
    expect((await world.plan(IN)).notes.join()).not.toContain('will not apply');
  });

  it('are not checked without a release or without a site on the medium', async () => {
    await using world = await makeKioskWorld();
    await released(world);
    await world.plan({ channels: [KIOSK] });
    await world.layout.lease({ channel: KIOSK, version: 1 });
    await world.plan({ ...IN, leaseOnly: true });
  });
});
