/** Keeps large results in the cache of its argument until it is killed. Each says its own number, of which its inputs are the digest. */
import { digestOf } from '../../../../bundles/digest.ts';
import { openKeptFiles } from '../../../../scheduler/assemble/kept/kept-files.ts';
import { openKeptBundles } from '../../../../scheduler/assemble/kept/kept-bundles.ts';

const [cache = '', secret = '', first = ''] = process.argv.slice(2);
const kept = openKeptBundles(openKeptFiles(cache, Buffer.from(secret, 'hex'), digestOf('program')));
for (let number = Number(first); ; number += 1) {
  const channel = { environment: 'prod', clusterType: `type-${number}` };
  await kept.keep(channel, digestOf(`${number}`), { number, text: 'x'.repeat(4_000_000) });
}
