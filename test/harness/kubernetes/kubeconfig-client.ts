import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { FleetError } from '../../../bundles/errors.ts';
import { type ApiClient, openApiClient } from './api-client.ts';

/** A client with the rights of a kubeconfig's current context, whichever way it proves who it is. */
export const openKubeconfigClient = async (path: string): Promise<ApiClient> => {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  if (!cluster)
    throw new FleetError('FIELD_INVALID', 'The kubeconfig has no cluster for its current context.');
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, headers } = options;
  return openApiClient({
    server: cluster.server.replace(/\/+$/, ''),
    headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)])),
    tls: {
      ...(ca !== undefined && { ca: ca as Buffer }),
      ...(cert !== undefined && { cert: cert as Buffer }),
      ...(key !== undefined && { key: key as Buffer }),
      ...(servername !== undefined && { servername }),
    },
  });
};
