import { existsSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { OutputBundle } from 'rolldown';

/** An npm package of which a bundle has modules. */
export type BundledPackage = {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as the package says it. */
  readonly license?: string;
};

/** The npm packages whose modules are in a bundle, sorted by name and version. */
export const packagesOf = (bundle: OutputBundle): readonly BundledPackage[] => {
  const modules = Object.values(bundle).flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  return [...new Set(modules.flatMap(packageFolder))].map(packageAt).toSorted(byNameAndVersion);
};

/** The folder of the npm package that a module belongs to. Modules of this repository and virtual ones have none. */
const packageFolder = (id: string): readonly string[] => {
  const marker = `${sep}node_modules${sep}`;
  const at = id.lastIndexOf(marker);
  if (at === -1) return [];
  const start = at + marker.length;
  const words = id.slice(start).split(sep);
  const folder = id.slice(0, start) + words.slice(0, words[0]?.startsWith('@') ? 2 : 1).join(sep);
  return existsSync(join(folder, 'package.json')) ? [folder] : [];
};

const packageAt = (folder: string): BundledPackage => ({
  ...(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Omit<BundledPackage, 'folder'>),
  folder,
});

const byNameAndVersion = (a: BundledPackage, b: BundledPackage): number =>
  `${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1;
