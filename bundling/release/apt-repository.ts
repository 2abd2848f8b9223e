import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';

export type AptOptions = {
  readonly debs: readonly string[];
  readonly out: string;
  /** The date of the index, in seconds since 1970. */
  readonly epoch: number;
  /** Signs the index in clear text, as OpenPGP does. */
  readonly clearSign: (text: string) => Promise<string>;
};

const SUITE = 'stable';
const POOL = 'pool/main/f/fleet-ferry';

/**
 * A repository that apt reads by file, http or https: the packages in pool, their indexes and the signed InRelease in dists/stable.
 * The same packages and date give the same index (https://wiki.debian.org/DebianRepository/Format).
 * @throws FleetError IO if dpkg-deb cannot read a package
 */
export const writeAptRepository = async ({ debs, out, epoch, clearSign }: AptOptions): Promise<void> => {
  const entries = await Promise.all(debs.toSorted().map((deb) => packageEntry(deb, out)));
  const architectures = [...new Set(entries.map(({ architecture }) => architecture))].toSorted();
  const indexes = new Map<string, Buffer>();
  for (const architecture of architectures) {
    const own = entries.filter((entry) => entry.architecture === architecture);
    const text = Buffer.from(own.map(({ paragraph }) => paragraph).join('\n'));
    indexes.set(`main/binary-${architecture}/Packages`, text);
    indexes.set(`main/binary-${architecture}/Packages.gz`, gzipSync(text, { level: 9 }));
  }
  const release = releaseText(indexes, architectures, new Date(epoch * 1000));
  const put = async (path: string, content: string | Buffer): Promise<void> => {
    const file = join(out, 'dists', SUITE, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  };
  for (const [path, content] of indexes) await put(path, content);
  await put('Release', release);
  await put('InRelease', await clearSign(release));
};

type Entry = { readonly architecture: string; readonly paragraph: string };

const packageEntry = async (deb: string, out: string): Promise<Entry> => {
  const { code, stdout, stderr } = await runProcess(['dpkg-deb', '--field', deb], {
    env: process.env,
    maxOutput: 1 << 20,
  });
  if (code !== 0) throw new FleetError('IO', `dpkg-deb could not read ${deb}: ${stderr.trim()}`);
  const control = stdout.toString().trimEnd();
  const bytes = await readFile(deb);
  const path = `${POOL}/${basename(deb)}`;
  await mkdir(join(out, POOL), { recursive: true });
  await copyFile(deb, join(out, path));
  return {
    architecture: /^Architecture: (\S+)$/m.exec(control)?.[1] ?? 'all',
    paragraph: `${control}\nFilename: ${path}\nSize: ${bytes.length}\nSHA256: ${sha256(bytes)}\n`,
  };
};

const releaseText = (
  indexes: ReadonlyMap<string, Buffer>,
  architectures: readonly string[],
  date: Date,
): string =>
  [
    'Origin: Fleet Ferry',
    'Label: Fleet Ferry',
    `Suite: ${SUITE}`,
    `Codename: ${SUITE}`,
    `Date: ${date.toUTCString()}`,
    `Architectures: ${architectures.join(' ')}`,
    'Components: main',
    'SHA256:',
    ...[...indexes].map(([path, content]) => ` ${sha256(content)} ${content.length} ${path}`),
    '',
  ].join('\n');

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
