/**
 * Takes a medium into an agent's state as `fleet-agent import` does, up to the transaction that accepts it; nothing is applied.
 * `node bench/import-medium/import-once.ts <folder with state> <medium>` prints how many bytes it stored.
 */
import { join } from 'node:path';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { freeBytesOf } from '../../agent/acquire/blobs/free-space.ts';
import { judgeOffer } from '../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../agent/acquire/offers/read-offer.ts';
import { storeAccepted } from '../../agent/acquire/offers/store-accepted.ts';
import { openState } from '../../agent/store/state.ts';
import { testAgent } from '../../test/agent/world.ts';

const [folder = '', path = ''] = process.argv.slice(2);
using state = openState(join(folder, 'state'));
const agent = testAgent(state, folder, { freeBytes: freeBytesOf });
await using medium = await openMedium(path);
const accepted = await judgeOffer(agent, await readOffer(agent, medium), { acceptExpired: false });
storeAccepted(agent, accepted, { prune: false, reason: undefined });
const sizes = await Promise.all((await state.blobs.list()).map((digest) => state.blobs.size(digest)));
process.stdout.write(String(sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)));
