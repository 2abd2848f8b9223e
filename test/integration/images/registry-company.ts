import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { findReference, openLayout, referenceOf } from '#bundles/formats/layout/layout';
import type { Registry } from '#bundles/transport/registry/registry';
import { enroll } from '../../../agent/enroll/enroll.ts';
import { registryProvider } from '../../../agent/images/registry/registry-provider.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import type { State } from '../../../agent/store/state.ts';
import { EXAMPLE_IMAGES } from '../../../examples/make-images.ts';
import { folderTarget } from '../../agent/folder-target.ts';
import { testAgent, testEdge } from '../../agent/world.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { type Company, makeCompany } from '../../harness/fleets/company.ts';
import { startOciRegistry } from '../../harness/neighbours/oci-registry.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { type Outcome, runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

export const REGISTRIES = [
  ['dockerRegistry', 'a registry without the referrers API', startRegistry],
  ['ociregistry', 'a registry with the referrers API', startOciRegistry],
] as const;

const HOST = 'registry.halden.example';
const MANIFESTS = [
  'apps/telemetry/collector/deployment.yaml',
  'apps/telemetry/edge/deployment.yaml',
  'apps/line-control/kubernetes/deployment.yaml',
  'apps/order-api/kubernetes/deployment.yaml',
];
const CHANNEL = { environment: 'prod', clusterType: 'factory-line' };

type Run = (...words: readonly string[]) => Promise<Outcome>;

/** A company whose images are in a registry, which its manifests name. Nothing is locked yet. */
export type RegistryCompany = AsyncDisposable & {
  readonly company: Company;
  /** Of the registry. */
  readonly host: string;
  readonly at: (...names: readonly string[]) => string;
  readonly run: Run;
  readonly exporter: Run;
  /** Runs another program, with the password of the keys that cosign makes. */
  readonly tool: Run;
  /** The digest that the tag of an image names: of an index of two platforms. */
  readonly digestIn: (name: string) => Promise<string>;
  /** '<registry>/<name>@<digest>' */
  readonly topOf: (name: string) => Promise<string>;
  /** The one bundle of prod/factory-line in a layout. */
  readonly bundleOf: (layout?: string) => Promise<Bundle>;
  /** Wants signatures by builder.pub of the images of the registry that match. */
  readonly writePolicy: (match: string) => Promise<void>;
};

export const startRegistryCompany = async (
  { host }: { readonly host: string },
  skopeo: string,
): Promise<RegistryCompany> => {
  const folder = await temporaryDirectory('images');
  const at = (...names: readonly string[]) => join(folder.path, ...names);
  const company = await makeCompany(folder.path);
  for (const image of EXAMPLE_IMAGES) {
    const target = `docker://${image.replace(HOST, host)}`;
    const words = ['copy', '--all', '--preserve-digests', '--dest-tls-verify=false'];
    await runOrFail([skopeo, ...words, `oci:${at('images')}:${image}`, target]);
  }
  for (const file of MANIFESTS) await company.edit(file, (text) => text.replaceAll(HOST, host));
  await rm(at('platform/images.lock.yaml'));
  const env = { ...process.env, HOME: folder.path };
  const digestIn = async (name: string): Promise<string> => {
    const tag = EXAMPLE_IMAGES.find((image) => image.includes(`/${name}:`)) ?? '';
    return findReference(await openLayout(at('images')), tag)?.digest ?? '';
  };
  return {
    company,
    host,
    at,
    run: (...words) => runScheduler(folder.path, words, env),
    exporter: (...words) => runExporter(folder.path, words, env),
    tool: (...words) =>
      runCommand([...words], {
        cwd: folder.path,
        env: { PATH: process.env['PATH'], HOME: folder.path, COSIGN_PASSWORD: 'builder' },
      }),
    digestIn,
    topOf: async (name) => `${host}/${name}@${await digestIn(name)}`,
    bundleOf: async (layout = 'releases') => {
      const { blobs, manifests } = await openLayout(at(layout));
      const prefix = `${CHANNEL.environment}/${CHANNEL.clusterType}:b-`;
      const found = manifests.filter((one) => referenceOf(one)?.startsWith(prefix));
      expect(found).toHaveLength(1);
      return readBundle(blobs, digestOf(await readFile(blobs.path(found[0]?.digest ?? digestOf('')))));
    },
    writePolicy: async (match) => {
      const pem = (await readFile(at('builder.pub'), 'utf8')).trimEnd().replaceAll('\n', '\n      ');
      await writeFile(
        at('platform/base/image-policy.yaml'),
        `apiVersion: fleet-ferry/v1alpha1
kind: ImagePolicy
metadata:
  name: ours
spec:
  match: ["${host}/${match}"]
  keys:
    - |
      ${pem}
`,
      );
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

/** What a command prints. Fails the test with that if the command failed. */
export const succeed = async (outcome: Promise<Outcome>): Promise<string> => {
  const { code, stdout, stderr } = await outcome;
  expect(code, stdout + stderr).toBe(0);
  return stdout + stderr;
};

export type StickSite = {
  readonly stick: string;
  readonly root: Digest;
  /** The agent of the site, whose images go to a registry. */
  readonly agent: (client: Registry) => Agent;
};

/** Enrols plant-7 with a stick, and writes the release of prod/factory-line to it. */
export const enrollByStick = async (
  { at, run, exporter }: RegistryCompany,
  state: State,
): Promise<StickSite> => {
  const stick = at('stick');
  await mkdir(stick);
  await mkdir(at('hub'), { recursive: true });
  const root = digestOf(await readFile(at('keys/1.root.json')));
  // The scheduler's clock is the machine's.
  const edge = testEdge(new Date());
  const who = { fleet: 'halden', site: 'plant-7', agent: 'line-1', channel: CHANNEL };
  await enroll(state, edge, { ...who, labels: {}, pinnedRoot: root }, stick);
  const places = ['--keys', 'keys', '--layout', 'releases', '--db', 'hub/hub.db'];
  await succeed(run('sites', 'enroll', stick, ...(await acceptRequests(stick)), ...places));
  await succeed(exporter('create', '--from', 'releases', '--site', 'plant-7', '--to', stick));
  const target = { ...folderTarget(at('machine')), kind: 'kubernetes' as const };
  return {
    stick,
    root,
    agent: (client) =>
      testAgent(state, at(), { targets: [target], images: [registryProvider(client)], edge }),
  };
};
