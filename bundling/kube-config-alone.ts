import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Plugin } from 'rolldown';

const { resolve } = createRequire(import.meta.url);

const KUBERNETES = join('@kubernetes', 'client-node', 'dist');
const TYPED_API = '\0kubernetes-typed-api';

/**
 * Of the Kubernetes client only its KubeConfig is used (cluster-access.ts). That class mentions the typed API, 15 MB of
 * generated classes and an HTTP client for them, in makeApiClient, which nobody here calls.
 */
export const kubeConfigAlone = (): Plugin => {
  const library = dirname(resolve('@kubernetes/client-node'));
  return {
    name: 'kube-config-alone',
    resolveId: (source, importer) => {
      if (source === '@kubernetes/client-node') return join(library, 'config.js');
      return source === './gen/index.js' && importer?.includes(KUBERNETES) ? TYPED_API : null;
    },
    load: (id) =>
      id === TYPED_API
        ? [
            "const absent = () => { throw new Error('the typed Kubernetes API is not part of this bundle'); };",
            'export { absent as createConfiguration, absent as ServerConfiguration };',
          ].join('\n')
        : null,
  };
};
