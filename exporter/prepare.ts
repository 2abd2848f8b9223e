import { FleetError } from '#bundles/errors';
import type { Channel } from '#bundles/names';
import type { RegistryAccess } from '#bundles/registry/registry-access';
import { keepReceipts } from './base/keep-receipts.ts';
import { readBases } from './base/read-bases.ts';
import { checkTarget } from './check/check-target.ts';
import { makePlan } from './plan/make-plan.ts';
import type { Plan } from './plan/plan.ts';
import { openSource } from './source/open-source.ts';
import { readInParallel } from './source/read-in-parallel.ts';
import { readOffer } from './source/read-offer.ts';
import type { Source } from './source/source.ts';
import { withBlobs } from './source/with-blobs.ts';
import { openTarget, type Target } from './write/target.ts';

/** What a person asked for. */
export type Order = {
  readonly from: string;
  /** How registries are reached; by default as anybody would, without credentials. */
  readonly access?: RegistryAccess;
  readonly to: string;
  readonly channels: readonly Channel[] | undefined;
  readonly sites: readonly string[];
  /** Reports and earlier media. */
  readonly bases: readonly string[];
  readonly now: Date;
  readonly signal?: AbortSignal;
};

export type Prepared = AsyncDisposable & {
  readonly source: Source;
  readonly target: Target;
  readonly plan: Plan;
  readonly notes: readonly string[];
};

/**
 * Everything up to the first byte written: open, read, judge, plan.
 * @throws FleetError of the phases; nothing was written yet
 */
export const prepare = async (order: Order): Promise<Prepared> => {
  const { now, signal } = order;
  await using cleanup = new AsyncDisposableStack();
  const origin = cleanup.use(await openSource(order.from, order.access));
  const target = cleanup.use(await openTarget(order.to));
  const bases = await readBases(origin, order.bases, target.before, now, signal);
  const offered = await readOffer(
    origin,
    { channels: order.channels, sites: order.sites, reporters: bases.reporters },
    now,
    signal,
  );
  if (target.before) await checkTarget(target.before, offered);
  const { offer, bytes } = await keepReceipts(target.before, offered);
  const source = withBlobs(origin, bytes);
  const plan = makePlan(offer, bases, now);
  await checkComplete(source, plan, signal);
  const moved = cleanup.move();
  return {
    source,
    target,
    plan,
    notes: [...target.notes, ...bases.notes],
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

/** Every blob is looked for before the first is written. @throws FleetError MISSING_BLOB, SIZE_MISMATCH */
const checkComplete = async (source: Source, plan: Plan, signal?: AbortSignal): Promise<void> => {
  const check = async ({ digest, size, repository }: Plan['blobs'][number]): Promise<void> => {
    const found = await source.blobs(repository).size(digest);
    if (found === size) return;
    if (found === undefined) {
      throw new FleetError('MISSING_BLOB', `${source.name} lacks a blob that ${repository} needs`, {
        subject: digest,
        hint: 'Build again with the images, or name a base that has them with --for',
      });
    }
    throw new FleetError('SIZE_MISMATCH', `a blob in ${source.name} has ${found} bytes, not ${size}`, {
      subject: digest,
      hint: 'The source is damaged; build or copy it again',
    });
  };
  await readInParallel(plan.blobs, check, signal);
};
