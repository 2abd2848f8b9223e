import { cpSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import type { KubernetesApi } from '../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { rollBackPackage } from '../../../../agent/apply/operator/roll-back-package.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import { lookAtDrift } from '../../../../agent/observe/observe.ts';
import { readOwned } from '../../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { clusterOf, createSecretWorld, type SecretWorld } from '../../../agent/secrets/secret-world.ts';
import { tracesBelow, tracesIn } from '../../../agent/secrets/traces-of.ts';
import { describeWith } from '../../../harness/run/describe-with.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { isTried, LONG } from '../../../harness/run/long.ts';
import { packKubernetesBundle } from '../../../harness/fleets/kubernetes-bundle.ts';
import { runCommand, runOrFail, succeed } from '../../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { testProgramFile } from '../../../harness/run/program-file.ts';

const PROGRAM = testProgramFile('test/agent/secrets/import-apart.ts');
const ONE = 'MARKER-first-password-8c1f';
const TWO = 'MARKER-second-password-77ab';
const OTHER = 'MARKER-other-password-5d2e';
const ALL = [ONE, TWO, OTHER];
const signal = new AbortController().signal;

const namespace = (ns: string): string => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${ns}}\n---\n`;
const secret = (ns: string, set: string, more = ''): string =>
  `apiVersion: v1\nkind: Secret\nmetadata:\n  name: ${set}\n  namespace: ${ns}\n  annotations:\n    fleet-ferry/secret-set: ${set}\n${more}---\n`;
const map = (ns: string, name: string, data = '{}'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ${ns}}\ndata: ${data}\n---\n`;

/** Tests of what becomes of the secrets of a package. */
export const secretsOnCluster = (cluster: () => OwnCluster): void =>
  describeWith(['sops'], 'secrets on a cluster', ({ sops }) => {
    let api: KubernetesApi;

    beforeAll(async () => {
      api = openKubernetesApi(await openClusterAccess({ kubeconfig: cluster().kubeconfig, context: '' }), {
        patienceMs: 30_000,
        requestMs: 30_000,
      });
    });
    afterAll(() => api?.close());

    const createSite = (): Promise<SecretWorld> => createSecretWorld((folder) => [clusterOf(api, folder)]);
    const dataOf = async (ns: string, name: string): Promise<unknown> => {
      const live = await api.read({ apiVersion: 'v1', kind: 'Secret', namespace: ns, name }, signal);
      const data = live?.['data'] as Record<string, string> | undefined;
      return (
        data &&
        Object.fromEntries(
          Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]),
        )
      );
    };
    const edit = async (ns: string, name: string, password: string): Promise<void> => {
      const path = `/api/v1/namespaces/${ns}/secrets/${name}`;
      const { status } = await cluster().request('PATCH', path, { stringData: { password } });
      expect(status).toBe(200);
    };
    const encrypt = async (text: string, to: string): Promise<string> => {
      await using folder = await temporaryDirectory('sops');
      const file = join(folder.path, 'secret.yaml');
      await writeFile(file, text);
      const regex = '^(data|stringData|schedule)$';
      return (await runOrFail([sops, 'encrypt', '--age', to, '--encrypted-regex', regex, file])).stdout;
    };
    const noTraces = async (site: SecretWorld, ...said: readonly unknown[]): Promise<void> => {
      expect(await tracesBelow(site.agent.state.directory, ALL)).toEqual([]);
      expect(tracesIn('what was said', JSON.stringify([said, site.events()]), ALL)).toEqual([]);
    };

    it('are filled from sealed sets, with the names of the annotation', async () => {
      await using site = await createSite();
      const ns = 'fill';
      const keys = '    fleet-ferry/secret-keys: "pass=password, user"\n';
      const bundle = packKubernetesBundle(site.fleet, {
        shop: `${namespace(ns)}${secret(ns, 'db')}${secret(ns, 'part', keys)}${map(ns, 'plain')}`,
      });
      const secrets = {
        db: await site.seal('db', { password: ONE }),
        part: await site.seal('part', { password: TWO, user: 'root', unused: OTHER }),
      };
      const imported = await site.take({ secrets, bundle });
      expect(imported.packages).toEqual([{ assignment: 'shop', outcome: 'created' }]);
      expect(await dataOf(ns, 'db')).toEqual({ password: ONE });
      expect(await dataOf(ns, 'part')).toEqual({ pass: TWO, user: 'root' });
      expect(await lookAtDrift(site.agent)).toEqual([{ assignment: 'shop', drift: [] }]);
      const again = await site.take({ secrets, bundle });
      expect(again.packages).toEqual([]);
      await noTraces(site, imported);
      const owned = readOwned(site.agent.state, 'shop').find(({ key }) => key.includes('/Secret/'));
      expect(owned?.state).toMatchObject({
        secret: true,
        hash: expect.stringMatching(/^hmac-sha256:/),
        wanted: expect.stringMatching(/^hmac-sha256:/),
      });
    });

    it('change with their set alone, and are restored in a rollback', async () => {
      await using site = await createSite();
      const [ns, beside] = ['change', 'beside'];
      const bundle = packKubernetesBundle(site.fleet, {
        one: `${namespace(ns)}${secret(ns, 'db')}`,
        two: `${namespace(beside)}${secret(beside, 'other')}`,
      });
      const other = await site.seal('other', { token: OTHER });
      await site.take({ secrets: { db: await site.seal('db', { password: ONE }), other }, bundle });
      const db = await site.seal('db', { password: TWO, more: 'x' }, { version: 2 });
      const changed = await site.take({ siteVersion: 2, secrets: { db, other } });
      expect(changed.packages).toEqual([{ assignment: 'one', outcome: 'configured' }]);
      expect(await dataOf(ns, 'db')).toEqual({ password: TWO, more: 'x' });
      const back = await rollBackPackage(site.agent, 'one', 'wrong password');
      expect(back).toMatchObject({ outcome: 'configured' });
      expect(await dataOf(ns, 'db')).toEqual({ password: ONE });
      await noTraces(site, changed, back);
    });

    it('that someone edits are corrected, and reported by their fields only', async () => {
      await using site = await createSite();
      const ns = 'drift';
      const bundle = packKubernetesBundle(site.fleet, { shop: `${namespace(ns)}${secret(ns, 'db')}` });
      await site.take({ secrets: { db: await site.seal('db', { password: ONE }) }, bundle });
      await edit(ns, 'db', TWO);
      const [seen] = await lookAtDrift(site.agent);
      expect(seen?.drift).toMatchObject([
        { what: 'content', message: expect.stringContaining('data.password') },
      ]);
      const look = await lookAround(site.agent);
      expect(look.drift).toMatchObject([{ corrected: true }]);
      expect(await dataOf(ns, 'db')).toEqual({ password: ONE });
      await noTraces(site, seen, look);
    });

    it('are removed with their package', async () => {
      await using site = await createSite();
      const ns = 'remove';
      const keep = `${namespace(ns)}${map(ns, 'kept')}`;
      const secrets = { db: await site.seal('db', { password: ONE }) };
      await site.take({
        secrets,
        bundle: packKubernetesBundle(site.fleet, { keep, shop: secret(ns, 'db') }),
      });
      expect(await dataOf(ns, 'db')).toEqual({ password: ONE });
      await site.take({ secrets, release: 2, bundle: packKubernetesBundle(site.fleet, { keep }) });
      expect(await dataOf(ns, 'db')).toBeUndefined();
      await noTraces(site);
    });

    it('from Git are decrypted on the site, and their MAC is verified', async () => {
      await using site = await createSite();
      const ns = 'git';
      const plain = `apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: ${ns}}\nstringData: {password: ${ONE}}\n`;
      const encrypted = await encrypt(plain, site.recipient);
      const bundle = packKubernetesBundle(site.fleet, { shop: `${namespace(ns)}${encrypted}` });
      const imported = await site.take({ bundle });
      expect(imported.packages).toEqual([{ assignment: 'shop', outcome: 'created' }]);
      expect(await dataOf(ns, 'db')).toEqual({ password: ONE });
      const next = await encrypt(plain.replace(ONE, TWO), site.recipient);
      await site.take({
        release: 2,
        bundle: packKubernetesBundle(site.fleet, { shop: `${namespace(ns)}${next}` }),
      });
      expect(await dataOf(ns, 'db')).toEqual({ password: TWO });
      const forged = next.replace('name: db', 'name: other');
      const refused = await site.take({
        release: 3,
        bundle: packKubernetesBundle(site.fleet, { shop: `${namespace(ns)}${forged}` }),
      });
      expect(refused.packages).toMatchObject([{ outcome: 'failed', code: 'SECRET_UNREADABLE' }]);
      expect(await dataOf(ns, 'db')).toEqual({ password: TWO });
      expect(await dataOf(ns, 'other')).toBeUndefined();
      await noTraces(site, imported, refused);
    });

    it('that the server refuses are not quoted, for any kind of encrypted object', async () => {
      await using site = await createSite();
      const ns = 'refused';
      const cron = `apiVersion: batch/v1
kind: CronJob
metadata: {name: c, namespace: ${ns}}
spec:
  schedule: ${ONE}
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
`;
      const bundle = packKubernetesBundle(site.fleet, {
        cron: await encrypt(cron, site.recipient),
        ns: namespace(ns),
        tls: secret(ns, 'cert', 'type: kubernetes.io/tls\n'),
      });
      const cert = await site.seal('cert', { password: TWO });
      await site.take({ secrets: { cert }, bundle: packKubernetesBundle(site.fleet, { ns: namespace(ns) }) });
      const refused = await site.take({ siteVersion: 2, secrets: { cert }, release: 2, bundle });
      expect(refused.packages).toMatchObject([
        { assignment: 'cron', outcome: 'failed', code: 'API_REFUSED' },
        { assignment: 'tls', outcome: 'failed', code: 'API_REFUSED' },
      ]);
      await noTraces(site, refused);
    });

    it('leave no trace when the agent is killed at any point of its journal', async () => {
      await using site = await createSite();
      const ns = 'killed';
      const encrypted = await encrypt(
        `apiVersion: v1\nkind: Secret\nmetadata: {name: git, namespace: ${ns}}\nstringData: {password: ${OTHER}}\n`,
        site.recipient,
      );
      const bundle = packKubernetesBundle(site.fleet, {
        one: `${namespace(ns)}${secret(ns, 'db')}${encrypted}`,
      });
      await site.take({ secrets: { db: await site.seal('db', { password: ONE }) }, bundle });
      const db = await site.seal('db', { password: TWO }, { version: 2 });
      const medium = await site.bring({ siteVersion: 2, secrets: { db }, bundle });
      site.agent.state[Symbol.dispose]();
      const importApart = async (folder: string, n: number) => {
        const argv = [process.execPath, PROGRAM, folder, medium, String(n), cluster().kubeconfig];
        const env = { ...process.env, NODE_COMPILE_CACHE: join(site.folder, 'compiled') };
        return runCommand(argv, { env });
      };
      let died = 0;
      for (let n = 1; ; n++) {
        if (!isTried(n - 1)) continue;
        const folder = join(site.folder, 'copies', String(n));
        cpSync(join(site.folder, 'state'), join(folder, 'state'), { recursive: true });
        // Back to what ran, as far as an apply has changed it: each copy begins there.
        await edit(ns, 'db', ONE);
        const { code, stdout, stderr } = await importApart(folder, n);
        expect(tracesIn('its output', stdout + stderr, ALL)).toEqual([]);
        expect(await tracesBelow(join(folder, 'state'), ALL), String(n)).toEqual([]);
        if (code === 0) break;
        expect(code, stderr).toBe(128 + 9);
        died += 1;
        succeed(await importApart(folder, -1));
        expect(await dataOf(ns, 'db')).toEqual({ password: TWO });
        expect(await dataOf(ns, 'git')).toEqual({ password: OTHER });
        expect(await tracesBelow(join(folder, 'state'), ALL), String(n)).toEqual([]);
      }
      expect(died).toBeGreaterThanOrEqual(LONG ? 6 : 2);
    });

    it('that are wrong or missing fail their package before anything is written', async () => {
      await using site = await createSite();
      const ns = 'wrong';
      const own = secret(ns, 'db', '').replace('---\n', 'data: {a: YQ==}\n---\n');
      const bundle = packKubernetesBundle(site.fleet, {
        none: secret(ns, 'none'),
        own,
        part: secret(ns, 'db', '    fleet-ferry/secret-keys: password=absent\n'),
        plain: `${namespace(ns)}${map(ns, 'plain')}`,
      });
      const { packages } = await site.take({
        secrets: { db: await site.seal('db', { password: ONE }) },
        bundle,
      });
      expect(packages).toMatchObject([
        { assignment: 'none', code: 'SECRET_MISSING' },
        { assignment: 'own', code: 'OBJECT_INVALID' },
        { assignment: 'part', code: 'SECRET_MISSING' },
        { assignment: 'plain', outcome: 'created' },
      ]);
      expect(await dataOf(ns, 'db')).toBeUndefined();
      expect(findPackage(site.agent.state, 'own')?.message).toContain('data of its own');
    });
  });
