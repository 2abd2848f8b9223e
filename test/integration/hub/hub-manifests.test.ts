import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import Serve from '../../../scheduler/commands/serve.ts';
import { describeWithCluster } from '../../harness/kubernetes/describe-with-cluster.ts';
import { startCluster } from '../../harness/kubernetes/start-cluster.ts';

type Container = {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string }[];
  readonly volumeMounts: readonly { readonly name: string }[];
};
type Deployment = {
  readonly kind: string;
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
};

describeWithCluster('the manifests of the hub', () => {
  it('are accepted by an API server, and use variables and flags that serve has', async () => {
    await using cluster = await startCluster();
    const { code, stdout, stderr } = await cluster.kubectl([
      'kustomize',
      join(import.meta.dirname, '../../../deploy/hub'),
    ]);
    expect(code, stderr).toBe(0);
    // A dry run makes no namespace for what lies in it.
    await cluster.kubectl(['create', 'namespace', 'fleet-hub']);
    const apply = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '--filename=-'];
    const applied = await cluster.kubectl(apply, { input: stdout });
    await cluster.kubectl(['delete', 'namespace', 'fleet-hub', '--wait=false']);
    expect([applied.code, applied.stderr]).toEqual([0, expect.not.stringContaining('Warning')]);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as Deployment);
    expect(objects.map(({ kind }) => kind).toSorted()).toEqual([
      'Deployment',
      'Namespace',
      'PersistentVolumeClaim',
      'PodDisruptionBudget',
      'Service',
    ]);
    const hub = objects.find(({ kind }) => kind === 'Deployment')?.spec;
    const [container] = hub?.template.spec.containers ?? [];
    const variables = Object.values(Serve.flags).map((flag) => ('env' in flag ? flag.env : undefined));
    expect(variables).toEqual(expect.arrayContaining(container?.env.map(({ name }) => name) ?? ['none']));
    expect(container?.args.slice(0, 2)).toEqual(['serve', '--config']);
    const volumes = hub?.template.spec.volumes.map(({ name }) => name);
    expect(container?.volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes?.toSorted());
  });
});
