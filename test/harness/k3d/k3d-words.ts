/** What k3d is given: command lines, without the program. */

/** k3d built from its module would take one that is years old. */
export const NODE_IMAGE = 'rancher/k3s:v1.31.5-k3s1';

/** Pulling the image of the node is part of it. */
const CREATE_LIMIT = '300s';

/**
 * The cluster that belongs to a folder which claimHostFolder made: found again by the sweep after a killed run.
 * k3d takes no name of more than 32 characters.
 */
export const clusterNameOf = (folder: string): string => `fleet-ferry-${folder.slice(-8)}`;

export type Creation = {
  readonly name: string;
  /** Of the loopback, for the API server. */
  readonly port: number;
  readonly image?: string | undefined;
};

/** One server and no more: without the load balancer its own port is the API's. The user's kubeconfig is left alone. */
export const createWords = ({ name, port, image = NODE_IMAGE }: Creation): readonly string[] => [
  'cluster',
  'create',
  name,
  '--servers=1',
  `--image=${image}`,
  '--no-lb',
  `--api-port=127.0.0.1:${port}`,
  '--k3s-arg=--disable=traefik,servicelb,metrics-server@server:*',
  '--kubeconfig-update-default=false',
  '--kubeconfig-switch-context=false',
  '--wait',
  `--timeout=${CREATE_LIMIT}`,
];

/** To a file of its own: by default it would go into the user's. */
export const kubeconfigWords = (name: string, file: string): readonly string[] => [
  'kubeconfig',
  'write',
  name,
  `--output=${file}`,
];

/**
 * By the mode 'direct': the default one needs another image, k3d-tools, and its exit code is 0 when a node could not import.
 * @param archive its path must not look like the name of an image that the engine has
 */
export const importWords = (name: string, archive: string): readonly string[] => [
  'image',
  'import',
  archive,
  `--cluster=${name}`,
  '--mode=direct',
];

export const deleteWords = (name: string): readonly string[] => ['cluster', 'delete', name];
