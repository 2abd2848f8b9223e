import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isClusterScoped } from '../../../scheduler/model/kubernetes/kubernetes-object.ts';
import type { Value } from '../../../scheduler/model/model.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { findProgram } from '../../harness/run/find-program.ts';
import { applyDefinitions } from '../../harness/flux/apply-definitions.ts';
import type { Cluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { RECONCILERS, renderBuiltIn } from '../../scheduler/load/templates/render-template.ts';

/** What a built-in reconciler writes with every setting it knows, or with none but what it needs. */
const reconciler = (
  name: string,
  settings: 'all' | 'needed' = 'all',
  config: Record<string, Value> = {},
): string => {
  const wanted = RECONCILERS[name];
  const { registry } = wanted?.settings ?? {};
  const { files, held } = renderBuiltIn({
    clusterType: { reconciler: name },
    target: { manifests: wanted?.manifests ?? {} },
    config: {
      ...config,
      reconciler: settings === 'all' ? (wanted?.settings ?? {}) : registry ? { registry } : {},
    },
  });
  expect(held).toEqual([]);
  return files['reconciler.yaml'] ?? '';
};

const OWN = 'dev-edge-shop-web';
const GUIDE = join(import.meta.dirname, '../../../docs/reconcilers.md');

describeWith(
  ['kube', 'kwok'],
  'what built-in templates write, before the real API server',
  ({ kube, kwok }) => {
    let cluster: Cluster;
    const kubectl = (words: readonly string[], input?: string) =>
      cluster.kubectl(words, input === undefined ? {} : { input });
    const strictly = (yaml: string) =>
      kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], yaml);
    const define = (file: string): Promise<void> => applyDefinitions(cluster, file);
    const accepted = async (name: string, edit = (yaml: string): string => yaml): Promise<void> => {
      for (const settings of ['all', 'needed'] as const) {
        const { code, stdout, stderr } = await strictly(edit(reconciler(name, settings)));
        expect([code, stderr], `${name} with ${settings}`).toEqual([0, '']);
        expect(stdout).toContain('serverside-applied (server dry run)');
      }
    };

    beforeAll(async () => {
      cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
      for (const name of [OWN, 'flux-system', 'argo', 'argocd', 'fleet-local', 'fleet-default'])
        succeed(await kubectl(['create', 'namespace', name]));
    }, 300_000);
    afterAll(() => cluster?.[Symbol.asyncDispose]());

    it('the dry run is strict: a field that no definition has is refused', async () => {
      const { code, stderr } = await strictly(
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: ${OWN}}\ndate: {}\n`,
      );
      expect([code, stderr]).toEqual([1, expect.stringContaining('.date: field not declared') as string]);
    });

    it('a guarded namespace is taken, and guards', async () => {
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

    it('knows every kind without a namespace that this Kubernetes has', async () => {
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

    describeWith(['flux'], "Flux's definitions take", ({ flux }) => {
      beforeAll(async () => {
        for (const name of await readdir(join(flux, 'crds'))) await define(join(flux, 'crds', name));
      }, 200_000);
      it.each(['flux', 'flux-oci'])('%s', (name) => accepted(name));
    });

    describeWith(['argoDefinitions'], "Argo CD's definition takes", ({ argoDefinitions }) => {
      beforeAll(() => define(argoDefinitions), 200_000);
      it.each(['argocd', 'argocd-oci'])('%s', (name) => accepted(name));

      it('the root of argocd-oci, as the guide has it', async () => {
        const guide = await readFile(GUIDE, 'utf8');
        const [, root = ''] = /```yaml\n# argocd-oci root\n(.*?)```/s.exec(guide) ?? [];
        const { code, stdout, stderr } = await strictly(root);
        expect([code, stderr]).toEqual([0, '']);
        expect(stdout).toContain('application.argoproj.io/fleet');
      });
    });

    describeWith(
      ['rancherFleetDefinitions'],
      "Rancher Fleet's definitions take",
      ({ rancherFleetDefinitions }) => {
        beforeAll(() => define(rancherFleetDefinitions), 200_000);
        it('rancher-fleet', () => accepted('rancher-fleet'));

        it('rancher-fleet-helm, by the name that HelmOp had before where they are that old', async () => {
          const { stdout } = await kubectl(['get', 'crd', '-o', 'name']);
          const kind = stdout.includes('/helmops.fleet.cattle.io') ? 'HelmOp' : 'HelmApp';
          await accepted('rancher-fleet-helm', (yaml) => yaml.replace('kind: HelmOp', `kind: ${kind}`));
        });
      },
    );

    describeWith(
      ['symphonyDefinitions', 'flux'],
      "Symphony's definitions take",
      ({ symphonyDefinitions, flux }) => {
        beforeAll(async () => {
          for (const name of await readdir(join(flux, 'crds'))) await define(join(flux, 'crds', name));
          for (const name of ['fabric.symphony_targets.yaml', 'solution.symphony_instances.yaml'])
            await define(join(symphonyDefinitions, name));
        }, 200_000);
        it('symphony', () => accepted('symphony'));
      },
    );
  },
);

describeWith(['zarfSchema'], "Zarf's schema", ({ zarfSchema }) => {
  it('takes a package of zarf, and not one with a field too many', async () => {
    const schema = JSON.parse(await readFile(zarfSchema, 'utf8')) as { readonly $schema: string };
    const options = { strict: false, allErrors: true };
    const ajv = schema.$schema.includes('2020-12') ? new Ajv2020(options) : new Ajv(options);
    const isPackage = ajv.compile(schema);
    for (const settings of ['all', 'needed'] as const) {
      isPackage(parse(reconciler('zarf', settings)));
      expect(isPackage.errors ?? []).toEqual([]);
    }
    const wrong = parse(reconciler('zarf')) as { components: { more?: string }[] };
    wrong.components[0]!.more = 'x';
    expect(isPackage(wrong)).toBe(false);
  });
});

describeWith(['ansible'], 'ansible-playbook', ({ ansible }) => {
  it.each(['ansible-pull', 'ansible-local'])('--syntax-check takes %s', async (name) => {
    await using folder = await temporaryDirectory('playbook');
    await writePlaybooks(folder.path, name);
    const words = [ansible, '--syntax-check', '-i', 'localhost,', 'reconciler.yaml'];
    const { code, stderr } = await runCommand(words, { cwd: folder.path });
    expect([code, stderr]).toEqual([0, '']);
  });

  it('runs what ansible-local names, with the configuration in its types', async () => {
    await using folder = await temporaryDirectory('playbook');
    await writePlaybooks(folder.path, 'ansible-local');
    const words = [ansible, '-i', 'localhost,', '-c', 'local', 'reconciler.yaml'];
    const { code } = await runCommand(words, { cwd: folder.path });
    expect(code).toBe(0);
    const seen = JSON.parse(await readFile(join(folder.path, 'seen.json'), 'utf8')) as unknown;
    expect(seen).toEqual({ LOG: "it's {{ here }}", PORT: 8080, DEEP: { list: [1, 'x'] } });
  });
});

const writePlaybooks = async (folder: string, name: string): Promise<void> => {
  const yaml = reconciler(name, 'all', { LOG: "it's {{ here }}", PORT: 8080, DEEP: { list: [1, 'x'] } });
  await writeFile(join(folder, 'reconciler.yaml'), yaml.replace('manifests/site.yml', 'site.yml'));
  await writeFile(
    join(folder, 'site.yml'),
    `- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.copy:
        dest: '{{ playbook_dir }}/seen.json'
        content: '{{ platform_config | to_json }}'
`,
  );
};

const analyze = findProgram('systemd-analyze');
describe.skipIf(analyze === undefined)('systemd-analyze verify', () => {
  it('takes the units of ansible-pull', async () => {
    await using folder = await temporaryDirectory('units');
    const [play] = parse(reconciler('ansible-pull')) as {
      readonly tasks: readonly Record<string, { readonly dest?: string; readonly content?: string }>[];
    }[];
    const copies = (play?.tasks ?? []).flatMap((task) => task['ansible.builtin.copy'] ?? []);
    const units = copies.filter(({ dest }) => dest?.startsWith('/etc/systemd/system/'));
    expect(units).toHaveLength(2);
    const paths: string[] = [];
    for (const { dest = '', content = '' } of units) {
      const path = join(folder.path, dest.slice(dest.lastIndexOf('/') + 1));
      // Whether ansible is here is not what is asked.
      await writeFile(path, content.replace('/usr/bin/ansible-pull', '/bin/true'));
      paths.push(path);
    }
    const { code, stderr } = await runCommand(['systemd-analyze', 'verify', '--man=no', ...paths]);
    expect([code, stderr.split('\n').filter((line) => line.includes('ansible-pull-'))]).toEqual([0, []]);
  });
});
