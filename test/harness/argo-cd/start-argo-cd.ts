import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { FleetError } from '../../../bundles/errors.ts';
import { applyDefinitions, applyYaml } from '../flux/apply-definitions.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { awaitReady, type Component, startComponent } from '../kubernetes/component.ts';
import { freePort } from '../neighbours/free-port.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

export type ArgoCdOptions = {
  /** parts.argoCd, parts.redis, parts.kustomize */
  readonly argoCd: string;
  readonly redis: string;
  readonly kustomize: string;
};

export type ArgoCd = AsyncDisposable & {
  /** The last lines of each program. */
  readonly tail: () => string;
  /** The log of a program, such as 'argocd-notifications'. */
  readonly log: (name: string) => Promise<string>;
  /** Trusts an authority for servers of this name, as an entry of argocd-tls-certs-cm does. */
  readonly trust: (host: string, pem: string) => Promise<void>;
};

export const ARGO_CD = 'argocd';
const READY_MS = 120_000;

/** What the API server of Argo CD makes, which is not started here: without the key the controller compares nothing. */
const MADE_BY_SERVER = `apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: ${ARGO_CD}}
stringData: {server.secretkey: a-key-of-a-test}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: ${ARGO_CD}}
spec: {sourceRepos: ['*'], destinations: [{namespace: '*', server: '*'}], clusterResourceWhitelist: [{group: '*', kind: '*'}]}
`;

/** How often it looks for new revisions; three minutes by default. */
const RESYNC = '5s';

/**
 * Argo CD's application controller, repository server and notifications controller with its Redis, outside of the cluster that is both theirs
 * and the one that they apply to, with all rights in it.
 */
export const startArgoCd = async (
  cluster: Cluster,
  { argoCd, redis, kustomize }: ArgoCdOptions,
): Promise<ArgoCd> => {
  await using cleanup = new AsyncDisposableStack();
  const work = cleanup.use(await temporaryDirectory('argo-cd'));
  await applyDefinitions(cluster, join(argoCd, 'crds'));
  await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: ARGO_CD } });
  const config = ['apply', '--server-side', '--namespace', ARGO_CD, '--filename', join(argoCd, 'config')];
  const { code, stderr } = await cluster.kubectl(config);
  if (code !== 0) throw new FleetError('IO', `kubectl could not apply the settings of Argo CD: ${stderr}`);
  await applyYaml(cluster, MADE_BY_SERVER);
  const folder = async (name: string): Promise<string> => {
    const path = join(work.path, name);
    await mkdir(path);
    return path;
  };
  const kubeconfig = join(work.path, 'kubeconfig');
  await writeFile(kubeconfig, await inNamespace(cluster.kubeconfig));
  const certificates = await folder('tls');
  const programs = await folder('bin');
  // Its own program is what Git asks for a password.
  await symlink(join(argoCd, 'argocd'), join(programs, 'argocd'));
  await symlink(redis, join(programs, 'redis-server'));
  const settings = {
    KUBECONFIG: kubeconfig,
    HOME: work.path,
    TMPDIR: await folder('tmp'),
    PATH: [programs, dirname(kustomize), process.env['PATH']].join(':'),
    ARGOCD_FAKE_IN_CLUSTER: 'true',
    ARGOCD_GPG_ENABLED: 'false',
    ARGOCD_TLS_DATA_PATH: certificates,
    ARGOCD_SSH_DATA_PATH: await folder('ssh'),
    ARGOCD_PLUGINSOCKFILEPATH: await folder('plugins'),
    ARGOCD_ASK_PASS_SOCK: join(work.path, 'ask-pass.sock'),
    ARGOCD_RECONCILIATION_TIMEOUT: RESYNC,
    ARGOCD_RECONCILIATION_JITTER: '0s',
  };
  const components: Component[] = [];
  const start = (
    name: string,
    argv: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): void => {
    const variables = Object.entries({ ...settings, ...more }).map(([key, value]) => `${key}=${value}`);
    const component = startComponent(name, ['env', ...variables, ...argv], work.path);
    components.push(component);
    cleanup.defer(() => component.end('SIGTERM'));
  };
  const part = (name: string, flags: Readonly<Record<string, string>>): void =>
    start(name, [join(argoCd, 'argocd'), ...toFlags(flags)], { ARGOCD_BINARY_NAME: name });
  const port = async (): Promise<string> => String(await freePort());
  const [cache, repositories, health, metrics, notified] = [
    await port(),
    await port(),
    await port(),
    await port(),
    await port(),
  ];
  const server = { port: cache, bind: '127.0.0.1', save: '', appendonly: 'no' };
  start('redis-server', [
    join(programs, 'redis-server'),
    ...Object.entries(server).flatMap(([name, value]) => [`--${name}`, value]),
  ]);
  part('argocd-repo-server', {
    redis: `127.0.0.1:${cache}`,
    'disable-tls': 'true',
    address: '127.0.0.1',
    port: repositories,
    'metrics-address': '127.0.0.1',
    'metrics-port': health,
  });
  part('argocd-application-controller', {
    namespace: ARGO_CD,
    redis: `127.0.0.1:${cache}`,
    'repo-server': `127.0.0.1:${repositories}`,
    'repo-server-plaintext': 'true',
    'metrics-port': metrics,
  });
  part('argocd-notifications', {
    namespace: ARGO_CD,
    'argocd-repo-server': `127.0.0.1:${repositories}`,
    'argocd-repo-server-plaintext': 'true',
    'metrics-port': notified,
  });
  const answers = async (url: string): Promise<boolean> =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  const addresses = [
    `http://127.0.0.1:${health}/healthz`,
    `http://127.0.0.1:${metrics}/metrics`,
    `http://127.0.0.1:${notified}/metrics`,
  ];
  await awaitReady(
    components,
    async () => (await Promise.all(addresses.map(answers))).every(Boolean),
    AbortSignal.timeout(READY_MS),
  );
  const moved = cleanup.move();
  return {
    tail: () => components.map(({ name, tail }) => `${name}: ${tail()}`).join('\n'),
    log: (name) => readFile(join(work.path, `${name}.log`), 'utf8'),
    trust: (host, pem) => writeFile(join(certificates, host), pem),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

/** The notifications controller takes the namespace of the context and ignores its own --namespace. */
const inNamespace = async (path: string): Promise<string> => {
  const config = parse(await readFile(path, 'utf8')) as {
    readonly contexts: readonly { readonly context: object }[];
  };
  const contexts = config.contexts.map((one) => ({
    ...one,
    context: { ...one.context, namespace: ARGO_CD },
  }));
  return JSON.stringify({ ...config, contexts });
};

const toFlags = (flags: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
