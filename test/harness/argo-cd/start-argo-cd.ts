import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
  /** What a program has said: 'argocd-notifications'. */
  readonly log: (name: string) => Promise<string>;
  /** Trusts an authority for servers of this name, as an entry of argocd-tls-certs-cm does. */
  readonly trust: (host: string, pem: string) => Promise<void>;
};

export const ARGO_CD = 'argocd';
const READY_MS = 120_000;

/** As its API server makes it, which is not started. */
const DEFAULT_PROJECT = `apiVersion: argoproj.io/v1alpha1
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
  await applyYaml(cluster, DEFAULT_PROJECT);
  const folder = async (name: string): Promise<string> => {
    const path = join(work.path, name);
    await mkdir(path);
    return path;
  };
  const certificates = await folder('tls');
  const programs = await folder('bin');
  // Its own program is what Git asks for a password.
  await symlink(join(argoCd, 'argocd'), join(programs, 'argocd'));
  await symlink(redis, join(programs, 'redis-server'));
  const settings = {
    KUBECONFIG: cluster.kubeconfig,
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
  const part = (name: string, ...words: readonly string[]): void =>
    start(name, [join(argoCd, 'argocd'), ...words], { ARGOCD_BINARY_NAME: name });
  const port = async (): Promise<string> => String(await freePort());

  const cache = await port();
  start('redis-server', [
    join(programs, 'redis-server'),
    ...['--port', cache, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
  ]);
  const repositories = await port();
  const health = await port();
  part(
    'argocd-repo-server',
    '--redis',
    `127.0.0.1:${cache}`,
    '--disable-tls',
    ...[
      ...['--address', '127.0.0.1', '--port', repositories],
      ...['--metrics-address', '127.0.0.1', '--metrics-port', health],
    ],
  );
  const metrics = await port();
  part(
    'argocd-application-controller',
    '--namespace',
    ARGO_CD,
    '--redis',
    `127.0.0.1:${cache}`,
    ...[
      ...['--repo-server', `127.0.0.1:${repositories}`, '--repo-server-plaintext'],
      ...['--metrics-port', metrics],
    ],
  );
  const notified = await port();
  part(
    'argocd-notifications',
    '--namespace',
    ARGO_CD,
    '--metrics-port',
    notified,
    ...[...['--argocd-repo-server', `127.0.0.1:${repositories}`, '--argocd-repo-server-plaintext']],
  );
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
