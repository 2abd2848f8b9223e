import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { aptRepository } from '../../../../scheduler/assemble/content/debs/apt-repository.ts';
import { memoryContent } from '../../../../scheduler/assemble/content/memory-content.ts';
import { makeDeb, read } from './make-deb.ts';

/** Control fields of one package: name, version, and what else it says. */
export type Control = readonly [name: string, version: string, more?: string];

const controlOf = ([name, version, more = '']: Control): string =>
  `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: A <a@b.example>\nDescription: a test\n${more}`;

/** Writes an unsigned archive for apt. @returns digests by file name, and the text of a .sources file */
export const writeArchive = async (directory: string, packages: readonly Control[]) => {
  await mkdir(directory, { recursive: true });
  const debs = [];
  for (const one of packages) {
    const bytes = makeDeb(controlOf(one));
    debs.push({
      bytes,
      content: memoryContent(bytes, 'a test'),
      control: await read(bytes),
      at: { file: 'test' },
    });
  }
  const archive = aptRepository(debs, 'test');
  for (const { file, content } of archive.debs) {
    const found = debs.find((one) => one.content === content);
    if (found) await writeFile(join(directory, file), found.bytes);
  }
  await writeFile(join(directory, 'Packages'), archive.packages);
  await writeFile(join(directory, 'Release'), archive.release);
  const digests = new Map(archive.debs.map(({ file, content }) => [file, content.digest]));
  return { digests, sources: `Types: deb\nURIs: file:${directory}\nSuites: ./\nTrusted: yes\n` };
};

/** The status file of a host with these packages installed. */
export const statusOf = (packages: readonly Control[]): string =>
  packages.map((one) => `${controlOf(one).trimEnd()}\nStatus: install ok installed\n\n`).join('');
