import type { Layout } from '#bundles/formats/layout/layout';
import type { PublishOptions } from '#bundles/transport/publish/publish-layout';
import { checkRelease } from '../../load/releases/check-promoted.ts';
import { readRelease } from '../../load/releases/read-release.ts';

/** Refuses to publish a release that was built from what was not promoted. The check throws NOT_PROMOTED. */
export const promotedOnly =
  (layout: Layout): NonNullable<PublishOptions['checkRelease']> =>
  async (channel, roots) => {
    const release = await readRelease(layout, channel, roots);
    if (release) await checkRelease(layout, channel, release, roots);
  };
