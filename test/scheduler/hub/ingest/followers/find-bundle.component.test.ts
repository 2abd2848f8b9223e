import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, hexOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { readManifest } from '#bundles/formats/layout/read-manifest';
import type { Channel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { listReleases } from '../../../../../scheduler/release/reissue/list-releases.ts';
import { registerFollower } from '../../../../../scheduler/hub/ingest/followers/register-follower.ts';
import { FOLLOWERS_PATH } from '../../../../../scheduler/hub/http/hooks/notification-routes.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { testServer, type TestServer } from '../../serve/test-server.ts';
import { hubsAfter, NOW } from '../../test-hub.ts';

const EDGE: Channel = { environment: 'prod', clusterType: 'edge' };

const release = async ({ hub }: Pick<TestServer, 'hub'>, version: number): Promise<Digest> => {
  const [bundle] = await hub.layoutWriter.release({
    channel: EDGE,
    version,
    issuedAt: new Date(NOW.getTime() - (100 - version) * 60_000),
    expires: new Date(NOW.getTime() + 86_400_000),
    bundles: [
      {
        kind: 'kubernetes',
        packages: { web: { 'text.yaml': `web ${version}` }, api: { 'text.yaml': 'the same' } },
      },
    ],
  });
  await hub.layoutWriter.keep(EDGE);
  return bundle as Digest;
};

const followed = hubsAfter(async (hub) => {
  for (const version of [1, 2, 3]) await release({ hub }, version);
  const newest = await release({ hub }, 4);
  const order = {
    site: 'plant-7',
    name: 'edge',
    kind: 'rancher-fleet' as const,
    channel: EDGE,
    labels: {},
  };
  const { token } = await registerFollower(hub.store, order, await siteSigner(hub), NOW);
  return { secret: token, newest };
});

/** A BundleDeployment that failed, which the hub takes also for a package that no release has. */
const failedDeployment = (namespace: string, content: string) => ({
  labels: { 'fleet-ferry/package': content, 'fleet-ferry/namespace': namespace },
  deploymentID: 'a',
  stagedDeploymentID: 'a',
  status: { conditions: [{ type: 'Deployed', status: 'False', reason: 'Error', message: 'no' }] },
});

const withFollower = async () => {
  const hub = await followed();
  const made = await testServer({}, hub);
  const send = async (deployments: readonly unknown[], at = new Date(NOW.getTime() - 60_000)) => {
    const answer = await made.server.inject({
      method: 'POST',
      url: `${FOLLOWERS_PATH}/plant-7/edge/rancher-fleet`,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${hub.secret}` },
      payload: JSON.stringify({
        observedAt: formatTime(at),
        namespace: 'cluster-edge',
        deployments,
      }),
    });
    return { status: answer.statusCode, body: answer.json<object>() };
  };
  /** A post about packages that no release has. */
  const sendUnknown = async (count: number): Promise<number> => {
    const unknown = Array.from({ length: count }, (_, at) => failedDeployment(`n${at}`, 'f'.repeat(32)));
    return (await send(unknown)).status;
  };
  return Object.assign(made, { send, sendUnknown, newest: hub.newest });
};

/** A hub that reads a bundle again fails. */
const removeBundles = async ({ hub }: Pick<TestServer, 'hub'>): Promise<void> => {
  const { blobs } = await openLayout(hub.layout);
  for (const { bundles } of await listReleases(await openLayout(hub.layout), EDGE, hub.keys.roots))
    for (const bundle of bundles) {
      const { config } = parseImageManifest(await readManifest(blobs, bundle), 'a bundle');
      await rm(join(hub.layout, 'blobs/sha256', hexOf(config.digest)), { force: true });
    }
};

it('reads each released bundle once for any number of unknown packages', async () => {
  await using made = await withFollower();
  expect(await made.sendUnknown(20)).toBe(202);
  await removeBundles(made);
  expect(await made.sendUnknown(30)).toBe(202);
  // Of the next release, only its own bundle is read.
  await release(made, 5);
  expect(await made.sendUnknown(40)).toBe(202);
});

it('takes the newest bundle that has the package', async () => {
  await using made = await withFollower();
  await made.sendUnknown(1);
  const { config } = await readBundle((await openLayout(made.hub.layout)).blobs, made.newest);
  const deployments = config.assignments.map(({ id, package: content }) =>
    failedDeployment(id, content.slice(7, 39)),
  );
  expect(deployments).toHaveLength(2);
  expect((await made.send(deployments)).body).toMatchObject({ result: 'taken' });
  const bundles = async () =>
    await made.hub.store.db
      .selectFrom('follower_object')
      .select('bundle')
      .where('bundle', 'is not', null)
      .execute();
  expect(await bundles()).toEqual([{ bundle: made.newest }, { bundle: made.newest }]);
  const next = await release(made, 5);
  await made.send(deployments, NOW);
  const api = config.assignments.findIndex(({ id }) => id === 'api');
  expect((await bundles())[api]).toEqual({ bundle: next });
});

it('refuses a post of more than 500 BundleDeployments, with both numbers', async () => {
  await using made = await withFollower();
  const deployments = (count: number) =>
    Array.from({ length: count }, (_, at) => failedDeployment(`n${at % 3}`, 'f'.repeat(32)));
  expect((await made.send(deployments(500))).status).toBe(202);
  expect(await made.send(deployments(501))).toMatchObject({
    status: 400,
    body: {
      code: 'NOTIFICATION_INVALID',
      detail: expect.stringContaining(
        'the notification has 501 deployments, and the hub takes 500 at a time',
      ),
    },
  });
});
