import { createHmac } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { STATUS_PATH } from '#bundles/formats/events/hub-api';
import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { readFacts } from '../../../../../scheduler/hub/promote/facts/read-facts.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { registerFollower } from '../../../../../scheduler/hub/ingest/followers/register-follower.ts';
import { FOLLOWERS_PATH } from '../../../../../scheduler/hub/http/hooks/notification-routes.ts';
import type { FollowerKind } from '../../../../../scheduler/hub/store/tables.ts';
import { readActual } from '../../../../../scheduler/hub/questions/state/read-actual.ts';
import { type Answer, testServer, type TestServer } from '../../serve/test-server.ts';
import { hubsAfter, NOW } from '../../test-hub.ts';

const EDGE: Channel = { environment: 'prod', clusterType: 'edge' };
const ago = (minutes: number): string => formatTime(new Date(NOW.getTime() - minutes * 60_000));
const refusalOf = ({ status, body }: Answer) => [status, (body as { code?: string }).code];

type Follower = TestServer & { readonly secret: string; readonly bundle: Digest };

const packages = (text: string) => ({
  web: { 'text.yaml': text },
  api: { 'text.yaml': 'the same' },
});

const release = async (
  { hub }: Pick<TestServer, 'hub'>,
  version: number,
  text: string,
  minutes: number,
): Promise<Digest> => {
  const [bundle] = await hub.layoutWriter.release({
    channel: EDGE,
    version,
    issuedAt: new Date(NOW.getTime() - minutes * 60_000),
    expires: new Date(NOW.getTime() + 86_400_000),
    bundles: [{ kind: 'kubernetes', packages: packages(text) }],
  });
  await hub.layoutWriter.keep(EDGE);
  return bundle as Digest;
};

/** Hubs with release 1 and a follower. */
const followed = (kind: FollowerKind) =>
  hubsAfter(async (hub) => {
    const bundle = await release({ hub }, 1, 'one', 60);
    const order = { site: 'plant-7', name: 'edge', kind, channel: EDGE, labels: { ring: 'pilot' } };
    const { token } = await registerFollower(hub.store, order, await siteSigner(hub), NOW);
    return { bundle, secret: token };
  });
const FOLLOWED = {
  flux: followed('flux'),
  'argo-cd': followed('argo-cd'),
  'rancher-fleet': followed('rancher-fleet'),
};

const withFollower = async (
  kind: FollowerKind = 'flux',
  options: Parameters<typeof testServer>[0] = {},
): Promise<Follower> => {
  const hub = await FOLLOWED[kind]();
  const made = await testServer(options, hub);
  return { ...made, secret: hub.secret, bundle: hub.bundle };
};

/** An event as notification-controller posts it. */
const fluxEvent = (name: string, revision: string | undefined, at: string, more: object = {}) => ({
  involvedObject: {
    kind: 'Kustomization',
    namespace: 'flux-system',
    name,
    uid: '21ad3c0c-1b1a-4a3f-9b8e-0d4f6b9c9a11',
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    resourceVersion: '533',
  },
  severity: 'info',
  timestamp: at,
  message: 'Reconciliation finished in 33ms, next run in 10m0s',
  reason: 'ReconciliationSucceeded',
  metadata: { ...(revision !== undefined && { revision: `bundle@${revision}` }), commit_status: 'update' },
  reportingController: 'kustomize-controller',
  reportingInstance: 'kustomize-controller-7d9c',
  ...more,
});

const post = async (
  { server, secret }: Follower,
  event: unknown,
  { path = 'plant-7/edge/flux', headers }: { path?: string; headers?: Record<string, string> } = {},
): Promise<Answer> => {
  const payload = typeof event === 'string' ? event : JSON.stringify(event);
  const signature = `sha256=${createHmac('sha256', secret).update(payload).digest('hex')}`;
  const answer = await server.inject({
    method: 'POST',
    url: `${FOLLOWERS_PATH}/${path}`,
    headers: { 'content-type': 'application/json', ...(headers ?? { 'x-signature': signature }) },
    payload,
  });
  return {
    status: answer.statusCode,
    text: answer.body,
    headers: answer.headers,
    body: answer.json<never>(),
  };
};

const rowsOf = async (made: Follower) => {
  const headers = { authorization: `Bearer ${await made.reader()}` };
  const { body } = await made.get(STATUS_PATH, headers);
  return (body as { rows: { assignment: string | null; verdict: string; follower: string }[] }).rows;
};
const verdicts = async (made: Follower) =>
  Object.fromEntries((await rowsOf(made)).map(({ assignment, verdict }) => [assignment, verdict]));

/** The release that the gate takes as accepted by the follower. */
const accepted = async ({ hub }: Follower): Promise<number | null> => {
  const facts = await readFacts(hub, { from: 'prod', to: 'later' }, `sha256:${'0'.repeat(64)}`, {
    now: NOW,
    signal: new AbortController().signal,
  });
  expect(facts.agents.map(({ name, follower, labels }) => [name, follower, labels])).toEqual([
    ['plant-7/edge', 'flux', { ring: 'pilot' }],
  ]);
  const { agents } = await readActual(hub.store.db, {}, NOW);
  return agents[0]?.accepted?.version ?? null;
};

describe('Flux notifications', () => {
  it('wake the promotions when they change a state, and not when they repeat it', async () => {
    await using made = await withFollower();
    const woken = vi.spyOn(made.context, 'onReport');
    const event = fluxEvent('web', made.bundle, ago(30));
    await post(made, event);
    expect(woken).toHaveBeenCalledTimes(1);
    for (const again of [event, fluxEvent('web', made.bundle, ago(40))]) await post(made, again);
    expect(woken).toHaveBeenCalledTimes(1);
  });

  it('show a follower in the status table, the history and the gate, marked as unsigned', async () => {
    await using made = await withFollower();
    expect(await verdicts(made)).toEqual({ api: 'never reported', web: 'never reported' });
    expect((await post(made, fluxEvent('web', made.bundle, ago(30)))).body).toEqual({ result: 'taken' });
    expect(await verdicts(made)).toEqual({ api: 'missing', web: 'complies' });
    expect(await accepted(made)).toBeNull();
    expect((await post(made, fluxEvent('api', made.bundle, ago(29)))).body).toEqual({ result: 'taken' });
    expect(await verdicts(made)).toEqual({ api: 'complies', web: 'complies' });
    expect(await accepted(made)).toBe(1);
    expect((await rowsOf(made))[0]).toMatchObject({
      follower: 'flux',
      running: { source: { by: 'flux', clockTrusted: false } },
    });
    const headers = { authorization: `Bearer ${await made.reader()}`, accept: 'text/plain' };
    expect((await made.get(STATUS_PATH, headers)).text).toMatch(/plant-7\/edge \(flux\) +prod\/edge +api/);
    const changes = await made.hub.store.db
      .selectFrom('history')
      .select(['assignment', 'field', 'value'])
      .where('value', 'is not', null)
      .orderBy('assignment')
      .orderBy('field')
      .execute();
    expect(changes.map(({ assignment, field, value }) => [assignment, field, value])).toEqual([
      ['', 'release', 'prod/edge r1'],
      ['api', 'health', 'healthy'],
      ['api', 'package', expect.stringMatching(/^sha256:/)],
      ['web', 'health', 'healthy'],
      ['web', 'package', expect.stringMatching(/^sha256:/)],
    ]);
  });

  it('kargo#1411: health from before a release does not count for it, though nothing changed', async () => {
    await using made = await withFollower();
    for (const name of ['web', 'api']) await post(made, fluxEvent(name, made.bundle, ago(30)));
    // The same bundle under a new number: a candidate that changed nothing in this channel.
    expect(await release(made, 2, 'one', 10)).toBe(made.bundle);
    expect(await accepted(made)).toBe(1);
    await post(made, fluxEvent('web', made.bundle, ago(5)));
    // Of before the release, and it arrives after it.
    await post(made, fluxEvent('api', made.bundle, ago(11)));
    expect(await accepted(made)).toBe(1);
    await post(made, fluxEvent('api', made.bundle, ago(4)));
    expect(await accepted(made)).toBe(2);
  });

  it("show a failure with Flux's message, until the same bundle is reconciled", async () => {
    await using made = await withFollower();
    const failure = { severity: 'error', reason: 'HealthCheckFailed', message: 'Deployment/web: InProgress' };
    await post(made, fluxEvent('web', made.bundle, ago(30), failure));
    await post(made, fluxEvent('api', made.bundle, ago(30)));
    expect(await verdicts(made)).toEqual({ api: 'complies', web: 'failed' });
    expect((await rowsOf(made)).find(({ assignment }) => assignment === 'web')).toMatchObject({
      health: { code: 'HealthCheckFailed', message: 'Deployment/web: InProgress' },
    });
    await post(made, fluxEvent('web', made.bundle, ago(20)));
    expect(await verdicts(made)).toEqual({ api: 'complies', web: 'complies' });
    // A source that cannot be fetched is an event, and no state of a package.
    const source = {
      ...failure,
      reason: 'VerificationError',
      involvedObject: {
        ...fluxEvent('web', undefined, '').involvedObject,
        kind: 'OCIRepository',
        apiVersion: 'source.toolkit.fluxcd.io/v1',
      },
    };
    await post(made, fluxEvent('web', undefined, ago(10), source));
    expect(await verdicts(made)).toEqual({ api: 'complies', web: 'complies' });
  });

  it('are idempotent, and an older one changes nothing', async () => {
    await using made = await withFollower();
    const first = fluxEvent('web', made.bundle, ago(30));
    const failure = fluxEvent('web', made.bundle, ago(20), { severity: 'error', reason: 'BuildFailed' });
    const results = [];
    for (const event of [first, first, failure, first, failure])
      results.push(((await post(made, event)).body as { result: string }).result);
    expect(results).toEqual(['taken', 'known', 'taken', 'older', 'known']);
    expect(await verdicts(made)).toEqual({ api: 'missing', web: 'failed' });
  });

  it('repeated notifications update the timestamp, and add no rows', async () => {
    await using made = await withFollower();
    const count = async () => {
      const { n } = await made.hub.store.db
        .selectFrom('event')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow();
      return n;
    };
    await post(made, fluxEvent('web', made.bundle, ago(30)));
    const before = await count();
    for (const minutes of [20, 10, 5]) await post(made, fluxEvent('web', made.bundle, ago(minutes)));
    expect(await count()).toBe(before);
    const row = await made.hub.store.db.selectFrom('agent').select('said_at').executeTakeFirstOrThrow();
    expect(row.said_at).toBe(ago(5));
  });

  it('do not change a state while Flux is progressing', async () => {
    await using made = await withFollower();
    const work = fluxEvent('web', made.bundle, ago(30), { reason: 'Progressing', message: 'web created' });
    expect((await post(made, work)).body).toEqual({ result: 'noted' });
    expect(await verdicts(made)).toEqual({ api: 'never reported', web: 'never reported' });
  });

  it('are refused without a token, for another follower, and after a revocation', async () => {
    await using made = await withFollower();
    const event = fluxEvent('web', made.bundle, ago(30));
    const invalid = [401, 'TOKEN_INVALID'];
    expect(refusalOf(await post(made, event, { headers: {} }))).toEqual(invalid);
    expect(refusalOf(await post(made, event, { headers: { 'x-signature': 'sha256=00' } }))).toEqual(invalid);
    expect(refusalOf(await post({ ...made, secret: `${made.secret}x` }, event))).toEqual(invalid);
    for (const path of ['plant-7/other/flux', 'plant-7/edge/argo-cd', 'a%00/b/flux'])
      expect(refusalOf(await post(made, event, { path })), path).toEqual(invalid);
    expect(await made.hub.store.db.selectFrom('event').selectAll().execute()).toEqual([]);
    const bearer = { authorization: `Bearer ${made.secret}` };
    expect((await post(made, event, { headers: bearer })).status).toBe(202);
    await made.hub.store.db
      .updateTable('agent')
      .set({ revoked_at: formatTime(NOW) })
      .execute();
    expect(refusalOf(await post(made, event))).toEqual([403, 'REVOKED']);
  });

  it('are refused with a future time, an unknown bundle or object, or an invalid form', async () => {
    await using made = await withFollower();
    const invalid = [400, 'NOTIFICATION_INVALID'];
    const involvedObject = { ...fluxEvent('web', undefined, '').involvedObject, kind: 'HelmRelease' };
    for (const event of [
      fluxEvent('web', made.bundle, ago(-6)),
      fluxEvent('web', `sha256:${'f'.repeat(64)}`, ago(1)),
      fluxEvent('web', undefined, ago(1)),
      fluxEvent('web', made.bundle, ago(1), { involvedObject }),
      fluxEvent('web', made.bundle, 'yesterday'),
      fluxEvent('../web', made.bundle, ago(1)),
      fluxEvent('web', made.bundle, ago(1), { involvedObject: 'web' }),
      fluxEvent('web', made.bundle, ago(1), { metadata: ['revision'] }),
      [],
    ])
      expect(refusalOf(await post(made, event)), JSON.stringify(event)).toEqual(invalid);
    expect(refusalOf(await post(made, '{"a":1,"a":2}'))).toEqual([400, 'BAD_JSON']);
    expect((await post(made, 'x'.repeat(300_000))).status).toBe(413);
    expect(await made.hub.store.db.selectFrom('follower_object').selectAll().execute()).toEqual([]);
  });

  it('about a Git commit outside of the delivered trees change nothing', async () => {
    await using made = await withFollower();
    const metadata = { revision: 'main@sha1:b8e362c206e3d0cbb7ed22ced771a0056455a2fb' };
    expect((await post(made, fluxEvent('web', made.bundle, ago(1), { metadata }))).body).toEqual({
      result: 'noted',
    });
    expect(await made.hub.store.db.selectFrom('follower_object').selectAll().execute()).toEqual([]);
  });

  it('are limited by a quota for each follower: TOO_MANY', async () => {
    await using made = await withFollower('flux', { followerQuota: { perMinute: 0.001, burst: 2 } });
    const event = fluxEvent('web', made.bundle, ago(30), { reason: 'Progressing' });
    expect((await post(made, event)).status).toBe(202);
    expect((await post(made, event)).status).toBe(202);
    const refused = await post(made, event);
    expect(refusalOf(refused)).toEqual([429, 'TOO_MANY']);
    expect(refused.headers).toHaveProperty('retry-after');
  });
});

describe('Argo CD notifications', () => {
  const argo = (revision: string, more: object = {}) => ({
    app: 'web',
    namespace: 'argocd',
    sync: 'Synced',
    syncRevision: revision,
    health: 'Healthy',
    phase: 'Succeeded',
    revision,
    finishedAt: ago(30),
    reconciledAt: ago(29),
    ...more,
  });
  const send = async (made: Follower, body: unknown) =>
    await post(made, body, {
      path: 'plant-7/edge/argo-cd',
      headers: { authorization: `Bearer ${made.secret}` },
    });
  const webAfter = async (body: object, before?: object) => {
    await using made = await withFollower('argo-cd');
    if (before) await send(made, argo(made.bundle, before));
    const { status, body: answer } = await send(made, argo(made.bundle, body));
    return [status, (answer as { result: string }).result, (await verdicts(made))['web']];
  };

  it('mark a synced and healthy application as complying', async () => {
    expect(await webAfter({})).toEqual([202, 'taken', 'complies']);
  });

  it('kargo#2196: health that was compared before the sync ended is not the new revision’s', async () => {
    expect(await webAfter({ reconciledAt: ago(31) })).toEqual([202, 'taken', 'unknown']);
    expect(await webAfter({ reconciledAt: '' })).toEqual([202, 'taken', 'unknown']);
  });

  it('show failed syncs, degraded health and drift, and unknown health while progressing', async () => {
    expect(await webAfter({ phase: 'Failed', message: 'one or more objects failed' })).toEqual([
      202,
      'taken',
      'failed',
    ]);
    expect(await webAfter({ health: 'Degraded' })).toEqual([202, 'taken', 'failed']);
    expect(await webAfter({ health: 'Progressing' })).toEqual([202, 'taken', 'unknown']);
    expect(await webAfter({ sync: 'OutOfSync', reconciledAt: ago(20) }, {})).toEqual([
      202,
      'taken',
      'drifted',
    ]);
    const newer = { sync: 'OutOfSync', syncRevision: `sha256:${'1'.repeat(64)}`, reconciledAt: ago(20) };
    expect(await webAfter(newer, {})).toEqual([202, 'noted', 'complies']);
    expect(await webAfter({ phase: 'Running', finishedAt: '' })).toEqual([202, 'noted', 'never reported']);
  });
});

describe('what the job on the management cluster posts of Rancher Fleet', () => {
  /** The first 32 digits of the digest of a package of a bundle. */
  const packageOf = async ({ hub }: Follower, bundle: Digest, id: string): Promise<string> => {
    const { config } = await readBundle((await openLayout(hub.layout)).blobs, bundle);
    const found = config.assignments.find((one) => one.id === id);
    return found?.package.slice(7, 39) ?? '';
  };
  const deployment = (name: string, content: string, more: object = {}, status: object = {}) => ({
    labels: { 'fleet-ferry/package': content, 'fleet-ferry/namespace': name },
    deploymentID: 's-1:2',
    stagedDeploymentID: 's-1:2',
    status: { appliedDeploymentID: 's-1:2', ready: true, nonModified: true, ...status },
    ...more,
  });
  const send = (made: Follower, deployments: unknown, more: object = {}) =>
    post(
      made,
      { observedAt: ago(1), namespace: 'cluster-fleet-default-edge-1f2e', deployments, ...more },
      { path: 'plant-7/edge/rancher-fleet', headers: { authorization: `Bearer ${made.secret}` } },
    );
  type Said = readonly [more: object, status?: object];
  /** What the hub answers and shows after the deployments of web. */
  const webAfter = async (...said: readonly Said[]) => {
    await using made = await withFollower('rancher-fleet');
    const content = await packageOf(made, made.bundle, 'web');
    const answer = await send(
      made,
      said.map(([more, status]) => deployment('web', content, more, status)),
    );
    return [...refusalOf(answer).filter(Boolean), (await verdicts(made))['web']];
  };

  it('counts for every release whose bundle has the packages that it deploys', async () => {
    await using made = await withFollower('rancher-fleet');
    let minutes = 9;
    const report = async (bundle: Digest, name: string) =>
      send(made, [deployment(name, await packageOf(made, bundle, name))], {
        observedAt: ago((minutes -= 1)),
      });
    await report(made.bundle, 'web');
    expect(await verdicts(made)).toEqual({ api: 'missing', web: 'complies' });
    await report(made.bundle, 'api');
    expect(await verdicts(made)).toEqual({ api: 'complies', web: 'complies' });
    const { agents } = await readActual(made.hub.store.db, {}, NOW);
    expect(agents[0]?.accepted?.version).toBe(1);
    const second = await release(made, 2, 'two', 10);
    await report(second, 'api');
    expect(await verdicts(made)).toMatchObject({ api: 'complies' });
    expect(await verdicts(made)).not.toMatchObject({ web: 'complies' });
    await report(second, 'web');
    expect(await verdicts(made)).toEqual({ api: 'complies', web: 'complies' });
    const after = await readActual(made.hub.store.db, {}, NOW);
    expect(after.agents[0]?.accepted?.version).toBe(2);
  });

  it('takes the states of several assignments from one post', async () => {
    await using made = await withFollower('rancher-fleet');
    const content = async (name: string) => packageOf(made, made.bundle, name);
    const both = [deployment('web', await content('web')), deployment('api', await content('api'))];
    expect(await send(made, both)).toMatchObject({ status: 202, body: { result: 'taken' } });
    expect(await verdicts(made)).toEqual({ api: 'complies', web: 'complies' });
    expect(await send(made, both)).toMatchObject({ status: 202, body: { result: 'known' } });
    // Another one of the same second, and the first one again.
    const drifted = [deployment('web', await content('web'), {}, { nonModified: false })];
    expect(await send(made, drifted)).toMatchObject({ status: 202, body: { result: 'taken' } });
    expect(await send(made, both)).toMatchObject({ status: 202 });
    expect(await verdicts(made)).toMatchObject({ web: 'drifted' });
  });

  it('shows drift, an object that is not ready, and why nothing was deployed', async () => {
    const text = { kind: 'ConfigMap', name: 'text' };
    await using made = await withFollower('rancher-fleet');
    const content = await packageOf(made, made.bundle, 'web');
    await send(made, [deployment('web', content)]);
    await send(made, [deployment('web', content, {}, { nonModified: false, modifiedStatus: [text] })]);
    expect((await verdicts(made))['web']).toBe('drifted');
    const summary = (more: object) => ({ ready: false, nonReadyStatus: [{ ...text, summary: more }] });
    expect(await webAfter([{}, summary({ error: true, message: ['no such image'] })])).toEqual([
      202,
      'failed',
    ]);
    expect(await webAfter([{}, summary({ transitioning: true })])).toEqual([202, 'unknown']);
    const conditions = [{ type: 'Deployed', status: 'False', reason: 'Error', message: 'no kind Lathe' }];
    expect(await webAfter([{}, { appliedDeploymentID: '', conditions }])).toEqual([202, 'failed']);
  });

  it('takes the worst of several Bundles of one assignment, and no word while they differ in the package', async () => {
    const unready = { ready: false, nonReadyStatus: [] };
    expect(await webAfter([{}], [{}, unready])).toEqual([202, 'unknown']);
    expect(await webAfter([{}, unready], [{}])).toEqual([202, 'unknown']);
    expect(await webAfter([{}], [{}])).toEqual([202, 'complies']);
    const labels = { 'fleet-ferry/package': 'e'.repeat(32), 'fleet-ferry/namespace': 'web' };
    expect(await webAfter([{}], [{ labels }])).toEqual([202, 'never reported']);
  });

  it('changes nothing while a deployment is under way or staged, or without any', async () => {
    expect(await webAfter([{}, { appliedDeploymentID: 's-1:1' }])).toEqual([202, 'never reported']);
    expect(await webAfter([{ stagedDeploymentID: 's-2:2' }])).toEqual([202, 'never reported']);
    expect(await webAfter([{ status: null }])).toEqual([202, 'never reported']);
    expect(await webAfter()).toEqual([202, 'never reported']);
  });

  it('is refused without our labels, and for a package that no release has', async () => {
    const refused = [400, 'NOTIFICATION_INVALID', 'never reported'];
    expect(await webAfter([{ labels: {} }])).toEqual(refused);
    const labels = { 'fleet-ferry/package': 'f'.repeat(32), 'fleet-ferry/namespace': 'web' };
    expect(await webAfter([{ labels }])).toEqual(refused);
    expect(await webAfter([{ status: 'ready' }])).toEqual(refused);
    await using made = await withFollower('rancher-fleet');
    for (const more of [{ observedAt: 'now' }, { observedAt: '' }, { namespace: '../x' }])
      expect(refusalOf(await send(made, [], more))).toEqual([400, 'NOTIFICATION_INVALID']);
    expect(refusalOf(await send(made, {}))).toEqual([400, 'NOTIFICATION_INVALID']);
  });
});
