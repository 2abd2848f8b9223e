import type { ChartReference } from '../application/manifest-settings.ts';
import type { Tools } from '../application/tool.ts';
import { type Charts, chartKey } from '../charts/charts.ts';
import type { Content, Contents, WantedContent } from './content.ts';
import type { ContentLocks } from './content-locks.ts';
import { memoryContent } from './memory-content.ts';
import type { Unxz } from './read-deb.ts';
import { unxz } from './unxz.ts';

/** What packages get their contents from, bound to one platform and run. */
export type ContentAccess = {
  readonly get: (wanted: WantedContent) => Promise<Content>;
  /** The archive of a chart. */
  readonly chart: (reference: ChartReference) => Promise<Content>;
  /** @param subject whose package is unpacked, for messages */
  readonly unxz: (subject: string) => Unxz;
  readonly signal: AbortSignal;
};

export const contentAccess = (
  given: {
    readonly contents: Contents;
    readonly charts: Charts;
    readonly tools: Tools;
    readonly locks: ContentLocks;
    readonly imageLocks: ReadonlyMap<string, string>;
  },
  signal: AbortSignal,
): ContentAccess => ({
  get: async (wanted) => await given.contents(wanted, given.locks, signal),
  chart: async (reference) => {
    const { pinned, archive } = await given.charts(reference, given.imageLocks, signal);
    return { ...memoryContent(archive, chartKey(reference)), from: { chart: pinned } };
  },
  unxz: (subject) => unxz(given.tools, subject),
  signal,
});
