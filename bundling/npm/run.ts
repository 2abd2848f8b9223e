import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { buildNpm } from './build-npm.ts';

/** The last step of `npm run build:npm`: an npm package of the programs in dist, into dist/npm. */
const DIST = join(import.meta.dirname, '../../dist');

// FLEET_ADDON is what `npm run build` packed the add-on for: 'linux-arm64'.
const [platform, architecture] = process.env['FLEET_ADDON']?.split('-') ?? [];
const file = await buildNpm(
  defined({
    programs: DIST,
    out: join(DIST, 'npm'),
    platform,
    architecture,
  }),
);
process.stdout.write(`${file}\n`);
