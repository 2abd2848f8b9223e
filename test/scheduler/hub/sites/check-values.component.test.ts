import { describe, expect, it } from 'vitest';
import { checkValues } from '../../../../scheduler/hub/sites/check-values.ts';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { setValues, type ValueChange } from '../../../../scheduler/hub/sites/set-values.ts';
import { enrolled, enrolledHub, HOSTS, NOW, type TestHub } from '../test-hub.ts';

const KIOSK = { environment: 'prod', clusterType: 'kiosk' };

const released = async (hub: TestHub): Promise<void> => {
  const packages = { app: { 'package.json': '{}' } };
  const siteInputs = {
    lineNumber: { type: 'integer', minimum: 1 },
    constructor: { type: 'string' },
    ratio: { type: 'number', minimum: 0.5 },
  };
  await hub.layoutWriter.release({
    channel: HOSTS,
    version: 3,
    bundles: [{ kind: 'host', packages, siteInputs }],
  });
};

const check = (hub: TestHub, change: Partial<ValueChange>, allowUnknown = false) =>
  checkValues(hub, { site: 'plant-7', set: {}, unset: [], ...change }, allowUnknown);

describe('site values that are set', () => {
  it('are accepted when the releases of the site declare them', async () => {
    await using hub = await enrolledHub();
    await released(hub);
    await check(hub, { set: { lineNumber: 7, constructor: 'x' } });
    await check(hub, { unset: ['lineNumbr'] });
    await check(hub, { set: { later: 7 } }, true);
  });

  it('are converted to numbers when the site input accepts a number and no text', async () => {
    await using hub = await enrolledHub();
    await released(hub);
    const set = { ratio: '0.75', constructor: '1.5' };
    expect(await check(hub, { set })).toEqual({ ratio: 0.75, constructor: '1.5' });
    await expect(check(hub, { set: { ratio: '0.25' } })).rejects.toMatchObject({ code: 'SITE_VALUES' });
    await expect(check(hub, { set: { ratio: '0.75x' } })).rejects.toMatchObject({ code: 'SITE_VALUES' });
    const change = { site: 'plant-7', set: await check(hub, { set }), unset: [] };
    const { site } = await setValues(hub.store, change, await siteSigner(hub), NOW);
    expect(JSON.parse(site.site_values)).toMatchObject({ values: { ratio: 0.75, constructor: '1.5' } });
  });

  it.each([
    [
      'another type',
      { lineNumber: 'abc' },
      'the value does not fit release 3 of prod/factory-host: lineNumber must be integer',
    ],
    ['a bound', { lineNumber: 0 }, /lineNumber must be >= 1$/],
    ['a name of the prototype', { toString: 'x' }, /asks for no value toString$/],
  ])('are refused when they do not match the schema: %s', async (_, set, message) => {
    await using hub = await enrolledHub();
    await released(hub);
    await expect(check(hub, { set })).rejects.toMatchObject({
      code: 'SITE_VALUES',
      message: expect.stringMatching(message) as string,
      hint: message instanceof RegExp && message.source.includes('asks') ? expect.anything() : undefined,
    });
  });

  it('are refused with a hint how to write text, when text would match', async () => {
    await using hub = await enrolledHub();
    await released(hub);
    await expect(check(hub, { set: { constructor: 7 } })).rejects.toMatchObject({
      message: expect.stringMatching(/constructor must be string$/) as string,
      hint: `Text that looks like a number, true, false, null or JSON is read as such; 'constructor="7"' is the text 7`,
    });
  });

  it('are refused under an undeclared name, with the nearest declared one', async () => {
    await using hub = await enrolledHub();
    await released(hub);
    await expect(check(hub, { set: { lineNumbr: 7 } })).rejects.toMatchObject({
      code: 'SITE_VALUES',
      message: 'release 3 of prod/factory-host asks for no value lineNumbr',
      hint: 'Did you mean lineNumber? It asks for constructor, lineNumber, ratio; --allow-unknown sets a value for a release that is still to come',
    });
  });

  it('are validated against the channel of their agent, and not validated for a channel without a release', async () => {
    await using hub = await enrolledHub();
    await enrolled(hub, 'plant-7/kiosk-1', KIOSK);
    await released(hub);
    await check(hub, { agent: 'kiosk-1', set: { lineNumber: 'abc', other: 1 } });
    await check(hub, { agent: 'press-1', set: { other: 1 }, terms: { channel: KIOSK } });
    await expect(check(hub, { agent: 'press-1', set: { other: 1 } })).rejects.toMatchObject({
      code: 'SITE_VALUES',
    });
    // The site's: kiosk-1 may need the name later, and press-1 refuses the type now.
    await check(hub, { set: { other: 1 } });
    await expect(check(hub, { set: { lineNumber: 'abc' } })).rejects.toMatchObject({ code: 'SITE_VALUES' });
  });

  it('of the site are not validated for an agent with a value of its own', async () => {
    await using hub = await enrolledHub();
    await released(hub);
    const own = { site: 'plant-7', agent: 'press-1', set: { lineNumber: 7 }, unset: [] };
    await setValues(hub.store, own, await siteSigner(hub), NOW);
    await check(hub, { set: { lineNumber: 'north' } });
  });
});
