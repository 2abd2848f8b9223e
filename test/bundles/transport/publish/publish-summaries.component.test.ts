import { expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { SLSA_SUMMARY } from '#bundles/media-types';
import { type PublishOptions, publishLayout } from '#bundles/transport/publish/publish-layout';
import { bundleTag } from '#bundles/transport/registry/references';
import { promoteTo } from '../../../../scheduler/hub/promote/decide/promote-to.ts';
import { readDocuments } from '../../../../scheduler/load/releases/artifact.ts';
import { summariesReference } from '../../../../scheduler/load/releases/references.ts';
import { changeShared, chainedOffice } from '../../../scheduler/hub/promote/decide/chained-office.ts';
import { NOW } from '../../../scheduler/release/removals/office.ts';
import { memoryRegistry } from './memory-destination.ts';

const { signal } = new AbortController();

const openWorld = async () => {
  const office = await chainedOffice();
  const registry = memoryRegistry();
  return {
    office,
    registry,
    promote: async () =>
      promoteTo(await office.openChain(), {
        environment: 'prod',
        candidate: undefined,
        person: 'ann',
        reason: null,
        now: NOW,
        signal,
      }),
    publish: async (options: Partial<PublishOptions> = {}) => {
      registry.requests.length = 0;
      const layout = await openLayout(office.layout);
      const outcomes = await publishLayout(layout, registry, { now: NOW, signal, ...options });
      return Object.fromEntries(
        outcomes
          .filter(({ repository }) => repository === 'summaries')
          .map(({ tag, outcome, error }) => [tag, error?.code ?? outcome]),
      );
    },
    /** Bundles that a summary of this promotion is about, with the predicate types of what refers to each in the registry. */
    referrersOf: async (number: number) => {
      const layout = await openLayout(office.layout);
      const found: [bundle: Digest, types: readonly string[]][] = [];
      for (const { about, environment, clusterType } of await readDocuments(
        layout,
        summariesReference('prod', number),
      )) {
        if (!about) throw new Error('a summary of nothing');
        const repository = registry.repository(`${environment}/${clusterType}`);
        expect((await repository.resolve(bundleTag(about), signal))?.digest).toBe(about);
        const types: string[] = [];
        for (const { digest } of await repository.referrers(about, signal)) {
          const { layers } = parseImageManifest(
            await readBlob(repository.blobs, digest, 1 << 20),
            'a referrer',
          );
          const statement = await readBlob(repository.blobs, layers[0]?.digest ?? about, 1 << 20);
          const { predicateType } = JSON.parse(parseEnvelope(statement, 'it').payload.toString()) as {
            predicateType: string;
          };
          types.push(predicateType);
        }
        found.push([about, types.toSorted()]);
      }
      return found;
    },
  };
};

it('the summaries of a promotion are referrers of the bundles, and cost one request from then on', async () => {
  const world = await openWorld();
  expect(await world.publish()).toEqual({});
  await world.promote();
  expect(await world.publish({ dryRun: true })).toEqual({ 'prod.1': 'planned' });
  expect(world.registry.tags.has('summaries:prod.1')).toBe(false);
  expect(await world.publish()).toEqual({ 'prod.1': 'sent' });
  const referrers = await world.referrersOf(1);
  expect(referrers.length).toBeGreaterThan(0);
  for (const [, types] of referrers) expect(types).toEqual([SLSA_SUMMARY, 'urn:fleet-ferry:bundle:v1']);
  expect(await world.publish()).toEqual({});
  expect(world.registry.requests.filter((one) => one.includes(' summaries:'))).toEqual([
    'HEAD summaries:prod.1',
  ]);
});

it('every promotion has its own, also those between two publications, and of sites alone none are published', async () => {
  const world = await openWorld();
  await world.promote();
  await world.publish();
  for (const at of [NOW, new Date(NOW.getTime() + 60_000)]) {
    await changeShared(world.office, at);
    await world.promote();
  }
  expect(await world.publish({ selection: { sites: [] } })).toEqual({});
  expect(await world.publish()).toEqual({ 'prod.2': 'sent', 'prod.3': 'sent' });
  for (const [, types] of await world.referrersOf(3)) expect(types).toContain(SLSA_SUMMARY);
});

it('a publication that was stopped between the summaries and their tag is completed by the next', async () => {
  const world = await openWorld();
  await world.promote();
  world.registry.before = (request) => {
    if (request === 'PUT summaries:prod.1') throw new Error('the power went');
  };
  expect(await world.publish()).toEqual({ 'prod.1': 'INTERNAL' });
  world.registry.before = () => {};
  expect(await world.publish()).toEqual({ 'prod.1': 'sent' });
  const layout = await openLayout(world.office.layout);
  expect(world.registry.tags.get('summaries:prod.1')).toBe(
    findReference(layout, summariesReference('prod', 1))?.digest,
  );
});

it('a registry that does not let its account read the summaries refuses them alone', async () => {
  const world = await openWorld();
  await world.promote();
  world.registry.before = (request) => {
    if (request === 'HEAD summaries:prod.1') throw new FleetError('REGISTRY_DENIED', 'not for this account');
  };
  expect(await world.publish()).toEqual({ 'prod.1': 'REGISTRY_DENIED' });
  expect(world.registry.tags.has('audit:log')).toBe(true);
  world.registry.before = () => {};
  expect(await world.publish()).toEqual({ 'prod.1': 'sent' });
});

it('a summary of a bundle that this registry has not is left out', async () => {
  const world = await openWorld();
  await world.publish();
  for (const name of world.registry.tags.keys()) if (/:b-/.test(name)) world.registry.tags.delete(name);
  await world.promote();
  expect(await world.publish()).toEqual({ 'prod.1': 'sent' });
  expect(world.registry.requests.filter((one) => one.startsWith('PUT qa/'))).toEqual([]);
});
