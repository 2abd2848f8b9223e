import { parse } from 'yaml';
import { FleetError } from '../../../bundles/errors.ts';

export type KubeconfigFields = {
  readonly server: string;
  readonly token: string;
  /** The path of a PEM file, as the reader of the kubeconfig sees it. */
  readonly ca: string;
  /** What the server's certificate calls it, where that is not the host of `server`. */
  readonly serverName?: string;
};

/** A kubeconfig of one cluster, user and context, all called 'test'. JSON is YAML too. */
export const formatKubeconfig = ({ server, token, ca, serverName }: KubeconfigFields): string =>
  `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'test',
          cluster: {
            server,
            'certificate-authority': ca,
            ...(serverName !== undefined && { 'tls-server-name': serverName }),
          },
        },
      ],
      users: [{ name: 'test', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      'current-context': 'test',
    },
    undefined,
    2,
  )}\n`;

/** The server of a kubeconfig's current context. */
export const readServer = (text: string): string => {
  type Named<T> = readonly ({ readonly name: string } & T)[];
  const config = parse(text) as {
    readonly clusters?: Named<{ readonly cluster: { readonly server: string } }>;
    readonly contexts?: Named<{ readonly context: { readonly cluster: string } }>;
    readonly 'current-context'?: string;
  };
  const context = config.contexts?.find(({ name }) => name === config['current-context'])?.context;
  const server = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster.server;
  if (server === undefined)
    throw new FleetError('FIELD_INVALID', 'The kubeconfig has no cluster for its current context.');
  return server;
};
