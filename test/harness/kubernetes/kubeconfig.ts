export type KubeconfigFields = {
  readonly server: string;
  readonly token: string;
  /** The path of a PEM file, as the reader of the kubeconfig sees it. */
  readonly ca: string;
};

/** A kubeconfig of one cluster, user and context, all called 'test'. JSON is YAML too. */
export const formatKubeconfig = ({ server, token, ca }: KubeconfigFields): string =>
  `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server, 'certificate-authority': ca } }],
      users: [{ name: 'test', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      'current-context': 'test',
    },
    undefined,
    2,
  )}\n`;
