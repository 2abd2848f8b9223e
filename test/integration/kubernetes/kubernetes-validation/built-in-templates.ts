import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { isClusterScoped } from '../../../../scheduler/model/kubernetes/kubernetes-object.ts';
import { applyDefinitions } from '../../../harness/flux/apply-definitions.ts';
import type { ApiAnswer } from '../../../harness/kubernetes/api-client.ts';
import type { Cluster } from '../../../harness/kubernetes/cluster.ts';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { succeed } from '../../../harness/run/run-command.ts';
import { renderBuiltIn } from '../../../scheduler/load/templates/render-template.ts';
import { reconciler } from '../../../scheduler/load/templates/render-reconciler.ts';

const OWN = 'dev-edge-shop-web';
const GUIDE = join(import.meta.dirname, '../../../../docs/reconcilers.md');

/** What the server answers to each object, which it makes in none but a dry run. */
export type Judge = (objects: readonly Judged[]) => Promise<readonly ApiAnswer[]>;

export type Judged = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: unknown };
};

/** Tests of what built-in templates write. @param cluster one without definitions of others */
export const builtInTemplates = (cluster: () => Cluster, judge: Judge): void => {
  describe('the output of built-in templates, sent to a real API server', () => {
    const kubectl = (words: readonly string[], input?: string) =>
      cluster().kubectl(words, input === undefined ? {} : { input });
    const strictly = (yaml: string): Promise<readonly ApiAnswer[]> =>
      judge(parseAllDocuments(yaml).flatMap((document) => (document.toJS() as Judged | null) ?? []));
    const define = (file: string): Promise<void> => applyDefinitions(cluster(), file);
    const accepted = async (name: string, edit = (yaml: string): string => yaml): Promise<void> => {
      for (const settings of ['all', 'needed'] as const) {
        const answers = await strictly(edit(reconciler(name, settings)));
        expect(answers.length).toBeGreaterThan(0);
        for (const { status, body } of answers)
          expect(status, `${name} with ${settings}: ${JSON.stringify(body)}`).toBe(201);
      }
    };

    beforeAll(async () => {
      for (const name of [OWN, 'flux-system', 'argo', 'argocd', 'fleet-local', 'fleet-default'])
        await cluster().request('POST', '/api/v1/namespaces', { metadata: { name } });
    });

    it('is checked strictly: an unknown field is refused', async () => {
      const [answer] = await strictly(
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: ${OWN}}\ndate: {}\n`,
      );
      expect(answer).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining('unknown field "date"') as string },
      });
    });

    it('is accepted as a guarded namespace, which then limits its pods', async () => {
      const { files, held } = renderBuiltIn({
        clusterType: { namespaceService: 'guarded-namespace' },
        config: {
          LOG: 'info',
          namespaceService: {
            quota: { pods: 2, 'requests.storage': '10Gi' },
            containers: { limits: { memory: '128Mi' } },
            ingressFrom: ['ingress'],
            egressTo: ['10.0.0.0/8'],
          },
        },
      });
      expect(held).toEqual([]);
      for (const file of ['namespace.yaml', 'platform-config.yaml']) {
        const { code, stderr } = await kubectl(
          ['apply', '--server-side', '--force-conflicts', '--validate=strict', '-f', '-'],
          files[file],
        );
        expect([code, stderr]).toEqual([0, '']);
      }
      const pod = (name: string, more = ''): string =>
        `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: ${OWN}}\nspec:\n  containers:\n    - name: a\n      image: a\n${more}`;
      await expect.poll(async () => (await kubectl(['create', '-f', '-'], pod('one'))).code).toBe(0);
      const limits = await kubectl([
        'get',
        'pod',
        'one',
        '-n',
        OWN,
        '-o',
        'jsonpath={.spec.containers[0].resources}',
      ]);
      expect(JSON.parse(limits.stdout)).toEqual({
        limits: { memory: '128Mi' },
        requests: { cpu: '50m', memory: '64Mi' },
      });
      const privileged = await kubectl(
        ['create', '-f', '-'],
        pod('two', '      securityContext: {privileged: true}\n'),
      );
      expect(privileged.stderr).toContain('violates PodSecurity "baseline');
      succeed(await kubectl(['create', '-f', '-'], pod('three')));
      const tooMany = await kubectl(['create', '-f', '-'], pod('four'));
      expect(tooMany.stderr).toContain('exceeded quota: assignment');
      const can = async (verb: string, what: string, group: string) =>
        (
          await kubectl(['auth', 'can-i', verb, what, '-n', OWN, '--as=eve', `--as-group=${group}`])
        ).stdout.trim();
      expect(await can('list', 'pods', 'workspace:team')).toBe('yes');
      expect(await can('get', 'secrets', 'workspace:team')).toBe('no');
      expect(await can('delete', 'deployments.apps', 'workspace:team')).toBe('no');
      expect(await can('list', 'pods', 'workspace:others')).toBe('no');
    });

    it('has a known scope for every kind of this Kubernetes version', async () => {
      const { stdout } = await kubectl(['api-resources', '--namespaced=false', '--no-headers']);
      const kinds = stdout
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/).at(-1) ?? '');
      expect(kinds.length).toBeGreaterThan(20);
      expect(kinds.filter((kind) => !isClusterScoped(kind))).toEqual([]);
      const namespaced = await kubectl(['api-resources', '--namespaced=true', '--no-headers']);
      const wrong = namespaced.stdout
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/).at(-1) ?? '')
        .filter(isClusterScoped);
      expect(wrong).toEqual([]);
    });

    describeWith(['flux'], "Flux's definitions accept", ({ flux }) => {
      beforeAll(() => define(join(flux, 'crds')), 200_000);
      it.each(['flux', 'flux-oci'])('%s', (name) => accepted(name));
    });

    describeWith(['argoDefinitions'], "Argo CD's definition accepts", ({ argoDefinitions }) => {
      beforeAll(() => define(argoDefinitions), 200_000);
      it.each(['argocd', 'argocd-oci'])('%s', (name) => accepted(name));

      it('the root of argocd-oci in the guide', async () => {
        const guide = await readFile(GUIDE, 'utf8');
        const [, root = ''] = /```yaml\n# argocd-oci root\n(.*?)```/s.exec(guide) ?? [];
        expect(await strictly(root)).toMatchObject([
          { status: 201, body: { kind: 'Application', metadata: { name: 'fleet' } } },
        ]);
      });
    });

    describeWith(['argoDefinitions2'], "Argo CD's definition of 2.14 accepts", ({ argoDefinitions2 }) => {
      beforeAll(() => define(argoDefinitions2), 200_000);
      it('argocd', () => accepted('argocd'));
    });

    describeWith(
      ['rancherFleetDefinitions'],
      "Rancher Fleet's definitions of 0.12 accept",
      ({ rancherFleetDefinitions }) => {
        beforeAll(() => define(rancherFleetDefinitions), 200_000);
        it('rancher-fleet', () => accepted('rancher-fleet'));

        it('rancher-fleet-helm under the former name of HelmOp alone: its Template is for later ones', async () => {
          await accepted('rancher-fleet-helm', (yaml) => yaml.replace('kind: HelmOp', 'kind: HelmApp'));
          const { stdout } = await kubectl(['get', 'crd', '-o', 'name']);
          expect(stdout).not.toContain('/helmops.fleet.cattle.io');
        });
      },
    );

    describeWith(
      ['rancherFleetDefinitions15'],
      "Rancher Fleet's definitions of 0.15 accept",
      ({ rancherFleetDefinitions15 }) => {
        beforeAll(() => define(rancherFleetDefinitions15), 200_000);
        it.each(['rancher-fleet', 'rancher-fleet-helm'])('%s', (name) => accepted(name));
      },
    );

    describeWith(
      ['symphonyDefinitions', 'flux'],
      "Symphony's definitions accept",
      ({ symphonyDefinitions, flux }) => {
        beforeAll(async () => {
          await define(join(flux, 'crds'));
          for (const name of ['fabric.symphony_targets.yaml', 'solution.symphony_instances.yaml'])
            await define(join(symphonyDefinitions, name));
        }, 200_000);
        it('symphony', () => accepted('symphony'));
      },
    );
  });
};
