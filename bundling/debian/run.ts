import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { addonPlatform } from '../sqlite-beside.ts';
import { buildDebs } from './build-debs.ts';
import { bringNode } from './node-build.ts';
import { reportPackage } from './report-package.ts';

/**
 * The last step of `npm run build:deb`: packages of the programs in dist, into dist/deb. `SOURCE_DATE_EPOCH` is the time of
 * every file in them; by default that of the checkout's newest commit. `FLEET_ADDON` is what the programs were built for.
 */
const DIST = join(import.meta.dirname, '../../dist');

const commitTime = (): string =>
  execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: import.meta.dirname, encoding: 'utf8' });

const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? commitTime());
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const onPackage = reportPackage(say, () => performance.now());
const platform = addonPlatform();
const node = await bringNode(join(DIST, '..'), platform, join(DIST, `node-${platform}`));
const files = await buildDebs({ programs: DIST, out: join(DIST, 'deb'), epoch, node, onPackage });
say(files.join('\n'));
