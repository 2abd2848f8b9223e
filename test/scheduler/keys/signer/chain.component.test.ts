import SQLite from 'better-sqlite3';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { Json } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { type ChainLink, parseChain } from '../../../../scheduler/keys/signer/chain.ts';
import { openSignerState } from '../../../../scheduler/keys/signer/state/open-state.ts';
import { refusalOf } from '../../../bundles/refusal.ts';
import { verdict } from '../../../bundles/verdict.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { type Hub, HOUR_MS, openHub as openChained, S1 } from './chain-hub.ts';
import { NOW, sitePayload, toSign } from './signer-world.ts';

const CHAIN = parseChain(['qa=dev', 'prod=qa:24h']);
const NEW_BUNDLE = digestOf('a new bundle');
const openHub = (chain: readonly ChainLink[] = CHAIN) => openChained(chain);
const S2 = digestOf('shared 2');

test('signs a release that passed every environment of the chain', async () => {
  await using hub = await openHub();
  await hub.release('dev', { shared: S1 });
  await hub.promote({ from: 'dev', to: 'qa' });
  await hub.release('qa', { shared: S2, promoted: S1 });
  hub.later(24);
  await hub.promote({ shared: S2 });
  expect(await hub.release('prod', { promoted: S2 })).toBeInstanceOf(Buffer);
});

test('H24: a skipped environment: nothing is promoted to prod that was not released in qa', async () => {
  await using hub = await openHub();
  await hub.release('dev', { shared: S1 });
  await expect(hub.promote()).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  await expect(hub.promote({ from: 'dev' })).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  await expect(hub.release('prod', { promoted: S1 })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
});

test('H24: a shorter soak: the signer counts the time by its own clock', async () => {
  await using hub = await openHub();
  await hub.release('qa', { shared: S1 }).catch(() => {});
  hub.state.addReleased('qa', [S1], NOW.getTime());
  hub.later(23);
  await expect(hub.promote()).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  await expect(
    hub.promote({ time: formatTime(new Date(NOW.getTime() + 30 * HOUR_MS)) }),
  ).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
  });
  hub.later(1);
  expect(await hub.promote()).toBeInstanceOf(Buffer);
});

test('H25: a forged promoted: a bundle statement cannot name what was not promoted, or nothing', async () => {
  await using hub = await openHub();
  hub.state.addReleased('qa', [S1], 0);
  await hub.promote();
  await expect(hub.release('prod', { promoted: S2 })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  await expect(hub.release('prod', {})).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
});

test('H26: a replayed promotion: an older one does not bring back what it named', async () => {
  await using hub = await openHub();
  hub.state.addReleased('qa', [S1, S2], 0);
  await hub.promote();
  await hub.release('prod', { promoted: S1 });
  await hub.promote({ shared: S2 });
  await expect(hub.promote({ number: 1, previous: null, reason: 'again' })).rejects.toMatchObject({
    code: 'NOT_NEWER',
  });
  await expect(hub.promote({ number: 4 })).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  await expect(hub.release('prod', { promoted: S1 }, NEW_BUNDLE)).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
  });
});

test('H27: another fleet: its promotion is not signed', async () => {
  await using hub = await openHub();
  hub.state.addReleased('qa', [S1], 0);
  await expect(hub.promote({ fleet: 'other' })).rejects.toMatchObject({ code: 'WRONG_FLEET' });
});

test('H28: the chain removed from fleet.yaml: the signer has its own', async () => {
  await using hub = await openHub();
  // What a build of a platform without a chain asks for.
  await expect(hub.release('prod', {}, NEW_BUNDLE)).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  expect(await hub.release('elsewhere', {}, NEW_BUNDLE)).toBeInstanceOf(Buffer);
});

test('a candidate that restates a released bundle is promoted after a soak since the signer saw the statement', async () => {
  await using hub = await openHub(parseChain(['prod=qa:24h']));
  await hub.release('qa', { shared: S1 });
  hub.later(48);
  await expect(hub.promote({ shared: S2 })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  expect(await hub.restate('qa', { shared: S2 })).toBe(1);
  hub.later(23);
  await expect(hub.promote({ shared: S2 })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  // Shown again: the first time counts.
  expect(await hub.restate('qa', { shared: S2 })).toBe(1);
  hub.later(1);
  expect(await hub.promote({ shared: S2 })).toBeInstanceOf(Buffer);
});

test('H39: what runs, stated to be of another candidate: without its keys, of another bundle, held, or not promoted', async () => {
  await using hub = await openHub(parseChain(['qa=dev', 'prod=qa']));
  hub.state.addReleased('dev', [S1], 0);
  await hub.promote({ from: 'dev', to: 'qa' });
  await hub.release('qa', { shared: S2, promoted: S1 });
  const S3 = digestOf('shared 3');
  const mine = loadSigningKey(generatePrivateKey());
  expect(await hub.restate('qa', { shared: S3, promoted: S1 }, undefined, [mine])).toBe(0);
  expect(await hub.restate('qa', { shared: S3, promoted: S1 }, NEW_BUNDLE)).toBe(0);
  expect(await hub.restate('qa', { shared: S3, promoted: S1, held: HELD })).toBe(0);
  expect(await hub.restate('qa', { shared: S3, promoted: S3 })).toBe(0);
  expect(await hub.restate('qa', { shared: S3 })).toBe(0);
  await expect(hub.promote({ shared: S3 })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  expect(await hub.restate('qa', { shared: S3, promoted: S1 })).toBe(1);
});

const HELD = [{ assignment: 'shop', code: 'CONFIG_SCHEMA', message: 'printer is missing' }];

test('H36: held in the environment before: what was not tried there is not promoted, and its soak begins without it', async () => {
  await using hub = await openHub(parseChain(['prod=qa:24h']));
  await hub.release('qa', { shared: S1, held: HELD });
  hub.later(48);
  await expect(hub.promote()).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  await hub.release('qa', { shared: S1 });
  hub.later(23);
  await expect(hub.promote()).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
  hub.later(1);
  expect(await hub.promote()).toBeInstanceOf(Buffer);
});

test('renews a release between a promotion and the next build', async () => {
  await using hub = await openHub();
  hub.state.addReleased('qa', [S1, S2], 0);
  await hub.promote();
  await hub.release('prod', { promoted: S1 });
  await hub.promote({ shared: S2 });
  expect(await hub.release('prod', { promoted: S1 })).toBeInstanceOf(Buffer);
  await hub.release('prod', { promoted: S2 }, NEW_BUNDLE);
  // The bundle before the newest release is not a renewal.
  await expect(hub.release('prod', { promoted: S1 })).rejects.toMatchObject({ code: 'NOT_PROMOTED' });
});

test('signs a rollback as a promotion of an earlier promoted candidate', async () => {
  await using hub = await openHub();
  hub.state.addReleased('qa', [S1, S2], 0);
  await hub.promote();
  await hub.release('prod', { promoted: S1 });
  await hub.promote({ shared: S2 });
  await hub.release('prod', { promoted: S2 }, NEW_BUNDLE);
  await hub.promote();
  expect(await hub.release('prod', { promoted: S1 })).toBeInstanceOf(Buffer);
});

test('without a chain it signs releases, records none, and refuses promotions', async () => {
  await using hub = await openHub([]);
  await hub.release('qa', { shared: S1 });
  await hub.release('prod', { promoted: S2 });
  expect(hub.state.releasedSince('qa', S1)).toBeUndefined();
  await expect(hub.promote()).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
    hint: 'Start the signer with --chain prod=qa, if that is intended',
  });
});

test('reads the links of --chain, and refuses invalid ones', () => {
  expect(parseChain(['prod=qa:24h', 'qa=dev'])).toEqual([
    { environment: 'prod', promotedFrom: 'qa', soakMs: 24 * HOUR_MS },
    { environment: 'qa', promotedFrom: 'dev', soakMs: 0 },
  ]);
  for (const words of [['prod'], ['prod=qa:1'], ['Prod=qa'], ['a=b', 'a=c'], ['a=a'], ['a=b', 'b=a']])
    expect(refusalOf(() => parseChain(words)).code).toBe('USAGE');
});

test('opens a state file of a version before chains', async () => {
  await using folder = await temporaryDirectory();
  const directory = join(folder.path, 'state');
  await mkdir(directory, { mode: 0o700 });
  const db = new SQLite(join(directory, 'signed.sqlite'));
  db.exec(`
    CREATE TABLE signed (line TEXT, version INTEGER, payload TEXT NOT NULL, previous TEXT, PRIMARY KEY (line, version)) WITHOUT ROWID;
    CREATE TABLE revoked (channel TEXT, digest TEXT, PRIMARY KEY (channel, digest)) WITHOUT ROWID;
    CREATE TABLE counted (sort TEXT, at INTEGER);
    CREATE INDEX counted_at ON counted (sort, at);
    INSERT INTO signed VALUES ('release:prod/kiosk', 7, '${S1}', NULL);
    PRAGMA user_version = 1;
  `);
  db.close();
  for (const _ of ['first', 'again']) {
    using state = await openSignerState(directory);
    expect(state.signed('release:prod/kiosk')).toEqual([{ version: 7, payload: S1, previous: null }]);
    state.addReleased('qa', [S2], 5);
    state.addReleased('qa', [S2], 9);
    expect(state.releasedSince('qa', S2)).toBe(5);
  }
});

describe('site statements of a scheduler that an attacker controls', () => {
  const channel = (environment: string) => ({ environment, clusterType: 'kiosk' });
  const siteAgent = (environment: string, key: string) => ({
    name: 'press-1',
    key,
    channel: channel(environment),
    previousChannel: null,
    labels: {},
    freshness: { mode: 'release' },
  });
  const sign = async (
    hub: Hub,
    version: number,
    agents: Json,
    over: { readonly [field: string]: Json } = {},
  ) => hub.signer.sign('release', toSign(sitePayload(version, { agents, ...over })), []);
  const key = (): string => loadSigningKey(generatePrivateKey()).public.pem;

  test.each([
    ['the first environment', 'dev'],
    ['the environment before', 'qa'],
    ['one without a link', 'elsewhere'],
  ])('I4: a machine of prod is moved to %s, whose releases were not promoted to prod', async (_, to) => {
    await using hub = await openHub();
    const machine = key();
    await sign(hub, 1, [siteAgent('prod', machine)]);
    await expect(sign(hub, 2, [siteAgent(to, machine)])).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
    // Nor in two steps, or at another site.
    await sign(hub, 2, []);
    await expect(sign(hub, 3, [siteAgent(to, machine)])).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
    const audience = { audience: { fleet: 'acme', site: 'plant-8' } };
    await expect(sign(hub, 1, [siteAgent(to, machine)], audience)).rejects.toMatchObject({
      code: 'SIGNER_REFUSED',
    });
  });

  test('a machine may be moved forward along the chain, and anywhere with a new key', async () => {
    await using hub = await openHub();
    const machine = key();
    await sign(hub, 1, [siteAgent('dev', machine)]);
    await sign(hub, 2, [siteAgent('qa', machine)]);
    await sign(hub, 3, [siteAgent('prod', machine)]);
    expect(await sign(hub, 4, [siteAgent('dev', key())])).toBeInstanceOf(Buffer);
  });

  test('a state file of an earlier version learns the channels of machines from the known agents', async () => {
    await using folder = await temporaryDirectory();
    const machine = key();
    {
      using state = await openSignerState(folder.path);
      const agents = [
        { ...siteAgent('prod', machine), freshness: { mode: 'release' as const }, recipient: '' },
      ];
      state.commit(() => state.evidence.setAgents('plant-7', agents, 0));
    }
    const db = new SQLite(join(folder.path, 'signed.sqlite'));
    db.exec(
      'DROP TABLE lived; DROP TABLE site_values; DROP TABLE layers_of; DROP TABLE stated; DROP TABLE hidden_by; PRAGMA user_version = 4;',
    );
    db.close();
    using state = await openSignerState(folder.path);
    expect(state.evidence.livedIn(machine)).toEqual(['prod']);
  });

  test('I5: a machine that was elsewhere for long counts as new where it is moved to', async () => {
    await using hub = await openHub();
    const machine = key();
    await sign(hub, 1, [siteAgent('dev', machine)]);
    hub.later(100);
    const now = new Date(NOW.getTime() + 100 * HOUR_MS);
    const times = {
      issuedAt: formatTime(now),
      expires: formatTime(new Date(now.getTime() + 1000 * HOUR_MS)),
    };
    expect(await verdict(() => sign(hub, 2, [siteAgent('qa', machine)], times))).toBe('ACCEPT');
    expect(hub.state.evidence.agentsOf('qa')).toMatchObject([{ since: now.getTime() }]);
    hub.later(1);
    await sign(hub, 3, [siteAgent('qa', machine)], times);
    expect(hub.state.evidence.agentsOf('qa')).toMatchObject([{ since: now.getTime() }]);
  });
});
