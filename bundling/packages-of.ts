import { existsSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { OutputBundle } from 'rolldown';
import { defined } from '#bundles/defined';

/** An npm package of which a bundle has modules. */
export type BundledPackage = {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as the package says it. */
  readonly license?: string;
  /** Paths of its modules that are in the bundle. */
  readonly modules: readonly string[];
};

/** The npm packages whose modules are in the bundles of a program, sorted by name and version. */
export type Packages = (next: OutputBundle) => readonly BundledPackage[];

/** @returns called with each bundle of a program, the packages of all so far: the builds of two bundles may end in any order */
export const collectPackages = (): Packages => {
  const modules = new Set<string>();
  return (next) => {
    for (const chunk of Object.values(next)) {
      if (chunk.type === 'chunk') for (const id of chunk.moduleIds) modules.add(id);
    }
    return [...Map.groupBy([...modules].toSorted(), packageFolder)]
      .flatMap(([folder, files]) => (folder === undefined ? [] : [packageAt(folder, files)]))
      .toSorted(byNameAndVersion);
  };
};

/** The folder of the npm package that a module belongs to. Modules of this repository and virtual ones have none. */
const packageFolder = (id: string): string | undefined => {
  const marker = `${sep}node_modules${sep}`;
  const at = id.lastIndexOf(marker);
  if (at === -1) return undefined;
  const start = at + marker.length;
  const words = id.slice(start).split(sep);
  const folder = id.slice(0, start) + words.slice(0, words[0]?.startsWith('@') ? 2 : 1).join(sep);
  return existsSync(join(folder, 'package.json')) ? folder : undefined;
};

const packageAt = (folder: string, modules: readonly string[]): BundledPackage => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Omit<
    BundledPackage,
    'folder' | 'modules'
  >;
  return { folder, name, version, ...defined({ license }), modules };
};

const byNameAndVersion = (a: BundledPackage, b: BundledPackage): number =>
  `${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1;
