import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Office } from '../office.ts';
import { type Field, replaceFile } from './field.ts';

const LABEL = 'etc/label-printer/label.zpl';
const PACKAGE = 'apps/label-printer/host/package.yaml';

/** Host packages in a folder, without an init. Each release changes a file, brings one of its own and drops the last one's. */
export const makeFolderField = async (office: Office, root: string): Promise<Field> => {
  await mkdir(root, { recursive: true });
  const template = await readFile(join(office.folder, PACKAGE), 'utf8');
  let newest = 0;
  const labelOf = (n: number, good: boolean): string => `${good ? '^XA' : 'torn'}\n^FDRelease ${n}^FS\n^XZ\n`;
  return {
    channel: 'prod/factory-host',
    env: { FLEET_AGENT_ROOT: root, FLEET_AGENT_SERVICES: 'none' },
    change: async (n, good) => {
      newest = n;
      // In one go: a build in between would be one more release.
      const label = good ? labelOf(n, true) : labelOf(n, false);
      const extra = filesOf(n)
        .map((path) => `    - path: /${path}\n      source: label.zpl\n`)
        .join('');
      await replaceFile(office, 'apps/label-printer/host/label.zpl', label);
      await replaceFile(
        office,
        PACKAGE,
        template.replace('  units:\n', `${extra}  units:\n`).replace('grep -q "^\\^XZ"', 'grep -q "^\\^XA"'),
      );
    },
    spoil: async (random) => {
      const files = await filesBelow(root);
      const file = files[Math.floor(random() * files.length)];
      if (file === undefined) return;
      const path = join(root, file);
      await (random() < 0.5 ? rm(path, { force: true }) : writeFile(path, 'spoilt\n').catch(() => {}));
    },
    faults: async () => {
      const label = await readFile(join(root, LABEL), 'utf8').catch(() => 'nothing');
      const wrong = label === labelOf(newest, true) ? [] : [`${LABEL} is ${JSON.stringify(label)}`];
      const wanted = new Set([...ALWAYS, ...filesOf(newest)]);
      const found = new Set(await filesBelow(root));
      const missing = [...wanted].filter((file) => !found.has(file)).map((file) => `${file} is missing`);
      const orphans = [...found].filter((file) => !wanted.has(file)).map((file) => `${file} is an orphan`);
      const serve = await readFile(join(root, 'opt/scale-reader/serve.py'), 'utf8').catch(() => '');
      return [...wrong, ...missing, ...orphans, ...(serve === 'spoilt\n' ? ['serve.py is spoilt'] : [])];
    },
  };
};

/** Enough of them for an operation to take a moment. */
const FILES = 30;
const filesOf = (n: number): readonly string[] =>
  Array.from({ length: FILES }, (_, index) => `opt/label-printer/of-release-${n}/${index}`);

const UNITS = 'etc/systemd/system';
const ALWAYS = [
  LABEL,
  'etc/label-printer/platform.env',
  'etc/scale-reader/platform.env',
  'etc/scale-reader/scale.json',
  `${UNITS}/label-printer-host.slice`,
  `${UNITS}/label-printer.service`,
  `${UNITS}/scale-reader-host.slice`,
  `${UNITS}/scale-reader.service`,
  'opt/label-printer/print-loop',
  'opt/scale-reader/serve.py',
];

const filesBelow = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
};
