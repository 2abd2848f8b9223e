/** `npm run bench <name>...`: runs benchmarks of this folder one after the other; without a name, says which there are. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A benchmark is a module here that says in its first comment how it is run. */
const INVITATION = /^\/\*\*\n \* `npm run bench ([a-z-]+)`: ([^]*?)\n? ?\*\//;

const listBenchmarks = async (): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  for (const file of (await readdir(import.meta.dirname)).toSorted()) {
    if (!file.endsWith('.ts')) continue;
    const [, name, about] = INVITATION.exec(await readFile(join(import.meta.dirname, file), 'utf8')) ?? [];
    if (name !== undefined && about !== undefined) found.set(name, about.replaceAll('\n *', ''));
  }
  return found;
};

const known = await listBenchmarks();
const names = process.argv.slice(2);
const unknown = names.find((name) => !known.has(name));
if (names.length === 0 || unknown !== undefined) {
  if (unknown !== undefined)
    process.stderr.write(`There is no benchmark ${JSON.stringify(unknown)}. There are:\n`);
  for (const [name, about] of known) process.stdout.write(`npm run bench ${name}\n  ${about}\n`);
  process.exitCode = unknown === undefined ? 0 : 2;
} else {
  for (const name of names) {
    const child = spawn(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) process.exitCode = 1;
  }
}
