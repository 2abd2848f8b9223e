import type { BundleConfig, ClosureEntry } from '#bundles/formats/bundle/config';
import { bundleManifest } from '#bundles/formats/layout/manifest';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { BUNDLE_CONFIG, LAYER_KUBERNETES, OCI_MANIFEST } from '#bundles/media-types';
import { type Blobs, put, putJson, sourceOf } from './image-fixture.ts';

/** A Kubernetes bundle with these images in its closure; its one layer is never unpacked. */
export const kubernetesBundle = async (blobs: Blobs, closure: readonly ClosureEntry[]): Promise<Bundle> => {
  const layer = put(
    blobs,
    LAYER_KUBERNETES,
    Buffer.from(`layer of ${closure.map(({ digest }) => digest).join()}`),
  );
  const config: BundleConfig = {
    fleet: 'halden',
    environment: 'prod',
    clusterType: 'edge',
    kind: 'kubernetes',
    assignments: [
      {
        id: 'web',
        package: layer.digest,
        path: 'web',
        layer: layer.digest,
        dependsOn: [],
        critical: false,
      },
    ],
    siteInputs: { schema: {}, fields: [] },
    requirements: {},
    closure,
    critical: [],
  };
  const manifest = bundleManifest('kubernetes', putJson(blobs, BUNDLE_CONFIG, config), [layer]);
  const { digest } = putJson(blobs, OCI_MANIFEST, manifest);
  return await readBundle(sourceOf(blobs), digest);
};
