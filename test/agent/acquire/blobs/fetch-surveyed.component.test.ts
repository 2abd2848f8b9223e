import { expect, it } from 'vitest';
import { judgeOffer } from '../../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../../agent/acquire/offers/read-offer.ts';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { packTestBundle } from '../../../harness/fleets/signed-medium.ts';
import { createWorld, onePackage } from '../../world.ts';

it('copies a medium blob by blob, and reads the second while the first is written', async () => {
  const log: string[] = [];
  await using world = await createWorld(undefined, {
    onJournal: (point) => {
      if (point.startsWith('acquire ')) log.push(point.replace('acquire ', 'stored '));
    },
  });
  const files = { '/opt/a': 'first', '/opt/b': 'second', '/opt/c': 'third' };
  const bundle = packTestBundle(world.fleet, [onePackage('app', 'one', { files })]);
  await using medium = await openMedium(await world.medium({ release: { version: 1, bundle } }));
  const noted: OpenMedium = {
    ...medium,
    [Symbol.asyncDispose]: () => medium[Symbol.asyncDispose](),
    blobs: {
      ...medium.blobs,
      open: async (digest, signal) => {
        const content = await medium.blobs.open(digest, signal);
        return (async function* () {
          log.push(`begins ${digest}`);
          yield* content;
          log.push(`ends ${digest}`);
        })();
      },
    },
  };
  const offer = await readOffer(world.agent, noted);
  await judgeOffer(world.agent, offer);
  // Before the copies, documents are read to be judged.
  const stored = log.filter((line) => line.startsWith('stored ')).length;
  expect(stored).toBeGreaterThan(2);
  const copies = log.slice(-3 * stored);
  const reads = copies.filter((line) => !line.startsWith('stored '));
  for (let at = 0; at < reads.length; at += 2)
    expect(reads[at + 1]).toBe(reads[at]?.replace('begins', 'ends'));
  expect(copies.slice(0, 3).map((line) => line.split(' ')[0])).toEqual(['begins', 'ends', 'begins']);
});
