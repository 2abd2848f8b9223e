import { describe, expect, it } from 'vitest';
import type { TrustState } from '#bundles/trust/accept/trust-state';
import type { SiteAgent } from '#bundles/formats/statements/predicates';
import { addDays } from '#bundles/time';
import { publics } from '../root/new-key.ts';
import { verdict } from '../../verdict.ts';
import {
  after,
  approver,
  at,
  BUNDLE_A,
  bundlePayload,
  CHANNEL,
  enrolled,
  importMedium,
  type Medium,
  NOW,
  nextRelease,
  type ReleaseInput,
  release,
  releaseMedium,
  root1,
  rootOf,
  scheduler,
  sign,
  siteAgent,
  sitePayload,
  stranger,
} from './signed-world.ts';

const refusalOf = async (medium: Medium | Promise<Medium>, state: TrustState = enrolled) => {
  const offered = await medium;
  return verdict(() => importMedium(state, offered));
};

const staging = { environment: 'staging', clusterType: 'kiosk' };

/** A medium that puts the agent on a channel, with that channel's release and bundle. */
const onChannel = async (
  siteVersion: number,
  change: Partial<SiteAgent>,
  releaseChange: ReleaseInput = {},
): Promise<Medium> => {
  const channel = change.channel ?? CHANNEL;
  const bundle = bundlePayload(BUNDLE_A, channel);
  return {
    ...(await releaseMedium({ audience: { fleet: 'acme', ...channel }, ...releaseChange })),
    claimedChannel: channel,
    site: await sign(sitePayload({ version: siteVersion, agents: [siteAgent(change)] }), release),
    bundles: new Map([[BUNDLE_A, await sign(bundle, scheduler, approver)]]),
  };
};

describe('the agent a site statement is for', () => {
  it('is refused when the statement does not name it, or names another key: AGENT_UNKNOWN', async () => {
    const naming = async (agents: readonly SiteAgent[]): Promise<Medium> => ({
      site: await sign(sitePayload({ agents }), release),
    });
    expect(await refusalOf(naming([]))).toBe('AGENT_UNKNOWN');
    expect(await refusalOf(naming([siteAgent({ name: 'line-2' })]))).toBe('AGENT_UNKNOWN');
    expect(await refusalOf(naming([siteAgent({ key: stranger.public.pem })]))).toBe('AGENT_UNKNOWN');
    expect(await refusalOf(naming([siteAgent({ key: `${siteAgent().key}\n` })]))).toBe('ACCEPT');
  });

  it('has to be enrolled before it can take a release', async () => {
    expect(await refusalOf({ site: false })).toBe('NOT_ENROLLED');
  });

  it('keeps its site statement when the medium has none', async () => {
    const state = await after({});
    const accepted = await importMedium(state, { site: false });
    expect(accepted.site.statement).toEqual(state.siteStatement);
    expect(accepted.site.values).toBeUndefined();
    expect(accepted.release?.news).toBe('same');
  });

  it('gets the site values again when the medium repeats the statement, and MISSING_BLOB without them', async () => {
    expect((await importMedium(await after({}), {})).site.values?.values).toEqual({ dns: '10.7.0.1' });
    expect(await refusalOf({ values: [] }, await after({}))).toBe('MISSING_BLOB');
  });
});

describe('a change of channel', () => {
  it("is accepted when it names the agent's current channel; the new channel starts at version 1", async () => {
    const state = await after(await releaseMedium({ version: 7 }));
    const accepted = await importMedium(
      state,
      await onChannel(2, { channel: staging, previousChannel: CHANNEL }),
    );
    expect(accepted.release).toMatchObject({ news: 'newer', predicate: { version: 1, audience: staging } });
  });

  it('is refused when it names no previous channel or another one: WRONG_CHANNEL', async () => {
    const state = await after({});
    const from = (previousChannel: SiteAgent['previousChannel']) =>
      onChannel(2, { channel: staging, previousChannel });
    expect(await refusalOf(from(null), state)).toBe('WRONG_CHANNEL');
    expect(await refusalOf(from({ environment: 'prod', clusterType: 'server' }), state)).toBe(
      'WRONG_CHANNEL',
    );
  });

  it('to another channel and back keeps the version floor of the first channel', async () => {
    const away = await after(
      await releaseMedium({ version: 7 }),
      await onChannel(2, { channel: staging, previousChannel: CHANNEL }, { version: 2 }),
    );
    const back = (version: number, rollout = { percent: 100 }) =>
      onChannel(3, { channel: CHANNEL, previousChannel: staging }, { version, rollout });
    expect(await refusalOf(back(6), away)).toBe('ROLLBACK');
    expect(await refusalOf(back(7), away)).toBe('ACCEPT');
    expect(await refusalOf(back(7, { percent: 50 }), away)).toBe('EQUIVOCATION');
    expect(await refusalOf(back(8), away)).toBe('ACCEPT');
  });

  it('without a release keeps no version floor of the old channel', async () => {
    const move = await onChannel(2, { channel: staging, previousChannel: CHANNEL });
    const state = await after(await releaseMedium({ version: 7 }), { ...move, release: false });
    expect(state).toMatchObject({ channel: staging, release: undefined });
    expect(await refusalOf({ ...move, site: false }, state)).toBe('ACCEPT');
  });
});

describe('the minSiteVersion of a release', () => {
  it.each([
    ['AGENT_TOO_OLD', { minAgent: '1.4.1' }],
    ['AGENT_TOO_OLD', { minAgent: 'the newest' }],
    ['ACCEPT', { minAgent: '1.4.0' }],
    ['SITE_BEHIND', { minSiteVersion: 2 }],
    ['UNSUPPORTED', { critical: ['quantum'] }],
    ['ROOT_BEHIND', { rootVersion: 2 }],
  ] as const)('-> %s for %o', async (code, change) => {
    expect(await refusalOf(releaseMedium(change))).toBe(code);
  });

  it('is met by a newer site statement on the same medium', async () => {
    const site = await sign(sitePayload({ version: 2 }), release);
    expect(await refusalOf(releaseMedium({ minSiteVersion: 2 }, { site }))).toBe('ACCEPT');
  });
});

describe('an accepted medium', () => {
  it('returns everything that one transaction stores', async () => {
    const accepted = await importMedium(enrolled, {});
    expect(accepted).toMatchObject({
      root: { version: 1, fleet: 'acme' },
      site: { agent: { name: 'line-1' }, values: { site: 'plant-7' }, statement: { version: 1 } },
      release: { news: 'newer', statement: { version: 1 }, revoked: [] },
      selected: true,
      time: addDays(NOW, -1),
    });
    expect(accepted.release?.bundles).toMatchObject([
      { kind: 'host', digest: BUNDLE_A, predicate: { environment: 'prod', clusterType: 'kiosk' } },
    ]);
  });

  it('with a release for other agents is stored, and this agent is not selected', async () => {
    for (const rollout of [{ percent: 0 }, { percent: 100, selector: { ring: 'late' } }]) {
      const accepted = await importMedium(enrolled, await releaseMedium({ rollout }));
      expect(accepted).toMatchObject({ selected: false, release: { news: 'newer' } });
    }
  });

  it('moves the time forward to the newest statement, and never back', async () => {
    const later = { version: 2, issuedAt: at(0) };
    const state = await after({}, await releaseMedium(later));
    expect(state.time).toEqual(NOW);
    expect((await importMedium(state, { release: false })).time).toEqual(NOW);
  });

  it('keeps the remaining valid signatures when one signer is rotated away', async () => {
    const keys = { release: publics([release, nextRelease]) };
    const withBoth = await rootOf(2, { keys });
    const state = await after({
      roots: [root1, withBoth],
      site: await sign(sitePayload(), release, nextRelease),
    });
    const roots = [withBoth, await rootOf(3, { keys: { release: publics([nextRelease]) } })];
    const accepted = await importMedium(state, { roots, site: false, release: false });
    expect(accepted.site.statement.envelopes).toHaveLength(1);
  });
});
