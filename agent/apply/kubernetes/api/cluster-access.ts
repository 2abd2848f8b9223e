import { statSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { checkWriters } from '#bundles/check-writers';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';

/** Address and credentials of a cluster's API. */
export type ClusterAccess = {
  /** 'https://10.0.0.1:6443', no slash at the end. */
  readonly server: string;
  /**
   * Returns fresh credentials at each call, because tokens rotate and exec plugins issue short-lived ones.
   * @param anew reads the kubeconfig and the token again and runs the plugin again, because the server did not take the last ones
   * @throws FleetError API_DENIED
   */
  readonly credentials: (anew?: boolean) => Promise<Credentials>;
};

export type Credentials = {
  readonly tls: {
    readonly ca?: Buffer | string;
    readonly cert?: Buffer | string;
    readonly key?: Buffer | string;
    readonly servername?: string;
    readonly rejectUnauthorized?: boolean;
  };
  readonly headers: Readonly<Record<string, string>>;
};

export type AccessOptions = {
  /** A file, or '': in the cluster by the pod's service account where there is one, else KUBECONFIG or ~/.kube/config. */
  readonly kubeconfig: string;
  /** '': the current context. */
  readonly context: string;
};

/** The server that the library assumes if it finds neither a kubeconfig nor a service account. */
const NOTHING_FOUND = 'http://localhost:8080';

/**
 * Reads the kubeconfig as kubectl does: contexts, certificates, tokens, exec plugins. Loads the large client library on demand.
 * @throws FleetError CONFIG_INVALID if there is no kubeconfig, it cannot be read, or its context names no cluster; PERMISSION where others can change it
 */
export const openClusterAccess = async (options: AccessOptions): Promise<ClusterAccess> => {
  const { KubeConfig } = await import('@kubernetes/client-node');
  let config = readConfig(KubeConfig, options);
  const credentials = async (anew = false): Promise<Credentials> => {
    // A file that is being replaced may be incomplete for a moment.
    if (anew) config = orUndefined(() => readConfig(KubeConfig, options)) ?? config;
    const into: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(into);
    } catch (cause) {
      throw new FleetError(
        'API_DENIED',
        `the credentials for ${serverOf(config)} cannot be obtained: ${messageOf(cause)}`,
        {
          cause,
          hint: 'Check the command or files that the user of the kubeconfig names',
        },
      );
    }
    return fromOptions(into);
  };
  return {
    get server() {
      return serverOf(config);
    },
    credentials,
  };
};

const serverOf = (config: KubeConfig): string => config.getCurrentCluster()?.server.replace(/\/+$/, '') ?? '';

const orUndefined = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

/** Files that the library reads, which may name programs to run. */
const defaultFiles = (): readonly string[] => {
  const named = process.env['KUBECONFIG'] ?? '';
  return named === '' ? [join(homedir(), '.kube', 'config')] : named.split(delimiter).filter(Boolean);
};

/** @throws FleetError CONFIG_INVALID, PERMISSION */
const readConfig = (Config: typeof KubeConfig, { kubeconfig, context }: AccessOptions): KubeConfig => {
  const config = new Config();
  const from = kubeconfig === '' ? 'the kubeconfig' : kubeconfig;
  for (const file of kubeconfig === '' ? defaultFiles() : [kubeconfig]) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats) checkWriters(stats, file);
  }
  try {
    if (kubeconfig === '') config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (cause) {
    throw new FleetError('CONFIG_INVALID', `${from} cannot be read: ${messageOf(cause)}`, { cause });
  }
  if (context !== '') config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    const names = config.getContexts().map(({ name }) => name);
    throw new FleetError(
      'CONFIG_INVALID',
      `${from} has no cluster for context ${JSON.stringify(config.getCurrentContext() ?? '')}`,
      { hint: names.length > 0 ? `Its contexts: ${names.slice(0, 20).join(', ')}` : 'Name a kubeconfig' },
    );
  }
  // Calls that avoid a proxy that somebody demanded would avoid what it checks, too.
  if (cluster.proxyUrl !== undefined && cluster.proxyUrl !== '')
    throw new FleetError(
      'CONFIG_INVALID',
      `${from} has a proxy-url for the cluster ${JSON.stringify(cluster.name)}, and the agent calls API servers without a proxy`,
      { hint: 'Give the agent a kubeconfig without proxy-url, with an address that it can reach itself' },
    );
  if (kubeconfig === '' && cluster.server === NOTHING_FOUND) {
    throw new FleetError(
      'CONFIG_INVALID',
      'no kubeconfig found: KUBECONFIG is not set, ~/.kube/config is absent, and this is not a pod with a service account',
      { hint: 'Set "kubeconfig:" in the configuration of the agent, or take kubernetes out of "targets:"' },
    );
  }
  return config;
};

const fromOptions = (options: RequestOptions): Credentials => {
  const { ca, cert, key, servername, rejectUnauthorized, auth, headers } = options;
  const given = Object.fromEntries(
    Object.entries((headers ?? {}) as Record<string, unknown>).map(([name, value]) => [name, String(value)]),
  );
  const basic: Record<string, string> = auth
    ? { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` }
    : {};
  return {
    tls: defined({
      ca: ca !== undefined ? (ca as Buffer) : undefined,
      cert: cert !== undefined ? (cert as Buffer) : undefined,
      key: key !== undefined ? (key as Buffer) : undefined,
      servername,
      rejectUnauthorized,
    }),
    headers: { ...basic, ...given },
  };
};

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().split('\n')[0] ?? '';
