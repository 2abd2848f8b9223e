import { dirname, join } from 'node:path';
import { unpackLayer } from '../../../../bundles/formats/archive/unpack-layer.ts';
import { type FleetError, formatError } from '../../../../bundles/errors.ts';
import { buildLoaded } from '../../../../scheduler/build/pipeline.ts';
import type { EnvironmentInput } from '../../../../scheduler/build/environment-input.ts';
import { loadPlatform, sourcesOf } from '../../../../scheduler/load/load-platform.ts';
import { temporaryDirectory, writeFiles } from '../../../scheduler/file-tree.ts';
import { fleetPlatform, ours } from '../../../scheduler/fleet-platform.ts';

export const IMAGE = `registry.example/web@sha256:${'a'.repeat(64)}`;

export const deployment = (name: string, image = IMAGE): string =>
  [
    'apiVersion: apps/v1',
    'kind: Deployment',
    `metadata: {name: ${name}}`,
    'spec:',
    '  selector: {matchLabels: {app: web}}',
    '  template:',
    '    metadata: {labels: {app: web}}',
    '    spec:',
    `      containers: [{name: main, image: "${image}"}]`,
    '',
  ].join('\n');

/** A fleet of one cluster type (or several) and one application, whose target says `manifests`. */
export const applicationFiles = (
  manifests: string,
  files: Readonly<Record<string, string>>,
  clusterTypes: readonly string[] = ['edge'],
): Record<string, string> => {
  const { 'platform/base/press.yaml': _, 'apps/shop/host/package.yaml': __, ...rest } = fleetPlatform();
  return {
    ...rest,
    ...Object.fromEntries(
      clusterTypes.map((name) => [
        `platform/base/${name}.yaml`,
        ours('ClusterType', name, '  labels: {region: eu}\nspec: {requirements: {kubernetes: ">=1.31"}}\n'),
      ]),
    ),
    'platform/base/shop.yaml': ours(
      'WorkloadRegistration',
      'shop',
      `  annotations: {fleet-ferry/allow-cluster-scoped: CustomResourceDefinition}
spec:
  workspace: sales
  workload: {repo: ../apps/shop, path: ./deploy/}
`,
    ),
    'apps/shop/deploy/shop.yaml': ours(
      'Workload',
      'shop',
      `spec:\n  deploymentTargets:\n    - {name: web, environment: prod, manifests: ${manifests}}\n`,
    ),
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`apps/shop/${path}`, text])),
  };
};

export type Made = {
  /** 'cluster type/path' to text: the application's own files of every package. */
  readonly files: Readonly<Record<string, string>>;
  readonly digests: Readonly<Record<string, string>>;
  readonly held: readonly string[];
  readonly errors: readonly FleetError[];
  readonly advice: readonly string[];
  readonly candidate: Awaited<ReturnType<typeof buildLoaded>>['candidate'];
};

/** Builds prod of a platform in a folder. @param programs the only ones that are found */
export const makeApplications = async (
  directory: string,
  programs: readonly string[],
  more: Partial<EnvironmentInput> = {},
): Promise<Made> => {
  const options = {
    platform: join(directory, 'platform'),
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    environment: 'prod',
  };
  const sources = sourcesOf(options);
  const platform = await loadPlatform({ ...options, sources });
  const built = await buildLoaded(
    {
      platform,
      sources,
      images: 'unchecked',
      previous: undefined,
      workers: 1,
      env: { PATH: programs.map((program) => dirname(program)).join(':') },
      ...more,
    },
    new AbortController().signal,
  );
  const files = built.bundles.flatMap(({ clusterType, bundle }) =>
    bundle.blobs.slice(1).flatMap(({ bytes }) =>
      [...unpackLayer(bytes, { maxBytes: 1 << 26, maxEntries: 10_000 })].flatMap(([path, file]) => {
        const [, inside] = path.split('/manifests/');
        return inside === undefined
          ? []
          : [[`${clusterType.name}/${inside}`, file.bytes.toString()] as const];
      }),
    ),
  );
  const errors = built.bundles.flatMap(({ held }) => held.map(({ error }) => error));
  return {
    files: Object.fromEntries(files),
    digests: Object.fromEntries(built.bundles.map((it) => [it.clusterType.name, it.bundle.digest])),
    held: errors.map((error) => formatError(error).replaceAll(`${directory}/`, '')),
    errors,
    advice: built.advice.map((error) => formatError(error).replaceAll(`${directory}/`, '')),
    candidate: built.candidate,
  };
};

export const applicationWorld = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, files);
  return directory;
};
