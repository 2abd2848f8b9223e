import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FleetError } from '#bundles/errors';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { openKeyFile } from '#bundles/trust/keys/open-key-file';
import { passwordsFrom } from '#bundles/trust/keys/passwords';
import { reportPackage } from '../debian/report-package.ts';
import { buildImages, ownPodman, pushImages } from './build-images.ts';
import { buildRelease } from './build-release.ts';
import { openGpg } from './open-gpg.ts';

/**
 * The last step of `npm run release`: everything that a release of this version publishes, from the programs in dist, into dist/release.
 * Keys come by environment: FLEET_RELEASE_KEY (file, PKCS#8 or cosign's) and FLEET_APT_KEY (file, OpenPGP). FLEET_IMAGES is where images are pushed to.
 * With --dry-run missing keys are made for this run alone and nothing leaves the machine; --no-images leaves the images out.
 */
const REPOSITORY = join(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean' },
    images: { type: 'boolean', default: true },
    base: { type: 'string' },
  },
  allowNegative: true,
});
const dryRun = values['dry-run'] === true;

const given = (variable: string, what: string): string | undefined => {
  const value = process.env[variable];
  if (value === undefined && !dryRun)
    throw new FleetError('KEY_MISSING', `${variable} is not set: it names ${what}`, {
      hint: 'Set it, or try with: npm run release -- --dry-run',
    });
  return value;
};

const keyFile = given('FLEET_RELEASE_KEY', 'the file of the key that signs the artifacts');
const aptKey = given('FLEET_APT_KEY', 'the file of the OpenPGP key that signs the apt repository');
const registry = given('FLEET_IMAGES', 'the registry and path that images are pushed to');
const commitTime = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: REPOSITORY, encoding: 'utf8' });
const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? commitTime);
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const work = await mkdtemp(join(tmpdir(), 'fleet-ferry-release-'));
try {
  const key =
    keyFile === undefined
      ? loadSigningKey(generatePrivateKey())
      : await openKeyFile(keyFile, { what: 'release key' }, passwordsFrom({ env: process.env }));
  await using gpg = await openGpg(aptKey);
  if (values.images) say('Building three images with podman');
  const images = values.images
    ? await buildImages({ context: REPOSITORY, out: work, epoch, base: values.base, podman: ownPodman })
    : {};
  const out = join(REPOSITORY, 'dist/release');
  const debs = { onPackage: reportPackage(say, () => performance.now()) };
  const names = await buildRelease({
    programs: join(REPOSITORY, 'dist'),
    out,
    epoch,
    key,
    gpg,
    images,
    debs,
  });
  for (const name of names) say(`dist/release/files/${name}`);
  say('dist/release/apt: repository of the Debian packages, for apt');
  if (dryRun) say('Dry run: nothing was sent. Keys that were not given were made for this run alone.');
  else if (registry !== undefined && values.images) {
    await pushImages(registry, ownPodman);
    say(`Pushed the images to ${registry}.`);
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
