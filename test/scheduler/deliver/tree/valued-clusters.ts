import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Json } from '#bundles/json/canonical';
import { deliverTrees } from '../../../../scheduler/deliver/tree/deliver-trees.ts';
import { createCommitReader } from '../../../../scheduler/deliver/tree/read-commits.ts';
import type { Delivered } from '../../../../scheduler/deliver/tree/tree-delivery.ts';
import { parseTreeTarget } from '../../../../scheduler/deliver/tree/tree-target.ts';
import type { Hub } from '../../../../scheduler/hub/hub.ts';
import { registerFollower } from '../../../../scheduler/hub/ingest/followers/register-follower.ts';
import { readClusters } from '../../../../scheduler/hub/ingest/followers/tree-commits.ts';
import { composeSites, type ComposedSites } from '../../../../scheduler/hub/sites/layers/compose-sites.ts';
import { setValues } from '../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { makeGitRepository } from '../../../harness/neighbours/git-repository.ts';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { ours } from '../../fleet-platform.ts';
import { hubOf } from '../../hub/office-agents.ts';
import { type ChainOffice, FILES, NOW, openChainOffice } from '../../release/chain/chain-office.ts';

type Labels = Readonly<Record<string, string>>;

/** Platform of one cluster type, press, whose clusters follow a tree: an application of the platform with site values, and a tenant. */
export const VALUED: Labels = {
  ...Object.fromEntries(Object.entries(FILES).filter(([path]) => !path.startsWith('environments/'))),
  'fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: dev}]\n'),
  'base/press.yaml': ours(
    'ClusterType',
    'press',
    'spec: {reconciler: flux, configType: configmap, namespaceService: namespace}\n',
  ),
  'base/level.yaml': ours(
    'Config',
    'level',
    'spec:\n  values: {LEVEL: base, LINE: "0", reconciler: {interval: 1s}}\n',
  ),
  'base/sales.yaml': ours(
    'Workspace',
    'sales',
    'spec: {repositories: ["https://git.example/"], siteValues: [gateway, lines]}\n',
  ),
  'base/monitor.yaml': ours(
    'Workload',
    'monitor',
    `spec:
  deploymentTargets:
    - name: probe
      environment: dev
      manifests: {repo: https://git.example/probe, branch: main}
      siteInputs:
        - {name: lineNumber, schema: {type: integer, minimum: 1}, configMap: {name: platform-config, key: LINE}}
`,
  ),
  'base/layers.yaml': [
    ours('Config', 'all', 'spec: {siteSelector: {}, values: {gateway: company, lineNumber: 1}}\n'),
    ours('Config', 'north', 'spec: {siteSelector: {region: north}, values: {gateway: "10.7.0.1"}}\n'),
  ].join('---\n'),
  'apps/shop/deploy/workload.yaml': ours(
    'Workload',
    'shop',
    'spec:\n  deploymentTargets:\n    - {name: web, environment: dev, siteConfig: true, manifests: {repo: https://git.example/shop, branch: main}}\n',
  ),
};

/** An office that delivers trees with a folder for each cluster, and its hub. */
export type ValuedClusters = {
  readonly office: ChainOffice;
  readonly hub: Hub;
  readonly follow: (id: string, labels?: Labels) => Promise<void>;
  readonly compose: () => Promise<ComposedSites>;
  /** Values of a site, or with `agent` of its cluster. */
  readonly set: (
    site: string,
    set: Readonly<Record<string, Json>>,
    more?: { readonly agent?: string; readonly unset?: readonly string[] },
  ) => Promise<void>;
  readonly deliver: () => Promise<Delivered>;
  /** A file of a cluster's folder on the branch; undefined: it is not there. */
  readonly file: (id: string, path: string) => Promise<string | undefined>;
  /** The clusters whose folders at the head of the branch have all of a bundle. */
  readonly commits: () => Promise<readonly string[]>;
  readonly gitops: string;
};

export const valuedClusters = async (files: Labels = VALUED): Promise<ValuedClusters & AsyncDisposable> => {
  const office = await openChainOffice(files);
  const hub = await hubOf(office);
  const root = await temporaryDirectory();
  const gitops = join(root, 'gitops.git');
  await writeFiles(join(root, 'start'), { 'README.md': 'by hand\n' });
  await makeGitRepository(gitops, { dev: join(root, 'start') });
  const signal = new AbortController().signal;
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  const place = {
    ...office.platform,
    cacheDirectory: join(root, 'cache'),
    layout: office.layout,
    to: parseTreeTarget(`git+${pathToFileURL(gitops).href}`),
    env,
    signal,
  };
  return {
    office,
    hub,
    gitops,
    follow: async (id, labels = {}) => {
      const [site = '', name = ''] = id.split('/');
      const channel = { environment: 'dev', clusterType: 'press' };
      await registerFollower(
        hub.store,
        { site, name, kind: 'flux', channel, labels },
        await siteSigner(hub),
        NOW,
      );
    },
    compose: async () => composeSites(hub, await siteSigner(hub), { now: NOW }),
    set: async (site, set, { agent, unset = [] } = {}) => {
      await setValues(hub.store, { site, agent, set, unset }, await siteSigner(hub), NOW);
    },
    deliver: async () => {
      const [delivered] = await deliverTrees({
        ...place,
        environments: ['dev'],
        clusters: await readClusters(hub.store),
        pullRequest: false,
        forge: undefined,
        connection: { plainHttp: [], env: {} },
        now: NOW,
      });
      if (!delivered) throw new Error('nothing was delivered');
      return delivered;
    },
    file: async (id, path) => {
      const words = ['git', '--git-dir', gitops, 'show', `dev:clusters/${id}/${path}`];
      return runOrFail(words, { env }).then(
        ({ stdout }) => stdout,
        () => undefined,
      );
    },
    commits: async () => {
      const found = await createCommitReader()(place, await readClusters(hub.store));
      return found.map(({ cluster: { site, agent } }) => `${site}/${agent}`);
    },
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
};
