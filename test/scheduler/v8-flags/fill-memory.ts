/** Makes objects of which many live long, as a build does, and prints the size of the young generation in MiB. */
import { setImmediate } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { limitYoungGeneration } from '../../../scheduler/v8-flags.ts';

if (process.argv[2] === 'limited') limitYoungGeneration();
let kept: object[] = [];
for (let round = 0; round < 200; round += 1) {
  for (let at = 0; at < 10_000; at += 1) kept.push({ at, text: `text ${round} ${at}` });
  if (round % 20 === 0) kept = [];
  await setImmediate();
}
const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
process.stdout.write(`${(young?.space_size ?? 0) / 2 ** 20}\n`);
