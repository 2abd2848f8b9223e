import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { type Digest, digestOf } from '#bundles/digest';
import { unlessMissing } from '#bundles/unless-missing';
import { openLayout } from '#bundles/formats/layout/layout';
import { type PointerOutcome, publishLayout } from '#bundles/transport/publish/publish-layout';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { requireSetting } from '../../settings/configuration.ts';
import { promotedOnly } from '../../deliver/send/check-published.ts';
import { openDestination } from '../../deliver/send/open-destination.ts';
import { faultFields } from './fault-fields.ts';
import { fenceDestination } from './fence-destination.ts';
import type { WatchOptions } from './watch-options.ts';

/** Time after which an unchanged layout is published again, because the registry may have been restored from a copy. */
const TRUST_MS = 3_600_000;

/**
 * Publishes the layout if any process has changed it since it was last published completely.
 * @returns a step that resolves to whether it published, and throws the first pointer's FleetError after all others were
 *   published
 */
export const createPublishStep = ({ configuration, env, clock, log, confirm }: WatchOptions) => {
  let published: { readonly index: Digest; readonly at: Date } | undefined;
  return async (signal: AbortSignal): Promise<boolean> => {
    const { registry } = configuration;
    if (registry === undefined) return false;
    const directory = requireSetting(configuration, 'layout');
    const index = await indexOf(directory);
    const age = clock().getTime() - (published?.at.getTime() ?? 0);
    if (index === undefined || (index === published?.index && age >= 0 && age < TRUST_MS)) return false;
    const layout = await openLayout(directory);
    const access = registryOptions({ ...configuration, env });
    await using destination = fenceDestination(await openDestination(registry, access, clock()), confirm);
    const tell = ({
      repository,
      tag,
      name,
      outcome,
      freight: transfers,
      removes = [],
      error,
    }: PointerOutcome): void => {
      if (error) log.error({ repository, tag, ...faultFields(error) }, 'not published');
      else if (outcome !== 'unchanged')
        log.info(
          {
            repository,
            tag,
            name,
            bytes: transfers.bytes,
            ...defined({ removes: removes.length > 0 ? removes : undefined }),
          },
          outcome,
        );
    };
    const outcomes = await publishLayout(layout, destination, {
      checkRelease: promotedOnly(layout),
      now: clock(),
      signal,
      onPointer: tell,
    });
    const failed = outcomes.find(({ error }) => error)?.error;
    if (failed) throw failed;
    published = { index, at: clock() };
    return true;
  };
};

/** Digest of index.json; undefined if there is no layout yet. */
const indexOf = async (directory: string): Promise<Digest | undefined> => {
  const index = await unlessMissing(readFile(join(directory, 'index.json')), `reading ${directory}`);
  return index && digestOf(index);
};
