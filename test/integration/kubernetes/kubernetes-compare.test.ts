import { afterAll, beforeAll, expect, it } from 'vitest';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import type { KubernetesApi } from '../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import {
  kubernetesTarget,
  type KubernetesTargetOptions,
} from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import type { Target } from '../../../agent/model/target.ts';
import { lookAtDrift } from '../../../agent/observe/observe.ts';
import { generateAgeIdentity } from '../../../bundles/trust/age/recipient.ts';
import { copiesIn, createSite, FLEET, pack } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { writesOf } from '../../harness/kubernetes/audit-log.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { definitionWorldsOnCluster } from './kubernetes-compare/definition-worlds-on-cluster.ts';
import { formsOnCluster } from './kubernetes-compare/forms.ts';
import { leftoversOnCluster } from './kubernetes-compare/leftovers.ts';
import { numbersOnCluster } from './kubernetes-compare/numbers.ts';
import { yaml } from './kubernetes-compare/objects.ts';
import { owningOnCluster } from './kubernetes-compare/owning.ts';
import { rulesOnCluster } from './kubernetes-compare/rules.ts';
import { platformRulesOnCluster } from './kubernetes-compare/rules-of-the-platform.ts';
import { takeOverInWorkspace, takeoversOnCluster } from './kubernetes-compare/takeovers.ts';
import { verdictsOnCluster } from './kubernetes-compare/verdicts.ts';
import type { CompareWorld } from './kubernetes-compare/world.ts';
import { worldsOnCluster } from './kubernetes-compare/worlds-on-cluster.ts';

describeOnKubernetes(['kwok'], 'comparing, removing and owning on a cluster', ({ kube }, { kwok }) => {
  let cluster: OwnCluster;
  let api: KubernetesApi;
  let folder: TemporaryDirectory;
  let identity: string;
  let namespaces = 0;

  const target = (
    through: (api: KubernetesApi) => KubernetesApi,
    options: Partial<KubernetesTargetOptions>,
  ): Target =>
    kubernetesTarget({
      open: async () => through(api),
      fleet: FLEET,
      healthTimeoutMs: 20_000,
      stepTimeoutMs: 20_000,
      adopt: 'ifUnowned',
      copies: copiesIn(folder.path, identity),
      ...options,
    });
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await cluster.request(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  const world: CompareWorld = {
    newSite: (through = (one) => one, options = {}) => createSite(target(through, options)),
    ask,
    at: async (url, path) => {
      const { status, body } = await cluster.request('GET', url);
      if (status === 404) return undefined;
      return path
        .split('.')
        .reduce((value: unknown, key) => (value as Record<string, unknown> | undefined)?.[key], body);
    },
    newNamespace: async () => {
      namespaces += 1;
      const name = `case-${namespaces}`;
      await ask('POST', '/api/v1/namespaces', { metadata: { name } });
      return name;
    },
    kubectl: async (args, input) => {
      const { code, stdout, stderr } = await cluster.kubectl(args, input === undefined ? {} : { input });
      expect(code, stderr).toBe(0);
      return stdout;
    },
    forgetKinds: () => api.forgetTypes(),
    driftOf: async ({ agent }) => (await lookAtDrift(agent)).flatMap(({ drift }) => drift),
    right: async (site, ...objects) => {
      for (const result of await site.release([pack('app', yaml(...objects))]))
        expect(result, result.message).not.toMatchObject({ outcome: 'failed' });
    },
    writes: async () => writesOf(await cluster.readAudit()).length,
  };

  beforeAll(async () => {
    folder = await temporaryDirectory('kubernetes-compare');
    ({ identity } = await generateAgeIdentity());
    cluster = await startOwnCluster({ kube, kwok, nodes: 1, audit: true });
    api = openKubernetesApi(await openClusterAccess({ kubeconfig: cluster.kubeconfig, context: '' }), {
      patienceMs: 30_000,
      requestMs: 30_000,
    });
  });
  afterAll(async () => {
    await api?.close();
    await cluster?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  numbersOnCluster(world);
  formsOnCluster(world);
  leftoversOnCluster(world);
  takeoversOnCluster(world);
  rulesOnCluster(world);
  platformRulesOnCluster(world);
  owningOnCluster(world);
  verdictsOnCluster(world);
  worldsOnCluster(world);
  definitionWorldsOnCluster(world);

  it('N84: a workspace takes an object of another tool by its annotation, or against the rule -> PATH_CLAIMED', async () => {
    for (const [says, granted] of [
      ['always', undefined],
      ['always', 'never'],
      ['never', 'always'],
    ] as const)
      expect(await takeOverInWorkspace(world, says, granted), says).toMatchObject({ code: 'PATH_CLAIMED' });
    expect(await takeOverInWorkspace(world, 'always', 'always')).toMatchObject({ outcome: 'created' });
  });
});
