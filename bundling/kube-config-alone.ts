import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'rolldown';

const { resolve } = createRequire(import.meta.url);

const KUBERNETES = join('@kubernetes', 'client-node', 'dist');
const TYPED_API = '\0kubernetes-typed-api';
const PROXIES = '\0kubernetes-proxies';
/** Clients of proxies for the HTTP client of Node. */
const PROXY_LIBRARIES: ReadonlySet<string> = new Set(['hpagent', 'socks', 'socks-proxy-agent']);

/**
 * Of the Kubernetes client only its KubeConfig is used (cluster-access.ts), and of that the credentials. That class mentions the typed API,
 * 15 MB of generated classes and an HTTP client for them, in makeApiClient, which nobody here calls; and it makes an agent for Node's HTTP client,
 * which sends no request here.
 */
export const kubeConfigAlone = (): Plugin => {
  const library = dirname(resolve('@kubernetes/client-node'));
  return {
    name: 'kube-config-alone',
    resolveId: (source, importer) => {
      if (source === '@kubernetes/client-node') return join(library, 'config.js');
      if (PROXY_LIBRARIES.has(source) && importer?.includes(KUBERNETES)) return PROXIES;
      return source === './gen/index.js' && importer?.includes(KUBERNETES) ? TYPED_API : null;
    },
    load: (id) => {
      if (id === TYPED_API)
        return [
          "const absent = () => { throw new Error('the typed Kubernetes API is not part of this bundle'); };",
          'export { absent as createConfiguration, absent as ServerConfiguration };',
        ].join('\n');
      return id === PROXIES
        ? [
            'class Unused {}',
            'export { Unused as HttpProxyAgent, Unused as HttpsProxyAgent, Unused as SocksClient, Unused as SocksProxyAgent };',
          ].join('\n')
        : null;
    },
  };
};
