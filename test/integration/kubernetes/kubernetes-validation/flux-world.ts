import { join } from 'node:path';
import { expect } from 'vitest';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../../../../scheduler/keys/root/init-dev-root.ts';
import { build } from '../../../../scheduler/build/build.ts';
import { startFlux } from '../../../harness/flux/start-flux.ts';
import type { Cluster } from '../../../harness/kubernetes/cluster.ts';
import { type Registry, startRegistry } from '../../../harness/neighbours/registry.ts';
import { succeed } from '../../../harness/run/run-command.ts';
import { runScheduler } from '../../../harness/run/run-scheduler.ts';

/** A cluster with stock Flux, and a registry. Each test takes an environment, and with it namespaces, of its own. */
export type FluxWorld = AsyncDisposable & {
  readonly cluster: Cluster;
  readonly registry: Registry;
  /** A field of an object of the API; undefined while there is no such object or field. */
  readonly field: (path: string, ...names: readonly string[]) => Promise<unknown>;
  /** data.text of a namespace's ConfigMap `text`. */
  readonly text: (namespace: string) => Promise<unknown>;
  /** Whether there is such a namespace. */
  readonly exists: (namespace: string) => Promise<boolean>;
};

export const PATIENCE = { timeout: 100_000, interval: 200 };

/** Where the API has Flux's objects. */
export const FLUX_OBJECTS = {
  ocirepositories: '/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/ocirepositories',
  gitrepositories: '/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories',
  kustomizations: '/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations',
} as const;

export const startFluxWorld = async (
  cluster: Cluster,
  paths: { readonly flux: string; readonly dockerRegistry: string },
): Promise<FluxWorld> => {
  await using cleanup = new AsyncDisposableStack();
  cleanup.use(await startFlux(paths.flux, cluster));
  const registry = cleanup.use(await startRegistry(paths.dockerRegistry));
  const field: FluxWorld['field'] = async (path, ...names) => {
    const { status, body } = await cluster.request('GET', path);
    if (status !== 200) return undefined;
    return names.reduce<unknown>((found, name) => (found as Record<string, unknown>)?.[name], body);
  };
  const moved = cleanup.move();
  return {
    cluster,
    registry,
    field,
    text: (namespace) => field(`/api/v1/namespaces/${namespace}/configmaps/text`, 'data', 'text'),
    exists: async (namespace) =>
      (await cluster.request('GET', `/api/v1/namespaces/${namespace}`)).status === 200,
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

/** Takes the sources and Kustomizations that a test has applied away, and waits for their end: an object applied again while its finalizer still holds it would go with it. Flux prunes what they brought. */
export const removeFluxObjects = async ({ cluster }: FluxWorld): Promise<void> => {
  const paths = Object.values(FLUX_OBJECTS);
  const left = async (): Promise<readonly unknown[]> => {
    const lists = await Promise.all(paths.map((path) => cluster.request('GET', path)));
    return lists.flatMap(({ body }) => (body as { readonly items: readonly unknown[] }).items);
  };
  for (const path of paths) await cluster.request('DELETE', path);
  await expect.poll(left, PATIENCE).toEqual([]);
};

/** The keys of a fleet `halden` in `<folder>/keys`. */
export const makeFleet = (folder: string): Promise<unknown> =>
  initDevRoot(join(folder, 'keys'), 'halden', new Date());

/** Builds `<folder>/platform` and publishes it as `<registry>/<prefix>`. */
export const releaseTo = async (folder: string, { host }: Registry, prefix = 'fleet'): Promise<void> => {
  const outcome = await build({
    platform: join(folder, 'platform'),
    maps: [],
    cacheDirectory: join(folder, 'cache'),
    layout: join(folder, 'releases'),
    keys: await openKeyDirectory(join(folder, 'keys')),
    now: new Date(),
    signal: new AbortController().signal,
  });
  expect(outcome.channels.flatMap(({ held }) => held)).toEqual([]);
  succeed(await runScheduler(folder, ['publish', `oci://${host}/${prefix}`, '--layout', 'releases']));
};
