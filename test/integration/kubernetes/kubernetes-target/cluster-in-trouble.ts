import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import type { Target } from '../../../../agent/model/target.ts';
import { openOperation } from '../../../../agent/store/journal/operations.ts';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { findFailure } from '../../../../agent/store/applied/failures.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { copiesIn, createSite, FLEET, pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { fillEtcd } from '../../../harness/neighbours/faulty-etcd.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const signal = new AbortController().signal;

/** A target that soon gives an API server up. */
export const targetOf = (kubeconfig: string): Target =>
  kubernetesTarget({
    open: async () =>
      openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), {
        patienceMs: 500,
        requestMs: 10_000,
      }),
    fleet: FLEET,
    healthTimeoutMs: 10_000,
    stepTimeoutMs: 10_000,
    adopt: 'ifUnowned',
    copies: copiesIn(dirname(kubeconfig)),
  });

/** Nobody listens where it is said to be, and without it no ConfigMap is admitted. */
const WEBHOOK = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: away}
webhooks:
  - name: away.example.org
    clientConfig: {url: "https://127.0.0.1:9/"}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 1
    admissionReviewVersions: [v1]
`;

const configMap = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\ndata: {text: ${text}}\n---\n`;

/** Tests after which the cluster takes nothing any more. @param cluster with an etcdQuota */
export const clusterInTrouble = (cluster: () => OwnCluster): void => {
  describe('a cluster in trouble', () => {
    it('with a failing admission webhook accepts the package when the webhook is back', async () => {
      await using site = await createSite(targetOf(cluster().kubeconfig));
      const kubectl = async (args: readonly string[], input?: string): Promise<void> => {
        const { code, stderr } = await cluster().kubectl([...args], input === undefined ? {} : { input });
        expect(code, stderr).toBe(0);
      };
      await kubectl(['apply', '-f', '-'], WEBHOOK);
      await expect
        .poll(() => site.release([pack('hooked', configMap('hooked', 'x'))]), { timeout: 60_000 })
        .toMatchObject([
          {
            outcome: 'failed',
            code: 'WEBHOOK_UNREACHABLE',
            message: expect.stringContaining('away.example.org'),
          },
        ]);
      const told = site.events().length;
      makeAllDue(site.agent.state, site.agent.edge.now());
      expect(await reconcile(site.agent)).toMatchObject([{ outcome: 'failed' }]);
      expect(site.events()).toHaveLength(told);
      await kubectl(['delete', 'validatingwebhookconfiguration', 'away']);
      await expect
        .poll(
          () => {
            makeAllDue(site.agent.state, site.agent.edge.now());
            return reconcile(site.agent);
          },
          { timeout: 60_000 },
        )
        .toMatchObject([{ assignment: 'hooked', outcome: 'created' }]);
    });

    it('with credentials of a plugin is asked with the new ones when they change', async () => {
      await using folder = await temporaryDirectory('kubeconfig');
      const given = await readFile(cluster().kubeconfig, 'utf8');
      const token = /"?token"?: "?([0-9a-f]+)/.exec(given)?.[1] ?? '';
      expect(token).not.toBe('');
      const file = join(folder.path, 'token');
      // A credential that ended long ago: the plugin is asked each time.
      const said = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"expirationTimestamp":"2020-01-01T00:00:00Z","token":"'$(cat ${file})'"}}`;
      const user = JSON.stringify({
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: 'sh',
          args: ['-c', `echo '${said}'`],
          interactiveMode: 'Never',
        },
      });
      const kubeconfig = join(folder.path, 'kubeconfig');
      const ca = /"?certificate-authority"?: "?([^"\s,}]+)/.exec(given)?.[1] ?? '';
      await writeFile(
        kubeconfig,
        `apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "${cluster().server}", certificate-authority: "${ca}"}}]
users: [{name: robot, user: ${user}}]
contexts: [{name: site, context: {cluster: here, user: robot}}]
current-context: none
`,
      );
      await expect(openClusterAccess({ kubeconfig, context: '' })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        hint: 'Its contexts: site',
      });
      await writeFile(file, 'wrong');
      const access = await openClusterAccess({ kubeconfig, context: 'site' });
      const api = openKubernetesApi(access, { patienceMs: 500, requestMs: 10_000 });
      await expect(api.types(signal)).rejects.toMatchObject({ code: 'API_DENIED' });
      await writeFile(file, token);
      expect((await api.types(signal)).length).toBeGreaterThan(30);
      expect(await api.version(signal)).toMatch(/^1\.\d+\.\d+/);
      await api.close();
    });

    it('with a renewed kubeconfig is asked with its account, authority and address', async () => {
      await using folder = await temporaryDirectory('kubeconfig');
      const kubeconfig = join(folder.path, 'kubeconfig');
      const given = await readFile(cluster().kubeconfig, 'utf8');
      const token = /"?token"?: "?([0-9a-f]+)/.exec(given)?.[1] ?? '';
      expect(token).not.toBe('');
      await writeFile(kubeconfig, given.replace(token, 'ended'));
      const access = await openClusterAccess({ kubeconfig, context: '' });
      const api = openKubernetesApi(access, { patienceMs: 500, requestMs: 10_000 });
      await expect(api.version(signal)).rejects.toMatchObject({ code: 'API_DENIED' });
      await writeFile(kubeconfig, given.replace(cluster().server, 'https://127.0.0.1:9'));
      await expect(api.version(signal)).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
      await writeFile(kubeconfig, given);
      const answer = async () => api.version(signal).catch((error: unknown) => error);
      await expect.poll(answer, { timeout: 20_000 }).toMatch(/^1\.\d+/);
      await api.close();
    });

    it('with a failing API service fails the packages that need it, and applies them later', async () => {
      await using site = await createSite(targetOf(cluster().kubeconfig));
      const apiService = '/apis/apiregistration.k8s.io/v1/apiservices';
      const made = await cluster().request('POST', apiService, {
        metadata: { name: 'v1.away.example.org' },
        spec: {
          group: 'away.example.org',
          version: 'v1',
          service: { namespace: 'default', name: 'nowhere' },
          insecureSkipTLSVerify: true,
          groupPriorityMinimum: 100,
          versionPriority: 10,
        },
      });
      expect(made.status).toBe(201);
      const scale = 'apiVersion: away.example.org/v1\nkind: Scale\nmetadata: {name: a, namespace: default}\n';
      const release = () => site.release([pack('scales', scale), pack('beside', configMap('beside', 'x'))]);
      await expect
        .poll(
          async () => {
            makeAllDue(site.agent.state, site.agent.edge.now());
            return release();
          },
          { timeout: 30_000 },
        )
        .toMatchObject([{ assignment: 'scales', outcome: 'failed', code: 'API_FAILED' }]);
      expect(findPackage(site.agent.state, 'beside')).toMatchObject({ status: 'healthy' });
      expect(findFailure(site.agent.state, 'scales', findPackage(site.agent.state, 'scales')?.desired)).toBe(
        undefined,
      );
      expect(openOperation(site.agent.state)).toBeUndefined();
      await cluster().request('DELETE', `${apiService}/v1.away.example.org`);
    });

    // The last one, as the cluster takes nothing afterwards.
    it('with a full etcd fails no package, and leaves an open operation open', async () => {
      await using site = await createSite(targetOf(cluster().kubeconfig));
      expect(await site.release([pack('small', configMap('small', 'x'))])).toMatchObject([
        { outcome: 'created' },
      ]);
      await fillEtcd(cluster());
      const big = configMap('big', 'x');
      await expect(
        site.release([pack('big', big), pack('small', configMap('small', 'x'))]),
      ).rejects.toMatchObject({
        code: 'API_UNREACHABLE',
        message: expect.stringMatching(/store .* is full/) as string,
      });
      expect(openOperation(site.agent.state)).toMatchObject({ assignment: 'big', phase: 'apply' });
      const wanted = findPackage(site.agent.state, 'big')?.desired;
      expect(findFailure(site.agent.state, 'big', wanted)).toBeUndefined();
      expect(site.events().filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    });
  });
};
