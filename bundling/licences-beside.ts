import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';
import { type BundledPackage, packagesOf } from './packages-of.ts';

export const LICENCES = 'LICENCES.txt';

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** Writes the licence notices of every npm package that a bundle contains beside it, in LICENCES.txt, sorted by name. */
export const licencesBeside = (out: string): Plugin => ({
  name: 'licences-beside',
  writeBundle: (_options, bundle) => {
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, LICENCES), packagesOf(bundle).map(noticeOf).join('\n'));
  },
});

const noticeOf = ({ folder, name, version, license }: BundledPackage): string => {
  const files = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .toSorted();
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${name} ${version} (${license ?? 'see below'})\n\n${texts.join('\n\n')}\n`;
};
