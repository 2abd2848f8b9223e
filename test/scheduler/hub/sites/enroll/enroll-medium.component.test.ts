import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acceptChannel } from '#bundles/trust/accept/accept-channel';
import { readChannelDocuments } from '#bundles/trust/accept/documents';
import { canonicalBytes } from '#bundles/json/canonical';
import { openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { MEDIUM_FILE, parseMedium, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { fingerprint } from '#bundles/trust/keys/key';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { newSigningKey } from '../../../../harness/fleets/signed-fleet.ts';
import {
  ask,
  enrolled,
  enrolledHub,
  HOSTS,
  NOW,
  put,
  type TestAgent,
  type TestHub,
  testAgent,
  testHub,
} from '../../test-hub.ts';

const codes = (refused: readonly { readonly error: { readonly code: string } }[]): readonly string[] =>
  refused.map(({ error }) => error.code);

const steps = (result: Awaited<ReturnType<TestHub['enroll']>>) =>
  result.sites.flatMap(({ enrolments }) => enrolments.map(({ request, step }) => [request.id, step.kind]));

/** What the agent itself makes of a medium. */
const acceptAs = async (hub: TestHub, agent: TestAgent, stick: string, state: object = {}) => {
  await using medium = await openMedium(stick);
  const documents = await readChannelDocuments(medium.blobs, medium.medium?.documents ?? [], agent.site);
  return await acceptChannel(
    {
      fleet: 'acme',
      site: agent.site,
      agent: agent.name,
      key: agent.key.public.pem,
      pinnedRoot: hub.keys.root.digest,
      root: undefined,
      siteStatement: undefined,
      release: undefined,
      channel: undefined,
      time: undefined,
      ...state,
    },
    documents,
    { now: NOW, trusted: true },
    { maxValidityDays: 400, agentVersion: '1.0.0' },
  );
};

describe('enrolling agents from a medium', () => {
  it('refuses a site of which the layout has a newer statement, keeps its request, and enrols the others', async () => {
    await using hub = await enrolledHub();
    const site = await hub.store.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
    await enrolled(hub, 'plant-7/press-2');
    // The database is put back to its copy of before.
    await hub.store.db.deleteFrom('agent').where('id', '=', 'plant-7/press-2').execute();
    await hub.store.db.deleteFrom('agent_key').where('agent', '=', 'plant-7/press-2').execute();
    await hub.store.db.updateTable('site').set(site).where('name', '=', 'plant-7').execute();
    const stick = await hub.stick('many');
    for (const id of ['plant-6/press-1', 'plant-7/press-3', 'plant-8/press-1'])
      await ask(stick, testAgent(id), { channel: HOSTS });
    const result = await hub.enroll(stick);
    expect(steps(result)).toEqual([
      ['plant-6/press-1', 'register'],
      ['plant-8/press-1', 'register'],
    ]);
    expect(codes(result.refused)).toEqual(['ROLLBACK']);
    expect(result.answered).toEqual({ written: true });
    expect(await readdir(join(stick, REQUESTS_FOLDER))).toHaveLength(1);
    expect(await hub.store.db.selectFrom('agent').select('id').orderBy('id').execute()).toEqual(
      ['plant-6/press-1', 'plant-7/press-1', 'plant-8/press-1'].map((id) => ({ id })),
    );
  });

  it('refuses a channel without a release when others have one, and accepts the other requests', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const [press, kiosk] = [testAgent('plant-7/press-1'), testAgent('plant-7/kiosk-1')];
    await ask(stick, press, { channel: { environment: 'prod', clusterType: 'factory-hots' } });
    await ask(stick, kiosk);
    const released = ['prod/factory-host', 'prod/kiosk'];
    const first = await hub.enroll(stick, { released });
    expect(steps(first)).toEqual([['plant-7/kiosk-1', 'register']]);
    expect(first.refused[0]?.error).toMatchObject({
      code: 'CHANNEL_MISSING',
      message: 'there is no release of prod/factory-hots',
      hint: expect.stringMatching(/^Did you mean prod\/factory-host\? /) as string,
    });
    const corrected = await hub.enroll(stick, { released, channel: HOSTS });
    expect(steps(corrected)).toEqual([['plant-7/press-1', 'register']]);
    // Where nothing was released yet there is nothing to compare with; a known agent keeps the channel it has.
    await ask(stick, testAgent('plant-8/press-1'), { channel: { environment: 'prod', clusterType: 'new' } });
    expect(steps(await hub.enroll(stick, { released: [] }))).toEqual([['plant-8/press-1', 'register']]);
    await ask(stick, kiosk);
    expect(steps(await hub.enroll(stick, { released: ['prod/other'] }))).toEqual([
      ['plant-7/kiosk-1', 'unchanged'],
    ]);
  });

  it('writes what the agent accepts onto the same medium, and removes the request', async () => {
    await using hub = await testHub();
    const [agent, stick] = [testAgent('plant-7/press-1'), await hub.stick()];
    await ask(stick, agent, { labels: { line: 'north' } });
    const result = await hub.enroll(stick);
    expect(steps(result)).toEqual([['plant-7/press-1', 'register']]);
    expect(result.answered).toEqual({ written: true });
    expect(await readdir(join(stick, REQUESTS_FOLDER))).toEqual([]);
    const accepted = await acceptAs(hub, agent, stick);
    expect(accepted.site.agent).toMatchObject({ channel: HOSTS, labels: { line: 'north' } });
    expect(accepted.site.values).toEqual({ fleet: 'acme', site: 'plant-7', values: {}, agents: {} });
    expect(accepted.root.version).toBe(1);
  });

  it('writes the site statement into the layout for the exporter', async () => {
    await using hub = await enrolledHub();
    const layout = await openLayout(hub.layout);
    expect(layout.manifests.map(referenceOf)).toEqual(['sites/plant-7:site']);
  });

  it('changes nothing for a repeated request, and answers it again', async () => {
    await using hub = await testHub();
    const [agent, stick] = [testAgent('plant-7/press-1'), await hub.stick()];
    await ask(stick, agent);
    await hub.enroll(stick);
    const before = await hub.store.db.selectFrom('site').selectAll().execute();
    const first = await readFile(join(stick, MEDIUM_FILE));
    await ask(stick, agent);
    const again = await hub.enroll(stick);
    expect(steps(again)).toEqual([['plant-7/press-1', 'unchanged']]);
    expect(await hub.store.db.selectFrom('site').selectAll().execute()).toEqual(before);
    expect(await readFile(join(stick, MEDIUM_FILE))).toEqual(first);
    expect(await readdir(join(stick, REQUESTS_FOLDER))).toEqual([]);
  });

  it('issues one statement for several agents of a site, and the next version for a later agent', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agents = ['plant-7/press-1', 'plant-7/press-2', 'plant-8/oven'].map((id) => testAgent(id));
    for (const agent of agents) await ask(stick, agent);
    const result = await hub.enroll(stick);
    expect(result.sites.map(({ site }) => `${site.name} ${site.version}`).toSorted()).toEqual([
      'plant-7 1',
      'plant-8 1',
    ]);
    await ask(stick, testAgent('plant-7/press-3'));
    await hub.enroll(stick);
    const accepted = await acceptAs(hub, agents[0] as TestAgent, stick);
    expect(accepted.site.predicate.version).toBe(2);
    expect(accepted.site.predicate.agents.map(({ name }) => name)).toEqual(['press-1', 'press-2', 'press-3']);
    // The statement that was replaced left nothing behind on the stick.
    const medium = parseMedium(await readFile(join(stick, MEDIUM_FILE)));
    const blobs = await readdir(join(stick, 'blobs/sha256'));
    expect(blobs.length).toBe(medium.documents.length);
  });

  it('continues a run that was interrupted between database and medium', async () => {
    await using hub = await testHub();
    const [agent, stick] = [testAgent('plant-7/press-1'), await hub.stick()];
    await ask(stick, agent);
    // A file where the layout has to go: the statement is signed and stored, nothing is laid out.
    await writeFile(hub.layout, '');
    await expect(hub.enroll(stick)).rejects.toThrow(/layout/);
    const signed = await hub.store.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
    await using again = { ...hub, layout: join(hub.path, 'layout-2'), [Symbol.asyncDispose]: async () => {} };
    await using medium = await openMedium(stick);
    const { enrollMedium } = await import('../../../../../scheduler/hub/sites/enroll/enroll-medium.ts');
    await enrollMedium(
      again,
      medium,
      { accept: [{ fingerprint: fingerprint(agent.key.public) }], replaceKey: false, update: false },
      NOW,
    );
    expect((await acceptAs(hub, agent, stick)).site.statement.digest).toBe(signed.payload);
  });

  it('O4: takes no request whose fingerprint nobody has compared -> USAGE', async () => {
    await using hub = await testHub();
    const [agent, stick] = [testAgent('plant-7/press-1'), await hub.stick()];
    const path = await ask(stick, agent);
    const refused: unknown = await hub.enroll(stick, { accept: [] }).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(`plant-7/press-1 with the key ${fingerprint(agent.key.public)}`),
      hint: expect.stringContaining('--accept'),
    });
    expect(await hub.store.db.selectFrom('agent').selectAll().execute()).toEqual([]);
    expect(await readdir(stick)).toEqual(['fleet']);
    expect(await readFile(join(stick, path))).toBeTruthy();
  });

  it('asks about each request when none is named, and accepts the confirmed ones', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agents = ['plant-7/press-1', 'plant-7/press-2', 'plant-8/oven'].map((id) => testAgent(id));
    for (const agent of agents) await ask(stick, agent);
    const asked: string[] = [];
    const result = await hub.enroll(stick, {
      accept: [],
      site: 'plant-7',
      confirm: async ({ id, fingerprint: shown }) => {
        asked.push(shown);
        return id === 'plant-7/press-2';
      },
    });
    expect(asked.toSorted()).toEqual(
      agents
        .slice(0, 2)
        .map(({ key }) => fingerprint(key.public))
        .toSorted(),
    );
    expect(steps(result)).toEqual([['plant-7/press-2', 'register']]);
    expect(result.left.map(({ id }) => id).toSorted()).toEqual(['plant-7/press-1', 'plant-8/oven']);
  });

  it('O5: replaces no key but one that is named, also where a person could be asked -> USAGE', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    const intruder = testAgent('plant-7/press-1');
    await ask(stick, intruder);
    const given = { accept: [], replaceKey: true, confirm: async () => true };
    const refused: unknown = await hub.enroll(stick, given).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'USAGE', message: expect.stringContaining('named') });
    const [known] = await hub.store.db.selectFrom('agent').selectAll().execute();
    expect(known?.key).toBe(hub.agent.key.public.pem);
  });

  it('O6: replaces the key of no other agent than the one whose new key is named -> ALREADY_ENROLLED', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    const [wanted, intruder] = [testAgent('plant-7/press-2'), testAgent('plant-7/press-1')];
    await ask(stick, wanted);
    await ask(stick, intruder);
    const result = await hub.enroll(stick, {
      accept: [{ fingerprint: fingerprint(wanted.key.public) }],
      replaceKey: true,
    });
    expect(steps(result)).toEqual([['plant-7/press-2', 'register']]);
    expect(result.left.map(({ id }) => id)).toEqual([intruder.id]);
    expect(codes((await hub.enroll(stick)).refused)).toEqual(['ALREADY_ENROLLED']);
    const known = await hub.store.db.selectFrom('agent').selectAll().where('id', '=', intruder.id).execute();
    expect(known[0]?.key).toBe(hub.agent.key.public.pem);
  });

  it('refuses another key for a known name, with a hint at --replace-key', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    const other = testAgent('plant-7/press-1');
    await ask(stick, other);
    const refused = await hub.enroll(stick);
    expect(codes(refused.refused)).toEqual(['ALREADY_ENROLLED']);
    expect(refused.refused[0]?.error.hint).toContain('--replace-key');
    const replaced = await hub.enroll(stick, { replaceKey: true });
    expect(steps(replaced)).toEqual([['plant-7/press-1', 'replace-key']]);
    expect((await acceptAs(hub, other, stick)).site.predicate.version).toBe(2);
  });

  it('refuses a key that was replaced before, and a key under a second name', async () => {
    await using hub = await testHub();
    const old = await enrolled(hub, 'plant-7/press-1');
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await hub.enroll(stick, { replaceKey: true });
    await ask(stick, old);
    expect(codes((await hub.enroll(stick, { replaceKey: true })).refused)).toEqual(['REVOKED']);
    const stick2 = await hub.stick('second');
    await ask(stick2, testAgent('plant-9/copy', old.key));
    expect(codes((await hub.enroll(stick2)).refused)).toEqual(['REQUEST_INVALID']);
  });

  it('moves a known agent only with --channel, and names its previous channel', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const dev = { environment: 'dev', clusterType: 'factory-host' };
    await ask(stick, agent, { channel: dev, labels: { line: 'south' } });
    const kept = await hub.enroll(stick);
    const [step] = kept.sites[0]?.enrolments ?? [];
    expect(step?.step).toMatchObject({
      kind: 'unchanged',
      note: expect.stringContaining('--update') as string,
    });
    await ask(stick, agent, { channel: dev, labels: { line: 'south' } });
    await hub.enroll(stick, { update: true });
    const { site } = await acceptAs(hub, agent, stick, { channel: HOSTS });
    expect(site.agent).toMatchObject({ channel: dev, previousChannel: HOSTS, labels: { line: 'south' } });
    await ask(stick, agent);
    await hub.enroll(stick, { channel: { environment: 'qa', clusterType: 'factory-host' } });
    expect((await acceptAs(hub, agent, stick)).site.agent.previousChannel).toEqual(dev);
  });

  it('gives a new agent the channel of --channel instead of the requested one', async () => {
    await using hub = await testHub();
    const [agent, stick] = [testAgent('plant-7/press-1'), await hub.stick()];
    await ask(stick, agent);
    const qa = { environment: 'qa', clusterType: 'kiosk' };
    await hub.enroll(stick, { channel: qa });
    expect((await acceptAs(hub, agent, stick)).site.agent).toMatchObject({
      channel: qa,
      previousChannel: null,
    });
  });

  it('leaves requests of other sites, and of keys that were not accepted', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const [press, oven] = [testAgent('plant-7/press-1'), testAgent('plant-8/oven')];
    const path = await ask(stick, press);
    await ask(stick, oven);
    const result = await hub.enroll(stick, { accept: [{ fingerprint: fingerprint(oven.key.public) }] });
    expect(steps(result)).toEqual([['plant-8/oven', 'register']]);
    expect(result.left.map(({ id }) => id)).toEqual(['plant-7/press-1']);
    expect(await readFile(join(stick, path))).toBeTruthy();
    const none = await hub.enroll(stick, { site: 'plant-9' });
    expect([none.sites, none.left.length]).toEqual([[], 1]);
  });

  it('fails when no request has the accepted key: UNKNOWN_KEY', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'));
    await expect(
      hub.enroll(stick, { accept: [{ fingerprint: fingerprint(newSigningKey().public) }] }),
    ).rejects.toMatchObject({
      code: 'UNKNOWN_KEY',
      hint: expect.stringMatching(
        /^It has requests of plant-7\/press-1 with the key [0-9a-f]{64}\. Compare /,
      ) as string,
    });
    expect(await hub.store.db.selectFrom('agent').selectAll().execute()).toEqual([]);
  });

  it('names the request whose key is nearest to a mistyped one', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agent = testAgent('plant-7/press-1');
    await ask(stick, testAgent('plant-7/press-2'));
    await ask(stick, agent);
    const key = fingerprint(agent.key.public);
    const mistyped = `${key.slice(0, 20)}${key[20] === '0' ? '1' : '0'}${key.slice(21)}`;
    await expect(hub.enroll(stick, { accept: [{ fingerprint: mistyped }] })).rejects.toMatchObject({
      code: 'UNKNOWN_KEY',
      message: `no request on ${stick} is for the key ${mistyped}`,
      hint: `That of plant-7/press-1 is ${key}, which differs at digit 21: mistyped? Compare it with the one that the agent printed; stop if they differ`,
    });
  });

  it.each([
    ['of another fleet', { fleet: 'other' }, 'WRONG_FLEET'],
    ['without a proof of possession', { request: 'nothing' }, 'REQUEST_INVALID'],
    [
      'under the name of another agent',
      { path: `${REQUESTS_FOLDER}/${'0'.repeat(32)}.json` },
      'REQUEST_INVALID',
    ],
  ])('refuses a request %s, and accepts the valid one beside it', async (_, changes, code) => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/bad'), changes);
    await ask(stick, testAgent('plant-7/good'));
    const result = await hub.enroll(stick);
    expect(codes(result.refused)).toEqual([code]);
    expect(steps(result)).toEqual([['plant-7/good', 'register']]);
  });

  it('refuses a request whose names differ from its signed certificate request', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agent = testAgent('plant-7/press-1');
    const request = await createCertificateRequest(
      { fleet: 'acme', site: 'plant-8', agent: 'press-1' },
      agent.key,
    );
    await ask(stick, agent, { request });
    expect(codes((await hub.enroll(stick)).refused)).toEqual(['REQUEST_INVALID']);
  });

  it.each([
    ['no JSON', Buffer.from('{'), 'BAD_JSON'],
    ['half a request', canonicalBytes({ fleet: 'acme' }), 'SCHEMA'],
    ['too much', Buffer.alloc(100_000, ' '), 'TOO_LARGE'],
  ])('refuses %s in place of a request', async (_, bytes, code) => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await put(stick, `${REQUESTS_FOLDER}/${'a'.repeat(32)}.json`, bytes);
    expect(codes((await hub.enroll(stick)).refused)).toEqual([code]);
  });

  it('does not write to a medium of another fleet, and answers in the layout', async () => {
    await using hub = await testHub();
    const [agent, stick] = [testAgent('plant-7/press-1'), await hub.stick()];
    const path = await ask(stick, agent);
    const foreign = canonicalBytes({
      format: 1,
      fleet: 'other',
      createdAt: '2026-11-01T00:00:00Z',
      documents: [],
      bundles: [],
      chunks: [],
      critical: [],
    });
    await put(stick, MEDIUM_FILE, foreign);
    const result = await hub.enroll(stick);
    expect(result.answered).toMatchObject({
      written: false,
      why: expect.stringContaining('other') as string,
    });
    expect(await readFile(join(stick, MEDIUM_FILE))).toEqual(foreign);
    expect(await readFile(join(stick, path))).toBeTruthy();
    expect((await openLayout(hub.layout)).manifests.length).toBe(1);
  });

  it('keeps the bundles and documents of the medium', async () => {
    await using hub = await testHub();
    const [agent, stick] = [testAgent('plant-7/press-1'), await hub.stick()];
    await mkdir(join(stick, 'fleet'), { recursive: true });
    const bundle = {
      digest: `sha256:${'1'.repeat(64)}`,
      size: 1,
      ...HOSTS,
      kind: 'host',
      assumed: [],
    };
    const release = {
      role: 'release',
      digest: `sha256:${'2'.repeat(64)}`,
      size: 1,
      mediaType: 'x/y',
      version: 3,
      ...HOSTS,
    };
    const medium = {
      format: 1,
      fleet: 'acme',
      createdAt: '2026-11-01T00:00:00Z',
      documents: [release],
      bundles: [bundle],
      chunks: [],
      critical: [],
    };
    await put(stick, MEDIUM_FILE, canonicalBytes(medium));
    await ask(stick, agent);
    await hub.enroll(stick);
    const merged = parseMedium(await readFile(join(stick, MEDIUM_FILE)));
    expect(merged).toMatchObject({ createdAt: medium.createdAt, bundles: [bundle] });
    expect(merged.documents.map(({ role }) => role)).toEqual(['release', 'root', 'site', 'site-values']);
    expect(merged.documents[0]).toEqual(release);
  });

  it('fails with MEDIUM_EMPTY when there are no requests', async () => {
    await using hub = await testHub();
    await expect(hub.enroll(await hub.stick())).rejects.toMatchObject({ code: 'MEDIUM_EMPTY' });
  });

  it('leaves a revoked agent out of the statement and refuses its key', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    await revokeAgent(hub.store, agent.id, await siteSigner(hub), NOW);
    await ask(stick, agent);
    expect(codes((await hub.enroll(stick)).refused)).toEqual(['REVOKED']);
    await ask(stick, testAgent('plant-7/press-2'));
    await hub.enroll(stick);
    await expect(acceptAs(hub, agent, stick)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
  });
});
