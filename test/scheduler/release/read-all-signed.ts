import { unpackLayer } from '../../../bundles/formats/archive/unpack-layer.ts';
import { HOST_PACKAGE, parseHostPackage } from '../../../bundles/formats/bundle/host-package.ts';
import { LAYER_LIMITS } from '../../../bundles/formats/bundle/layer-limits.ts';
import { readBundle } from '../../../bundles/formats/bundle/read-bundle.ts';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { readBlob } from '../../../bundles/formats/layout/verified.ts';
import { parseChannel } from '../../../bundles/names.ts';
import { channelsIn } from '../../../bundles/transport/publish/choose-pointers.ts';
import { join } from 'node:path';
import { readCandidate } from '../../../scheduler/assemble/candidate/read-candidate.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { lineagesOf } from '../../../scheduler/load/releases/check-promoted.ts';
import { readRelease } from '../../../scheduler/load/releases/read-release.ts';

/**
 * Reads the newest release of every channel with all that it names, as agents and promotions do.
 * @returns by package, its version: of the file 'version' on a host, of the map of that name on a cluster
 */
export const readAllSigned = async (directory: string): Promise<Readonly<Record<string, string>>> => {
  const layout = await openLayout(directory);
  const { roots } = await openKeyDirectory(join(directory, '../keys'));
  const versions: Record<string, string> = {};
  for (const channel of channelsIn(layout).map(parseChannel)) {
    const release = await readRelease(layout, channel, roots);
    if (!release) continue;
    for (const { candidate } of await lineagesOf(layout, release))
      await readCandidate(candidate, [layout.blobs], AbortSignal.timeout(60_000));
    for (const [name, digest] of release.subjects) {
      if (!name.startsWith('bundle/')) continue;
      const { config, manifest, kind } = await readBundle(layout.blobs, digest);
      for (const { digest: layer } of manifest.layers) {
        const files = unpackLayer(await readBlob(layout.blobs, layer, LAYER_LIMITS.maxBytes), LAYER_LIMITS);
        for (const [path, { bytes }] of files) {
          const [, version] =
            (path.endsWith('/map.yaml') && /version"?: "?(\d+)/.exec(bytes.toString())) || [];
          if (version !== undefined) versions[path.split('/')[0] ?? ''] = version;
          if (kind !== 'host') continue;
          if (path.endsWith(`/${HOST_PACKAGE}`) && path.split('/').length === 2) parseHostPackage(bytes);
          if (path.endsWith('/version')) versions[path.split('/')[0] ?? ''] = bytes.toString();
        }
      }
      if (config.assignments.length === 0) throw new Error(`${digest} is empty`);
    }
  }
  return versions;
};
