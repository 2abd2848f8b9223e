import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Plugin } from 'rolldown';

export const LICENCES = 'LICENCES.txt';

type Manifest = { readonly name: string; readonly version: string; readonly license?: string };

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** Writes the licence notices of every npm package that a bundle contains beside it, in LICENCES.txt, sorted by name. */
export const licencesBeside = (out: string): Plugin => ({
  name: 'licences-beside',
  writeBundle: (_options, bundle) => {
    const modules = Object.values(bundle).flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
    const notices = [...new Set(modules.flatMap(packageFolder))].map(noticeOf).toSorted();
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, LICENCES), notices.join('\n'));
  },
});

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

const noticeOf = (folder: string): string => {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Manifest;
  const files = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .toSorted();
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${name} ${version} (${license ?? 'see below'})\n\n${texts.join('\n\n')}\n`;
};
