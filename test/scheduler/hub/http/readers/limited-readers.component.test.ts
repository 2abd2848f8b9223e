import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  COMPARE_PATH,
  COMPLIANCE_PATH,
  EVENTS_PATH,
  HISTORY_PATH,
  OVERVIEW_PATH,
  STATUS_PATH,
  WHERE_PATH,
  WORKLOADS_PATH,
} from '#bundles/formats/events/hub-api';
import type { Digest } from '#bundles/digest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { openLayout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import { addDays, formatTime } from '#bundles/time';
import { recordLinkStates } from '../../../../../scheduler/hub/questions/state/link-states.ts';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { sampleCompliance } from '../../../../../scheduler/hub/upkeep/sample-compliance.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { chain, NOW, reportOf, testAgent } from '../../test-hub.ts';
import { hand, join, type TestServer, testServer } from '../../serve/test-server.ts';

const WORKSPACES = { oven: 'production', labels: 'logistics' };

/** Two environments with a site each, where the ovens and labels of two workspaces run, and a third site without an oven. */
const twoTeams = async (): Promise<TestServer> => {
  const made = await testServer();
  for (const environment of ['qa', 'prod']) {
    const channel = { environment, clusterType: 'factory-host' };
    const packages = await release(made, channel, `${environment} 1`, ['oven', 'labels']);
    await report(made, `${environment}-site/press-1`, channel, packages);
  }
  const docks = { environment: 'prod', clusterType: 'dock-host' };
  await report(made, 'prod-dock/gate-1', docks, await release(made, docks, 'dock', ['labels']));
  const link = { from: 'qa', to: 'prod', mode: 'manual', state: 'waiting', candidate: null };
  const why = { waitsFor: 'soak', unmet: ['soak'], why: 'labels soak' };
  await recordLinkStates(made.hub.store, [{ ...link, ...why }], formatTime(NOW));
  return made;
};

type Packages = Readonly<Record<string, Digest>>;

const release = async (
  { hub }: TestServer,
  channel: Channel,
  content: string,
  names: readonly ('oven' | 'labels')[],
): Promise<Packages> => {
  const packages = Object.fromEntries(names.map((name) => [name, { 'package.json': `${name} ${content}` }]));
  const bundle = { kind: 'host', packages, workspaces: WORKSPACES } as const;
  const [digest] = await hub.layoutWriter.release({ channel, version: 1, bundles: [bundle] });
  if (digest === undefined) throw new Error('no bundle was released');
  const { config } = await readBundle((await openLayout(hub.layout)).blobs, digest);
  return Object.fromEntries(config.assignments.map((one) => [one.id, one.package]));
};

const report = async (made: TestServer, id: string, channel: Channel, packages: Packages): Promise<void> => {
  const agent = testAgent(id);
  const certificate = await join(made, agent, channel);
  const lines = chain(agent, [
    { type: 'operator', message: 'the line was cleaned' },
    ...Object.entries(packages).map(([assignment, pack]) => ({
      type: 'package',
      assignment,
      package: pack,
      release: { ...channel, version: 1 },
      outcome: 'configured' as const,
    })),
  ]);
  const answer = await hand(made, await reportOf(agent, lines), certificate);
  if (answer.status !== 200) throw new Error(answer.text);
};

/** Asks as a reader that may see only this. */
const readerOf = async (...only: readonly string[]) => {
  const { hub, get } = made;
  const allowances = only.length === 0 ? undefined : only.map((place) => parseAllowance(`read:${place}`));
  const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
  const { token } = await createToken(hub.store, { scope: 'reader', allowances }, terms);
  return async (
    path: string,
  ): Promise<{ readonly status: number; readonly text: string; readonly body: never }> =>
    get(path, { authorization: `Bearer ${token}` });
};

type Rows = { readonly rows: readonly { readonly site: string; readonly assignment: string | null }[] };
const rowsOf = (body: Rows): readonly string[] =>
  body.rows.map(({ site, assignment }) => `${site} ${assignment}`);

/** One for all tests: readers change nothing. */
let made: TestServer;
beforeAll(async () => {
  made = await twoTeams();
  return () => made[Symbol.asyncDispose]();
});

test('compliance over time is for readers of whole environments', async () => {
  await sampleCompliance(made.hub, NOW);
  const environmentsFor = async (...only: readonly string[]): Promise<readonly string[]> => {
    const { body } = await (await readerOf(...only))(COMPLIANCE_PATH);
    const { environments } = body as { readonly environments: readonly { readonly environment: string }[] };
    return environments.map(({ environment }) => environment);
  };
  expect(await environmentsFor()).toEqual(['prod', 'qa']);
  expect(await environmentsFor('qa', 'prod/production')).toEqual(['qa']);
  const ask = await readerOf('prod');
  expect((await ask(`${COMPLIANCE_PATH}?environment=qa`)).body).toMatchObject({ environments: [] });
  expect(await ask(`${COMPLIANCE_PATH}?since=soon`)).toMatchObject({ status: 400, body: { code: 'USAGE' } });
});

describe('a reader of one environment', () => {
  test('sees its agents and links, and nothing of another environment', async () => {
    const ask = await readerOf('qa');
    for (const path of [STATUS_PATH, `${STATUS_PATH}?limit=10`]) {
      const { body } = await ask(path);
      expect(rowsOf(body)).toEqual(['qa-site labels', 'qa-site oven']);
      expect(body).toMatchObject({ links: [] });
    }
    expect((await ask(`${STATUS_PATH}?environment=prod`)).body).toMatchObject({ rows: [] });
    expect((await ask(`${STATUS_PATH}?format=text`)).text).not.toContain('prod');
    for (const path of [HISTORY_PATH, EVENTS_PATH, WHERE_PATH, WORKLOADS_PATH]) {
      const { status, text } = await ask(path);
      expect(status).toBe(200);
      expect(text).toContain(path === WORKLOADS_PATH ? 'qa/factory-host' : 'qa-site/press-1');
      expect(text).not.toMatch(/prod[-/]/);
    }
    const prod = await readerOf('prod');
    expect((await prod(STATUS_PATH)).body).toMatchObject({ links: [{ to: 'prod', why: 'labels soak' }] });
  });

  test('gets the same error for the names of another environment, site or agent as for unknown ones', async () => {
    const ask = await readerOf('qa');
    for (const name of ['prod', 'prod-site', 'prod-site/press-1', 'none'])
      expect(await ask(`${WHERE_PATH}?name=${name}`)).toMatchObject({ status: 400, body: { code: 'USAGE' } });
    expect((await ask(`${WHERE_PATH}?name=qa-site`)).status).toBe(200);
    expect((await ask(`${WHERE_PATH}?site=prod-site`)).body).toMatchObject({ agents: [] });
  });

  test('may compare its environments only, and is refused the metrics of the fleet', async () => {
    const ask = await readerOf('qa');
    const compared = await ask(`${COMPARE_PATH}?left=qa&right=prod`);
    expect(compared).toMatchObject({ status: 403, body: { code: 'ROLE_MISSING' } });
    expect(await ask('/metrics')).toMatchObject({ status: 403, body: { code: 'TOKEN_SCOPE' } });
    const everything = await readerOf();
    expect((await everything(`${COMPARE_PATH}?left=qa&right=prod`)).status).toBe(200);
    expect((await everything('/metrics')).status).toBe(200);
  });
});

test('an approver of one workspace sees the link to its environment, without a reason that names other workspaces', async () => {
  const linksFor = async (...allowances: readonly string[]): Promise<unknown> => {
    const order = { scope: 'decide', person: 'lena', allowances: allowances.map(parseAllowance) } as const;
    const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
    const { token } = await createToken(made.hub.store, order, terms);
    const { body } = await made.get(STATUS_PATH, { authorization: `Bearer ${token}` });
    return (body as { readonly links: unknown }).links;
  };
  const seen = [{ to: 'prod', state: 'waiting', waitsFor: 'soak', unmet: ['soak'], why: null }];
  expect(await linksFor('read:prod/production', 'approve:prod/production')).toMatchObject(seen);
  expect(await linksFor('read:prod/production', 'reject:*/production')).toMatchObject(seen);
  expect(await linksFor('read:prod/production', 'rollback:prod/production')).toEqual([]);
  expect(await linksFor('read:qa', 'approve:qa/production')).toEqual([]);
});

describe('a reader of one workspace', () => {
  test('sees its assignments, and only agents with one of them', async () => {
    const ask = await readerOf('prod/production');
    for (const path of [STATUS_PATH, `${STATUS_PATH}?limit=10`]) {
      const { body } = await ask(path);
      expect(rowsOf(body)).toEqual(['prod-site oven']);
      expect(body).toMatchObject({ links: [], gaps: [], alarms: [] });
    }
    for (const path of [STATUS_PATH, HISTORY_PATH, EVENTS_PATH, WHERE_PATH, WORKLOADS_PATH])
      for (const form of ['json', 'text']) {
        const { status, text } = await ask(`${path}?format=${form}`);
        expect([path, status]).toEqual([path, 200]);
        expect(text).toContain('oven');
        for (const word of ['labels', 'qa-site', 'prod-dock', 'the line was cleaned'])
          expect(text).not.toContain(word);
      }
  });

  test('sees its assignments in a comparison of two environments', async () => {
    const ask = await readerOf('prod/production', 'qa');
    const { body } = await ask(`${COMPARE_PATH}?left=qa&right=prod`);
    expect((body as { assignments: readonly { assignment: string }[] }).assignments).toMatchObject([
      { assignment: 'oven' },
    ]);
  });

  test('may have all environments, and sees nothing for a workspace without a release', async () => {
    const oven = await readerOf('*/production');
    expect(rowsOf((await oven(STATUS_PATH)).body)).toEqual(['prod-site oven', 'qa-site oven']);
    const none = await readerOf('*/paint');
    for (const path of [STATUS_PATH, HISTORY_PATH, EVENTS_PATH, WHERE_PATH, WORKLOADS_PATH]) {
      const { status, text } = await none(path);
      expect(status).toBe(200);
      expect(text).not.toMatch(/oven|labels|-site/);
    }
  });
});

test('a reader of everything sees everything', async () => {
  const ask = await readerOf();
  expect(rowsOf((await ask(STATUS_PATH)).body)).toHaveLength(5);
  expect((await ask(EVENTS_PATH)).text).toContain('the line was cleaned');
});

test('an overview has the sites and causes that the reader may see, and is compressed for a client that takes gzip', async () => {
  const namesFor = async (...only: readonly string[]): Promise<readonly string[]> => {
    const { body } = await (await readerOf(...only))(OVERVIEW_PATH);
    return (body as { readonly sites: { readonly name: readonly string[] } }).sites.name;
  };
  expect(await namesFor()).toEqual(['prod-dock', 'prod-site', 'qa-site']);
  expect(await namesFor('qa', 'prod/production')).toEqual(['prod-site', 'qa-site']);

  const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
  const { token } = await createToken(made.hub.store, { scope: 'reader' }, terms);
  const ask = (headers: Readonly<Record<string, string>>) =>
    made.server.inject({ url: OVERVIEW_PATH, headers: { authorization: `Bearer ${token}`, ...headers } });
  const [plain, packed] = [await ask({}), await ask({ 'accept-encoding': 'gzip' })];
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(packed.headers['content-encoding']).toBe('gzip');
  expect(JSON.parse(gunzipSync(packed.rawPayload).toString())).toMatchObject({ sites: plain.json().sites });
});
