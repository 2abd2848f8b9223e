import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import Enroll from '../../../../agent/commands/enroll.ts';
import LoadImages from '../../../../agent/commands/load-images.ts';
import { CONFIG_FLAGS } from '../../../../agent/config/config-flags.ts';
import Serve from '../../../../scheduler/commands/serve.ts';
import type { Cluster } from '../../../harness/kubernetes/cluster.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const DEPLOY = join(import.meta.dirname, '../../../../deploy');
const AGENT = join(DEPLOY, 'kubernetes');

type Container = {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly volumeMounts: readonly { readonly name: string }[];
};
type Manifest = {
  readonly kind: string;
  readonly metadata?: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly Container[];
        readonly initContainers?: readonly Container[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
};

const NAMESPACES = ['fleet-agent', 'fleet-hub'];

type Overlay = { readonly resources: readonly string[]; readonly components: readonly string[] };

/** What a platform engineer's overlay adds, by name. */
const OVERLAYS = {
  online: { resources: ['online'], components: [] },
  'online with all rights': { resources: ['online'], components: ['cluster-admin'] },
  offline: { resources: ['offline'], components: [] },
  'offline on a single node': { resources: ['offline'], components: ['single-node'] },
  'offline on k3s': { resources: ['offline'], components: ['single-node', 'k3s'] },
  'online with metrics': { resources: ['online'], components: ['metrics'] },
} satisfies Record<string, Overlay>;

/** Tests of the manifests in deploy/. */
export const deployManifests = (cluster: () => Cluster): void => {
  describe('the manifests in deploy/', () => {
    let folder: TemporaryDirectory;

    beforeAll(async () => {
      folder = await temporaryDirectory('overlay');
      // A dry run makes no namespace for what lies in it.
      for (const name of NAMESPACES)
        await cluster().request('POST', '/api/v1/namespaces', { metadata: { name } });
    });
    afterAll(async () => {
      await folder?.[Symbol.asyncDispose]();
    });

    const kustomize = async (path: string): Promise<string> => {
      const { code, stdout, stderr } = await cluster().kubectl(['kustomize', path]);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    /** By an API server, without a warning. */
    const expectAccepted = async (text: string): Promise<void> => {
      const apply = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '--filename=-'];
      const { code, stderr } = await cluster().kubectl(apply, { input: text });
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('Warning')]);
    };
    const render = async ({ resources, components }: Overlay): Promise<string> => {
      const from = (name: string): string => relative(folder.path, join(AGENT, name));
      const images = [{ name: 'fleet-agent', newName: 'registry.example/fleet-agent', newTag: '7' }];
      const overlay = {
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        resources: resources.map(from),
        components: components.map(from),
        images,
      };
      await writeFile(join(folder.path, 'kustomization.yaml'), JSON.stringify(overlay));
      return kustomize(folder.path);
    };
    const podOf = (text: string) => {
      const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
      const pod = manifests.find(({ kind }) => kind === 'Deployment')?.spec?.template.spec;
      if (!pod) throw new Error('there is no Deployment');
      return { pod, containers: [...pod.containers, ...(pod.initContainers ?? [])], manifests };
    };

    it.each(Object.entries(OVERLAYS))(
      'of the agent are accepted by an API server: %s',
      async (_name, overlay) => {
        const text = await render(overlay);
        await expectAccepted(text);
        const { pod, containers } = podOf(text);
        const volumes = new Set(pod.volumes.map(({ name }) => name));
        for (const { image, env = [], volumeMounts } of containers) {
          expect(image).toBe('registry.example/fleet-agent:7');
          expect(volumeMounts.filter(({ name }) => !volumes.has(name))).toEqual([]);
          const keys = Object.values(CONFIG_FLAGS).map(({ env: key }) => key);
          for (const { name } of env.filter((it) => it.name.startsWith('FLEET_AGENT_')))
            expect(keys).toContain(name);
        }
      },
    );

    it('of the agent keep the state on a single node, and claim any volume otherwise', async () => {
      const claim = async (name: keyof typeof OVERLAYS) =>
        podOf(await render(OVERLAYS[name])).manifests.find(
          ({ kind, metadata }) => kind === 'PersistentVolumeClaim' && metadata?.name === 'fleet-agent-state',
        )?.spec;
      expect(await claim('offline')).not.toHaveProperty('volumeName');
      expect(await claim('offline on a single node')).toHaveProperty('volumeName', 'fleet-agent-state');
    });

    it('of the image loader give it a flag for each variable, no account, and no network', async () => {
      const { manifests } = podOf(await render(OVERLAYS.offline));
      const of = (wanted: string) =>
        manifests.find(({ kind, metadata }) => kind === wanted && metadata?.name === 'fleet-image-loader');
      const pod = of('DaemonSet')?.spec?.template.spec;
      const [container] = pod?.containers ?? [];
      expect(container?.args).toEqual(['load-images']);
      const known = Object.values(LoadImages.flags).map((flag) => ('env' in flag ? flag.env : undefined));
      const given = (container?.env ?? []).map(({ name }) => name);
      expect(known).toEqual(expect.arrayContaining(given.filter((name) => name !== 'ALIVE_FILE')));
      expect(pod).toMatchObject({ automountServiceAccountToken: false });
      expect(of('ServiceAccount')).toMatchObject({ automountServiceAccountToken: false });
      expect(of('NetworkPolicy')?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
      expect(of('NetworkPolicy')?.spec).not.toHaveProperty('egress');
    });

    it('of the agent give no right beyond its lease, its object and events, and its pods fit into a restricted namespace', async () => {
      const { manifests } = podOf(await render(OVERLAYS.offline));
      const pods = [...manifests, ...podOf(await render(OVERLAYS.online)).manifests].flatMap(
        ({ kind, spec }) => (['Deployment', 'DaemonSet'].includes(kind) && spec ? [spec.template.spec] : []),
      );
      expect(pods).toHaveLength(3);
      const kinds = manifests.map(({ kind }) => kind);
      expect(kinds).not.toContain('ClusterRoleBinding');
      const roles = manifests.filter(({ kind }) => kind === 'Role') as readonly {
        readonly rules?: unknown;
      }[];
      expect(roles.map(({ rules }) => rules)).toEqual([
        [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }],
        [
          { apiGroups: ['fleet-ferry.internal'], resources: ['fleetagents'], verbs: ['get', 'create'] },
          { apiGroups: ['fleet-ferry.internal'], resources: ['fleetagents/status'], verbs: ['patch'] },
          { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
        ],
      ]);
      const own = manifests.find(({ kind }) => kind === 'Namespace');
      expect(own?.metadata?.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
      const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
      const name = 'restricted-agent';
      await cluster().request('POST', '/api/v1/namespaces', { metadata: { name, labels } });
      const create = (of: object) =>
        cluster().request('POST', `/api/v1/namespaces/${name}/pods?dryRun=All`, {
          metadata: { name },
          spec: of,
        });
      for (const pod of pods) {
        const {
          serviceAccountName: _account,
          priorityClassName: _class,
          ...spec
        } = pod as Record<string, unknown>;
        // The account of a new namespace takes a moment.
        const answer = async (): Promise<unknown> => {
          const { status, body } = await create({ ...spec, serviceAccountName: 'default' });
          return status === 201 ? 201 : body;
        };
        await expect.poll(answer, { timeout: 20_000, interval: 200 }).toBe(201);
        expect((await create({ ...spec, hostNetwork: true })).status).toBe(403);
      }
    });

    it('of the agent keep root file systems read-only, are watched and placed first, and let nobody connect', async () => {
      for (const overlay of ['online', 'offline'] as const) {
        const { manifests } = podOf(await render(OVERLAYS[overlay]));
        for (const { kind, spec } of manifests.filter((one) =>
          ['Deployment', 'DaemonSet'].includes(one.kind),
        )) {
          const pod = spec?.template.spec;
          expect(pod, `${overlay} ${kind}`).toMatchObject({ priorityClassName: 'fleet-agent' });
          for (const container of [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])])
            expect(container, `${overlay} ${kind}`).toMatchObject({
              securityContext: { readOnlyRootFilesystem: true },
            });
          expect(pod?.containers[0]).toHaveProperty('livenessProbe');
        }
        const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
        expect(policies.map(({ spec }) => spec)).toContainEqual({
          podSelector: {},
          policyTypes: ['Ingress'],
        });
        expect(manifests.map(({ kind }) => kind)).toContain('PriorityClass');
      }
    });

    it('of the agent enrol with flags that the command has', async () => {
      const { pod } = podOf(await render(OVERLAYS.online));
      const [verb, ...words] = pod.initContainers?.[0]?.args ?? [];
      expect(verb).toBe('enroll');
      const flags = words.map((word) => /^--([a-z0-9-]+)=./.exec(word)?.[1] ?? word);
      expect(Object.keys(Enroll.flags)).toEqual(expect.arrayContaining(flags));
      const required = Object.entries(Enroll.flags).filter(([, flag]) => 'required' in flag && flag.required);
      expect(flags).toEqual(expect.arrayContaining(required.map(([name]) => name)));
    });

    it('of the agent begin with a comment on their use', async () => {
      for (const folderName of [
        'base',
        'online',
        'offline',
        'single-node',
        'k3s',
        'cluster-admin',
        'metrics',
      ])
        expect(await readFile(join(AGENT, folderName, 'kustomization.yaml'), 'utf8')).toMatch(/^# /);
    });

    it('of the hub are accepted by an API server, and use variables and flags of serve', async () => {
      const text = await kustomize(join(DEPLOY, 'hub'));
      await expectAccepted(text);
      const { pod, manifests } = podOf(text);
      expect(manifests.map(({ kind }) => kind).toSorted()).toEqual([
        'Deployment',
        'Namespace',
        'PersistentVolumeClaim',
        'PodDisruptionBudget',
        'Service',
      ]);
      const [container] = pod.containers;
      const variables = Object.values(Serve.flags).map((flag) => ('env' in flag ? flag.env : undefined));
      expect(variables).toEqual(expect.arrayContaining(container?.env?.map(({ name }) => name) ?? ['none']));
      expect(container?.args?.slice(0, 2)).toEqual(['serve', '--config']);
      const mounted = container?.volumeMounts.map(({ name }) => name).toSorted();
      expect(mounted).toEqual(pod.volumes.map(({ name }) => name).toSorted());
    });
  });
};
