import { join } from 'node:path';
import { expect } from 'vitest';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { shortSet } from '#bundles/formats/medium/parts/part';
import type { Agent } from '../../agent/store/agent.ts';
import { readCondition } from '../../agent/store/conditions.ts';
import { readFloors } from '../../agent/store/trust.ts';
import { packKubernetesBundle } from '../harness/fleets/kubernetes-bundle.ts';
import { packTestBundle, type TestBundle, type TestMedium } from '../harness/fleets/signed-medium.ts';
import { makeTestSet, type TestSet, type TestSetOptions } from '../harness/fleets/test-set.ts';
import { folderTarget, liveFiles } from './folder-target.ts';
import { type Blobs, closureEntry, putImage, putLayer } from './images/image-fixture.ts';
import { memoryProvider } from './images/memory-provider.ts';
import { onePackage, storedBlobs, type World } from './world.ts';

/** Text that does not shrink: `size` letters. */
const noise = (seed: string, size = 2_000): string => {
  let text = '';
  for (let round = 0; text.length < size; round += 1) text += digestOf(`${seed} ${round}`).slice(7);
  return text.slice(0, size);
};

export const FOUR = ['a', 'b', 'c', 'd'].map((id) => onePackage(id, noise(id)));
export const LIVE = Object.fromEntries(FOUR.map(({ id, files }) => [`/opt/${id}`, files[`/opt/${id}`]]));

export type Sticks = {
  readonly set: TestSet;
  readonly stick: (...numbers: readonly number[]) => Promise<string>;
};

export const makeSet = async (
  world: World,
  what: TestMedium,
  count = 4,
  options: TestSetOptions = {},
): Promise<Sticks> => {
  const set = await makeTestSet(await world.medium(what), count, options);
  let sticks = 0;
  const stick: Sticks['stick'] = (...numbers) =>
    set.stick(join(world.folder, `stick-${shortSet(set.set)}-${++sticks}`), numbers);
  return { set, stick };
};

export const releaseOf = (bundle: TestBundle, version = 1): TestMedium => ({ release: { version, bundle } });
export const four = (world: World) => releaseOf(packTestBundle(world.fleet, FOUR));
export const live = (world: World) => liveFiles(join(world.folder, 'machine'));
export const waiting = ({ agent }: World) => readCondition(agent.state, 'parts');

export const refusedWith = async (work: Promise<unknown>): Promise<FleetError> => {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof FleetError) return error;
  throw new Error('it was accepted', { cause: error });
};

export const permutations = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  items.length < 2
    ? [items]
    : items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));

/** After the last stick: applied, nobody waits, and nothing is left that waited. */
export const expectDone = async (world: World, bundle: TestBundle): Promise<void> => {
  expect(readFloors(world.agent.state)).toMatchObject({ release: 1 });
  expect(waiting(world)).toBeUndefined();
  const stored = await storedBlobs(world.agent.state);
  for (const digest of stored) expect(bundle.blobs.has(digest)).toBe(true);
};

/** A Kubernetes bundle of two images that share a layer, and an agent that keeps images. */
export const makeImages = async (world: World) => {
  const blobs: Blobs = new Map();
  const base = await putLayer(blobs, { base: noise('base') });
  const images = await Promise.all(
    ['one', 'two'].map(async (name) =>
      closureEntry(
        putImage(blobs, { layers: [base, await putLayer(blobs, { [name]: noise(name) })] }),
        `edge.example/${name}`,
      ),
    ),
  );
  const bundle = packKubernetesBundle(
    world.fleet,
    { web: 'kind: List\n' },
    { closure: images, images: blobs },
  );
  const nothing = { ...folderTarget(world.folder), kind: 'kubernetes' as const };
  const provider = memoryProvider();
  const agent: Agent = {
    ...world.agent,
    targets: [{ ...nothing, plan: async () => ({ steps: [], owns: [] }) }],
    images: [provider],
  };
  return { blobs, images, bundle, provider, agent };
};
