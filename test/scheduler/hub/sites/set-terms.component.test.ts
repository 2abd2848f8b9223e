import { describe, expect, it } from 'vitest';
import { PREDICATES } from '#bundles/media-types';
import type { SitePredicate } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { parseFreshness, type Terms } from '../../../../scheduler/hub/sites/set-terms.ts';
import { setValues } from '../../../../scheduler/hub/sites/set-values.ts';
import { shortestFreshness } from '../../../../scheduler/hub/sites/shortest-freshness.ts';
import { enrolled, enrolledHub, HOSTS, NOW, type TestHub } from '../test-hub.ts';

const KIOSK = { environment: 'prod', clusterType: 'kiosk' };

const set = async (hub: TestHub, terms: Terms, agent?: string) => {
  const change = { site: 'plant-7', agent, set: {}, unset: [], terms };
  const { site, changed } = await setValues(hub.store, change, await siteSigner(hub), NOW);
  const verified = verifyStatement(
    [Buffer.from(site.statement)],
    hub.keys.root.roles.release,
    PREDICATES.site,
    'the statement',
  );
  return { changed, version: site.version, agents: (verified.predicate as SitePredicate).agents };
};

describe('freshness', () => {
  it.each([
    ['release', null],
    ['lease:14d', 1_209_600],
    ['lease:36h', 129_600],
    ['lease:2w', 1_209_600],
    ['lease:400d', 34_560_000],
  ])('%s is %s seconds', (text, seconds) => {
    expect(parseFreshness(text)).toBe(seconds);
  });

  it.each(['lease', 'lease:0d', 'lease:14', 'lease:14m', 'lease:401d', 'never', 'release:1d'])(
    '%s is refused',
    (text) => {
      expect(() => parseFreshness(text)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
    },
  );

  it('is set by the next site statement, for one agent or for all of the site', async () => {
    await using hub = await enrolledHub();
    await enrolled(hub, 'plant-7/press-2');
    const one = await set(hub, { freshness: 3600 }, 'press-2');
    expect(one).toMatchObject({
      changed: true,
      agents: [{ freshness: { mode: 'release' } }, { freshness: { mode: 'lease', seconds: 3600 } }],
    });
    expect(await set(hub, { freshness: 3600 }, 'press-2')).toMatchObject({ changed: false });
    const all = await set(hub, { freshness: 7200 });
    expect(all.version).toBe(one.version + 1);
    expect(all.agents.map(({ freshness }) => freshness)).toEqual([
      { mode: 'lease', seconds: 7200 },
      { mode: 'lease', seconds: 7200 },
    ]);
    expect((await set(hub, { freshness: null }, 'press-1')).agents[0]?.freshness).toEqual({
      mode: 'release',
    });
  });

  it('of the strictest agent determines how often the lease of a channel is renewed', async () => {
    await using hub = await enrolledHub();
    await enrolled(hub, 'plant-7/press-2');
    expect(await shortestFreshness(hub.store.db)).toEqual(new Map());
    await set(hub, { freshness: 7200 }, 'press-1');
    await set(hub, { freshness: 3600 }, 'press-2');
    expect(await shortestFreshness(hub.store.db)).toEqual(new Map([['prod/factory-host', 3600]]));
  });
});

describe('a change of channel', () => {
  it('names the previous channel of the agent', async () => {
    await using hub = await enrolledHub();
    expect(await set(hub, { channel: KIOSK }, 'press-1')).toMatchObject({
      changed: true,
      agents: [{ channel: KIOSK, previousChannel: HOSTS }],
    });
    expect(await set(hub, { channel: KIOSK }, 'press-1')).toMatchObject({
      changed: false,
      agents: [{ channel: KIOSK, previousChannel: HOSTS }],
    });
  });
});
