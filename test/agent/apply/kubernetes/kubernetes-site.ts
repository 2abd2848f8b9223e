/**
 * An agent with a state of its own and a cluster as its target. Bundles come into its store without a medium: how they
 * come is tested elsewhere, here it matters what becomes of them.
 */
import { join } from 'node:path';
import { packLayer } from '#bundles/formats/archive/pack-layer';
import type {
  BundleConfig,
  CompletedConfig,
  PackageBounds,
  SiteInputField,
} from '#bundles/formats/bundle/config';
import { bundleManifest, encodeManifest } from '#bundles/formats/layout/manifest';
import { packageDigest } from '#bundles/formats/bundle/package-digest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { BUNDLE_CONFIG, LAYER_KUBERNETES } from '#bundles/media-types';
import type { Event } from '#bundles/formats/events/event';
import { defined } from '#bundles/defined';
import { digestOfRules } from '../../../../agent/acquire/offers/desired-packages.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import type { PackageResult } from '../../../../agent/apply/package-result.ts';
import { resume } from '../../../../agent/apply/perform.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import type { CopyPlace } from '../../../../agent/apply/kubernetes/replaced/copies.ts';
import type { Target } from '../../../../agent/model/target.ts';
import { readOutbox } from '../../../../agent/store/outbox/outbox.ts';
import { saveBundle } from '../../../../agent/store/bundles.ts';
import { emptyRow } from '../../../../agent/store/empty-row.ts';
import type { PackageRef } from '../../../../agent/store/applied/package-ref.ts';
import { findPackage, readPackages, savePackage } from '../../../../agent/store/applied/packages.ts';
import { saveSiteValues } from '../../../../agent/store/site-values.ts';
import { openState } from '../../../../agent/store/state.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { POLICY, testEdge } from '../../world.ts';

export const FLEET = 'halden';
const CHANNEL = { environment: 'prod', clusterType: 'factory-cluster' };
const RELEASE = { ...CHANNEL, version: 1 };

export type KubernetesPackage = {
  readonly id: string;
  /** Path in the package to YAML. */
  readonly files: Readonly<Record<string, string>>;
  readonly dependsOn?: readonly string[];
  /** What the bundle says about it: bounds make it a workspace's. */
  readonly rules?: NonNullable<BundleConfig['assignments'][number]['rules']>;
  readonly objectRules?: NonNullable<BundleConfig['objectRules']>;
  readonly bounds?: NonNullable<BundleConfig['assignments'][number]['bounds']>;
  readonly inputs?: readonly Omit<SiteInputField, 'assignment'>[];
  /** A tenant's package; absent: the platform's. */
  readonly tenant?: {
    readonly workspace: string;
    readonly namespace: string;
    readonly bounds?: PackageBounds;
  };
  /** Mappings that all values of the site complete. */
  readonly configs?: readonly Omit<CompletedConfig, 'assignment'>[];
};

export type KubernetesSite = AsyncDisposable & {
  readonly folder: string;
  readonly agent: Agent;
  /** Makes exactly these packages what shall run, and nothing more. */
  readonly want: (packages: readonly KubernetesPackage[]) => Promise<void>;
  /** Gives the site other values: what a newer site statement does. */
  readonly setValues: (values: Readonly<Record<string, Json>>) => void;
  /** `want`, then what an import does after it. */
  readonly release: (packages: readonly KubernetesPackage[]) => Promise<readonly PackageResult[]>;
  readonly events: () => readonly Event[];
};

/** Where a target keeps what it takes over. @param identity an age identity */
export const copiesIn = (folder: string, identity?: string): CopyPlace => ({
  backups: join(folder, 'replaced'),
  maxBackupBytes: 1 << 24,
  pinnedBackups: () => new Set(),
  identity: async () => identity,
});

/** One package of one file. */
export const pack = (id: string, yaml: string, more: Partial<KubernetesPackage> = {}): KubernetesPackage => ({
  id,
  files: { 'app.yaml': yaml },
  ...more,
});

/** @param target once a site: a process that starts anew makes its own. */
export const openSite = (
  folder: string,
  target: Target,
  values: Readonly<Record<string, Json>> = {},
  more: Partial<Agent> = {},
): KubernetesSite => {
  const state = openState(join(folder, 'state'), { create: true });
  state.db.pragma('synchronous = OFF');
  const setValues = (given: Readonly<Record<string, Json>>): Digest => {
    const document = { fleet: FLEET, site: 'plant-7', values: given, agents: {} };
    const digest = digestOf(canonicalBytes(document));
    saveSiteValues(state, digest, document);
    return digest;
  };
  let siteValues = setValues(values);
  state.db.prepare(`INSERT OR IGNORE INTO trust (one, prune_confirmed) VALUES (1, 1)`).run();
  state.db.prepare(`INSERT OR IGNORE INTO chain VALUES (1, 1, ?)`).run(`sha256:${'0'.repeat(64)}`);
  const agent: Agent = {
    state,
    identity: {
      fleet: FLEET,
      site: 'plant-7',
      agent: 'edge-1',
      key: '',
      pinnedRoot: siteValues,
    } as unknown as Agent['identity'],
    targets: [target],
    images: [],
    edge: testEdge(),
    policy: { ...POLICY, pruneBudget: 100 },
    freeBytes: async () => 1 << 30,
    onJournal: () => {},
    signal: new AbortController().signal,
    ...more,
  };
  const want = async (packages: readonly KubernetesPackage[]): Promise<void> => {
    const refs = await storeBundle(agent, packages, siteValues);
    const wanted = new Map(refs.map((ref) => [ref.assignment, ref]));
    for (const row of readPackages(state)) {
      savePackage(state, { ...row, desired: wanted.get(row.assignment) });
    }
    for (const ref of refs) {
      const row = findPackage(state, ref.assignment) ?? emptyRow(agent, ref.assignment);
      savePackage(state, { ...row, desired: ref });
    }
  };
  return {
    folder,
    agent,
    want,
    setValues: (given) => {
      siteValues = setValues(given);
    },
    release: async (packages) => {
      await resume(agent);
      await want(packages);
      return reconcile(agent);
    },
    events: () => readOutbox(state).map(({ line }) => JSON.parse(line) as Event),
    [Symbol.asyncDispose]: async () => state[Symbol.dispose](),
  };
};

export const createSite = async (
  target: Target,
  values: Readonly<Record<string, Json>> = {},
  more: Partial<Agent> = {},
): Promise<KubernetesSite> => {
  const directory = await temporaryDirectory('kubernetes-site');
  const site = openSite(directory.path, target, values, more);
  return {
    ...site,
    [Symbol.asyncDispose]: async () => {
      await site[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
};

/** Packs the bundle as the scheduler does: one layer, a folder a package. */
const storeBundle = async (
  { state }: Agent,
  packages: readonly KubernetesPackage[],
  siteValues: Digest,
): Promise<readonly PackageRef[]> => {
  const filesOf = ({ files }: KubernetesPackage) =>
    Object.entries({ ...files, 'kustomization.yaml': 'kind: Kustomization\n' }).map(([path, text]) => ({
      path,
      bytes: Buffer.from(text),
    }));
  const layer = packLayer(
    packages.flatMap((it) => filesOf(it).map(({ path, bytes }) => ({ path: `${it.id}/${path}`, bytes }))),
  );
  const write = async (bytes: Buffer): Promise<Digest> => {
    await state.blobs.write(digestOf(bytes), bytes.byteLength, bytes);
    return digestOf(bytes);
  };
  await write(layer.bytes);
  const fields = packages.flatMap((it) =>
    (it.inputs ?? []).map((input) => ({ ...input, assignment: it.id })),
  );
  const configs = packages.flatMap((it) => (it.configs ?? []).map((one) => ({ ...one, assignment: it.id })));
  const objectRules = packages.flatMap((it) => it.objectRules ?? []);
  const config: BundleConfig = {
    fleet: FLEET,
    ...CHANNEL,
    kind: 'kubernetes',
    assignments: packages.map((it) => ({
      id: it.id,
      package: packageDigest(filesOf(it)),
      path: it.id,
      layer: layer.digest,
      dependsOn: it.dependsOn ?? [],
      critical: false,
      ...((it.rules || it.objectRules) && {
        rules: {
          ...it.rules,
          ...(it.objectRules && { objects: it.objectRules.map((rule) => objectRules.indexOf(rule)) }),
        },
      }),
      ...(it.bounds && { bounds: it.bounds }),
      ...it.tenant,
    })),
    ...(objectRules.length > 0 && { objectRules }),
    siteInputs: { schema: { type: 'object' }, fields, ...(configs.length > 0 && { configs }) },
    requirements: {},
    closure: [],
    critical: [],
  };
  const configBytes = canonicalBytes(config);
  await write(configBytes);
  const content = bundleManifest(
    'kubernetes',
    { mediaType: BUNDLE_CONFIG, digest: digestOf(configBytes), size: configBytes.byteLength },
    [{ mediaType: LAYER_KUBERNETES, digest: layer.digest, size: layer.size }],
  );
  const manifest = encodeManifest(content);
  await write(manifest.bytes);
  const { digest, size } = manifest.descriptor;
  saveBundle(state, { digest, size, kind: 'kubernetes', manifest: content, config });
  return config.assignments.map((it) => ({
    ...defined({ objectRules: digestOfRules(config, it) }),
    assignment: it.id,
    package: it.package,
    siteValues,
    inputs: digestOf(canonicalBytes(fields.filter(({ assignment }) => assignment === it.id))),
    kind: 'kubernetes',
    bundle: manifest.descriptor.digest,
    layer: layer.digest,
    path: it.id,
    dependsOn: it.dependsOn,
    critical: false,
    release: RELEASE,
  }));
};
