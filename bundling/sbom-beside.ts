import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import Database from 'better-sqlite3';
import type { Plugin } from 'rolldown';
import { defined } from '#bundles/defined';
import { VERSION } from '#bundles/version';
import { type BundledPackage, collectPackages } from './packages-of.ts';
import { type Component, OWN_LICENCE, SBOM, sbomOf, sbomText } from './sbom.ts';

const ROOT = join(import.meta.dirname, '..');

type Lock = { readonly packages: Readonly<Record<string, { readonly integrity?: string } | undefined>> };

/** Writes the list of every npm package that a bundle contains, and of the SQLite in its add-on, beside it: sbom.cdx.json. @param name of the program */
export const sbomBeside = (name: string, out: string): Plugin => {
  const packagesWith = collectPackages();
  return {
    name: 'sbom-beside',
    writeBundle: (_options, bundle) => {
      const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
      const packages = packagesWith(bundle);
      const components = packages.map((one) => componentOf(one, lock));
      const hasSqlite = packages.some((one) => one.name === 'better-sqlite3');
      const artifact = { type: 'application', name, version: VERSION, licenses: [OWN_LICENCE] } as const;
      mkdirSync(out, { recursive: true });
      writeFileSync(
        join(out, SBOM),
        sbomText(sbomOf(artifact, hasSqlite ? [...components, sqlite()] : components)),
      );
    },
  };
};

const componentOf = ({ folder, name, version, license }: BundledPackage, lock: Lock): Component => {
  const [group, short] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [, digest] = /^sha512-(\S+)$/.exec(lock.packages[relative(ROOT, folder)]?.integrity ?? '') ?? [];
  return {
    type: 'library',
    'bom-ref': purl,
    ...defined({ group }),
    name: short ?? name,
    version,
    ...defined({
      licenses: license !== undefined ? [{ expression: license }] : undefined,
      hashes:
        digest !== undefined
          ? [{ alg: 'SHA-512' as const, content: Buffer.from(digest, 'base64').toString('hex') }]
          : undefined,
    }),
    purl,
  };
};

/** better-sqlite3 has SQLite's sources inside. */
const sqlite = (): Component => {
  const database = new Database(':memory:');
  const version = String(database.prepare('SELECT sqlite_version()').pluck().get());
  database.close();
  const purl = `pkg:generic/sqlite@${version}`;
  return {
    type: 'library',
    'bom-ref': purl,
    name: 'sqlite',
    version,
    licenses: [{ expression: 'blessing' }],
    purl,
  };
};
