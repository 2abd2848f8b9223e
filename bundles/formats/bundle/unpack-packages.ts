import { unpackLayer } from '../archive/unpack-layer.ts';

const LIMITS = { maxBytes: 1 << 30, maxEntries: 1_000_000 };

/** The files of each package in a bundle's layers, by assignment and path, without kustomization.yaml. */
export const unpackPackages = (
  layers: readonly Buffer[],
): ReadonlyMap<string, ReadonlyMap<string, Buffer>> => {
  const packages = new Map<string, Map<string, Buffer>>();
  for (const layer of layers) {
    for (const [path, file] of unpackLayer(layer, LIMITS)) {
      const slash = path.indexOf('/');
      const [id, inside] = [path.slice(0, slash), path.slice(slash + 1)];
      if (slash === -1 || inside === 'kustomization.yaml') continue;
      const files = packages.get(id) ?? new Map<string, Buffer>();
      packages.set(id, files.set(inside, file.bytes));
    }
  }
  return packages;
};
