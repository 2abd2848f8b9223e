import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';
import { type BundledPackage, collectPackages } from './packages-of.ts';

export const LICENCES = 'LICENCES.txt';

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/**
 * Writes the licence notices of every npm package that a bundle contains beside it, in LICENCES.txt, sorted by name. Packages with one
 * text, letter for letter, share it: the later ones name the first.
 */
export const licencesBeside = (out: string): Plugin => {
  const packagesWith = collectPackages();
  return {
    name: 'licences-beside',
    writeBundle: (_options, bundle) => {
      mkdirSync(out, { recursive: true });
      writeFileSync(join(out, LICENCES), noticesOf(packagesWith(bundle)).join('\n'));
    },
  };
};

const noticesOf = (packages: readonly BundledPackage[]): readonly string[] => {
  const firstWith = new Map<string, string>();
  return packages.map(({ folder, name, version, license, modules }) => {
    const text = licenceOf(folder) || noticesIn(modules);
    const same = text === '' ? undefined : firstWith.get(text);
    firstWith.set(text, same ?? `${name} ${version}`);
    const shown = same === undefined ? text : `The text is that of ${same}, above.`;
    return `${name} ${version} (${license ?? 'see below'})\n\n${shown}\n`;
  });
};

const licenceOf = (folder: string): string =>
  readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    .join('\n\n');

const FIRST_COMMENT = /^\s*(?:(?:\/\/[^\n]*\n?)+|\/\*[^]*?\*\/)/;

/** A package without a file for its licence has its notices at the top of its modules, which the bundle does not keep. */
const noticesIn = (modules: readonly string[]): string => {
  const texts = modules
    .map((file) => FIRST_COMMENT.exec(readFileSync(file, 'utf8'))?.[0] ?? '')
    .filter((comment) => /copyright/i.test(comment))
    .map((comment) => comment.replaceAll(/^\s*(?:\/\/|\/?\*+\/?) ?/gm, '').trim());
  // Other remarks may follow a notice.
  const notices = texts.filter((text) => !texts.some((other) => other !== text && text.startsWith(other)));
  return [...new Set(notices)].join('\n\n');
};
