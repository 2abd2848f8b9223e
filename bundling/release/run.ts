import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { FleetError, toFleetError } from '#bundles/errors';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { openKeyFile } from '#bundles/trust/keys/open-key-file';
import { passwordsFrom } from '#bundles/trust/keys/passwords';
import { VERSION } from '#bundles/version';
import { reportPackage } from '../debian/report-package.ts';
import { buildFiles } from './build-files.ts';
import { buildImages, ownPodman } from './build-images.ts';
import { joinFiles } from './join-files.ts';
import { judgeRelease } from './judge-release.ts';
import { openGpg } from './open-gpg.ts';
import { pushImages } from './push-images.ts';
import { readFacts } from './read-facts.ts';
import { signFiles } from './sign-files.ts';

/**
 * The last step of `npm run release`: everything that a release of this version publishes, from the programs in dist, into dist/release.
 * Keys come by environment: FLEET_RELEASE_KEY (file, PKCS#8 or cosign's) and FLEET_APT_KEY (file, OpenPGP). FLEET_IMAGES is where images are pushed to.
 *   --dry-run     keys that are not given are made for this run alone, nothing leaves the machine, and what a release lacks is printed
 *   --only-files  builds the files of this architecture, without keys
 *   --from DIR    signs and publishes the files that --only-files built, of several architectures; once for each
 *   --no-images   without podman
 *   --base IMAGE  another base image than the Dockerfiles name
 *   --dist DIR    the folder with the built programs, which gets the release; it has the name dist
 */
const REPOSITORY = join(import.meta.dirname, '../..');
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const release = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      'only-files': { type: 'boolean', default: false },
      from: { type: 'string', multiple: true, default: [] },
      images: { type: 'boolean', default: true },
      base: { type: 'string' },
      dist: { type: 'string', default: join(REPOSITORY, 'dist') },
    },
    allowNegative: true,
  });
  const { 'dry-run': dryRun, 'only-files': onlyFiles, from } = values;
  const lacks = judgeRelease(readFacts(REPOSITORY));
  const list = lacks.map((sentence, at) => `  ${at + 1}. ${sentence}`).join('\n');
  if (!dryRun && lacks.length > 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `This checkout is not ready for a release of ${VERSION}:\n${list}`,
    );

  const given = (variable: string, what: string): string | undefined => {
    const value = process.env[variable];
    if (value === undefined && !dryRun && !onlyFiles)
      throw new FleetError('KEY_MISSING', `${variable} is not set: it names ${what}`, {
        hint: 'Set it, or try with: npm run release -- --dry-run',
      });
    return value;
  };
  const keyFile = given('FLEET_RELEASE_KEY', 'the file of the key that signs the artifacts');
  const aptKey = given('FLEET_APT_KEY', 'the file of the OpenPGP key that signs the apt repository');
  const prefix = given('FLEET_IMAGES', 'the registry and path that images are pushed to');
  const commitTime = execFileSync('git', ['log', '-1', '--format=%ct'], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  });
  const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? commitTime);

  const dist = resolve(values.dist);
  const out = join(dist, 'release');
  const files = join(out, 'files');
  await using cleanup = new AsyncDisposableStack();
  if (from.length > 0) await joinFiles(from, files);
  else {
    const work = await mkdtemp(join(tmpdir(), 'fleet-ferry-release-'));
    cleanup.defer(() => rm(work, { recursive: true, force: true }));
    if (values.images) say('Building three images with podman');
    const images = values.images
      ? await buildImages({ context: dirname(dist), out: work, epoch, base: values.base, podman: ownPodman })
      : {};
    const debs = { onPackage: reportPackage(say, () => performance.now()) };
    await buildFiles({ programs: dist, out: files, epoch, images, debs });
  }
  if (onlyFiles) {
    for (const name of (await readdir(files)).toSorted()) say(join(files, name));
    return;
  }

  const key =
    keyFile === undefined
      ? loadSigningKey(generatePrivateKey())
      : await openKeyFile(keyFile, { what: 'release key' }, passwordsFrom({ env: process.env }));
  const gpg = cleanup.use(await openGpg(aptKey));
  for (const name of await signFiles({ out, epoch, key, gpg })) say(join(files, name));
  say(`${join(out, 'apt')}: repository of the Debian packages, for apt`);
  if (dryRun) {
    say('Dry run: nothing was sent. Keys that were not given were made for this run alone.');
    if (lacks.length > 0) say(`Before a release of ${VERSION}:\n${list}`);
    return;
  }
  if (prefix !== undefined && values.images)
    for (const name of await pushImages({ files, prefix, podman: ownPodman })) say(`Pushed ${name}`);
  say(`Next:
  1. gh release create v${VERSION} --verify-tag ${join(files, '*')}
  2. Copy ${join(out, 'apt')} to the server of the apt repository, pool before dists.`);
};

try {
  await release();
} catch (error) {
  const { code, message, hint } = toFleetError(error);
  process.stderr.write(`release: ${code}: ${message}${hint === undefined ? '' : `. ${hint}`}\n`);
  process.exitCode = 1;
}
